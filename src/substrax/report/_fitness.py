"""Fitness over the generations of a run."""

from typing import TYPE_CHECKING

import numpy as np

from ._history import Metrics, column, draw_line, generations_on, lines_of
from ._style import BLUE, COLUMN, FAINT, GREEN, ORANGE, new_figure, style
from ._subject import EvolvedRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FAR = 4.0
"""What is so many times as far below the best as half of all means are lies below the
figure."""

_FLAT, _STEEP = 0.02, 0.25
"""If the best fitness climbs through less than the first share of the height, the
figure begins so high that it climbs through the second."""


def plot_fitness(metrics: Metrics, target: float | None = None) -> "Figure":
    """Best, mean and best fitness so far in each generation, and the target.

    Values that are much worse than the others lie below the figure, and so does the
    mean if nothing could be seen of the best ones otherwise; a note says so.

    **Arguments:**

    - `metrics`: what `substrax.evolve` returned, a result, or records of generations.
    - `target`: left out, that of the run.
    """
    if target is None and isinstance(metrics, EvolvedRun):
        target = metrics.experiment.target
    metrics = lines_of(metrics)
    with style():
        figure = new_figure(COLUMN, 2.3)
        axes = figure.subplots()
        x = generations_on(axes, metrics)
        mean, best = column(metrics, "mean_fitness"), column(metrics, "best_fitness")
        ever = column(metrics, "best_ever")
        low = lowest_shown(mean, best, ever)
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
            _cut(axes, low)
        figure.legend(
            loc="outside upper center",
            ncols=4,
            columnspacing=0.9,
            handlelength=1.3,
            handletextpad=0.4,
        )
        return figure


def lowest_shown(mean: np.ndarray, best: np.ndarray, ever: np.ndarray) -> float:
    """Where the figure begins: one very bad generation must not flatten the rest, nor
    a mean that is always far below the best."""
    values = np.concatenate([mean, best])
    values = values[np.isfinite(values)]
    if not np.isfinite(mean).any() or not np.isfinite(ever).any():
        return -np.inf
    top, low = np.nanmax(ever), values.min()
    fence = top - _FAR * (top - np.nanmedian(mean))
    if low < fence - 0.25 * (top - fence):
        low = values[values >= fence].min()
    climb = top - np.nanmin(ever[ever >= low])
    if 0 < climb < _FLAT * (top - low):
        low = top - climb / _STEEP
    return float(low)


def _cut(axes: "Axes", low: float) -> None:
    """Ends the figure at a value, and says what lies below."""
    drawn = np.stack([np.asarray(line.get_ydata(), float) for line in axes.lines[:3]])
    top = max(np.nanmax(drawn), axes.dataLim.y1)
    axes.set_ylim(low - 0.1 * (top - low), top + 0.06 * (top - low))
    num = int((drawn < low).any(axis=0).sum())
    words = "1 generation reaches" if num == 1 else f"{num} generations reach"
    axes.text(
        0.99,
        0.02,
        f"\N{DOWNWARDS ARROW} {words} below, to {np.nanmin(drawn):.3g}",
        transform=axes.transAxes,
        ha="right",
        va="bottom",
        fontsize=6,
        color=FAINT,
        bbox={"fc": "white", "ec": "none", "pad": 0.8, "alpha": 0.8},
        zorder=4,
    )
