"""Fitness over the generations of a run."""

from typing import TYPE_CHECKING

import numpy as np

from ._fitness_range import cut_below, lowest_shown
from ._history import Metrics, column, draw_line, generations_on, lines_of
from ._seed_curves import plot_seeds
from ._style import BLUE, COLUMN, FAINT, GREEN, ORANGE, new_figure, style
from ._subject import EvolvedRun, EvolvedSeeds

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_fitness(
    metrics: Metrics | EvolvedSeeds, target: float | None = None
) -> "Figure":
    """Best, mean and best fitness so far in each generation, and the target; of several
    seeds, the best so far of each, with their median and quartiles.

    Values that are much worse than the others lie below the figure, and so does the
    mean if nothing could be seen of the best ones otherwise; a note says so.

    **Arguments:**

    - `metrics`: what `substrax.evolve` or `substrax.evolve_seeds` returned, a result,
      or records of generations.
    - `target`: left out, that of the run.
    """
    if isinstance(metrics, EvolvedSeeds):
        known = metrics.runs[0].experiment.target
        curves = [lines_of(run) for run in metrics.runs]
        return plot_seeds(curves, known if target is None else target)
    if target is None and isinstance(metrics, EvolvedRun):
        target = metrics.experiment.target
    metrics = lines_of(metrics)
    with style():
        figure = new_figure(COLUMN, 2.3)
        axes = figure.subplots()
        x = generations_on(axes, metrics)
        mean, best = column(metrics, "mean_fitness"), column(metrics, "best_fitness")
        ever = column(metrics, "best_ever")
        low = lowest_shown(np.concatenate([mean, best]), mean, ever)
        is_cut = bool((mean < low).any() or (best < low).any())
        draw_line(axes, x, mean, "mean", FAINT, ls="--", lw=1.1, is_cut=is_cut)
        # Dots that are wider than the line: they are seen where both agree, too.
        axes.plot(
            x,
            best,
            "o",
            label="best of generation",
            color=BLUE,
            markersize=6 if len(x) <= 30 else 3.6,
            alpha=0.45,
            markeredgewidth=0,
            clip_on=is_cut,
        )
        axes.step(
            x,
            ever,
            where="post",
            color=ORANGE,
            lw=1.1,
            label="best so far",
            marker="D" if len(x) == 1 else None,
            markersize=2.5,
            zorder=3,
            clip_on=is_cut,
        )
        if target is not None and np.isfinite(target):
            axes.axhline(target, color=GREEN, lw=0.9, ls=(0, (4, 2)), label="target")
        axes.set_xlabel("generation")
        axes.set_ylabel("fitness")
        axes.margins(y=0.06)
        if is_cut:
            cut_below(axes, low, np.stack([mean, best, ever]))
        figure.legend(
            loc="outside upper center",
            ncols=4,
            columnspacing=0.9,
            handlelength=1.3,
            handletextpad=0.4,
        )
        return figure
