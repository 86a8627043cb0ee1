"""A genome as a graph: the CPPN, or, for plain NEAT, the network itself."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..cppn import ACTIVATION_NAMES, activation_id, read_graphs
from ..evolution import Result
from ..neat import Genome
from ._layers import LayeredGraph, layer_graph
from ._style import (
    BLUE,
    COLUMN,
    INK,
    MAX_VECTOR_SHAPES,
    ORANGE,
    PAGE,
    SPECIES_COLOURS,
    new_figure,
    style,
)
from ._subject import EvolvedRun, genome_of, names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.path import Path

_MAX_BOXES = 12
"""Nodes of one layer that boxes with names have room for."""

_USELESS = 0.25
"""Opacity of what leads to no output."""

_BEND = 0.8
"""How far links that lead back go around the side."""


def plot_genome(
    run: EvolvedRun | Result | Genome,
    *,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> "Figure":
    """One genome as a graph, inputs below, outputs above.

    Boxes name the activation and the bias of each node. The colour of a link is the
    sign of its weight, the width its size. What leads to no output is pale.
    Disabled links are left out.

    **Arguments:**

    - `run`: what `substrax.evolve` returned, whose best genome is drawn; or, with plain
      NEAT, a result; or a genome (without a leading axis).
    - `input_names`, `output_names`: needed with a genome alone; left out, those that a
      run knows.
    """
    if isinstance(run, Genome):
        genome = run
        if input_names is None or output_names is None:
            raise ValueError(
                "a genome does not know what its inputs and outputs are called: say "
                "input_names and output_names, or give the run instead."
            )
    else:
        genome = genome_of(run)
        if input_names is None or output_names is None:
            known = names_of(run)
            input_names = known[0] if input_names is None else input_names
            output_names = known[1] if output_names is None else output_names
    graph = read_graphs(
        *(
            np.asarray(getattr(genome, name))[None]
            for name in (
                "node_id", "node_activation", "node_bias",
                "link_source", "link_target", "link_weight", "link_enabled",
            )
        ),
        num_inputs=len(input_names),
        num_outputs=len(output_names),
    )  # fmt: skip
    source, target = graph.links.source, graph.links.target
    num_nodes = graph.node_id.size
    layout = layer_graph(num_nodes, graph.is_input, graph.is_output, source, target)
    is_useful = _leads_to(graph.is_output, source, target)
    terminals = [*input_names, *output_names]
    labels = []
    for n, node in enumerate(graph.node_id):
        parts = [terminals[node]] if node < len(terminals) else []
        if not graph.is_input[n]:
            parts.append(ACTIVATION_NAMES[int(graph.activation[n])])
            if graph.bias[n]:
                parts.append(f"{graph.bias[n]:+.2g}".replace("-", "\N{MINUS SIGN}"))
        labels.append("\n".join(parts))
    with style():
        return _draw(
            layout,
            graph.links.weight,
            is_useful[source] & is_useful[target],
            labels,
            np.where(graph.is_input, activation_id("identity"), graph.activation),
            np.where(graph.is_input, 0, np.where(graph.is_output, 1, 2)),
            is_useful,
        )


def _leads_to(
    is_output: np.ndarray, source: np.ndarray, target: np.ndarray
) -> np.ndarray:
    # From the outputs against the links, until nothing is added.
    leads = is_output.copy()
    while True:
        more = leads.copy()
        more[source[leads[target]]] = True
        if (more == leads).all():
            return leads
        leads = more


def _draw(
    layout: LayeredGraph,
    weight: np.ndarray,
    is_useful_link: np.ndarray,
    labels: list[str],
    activation: np.ndarray,
    kind: np.ndarray,
    is_useful: np.ndarray,
) -> "Figure":
    span = float(np.ptp(layout.x)) + 1.0
    is_dense = layout.widest > _MAX_BOXES
    width = COLUMN if span <= 6.5 and not is_dense else PAGE
    figure = new_figure(width, min(8.0, 0.75 + 0.62 * layout.num_layers))
    axes = figure.subplots()
    axes.set_axis_off()
    # (a genome may have no link, or links of weight 0 only)
    largest = float(np.abs(weight).max(initial=0)) or 1.0
    _draw_links(axes, layout, weight, largest, is_useful_link)
    if is_dense:
        _draw_dots(axes, layout, activation, kind, is_useful)
    else:
        _draw_boxes(axes, layout, labels, kind, is_useful)
    margin = 0.6 if not is_dense else 1.0
    # Links that pass by nodes run further out than these.
    bends = np.where(layout.is_backward, _BEND, 0.0)
    ways = [route[:, 0] for route in layout.routes]
    left = min((way.min() for way in ways), default=0.0)
    right = max((w.max() + b for w, b in zip(ways, bends, strict=True)), default=0.0)
    axes.set_xlim(
        min(layout.x.min() - margin, left - 0.1),
        max(layout.x.max() + margin, right + 0.1),
    )
    axes.set_ylim(-0.4, layout.num_layers - 0.6)
    if not weight.size:
        middle = (layout.num_layers - 1) / 2
        axes.text(0, middle, "no link is enabled", ha="center", va="center")
        return figure
    _legend(figure, largest, activation[kind > 0] if is_dense else None)
    return figure


def _route(points: np.ndarray, bend: float) -> "Path":
    """A smooth curve through points that leaves and arrives vertically."""
    from matplotlib.path import Path

    if bend:  # backwards: around the side
        (x0, y0), (x1, y1) = points[0], points[-1]
        if (points[0] == points[-1]).all():
            corners = [
                (x0, y0), (x0 + 0.55, y0 + 0.45), (x0 + 0.55, y0 - 0.45), (x0, y0)
            ]  # fmt: skip
        else:
            corners = [(x0, y0), (x0 + bend, y0), (x1 + bend, y1), (x1, y1)]
        return Path(corners, [Path.MOVETO, *[Path.CURVE4] * 3])
    corners, codes = [tuple(points[0])], [Path.MOVETO]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        middle = (y0 + y1) / 2
        # Control points straight above and below the ends: pieces join without a kink.
        corners += [(x0, middle), (x1, middle), (x1, y1)]
        codes += [Path.CURVE4] * 3
    return Path(corners, codes)


def _draw_links(
    axes: "Axes",
    layout: LayeredGraph,
    weight: np.ndarray,
    largest: float,
    is_useful: np.ndarray,
) -> None:
    from matplotlib.collections import PathCollection
    from matplotlib.colors import to_rgba

    order = np.argsort(np.abs(weight), kind="stable")  # strong ones on top
    paths = [
        _route(layout.routes[k], _BEND if layout.is_backward[k] else 0.0) for k in order
    ]
    size = np.abs(weight[order]) / largest
    # Beyond some sixty links each is paler, or the page would turn solid.
    many = max(1.0, len(weight) / 60.0)
    opacity = np.where(is_useful[order], 0.35 + 0.55 * size, _USELESS * 0.8)
    opacity = np.maximum(opacity / np.sqrt(many), 0.05)
    colours = [
        to_rgba(BLUE if w > 0 else ORANGE, a)
        for w, a in zip(weight[order], opacity, strict=True)
    ]
    links = PathCollection(
        paths,
        facecolors="none",
        edgecolors=colours,
        linewidths=(0.4 + 2.4 * size) / np.sqrt(min(many, 4.0)),
        linestyles=["--" if layout.is_backward[k] else "-" for k in order],
        capstyle="round",
        zorder=1,
    )
    links.set_rasterized(len(weight) > MAX_VECTOR_SHAPES)
    axes.add_collection(links, autolim=False)


_FILLS = ("#eef1f4", "#fff3dd", "#ffffff")
"""Of inputs, outputs, hidden nodes."""


def _draw_boxes(
    axes: "Axes",
    layout: LayeredGraph,
    labels: list[str],
    kind: np.ndarray,
    is_useful: np.ndarray,
) -> None:
    for n, label in enumerate(labels):
        axes.text(
            layout.x[n],
            layout.layer[n],
            label,
            ha="center",
            va="center",
            fontsize=6.5,
            linespacing=1.15,
            alpha=1.0 if is_useful[n] else 0.5,
            zorder=3,
            bbox={
                "boxstyle": "round,pad=0.3,rounding_size=0.5",
                "fc": _FILLS[kind[n]],
                "ec": INK if is_useful[n] else "#aaaaaa",
                "lw": 0.7,
                "ls": "-" if is_useful[n] else ":",
            },
        )


def _draw_dots(
    axes: "Axes",
    layout: LayeredGraph,
    activation: np.ndarray,
    kind: np.ndarray,
    is_useful: np.ndarray,
) -> None:
    names = {a: k for k, a in enumerate(np.unique(activation[kind > 0]))}
    colours = [
        _FILLS[0] if k == 0 else SPECIES_COLOURS[names[a] % len(SPECIES_COLOURS)]
        for a, k in zip(activation, kind, strict=True)
    ]
    axes.scatter(
        layout.x,
        layout.layer,
        s=np.where(is_useful, 22, 9) * min(1.0, 40 / layout.widest),
        c=colours,
        edgecolors=INK,
        linewidths=0.5,
        zorder=3,
        rasterized=layout.x.size > MAX_VECTOR_SHAPES,
    )


def _legend(figure: "Figure", largest: float, activation: np.ndarray | None) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=BLUE, lw=2, label="positive weight"),
        Line2D([], [], color=ORANGE, lw=2, label="negative"),
        Line2D([], [], color="none", label=f"widest line: {largest:.2g}"),
    ]
    if activation is not None:
        handles += [
            Line2D(
                [],
                [],
                ls="",
                marker="o",
                mec=INK,
                mew=0.5,
                mfc=SPECIES_COLOURS[k % len(SPECIES_COLOURS)],
                label=ACTIVATION_NAMES[int(a)],
            )
            for k, a in enumerate(np.unique(activation))
        ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=3 if activation is None else 6,
        columnspacing=1.2,
        handlelength=1.5,
    )
