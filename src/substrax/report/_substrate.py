"""A network where it lies: nodes on the plane, links by class or by weight."""

import textwrap
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from ..network import Networks, describe
from ..substrate import LINK_CLASSES
from ._style import (
    CLASS_COLOURS,
    COLUMN,
    INK,
    MAX_VECTOR_SHAPES,
    PAGE,
    frame_plane,
    new_figure,
    show_plane,
    style,
    weight_colours,
)
from ._subject import NetworkSource, is_placed, network_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_DRAWN_LINKS = 12_000
"""Of more links the strongest are drawn: the page is black long before that."""

_BEND = {"forward": 0.0, "backward": 0.16, "lateral": 0.22, "self": 0.0}
"""How far links bow, of their length: others would hide behind forward ones."""
_MAX_BOW = 0.12
_CURVE_POINTS = 13
_POINT = 0.0103
"""A point (1/72 inch) in units of the plane, at the width of a column."""


def link_masks(network: Networks) -> dict[str, Bool[np.ndarray, " links"]]:
    """Which links of one network are of each class (`LINK_CLASSES`)."""
    source, target = network.link_source, network.link_target
    ys, yt = network.node_point[source, 1], network.node_point[target, 1]
    is_self = source == target
    masks = (ys < yt, ys > yt, (ys == yt) & ~is_self, is_self)
    return dict(zip(LINK_CLASSES, masks, strict=True))


def present_classes(network: Networks) -> list[str]:
    """The classes of links that a network has."""
    return [name for name, mask in link_masks(network).items() if mask.any()]


def _placed(run: NetworkSource) -> Networks:
    network = network_of(run)
    if not is_placed(network):
        raise ValueError(
            "plain NEAT has no substrate: the nodes of this network lie nowhere. Use "
            "plot_genome."
        )
    return network


def plot_substrate(run: NetworkSource, *, colour: str = "class") -> "Figure":
    """One network on its substrate. One without links gets its diagnosis instead.

    **Arguments:**

    - `run`: what `substrax.evolve` returned, a result, a model or a network.
    - `colour`: of links, by `class` or by `weight`.
    """
    if colour not in ("class", "weight"):
        raise ValueError(f"colour must be 'class' or 'weight', not {colour!r}.")
    network = _placed(run)
    with style():
        figure = new_figure(COLUMN, COLUMN + (0.35 if colour == "class" else -0.25))
        axes = figure.subplots()
        show_plane(axes)
        frame_plane(axes)
        _draw_nodes(axes, network)
        if not network.link_source.size:
            _draw_diagnosis(axes, network)
        elif colour == "weight":
            _draw_weights(figure, axes, network)
        else:
            _draw_classes(axes, network, LINK_CLASSES)
        links = _class_handles(network) if colour == "class" else []
        _legend(figure, _node_handles(network), links)
        return figure


def plot_link_classes(run: NetworkSource) -> "Figure":
    """One panel for each class of links that a network has; there must be two.

    **Arguments:**

    - `run`: what `substrax.evolve` returned, a result, a model or a network.
    """
    network = _placed(run)
    masks, present = link_masks(network), present_classes(network)
    if len(present) < 2:
        links = f"only {present[0]} links" if present else "no links"
        raise ValueError(
            f"this network has {links}, so there are no classes to tell apart. Use "
            "plot_substrate."
        )
    with style():
        figure = new_figure(PAGE, PAGE / 4 + 0.3)
        axes = figure.subplots(1, 4, squeeze=False)[0]
        for place in axes[len(present) :]:
            place.set_axis_off()
        for place, name in zip(axes, present, strict=False):
            show_plane(place, labels=False)
            frame_plane(place)
            _draw_classes(place, network, (name,), 2 * _POINT)
            _draw_nodes(place, network, scale=0.4)
            place.set_title(f"{name}: {int(masks[name].sum())}", pad=3)
        return figure


def _strongest(network: Networks) -> np.ndarray:
    """Links to draw, weak ones first, so that strong ones lie on top."""
    order = np.argsort(np.abs(network.link_weight), kind="stable")
    return order[-MAX_DRAWN_LINKS:]


def _curves(
    start: Float[np.ndarray, "links 2"], end: Float[np.ndarray, "links 2"], bend: float
) -> Float[np.ndarray, "links points 2"]:
    """Straight lines, or parabolas that bow to the left of their direction."""
    if not bend:
        return np.stack([start, end], axis=1)
    along = end - start
    length = np.hypot(*along.T)
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    # `across` is as long as the link: a share of it, but never more than so much.
    across *= np.minimum(bend, _MAX_BOW / np.maximum(length, 1e-9))[:, None]
    t = np.linspace(0.0, 1.0, _CURVE_POINTS)[None, :, None]
    # 4 t (1 - t) is 1 in the middle and 0 at both ends.
    return start[:, None] + t * along[:, None] + 4 * t * (1 - t) * across[:, None]


def _loops(centre: Float[np.ndarray, "links 2"]) -> np.ndarray:
    """Small circles that touch a node from above, for links of a node to itself."""
    angle = np.linspace(0, 2 * np.pi, 25)[None, :, None]
    radius = 0.035 * float(np.clip(np.sqrt(40 / max(len(centre), 1)), 0.25, 1.0))
    circle = np.concatenate([np.sin(angle), 1 - np.cos(angle)], axis=2) * radius
    return centre[:, None] + circle


def _lines(network: Networks, links: np.ndarray, name: str) -> np.ndarray:
    start = network.node_point[network.link_source[links]]
    if name == "self":
        return _loops(start)
    end = network.node_point[network.link_target[links]]
    return _curves(start, end, _BEND[name])


def _pens(
    network: Networks, links: np.ndarray, point: float = _POINT
) -> tuple[Float[np.ndarray, " drawn"], float]:
    """Widths of lines, and an opacity under which together they do not turn solid.

    Lines of this opacity, laid evenly over the part of the plane that they span, would
    let half of it shine through; a little less, because they are not laid evenly.
    """
    weight = np.abs(network.link_weight).astype(np.float64)
    size = weight[links] / max(float(weight.max(initial=0)), 1e-12)
    thin = float(np.clip((800 / max(1, links.size)) ** 0.3, 0.4, 1.0))
    width = thin * (0.35 + 1.25 * size)
    start = network.node_point[network.link_source[links]]
    end = network.node_point[network.link_target[links]]
    both = np.concatenate([start, end])
    # At least a strip: links of one height span no area at all.
    area = float(np.prod(np.maximum(np.ptp(both, axis=0), 0.3))) if links.size else 1.0
    inked = float((np.hypot(*(end - start).T) * width).sum()) * point
    # Lines that cover an area n times let (1 - opacity)^n through; n: inked / area.
    opacity = min(
        1 - 0.5 ** (area / max(inked, 1e-9)),
        0.8 * min(1.0, 30 / max(links.size, 1)) ** 0.4,
    )
    return width, max(opacity, 0.02)


def _draw_classes(
    axes: "Axes",
    network: Networks,
    names: tuple[str, ...],
    point: float = _POINT,
) -> None:
    from matplotlib.collections import LineCollection

    order = _strongest(network)
    masks = link_masks(network)
    drawn = {name: order[masks[name][order]] for name in names}
    # The rarest class on top, where it is seen.
    for name in sorted(names, key=lambda n: -drawn[n].size):
        links = drawn[name]
        width, opacity = _pens(network, links, point)
        axes.add_collection(
            LineCollection(
                list(_lines(network, links, name)),
                colors=CLASS_COLOURS[name],
                alpha=opacity,
                linewidths=width,
                zorder=1,
                rasterized=len(order) > MAX_VECTOR_SHAPES,
            ),
            autolim=False,
        )


def _draw_weights(figure: "Figure", axes: "Axes", network: Networks) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize

    order = _strongest(network)
    weight = network.link_weight[order].astype(np.float64)
    has_bias = bool(network.node_bias.any())
    # One scale for weights and biases, so that colours mean the same.
    largest = float(max(np.abs(weight).max(), np.abs(network.node_bias).max()))
    width, opacity = _pens(network, order)
    mapping = ScalarMappable(Normalize(-largest, largest), weight_colours())
    colours = mapping.to_rgba(weight)
    colours[:, 3] = opacity
    class_of = np.zeros(len(network.link_weight), np.int64)
    for k, mask in enumerate(link_masks(network).values()):
        class_of[mask] = k
    # Each in its place by strength, though they are made class by class.
    lines = np.empty(order.size, object)
    for k, name in enumerate(LINK_CLASSES):
        mine = np.flatnonzero(class_of[order] == k)
        for place, line in zip(mine, _lines(network, order[mine], name), strict=True):
            lines[place] = line
    axes.add_collection(
        LineCollection(
            list(lines),
            colors=colours,
            linewidths=width,
            zorder=1,
            rasterized=order.size > MAX_VECTOR_SHAPES,
        ),
        autolim=False,
    )
    bar = figure.colorbar(mapping, ax=axes, shrink=0.8, aspect=24, pad=0.01)
    bar.set_label("weight of a link, bias of a node" if has_bias else "weight")
    if has_bias:
        _draw_nodes(axes, network, colours=mapping.to_rgba(network.node_bias))


_NODE_STYLES = (
    ("input", "s", "#ffffff"),
    ("output", "^", "#ffffff"),
    ("hidden", "o", INK),
)


def _node_groups(network: Networks) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first = network.num_inputs
    last = first + network.num_outputs
    points = network.node_point
    return points[:first], points[first:last], points[last:]


def _draw_nodes(
    axes: "Axes",
    network: Networks,
    scale: float = 1.0,
    colours: np.ndarray | None = None,
) -> None:
    """Nodes as marks; `colours`, one for each node, are those of biases."""
    first = 0
    for points, (kind, marker, fill) in zip(
        _node_groups(network), _NODE_STYLES, strict=True
    ):
        own = slice(first, first + len(points))
        first += len(points)
        if not len(points):
            continue
        # A level-5 grid has 4096 places: dots shrink until they stay apart.
        size = float(np.clip(700 / max(len(points), 1), 1.2, 22)) * scale
        if marker != "o":
            size = max(size, 6 * scale)
        axes.scatter(
            *points.T,
            s=size,
            marker=marker,
            c=fill if colours is None or kind == "input" else colours[own],
            ec=INK,
            lw=0.7 if marker != "o" or colours is not None else 0,
            zorder=4,
            # Inputs and outputs may lie on the edge of the plane.
            clip_on=False,
            rasterized=len(points) > MAX_VECTOR_SHAPES,
        )


def _node_handles(network: Networks) -> list:
    from matplotlib.lines import Line2D

    return [
        Line2D(
            [],
            [],
            ls="",
            marker=marker,
            mfc=fill,
            mec=INK,
            mew=0.7,
            ms=4 if marker != "o" else 3,
            label=f"{name}: {len(points)}",
        )
        for points, (name, marker, fill) in zip(
            _node_groups(network), _NODE_STYLES, strict=True
        )
    ]


def _class_handles(network: Networks) -> list:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=CLASS_COLOURS[name], lw=1.8, label=f"{name}: {mask.sum()}")
        for name, mask in link_masks(network).items()
        if mask.any()
    ]


def _legend(figure: "Figure", nodes: list, links: list) -> None:
    """Nodes in one row, links in the next; or all in one, if that has room."""
    from matplotlib.lines import Line2D

    handles = [*nodes, *links]
    if len(handles) > 4:  # legends are filled column by column
        blank = Line2D([], [], color="none", label=" ")
        rows = [[*row, *[blank] * (4 - len(row))] for row in (nodes, links)]
        handles = [handle for pair in zip(*rows, strict=True) for handle in pair]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=4,
        columnspacing=0.8,
        handlelength=1.1,
        handletextpad=0.4,
    )


def _draw_diagnosis(axes: "Axes", network: Networks) -> None:
    axes.text(
        0,
        0,
        textwrap.fill(describe(network).diagnosis, 42),
        ha="center",
        va="center",
        fontsize=7,
        zorder=5,
    )
