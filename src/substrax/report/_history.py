"""A run over its generations: what all figures of it share, and that of sizes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evolution import GenerationRecord, Result
from ._style import BLUE, FAINT, INK, ORANGE, PAGE, new_figure, style
from ._subject import EvolvedRun, EvolvedSeeds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Metrics = EvolvedRun | Result | Iterable[GenerationRecord | Mapping[str, Any]]
"""A run, its result or its history; or what it wrote in each generation, the lines of
`metrics.jsonl`."""

Lines = Sequence[Mapping[str, Any]]


def lines_of(metrics: Metrics) -> Lines:
    """One mapping for each generation."""
    if isinstance(metrics, EvolvedSeeds):
        raise ValueError(
            "this figure is drawn of one run, and these are several: give one of them, "
            "runs[0], for example. plot_fitness draws all of them."
        )
    if isinstance(metrics, EvolvedRun):
        metrics = metrics.result
    records = metrics.history if isinstance(metrics, Result) else metrics
    return [r.to_dict() if isinstance(r, GenerationRecord) else r for r in records]


_MAX_MARKED = 30
"""Up to this many generations each one is marked."""


def column(metrics: Lines, name: str) -> np.ndarray:
    """One entry of all generations; NaN, which is not drawn, where it is missing."""
    values = (line.get(name) for line in metrics)
    return np.array([np.nan if v is None else float(v) for v in values])


def generations_on(axes: "Axes", metrics: Lines) -> np.ndarray:
    """The x axis of all figures here, and its values."""
    from matplotlib.ticker import MaxNLocator

    if not metrics:
        raise ValueError(
            "there is nothing to draw: the run has no finished generation. Let it run "
            "for at least one."
        )
    generation = column(metrics, "generation")
    axes.xaxis.set_major_locator(
        MaxNLocator(integer=True, nbins=6, steps=[1, 2, 5, 10])
    )
    low, high = generation[0], generation[-1]
    if low == high:
        # An axis of no length cannot be drawn.
        low, high = low - 0.5, high + 0.5
        axes.set_xticks(generation)
    axes.set_xlim(low, high)
    return generation


def draw_line(
    axes: "Axes",
    x: np.ndarray,
    y: np.ndarray,
    label: str,
    colour: str,
    *,
    is_cut: bool = False,
    **options: Any,
) -> None:
    """A line; where generations are few, each one is marked."""
    is_marked = len(x) <= _MAX_MARKED
    axes.plot(
        x,
        y,
        label=label,
        color=colour,
        marker="o" if is_marked else None,
        markersize=3 if len(x) > 1 else 5,
        clip_on=is_cut,
        **options,
    )


def plot_growth(metrics: Metrics) -> "Figure":
    """Nodes and links of genomes and networks over generations.

    **Arguments:**

    - `metrics`: what `substrax.evolve` returned, a result, or records of generations.
    """
    metrics = lines_of(metrics)
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
            x = generations_on(panel, metrics)
            draw_line(panel, x, column(metrics, mean), "mean", FAINT, ls="--")
            draw_line(panel, x, column(metrics, best), "best", BLUE)
            _from_zero(panel, title)
        panel = axes[1, 0]
        x = generations_on(panel, metrics)
        draw_line(panel, x, column(metrics, "mean_genome_links"), "mean links", FAINT)
        draw_line(
            panel,
            x,
            column(metrics, "mean_genome_nodes"),
            "mean nodes",
            INK,
            ls="--",
        )
        _from_zero(panel, "genomes")
        panel = axes[1, 1]
        x = generations_on(panel, metrics)
        draw_line(panel, x, column(metrics, "num_empty"), "number", ORANGE)
        if np.nansum(column(metrics, "num_failed")) > 0:
            draw_line(panel, x, column(metrics, "num_failed"), "failed", INK, ls=":")
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
