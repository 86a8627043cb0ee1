"""Figures of a run over its generations: fitness, species, sizes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evolution import GenerationRecord, Result
from ._style import (
    BLUE,
    COLUMN,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PAGE,
    SPECIES_COLOURS,
    new_figure,
    style,
)
from ._subject import EvolvedRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Metrics = EvolvedRun | Result | Iterable[GenerationRecord | Mapping[str, Any]]
"""A run, its result or its history; or what it wrote in each generation, the lines of
`metrics.jsonl`."""

Lines = Sequence[Mapping[str, Any]]


def _lines(metrics: Metrics) -> Lines:
    """One mapping for each generation."""
    if isinstance(metrics, EvolvedRun):
        metrics = metrics.result
    records = metrics.history if isinstance(metrics, Result) else metrics
    return [r.to_dict() if isinstance(r, GenerationRecord) else r for r in records]


_MAX_MARKED = 30
"""Up to this many generations each one is marked."""


def _column(metrics: Lines, name: str) -> np.ndarray:
    """One entry of all generations; NaN, which is not drawn, where it is missing."""
    values = (line.get(name) for line in metrics)
    return np.array([np.nan if v is None else float(v) for v in values])


def _generations(axes: "Axes", metrics: Lines) -> np.ndarray:
    """The x axis of all figures here, and its values."""
    from matplotlib.ticker import MaxNLocator

    if not metrics:
        raise ValueError(
            "there is nothing to draw: the run has no finished generation. Let it run "
            "for at least one."
        )
    generation = _column(metrics, "generation")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    low, high = generation[0], generation[-1]
    if low == high:
        # An axis of no length cannot be drawn.
        low, high = low - 0.5, high + 0.5
        axes.set_xticks(generation)
    axes.set_xlim(low, high)
    return generation


def _line(
    axes: "Axes", x: np.ndarray, y: np.ndarray, label: str, colour: str, **options: Any
) -> None:
    is_marked = len(x) <= _MAX_MARKED
    axes.plot(
        x,
        y,
        label=label,
        color=colour,
        marker="o" if is_marked else None,
        markersize=3 if len(x) > 1 else 5,
        clip_on=False,
        **options,
    )


def plot_fitness(metrics: Metrics, target: float | None = None) -> "Figure":
    """Best, mean and best fitness so far in each generation, and the target.

    **Arguments:**

    - `metrics`: what `substrax.evolve` returned, a result, or records of generations.
    - `target`: left out, that of the run.
    """
    if target is None and isinstance(metrics, EvolvedRun):
        target = metrics.experiment.target
    metrics = _lines(metrics)
    with style():
        figure = new_figure(COLUMN, 2.3)
        axes = figure.subplots()
        x = _generations(axes, metrics)
        best = _column(metrics, "best_fitness")
        _line(axes, x, _column(metrics, "mean_fitness"), "mean", FAINT, ls="--")
        # Steps, both: a slope would lie above the best so far.
        steps = {"drawstyle": "steps-post", "alpha": 0.75}
        _line(axes, x, best, "best of generation", BLUE, **steps)
        axes.step(
            x,
            _column(metrics, "best_ever"),
            where="post",
            color=ORANGE,
            label="best so far",
            marker="D" if len(x) == 1 else None,
            markersize=3,
            zorder=3,
            clip_on=False,
        )
        if target is not None and np.isfinite(target):
            axes.axhline(target, color=GREEN, lw=0.9, ls=(0, (4, 2)), label="target")
        axes.set_xlabel("generation")
        axes.set_ylabel("fitness")
        axes.margins(y=0.06)
        figure.legend(
            loc="outside upper center",
            ncols=4,
            columnspacing=0.9,
            handlelength=1.3,
            handletextpad=0.4,
        )
        return figure


def _species_sizes(metrics: Lines) -> dict[int, np.ndarray]:
    """How large each species was in each generation, in order of age."""
    sizes: dict[int, np.ndarray] = {}
    for g, line in enumerate(metrics):
        for species in line.get("species_size") or ():
            row = sizes.setdefault(int(species["id"]), np.zeros(len(metrics)))
            row[g] = species["size"]
    # Ids are given in the order in which species arise.
    return dict(sorted(sizes.items()))


def has_species(metrics: Metrics) -> bool:
    """Whether any generation says which species it had."""
    return bool(_species_sizes(_lines(metrics)))


def plot_species(metrics: Metrics) -> "Figure":
    """Sizes of species over generations, stacked.

    **Arguments:**

    - `metrics`: what `substrax.evolve` returned, a result, or records of generations.
    """
    metrics = _lines(metrics)
    sizes = _species_sizes(metrics)
    if metrics and not sizes:
        raise ValueError(
            "there is nothing to draw: no generation says which species it had. "
            "plot_fitness and plot_growth do without."
        )
    with style():
        figure = new_figure(COLUMN, 2.3)
        axes = figure.subplots()
        x = _generations(axes, metrics)
        # By id, so that a species keeps its colour as the run goes on.
        colours = [SPECIES_COLOURS[k % len(SPECIES_COLOURS)] for k in sizes]
        rows = np.stack(list(sizes.values()))
        if len(x) == 1:
            bottom = np.cumsum(rows[:, 0]) - rows[:, 0]
            axes.bar(
                np.full(len(rows), x[0]),
                rows[:, 0],
                0.5,
                bottom,
                color=colours,
                edgecolor="white",
                linewidth=0.5,
            )
        else:
            areas = axes.stackplot(x, rows, colors=colours, lw=0.3, ec="white")
            # Few species get lines that survive a photocopy, many would drown in them.
            if len(sizes) > 60:
                for area in areas:
                    area.set_edgecolor("none")
        top = rows.sum(axis=0).max()
        axes.set_ylim(0, top)
        axes.set_xlabel("generation")
        axes.set_ylabel("genomes, by species")
        _label_large(axes, x, rows, list(sizes))
        alive = int((rows[:, -1] > 0).sum())
        axes.set_title(
            f"{len(sizes)} species in all, {alive} in the last generation",
            loc="left",
            color=INK,
        )
        return figure


def _label_large(axes: "Axes", x: np.ndarray, rows: np.ndarray, ids: list[int]) -> None:
    """The numbers of species where their areas have room for them."""
    total = rows.sum(axis=0).max()
    bottom = np.cumsum(rows, axis=0) - rows
    for k, species in enumerate(ids):
        # Where the species was largest, there is most room.
        place = int(rows[k].argmax())
        lives = int((rows[k] > 0).sum())
        if rows[k, place] < 0.09 * total or lives < 0.06 * len(x):
            continue
        position = float(x[place])
        if len(x) > 1:  # keep away from the edges, where a number would be cut
            margin = 0.03 * (x[-1] - x[0])
            position = float(np.clip(position, x[0] + margin, x[-1] - margin))
        axes.text(
            position,
            bottom[k, place] + rows[k, place] / 2,
            str(species),
            ha="center",
            va="center",
            fontsize=6,
        )


def plot_growth(metrics: Metrics) -> "Figure":
    """Nodes and links of genomes and networks over generations.

    **Arguments:**

    - `metrics`: what `substrax.evolve` returned, a result, or records of generations.
    """
    metrics = _lines(metrics)
    with style():
        figure = new_figure(PAGE, 3.6)
        axes = figure.subplots(2, 2, sharex=True)
        panels = (
            (axes[0, 0], "hidden nodes of networks", "best_hidden", "mean_hidden"),
            (
                axes[0, 1],
                "links of networks",
                "best_network_links",
                "mean_network_links",
            ),
        )
        for panel, title, best, mean in panels:
            x = _generations(panel, metrics)
            _line(panel, x, _column(metrics, mean), "mean", FAINT, ls="--")
            _line(panel, x, _column(metrics, best), "best", BLUE)
            _from_zero(panel, title)
        panel = axes[1, 0]
        x = _generations(panel, metrics)
        _line(panel, x, _column(metrics, "mean_genome_links"), "mean links", FAINT)
        _line(
            panel,
            x,
            _column(metrics, "mean_genome_nodes"),
            "mean nodes",
            INK,
            ls="--",
        )
        _from_zero(panel, "genomes")
        panel = axes[1, 1]
        x = _generations(panel, metrics)
        _line(panel, x, _column(metrics, "num_empty"), "number", ORANGE)
        if np.nansum(_column(metrics, "num_failed")) > 0:
            _line(panel, x, _column(metrics, "num_failed"), "failed", INK, ls=":")
        _from_zero(panel, "networks without hidden nodes")
        for panel in axes[1]:
            panel.set_xlabel("generation")
        return figure


def _from_zero(axes: "Axes", title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title(title, loc="left")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    # These are counts: at 0 throughout, the axis still has to reach the first of them.
    axes.set_ylim(bottom=0, top=max(1.0, axes.get_ylim()[1]))
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=2,
        borderpad=0.1,
        borderaxespad=0.1,
        columnspacing=1.0,
        handlelength=1.6,
    )
