"""The multi-resolution grid: which cells of each level were active."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..decoders import AbstractDecoder
from ..neat import Genome
from ..network import Networks
from ..substrate import ActiveCells
from ._style import (
    FAINT,
    INK,
    PAGE,
    count_colours,
    frame_plane,
    new_figure,
    show_plane,
    style,
    weight_colours,
)
from ._subject import (
    EvolvedRun,
    decoder_of,
    genome_of,
    network_of,
    panel_names_of,
)
from ._view import CPPNView, some_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_SOURCES = 3
MAX_LEVELS = 9
_MAX_SIDE = 512
"""Pixels; finer levels are drawn at this resolution."""
_MAX_LINED = 600
"""Active cells of a panel whose borders and links are drawn one by one."""


def plot_grid(
    run: EvolvedRun | AbstractDecoder,
    genome: Genome | None = None,
    network: Networks | None = None,
    *,
    max_sources: int = MAX_SOURCES,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> "Figure":
    """Active cells level by level: seen from inputs, and from all inputs together.

    Of more inputs than `max_sources` some get rows of their own, spread evenly; rule
    `es` explores towards outputs as well, so one of these follows. Dots mark cells that
    are linked, and in the last row the hidden nodes of `network`. Levels beyond the
    first `MAX_LEVELS` are left out, and counted below the panels.

    **Arguments:**

    - `run`: what `substrax.evolve` returned, or a decoder.
    - `genome`, `network`: the CPPN (without a leading axis) and its network; left out,
      the best ones of the run.
    - `input_names`, `output_names`: left out, those that a run knows, or numbers.
    """
    if genome is None and network is None and isinstance(run, EvolvedRun):
        network = network_of(run)
    view = CPPNView.of(decoder_of(run), genome_of(run, genome))
    if view is None:
        raise ValueError(
            "plain NEAT discovers nothing, so there is no grid: its genome is the "
            "network. Use plot_genome."
        )
    if view.rule is None:
        raise ValueError(
            "HyperNEAT discovers nothing, so there is no grid: its nodes lie where its "
            "substrate says. Use plot_substrate for the network, plot_fields for the "
            "pattern of the CPPN."
        )
    sources, targets = panel_names_of(run, view.layout, input_names, output_names)
    # All of them, also those without a row: the last row counts them together.
    from_inputs = [view.cells(p, outgoing=True) for p in view.layout.inputs]
    rows = [
        (f"from {sources[k]}", from_inputs[k], view.layout.inputs[k])
        for k in some_of(len(from_inputs), max_sources)
    ]
    if view.rule.explores_outputs:
        point = view.layout.outputs[0]
        rows.append((f"to {targets[0]}", view.cells(point, outgoing=False), point))
    num_levels = min(view.rule.depth + 1, MAX_LEVELS)
    hidden = np.zeros((0, 2))
    if network is not None:
        hidden = network.node_point[network.num_inputs + network.num_outputs :]
    with style():
        side = (PAGE - 1.0) / max(num_levels, 4) - 0.06
        height = (len(rows) + 1) * (side + 0.14) + 0.2
        figure = new_figure(PAGE, height)
        axes = figure.subplots(len(rows) + 1, num_levels, squeeze=False)
        # One scale for all rows and levels, or their colours could not be compared.
        largest = max(
            *(float(np.abs(c.weight).max(initial=0)) for _, c, _ in rows), 1e-9
        )
        weights = counts = None
        for row, (title, cells, point) in zip(axes, rows, strict=False):
            row[0].set_ylabel(title, fontsize=7)
            for level, place in enumerate(row):
                weights = _draw_weights(place, cells, level, largest)
                place.plot(
                    *point, "X", ms=4, mfc=INK, mec="white", mew=0.5, clip_on=False
                )
        axes[-1, 0].set_ylabel("all inputs,\nhidden nodes", fontsize=7)
        for level, place in enumerate(axes[-1]):
            counts = _draw_counts(place, from_inputs, level, hidden)
            axes[0, level].set_title(f"level {level}", pad=3)
        for image, places, label in (
            (weights, axes[:-1], "weight"),
            (counts, axes[-1:], "inputs"),
        ):
            assert image is not None, "there is a level 0"
            aspect = 14 * len(places)
            bar = figure.colorbar(image, ax=places, shrink=0.9, aspect=aspect, pad=0.01)
            bar.set_label(label, fontsize=7)
            bar.ax.tick_params(labelsize=6)
            if label == "inputs":
                bar.set_ticks(sorted({1, len(from_inputs)}))
        deeper = np.concatenate([c.centre[c.level >= num_levels] for c in from_inputs])
        if num_levels <= view.rule.depth:
            num = len(np.unique(deeper, axis=0))
            figure.supxlabel(
                f"not drawn: levels {num_levels} to {view.rule.depth}, with {num} "
                "active cells",
                fontsize=7,
            )
        return figure


def _pixels(level: int, centre: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """The side of a level's picture, and the row and column of each centre."""
    side = min(2 ** (level + 1), _MAX_SIDE)
    column, row = np.floor((centre + 1) / 2 * side).astype(int).T
    return side, row, column


def _prepare(axes: "Axes", note: str) -> None:
    show_plane(axes, labels=False)
    frame_plane(axes)
    axes.set_xlabel(note, fontsize=6, labelpad=2, color=INK)


def _background(axes: "Axes", level: int) -> None:
    """Inactive cells: a pale plane, with the lines of coarse levels."""
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((-1, -1), 2, 2, fc="#ececec", ec="none", zorder=0))
    if level <= 4:
        at = np.linspace(-1, 1, 2 ** (level + 1) + 1)[1:-1]
        lines = [[(a, -1), (a, 1)] for a in at] + [[(-1, a), (1, a)] for a in at]
        axes.add_collection(
            LineCollection(lines, colors="white", linewidths=0.4, zorder=2),
            autolim=False,
        )


def _draw_weights(axes: "Axes", cells: ActiveCells, level: int, largest: float):
    which = cells.level == level
    centre, linked = cells.centre[which], cells.is_linked[which]
    side, row, column = _pixels(level, centre)
    # NaN is not painted: the background shows where a cell is not active.
    picture = np.full((side, side), np.nan)
    picture[row, column] = cells.weight[which]
    _background(axes, level)
    image = axes.imshow(
        picture,
        origin="lower",
        extent=(-1, 1, -1, 1),
        cmap=weight_colours(),
        vmin=-largest,
        vmax=largest,
        interpolation="nearest",
        zorder=1,
    )
    if which.sum() <= _MAX_LINED:
        size = max(0.15, 6.0 / 4**level)
        axes.scatter(*centre[linked].T, s=size, c=INK, lw=0, zorder=3)
    num = int(which.sum())
    _prepare(axes, f"{num} active, {linked.sum()} linked" if num else "none active")
    return image


def _draw_counts(
    axes: "Axes", fields: list[ActiveCells], level: int, hidden: np.ndarray
):
    centres = np.concatenate([c.centre[c.level == level] for c in fields])
    side, row, column = _pixels(level, centres)
    picture = np.zeros((side, side))
    # (`picture[row, column] += 1` would count a cell once, however often it occurs)
    np.add.at(picture, (row, column), 1.0)
    _background(axes, level)
    image = axes.imshow(
        np.where(picture > 0, picture, np.nan),
        origin="lower",
        extent=(-1, 1, -1, 1),
        cmap=count_colours(),
        # With one input the scale begins at 0: it needs two ends.
        vmin=min(1, len(fields) - 1),
        vmax=len(fields),
        interpolation="nearest",
        zorder=1,
    )
    # A centre belongs to one level alone: its coordinates have that denominator.
    scaled = (hidden + 1) * 2.0 ** (level + 1)
    here = ((scaled == np.floor(scaled)) & (scaled % 2 == 1)).all(axis=1)
    size = np.clip(8.0 / 2**level, 0.8, 6.0)
    axes.scatter(*hidden[here].T, s=size, c="#b35806", ec=FAINT, lw=0.1, zorder=3)
    num = len(np.unique(centres, axis=0))
    nodes = "1 node" if here.sum() == 1 else f"{here.sum()} nodes"
    _prepare(axes, f"{num} active, {nodes}" if num else "none active")
    return image
