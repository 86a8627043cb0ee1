"""Pictures of the pages on concepts, drawn by substrax from CPPNs made by hand.

    python docs/images/make.py

writes discovery.png, configurations.png, rules.png and dialects.png beside this file,
the same ones each time. The page that shows a picture names this script.
"""

import io
from pathlib import Path

import jax
import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle
from PIL import Image

from substrax.cppn import QueryEngine
from substrax.decoders import CPPNReading
from substrax.neat import genome_from_neat_python
from substrax.network import Networks
from substrax.substrate import (
    CONFIGURATIONS,
    AbstractRule,
    ActiveCells,
    EMRRule,
    ESRule,
    Layout,
    WeightMap,
    active_cells,
    discover,
)

FOLDER = Path(__file__).parent
INK, FAINT, PALE = "#222222", "#8a8a8a", "#dddddd"
COLOURS = {
    "forward": "#4477aa",
    "backward": "#ee6677",
    "lateral": "#228833",
    "self": "#aa3377",
}
WEIGHTS = LinearSegmentedColormap.from_list(
    "weights", ["#b35806", "#fdb863", "#ffffff", "#92c5de", "#2166ac"]
)
WEIGHT_MAP = WeightMap("linear", 8.0)
LAYOUT = Layout.spread(3, 1)
MIDDLE = LAYOUT.inputs[1]


def cppn(nodes, connections, dialect: str = "plain") -> QueryEngine:
    """A CPPN with inputs -1 to -5 (x1, y1, x2, y2, bias), output 0, and these nodes."""
    genome = genome_from_neat_python(
        {
            "input_ids": [-1, -2, -3, -4, -5],
            "output_ids": [0],
            "nodes": [
                {"id": k, "activation": activation, "bias": bias}
                for k, (activation, bias) in nodes.items()
            ],
            "connections": connections,
        }
    )
    reading = CPPNReading(dialect=dialect)
    return reading.engine(jax.tree.map(lambda x: x[None], genome))


def networks_of(engine: QueryEngine, rule: AbstractRule) -> Networks:
    found = discover(engine.programs, engine.coordinates, LAYOUT, rule, WEIGHT_MAP)
    return found.networks


# ------------------------------------------------------------------------------ drawing


def new_figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def show_plane(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=9.5, color=INK)
    axes.set(aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.12, 1.12), xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.add_patch(Rectangle((-1, -1), 2, 2, fill=False, lw=0.8, ec=FAINT, zorder=3))


def show_field(axes: Axes, engine: QueryEngine, point, alpha: float = 1.0) -> None:
    """The weight of a link from a point to everywhere."""
    steps = (np.arange(240) + 0.5) / 120 - 1
    targets = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    values = engine.query(0, np.asarray(point), targets)[:, 0]
    axes.imshow(
        WEIGHT_MAP(values).reshape(240, 240),
        origin="lower",
        extent=(-1, 1, -1, 1),
        cmap=WEIGHTS,
        vmin=-8,
        vmax=8,
        alpha=alpha,
    )


def show_cells(axes: Axes, found: ActiveCells, colour: str, chosen=None) -> None:
    chosen = np.ones(found.cell.size, bool) if chosen is None else chosen
    for level, (x, y) in zip(found.level[chosen], found.centre[chosen], strict=True):
        side = 2.0**-level
        axes.add_patch(
            Rectangle(
                (x - side / 2, y - side / 2),
                side,
                side,
                fc="none" if colour == INK else (colour, 0.12),
                ec=(colour, 0.9),
                lw=1.6 / (1 + 0.5 * level),
                zorder=2,
            )
        )


def show_terminals(axes: Axes, points=None, size: float = 7) -> None:
    points = LAYOUT.points if points is None else points
    pen = {"mfc": "white", "mec": INK, "mew": 1.2, "clip_on": False, "zorder": 6}
    axes.plot(*np.transpose(points), "s", ms=size, **pen)


def show_hidden(axes: Axes, points, size: float = 4.5) -> None:
    axes.plot(
        *np.transpose(points), "o", ms=size, mfc=INK, mec="white", mew=0.6, zorder=5
    )


# ----------------------------------------------------------------------------- pictures


def discovery() -> Figure:
    """From a pattern to a network, in four steps."""
    engine = cppn(
        {0: ("tanh", -0.15), 1: ("gauss", 0.0), 2: ("gauss", 0.0)},
        [
            [-3, 1, 2.5], [-4, 1, 3.5], [-1, 1, -2.0], [-2, 1, -3.5], [-5, 1, -3.5],
            [-3, 2, 5.0], [-4, 2, -2.0], [-1, 2, 2.5], [-5, 2, -2.8],
            [1, 0, 1.3], [2, 0, -1.1],
        ],
    )  # fmt: skip
    rule = EMRRule(depth=3, weight_threshold=4.0, connections="feedforward")
    figure = new_figure(7.8, 2.6)
    axes = figure.subplots(1, 4)
    found = active_cells(engine, WEIGHT_MAP, rule, MIDDLE)

    show_plane(axes[0], "1  what the CPPN paints,\nseen from one input")
    show_field(axes[0], engine, MIDDLE)
    show_terminals(axes[0], MIDDLE[None])

    show_plane(axes[1], "2  active cells: where\nthe pattern varies")
    show_field(axes[1], engine, MIDDLE, alpha=0.35)
    show_cells(axes[1], found, INK)
    show_terminals(axes[1], MIDDLE[None])

    show_plane(axes[2], "3  strong ones get\na node and a link")
    show_field(axes[2], engine, MIDDLE, alpha=0.35)
    centres = found.centre[found.is_linked]
    for x, y in centres:
        axes[2].plot([MIDDLE[0], x], [MIDDLE[1], y], color=INK, lw=0.5, alpha=0.6)
    show_hidden(axes[2], centres)
    show_terminals(axes[2], MIDDLE[None])

    network = networks_of(engine, rule)
    show_plane(axes[3], "4  from all inputs, and\non to the output")
    points = network.node_point
    for s, t, w in zip(
        network.link_source, network.link_target, network.link_weight, strict=True
    ):
        colour = WEIGHTS(0.95 if w > 0 else 0.05)
        axes[3].plot(*zip(points[s], points[t], strict=True), color=colour, lw=0.5)
    show_hidden(axes[3], points[4:])
    show_terminals(axes[3])
    return figure


def link_class(source, target) -> str:
    if source[1] != target[1]:
        return "forward" if source[1] < target[1] else "backward"
    return "self" if source[0] == target[0] else "lateral"


def configurations() -> Figure:
    """Four hidden nodes under the six connection configurations."""
    engine = cppn(
        {0: ("tanh", 0.4), 1: ("gauss", 0.0)}, [[-1, 1, 0.5], [-3, 1, 0.4], [1, 0, 0.5]]
    )
    figure = new_figure(7.5, 5.4)
    for axes, name in zip(figure.subplots(2, 3).flat, CONFIGURATIONS, strict=True):
        network = networks_of(engine, EMRRule(depth=0, connections=name))
        show_plane(axes, name)
        points = network.node_point
        for s, t in zip(network.link_source, network.link_target, strict=True):
            is_between = s >= len(LAYOUT.points) and t >= len(LAYOUT.points)
            show_link(axes, points[s], points[t], is_between)
        show_hidden(axes, points[len(LAYOUT.points) :], size=9)
        show_terminals(axes, size=8)
    handles = [Line2D([], [], color=PALE, lw=2, label="from inputs, to outputs")]
    handles += [Line2D([], [], color=c, lw=2, label=k) for k, c in COLOURS.items()]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=5,
        frameon=False,
        fontsize=9.5,
    )
    return figure


def show_link(axes: Axes, source, target, is_between: bool) -> None:
    kind = link_class(source, target)
    colour = COLOURS[kind] if is_between else PALE
    if kind == "self":
        away = 0.1 * np.sign(source)
        axes.add_patch(Circle(source + away, 0.14, fill=False, ec=colour, lw=1.6))
        return
    bend = 0.0 if not is_between else 0.22 if kind != "forward" else 0.08
    axes.add_patch(
        FancyArrowPatch(
            source,
            target,
            arrowstyle="-|>",
            mutation_scale=9,
            shrinkA=5,
            shrinkB=6,
            connectionstyle=f"arc3,rad={bend}",
            color=colour,
            lw=1.6 if is_between else 1.2,
            zorder=2 if is_between else 1,
        )
    )


def rules() -> Figure:
    """The same pattern under rule `es`, rule `emr`, and `emr` with `recover`."""
    engine = cppn(
        {
            0: ("tanh", -0.2), 1: ("gauss", 0.0),
            2: ("square", 0.0), 3: ("square", 0.0), 4: ("gauss", 0.0),
        },
        [
            [-3, 1, 2.2], [-4, 1, 2.6], [-5, 1, 0.9],
            [-3, 2, 3.4], [-5, 2, -1.7], [-4, 3, 3.4], [-5, 3, -1.7],
            [2, 4, 1.0], [3, 4, 1.0],
            [1, 0, 1.2], [4, 0, -1.3],
        ],
    )  # fmt: skip
    es = ESRule(depth=4, division_threshold=1.0, variance_threshold=1.0)
    emr = EMRRule(depth=4, field="weight", variance_threshold=1.0)
    recover = EMRRule(depth=4, field="weight", variance_threshold=1.0, recover=True)
    by_es, by_emr, recovered = (
        active_cells(engine, WEIGHT_MAP, rule, MIDDLE) for rule in (es, emr, recover)
    )
    assert set(by_es.cell[by_es.is_linked]) <= set(by_emr.cell) <= set(recovered.cell)
    figure = new_figure(7.2, 2.9)
    axes = figure.subplots(1, 3)
    titles = (
        f"es: links to {by_es.is_linked.sum()} cells",
        f"emr: {by_emr.cell.size} cells are active",
        f"emr with recover: {recovered.cell.size}",
    )
    for place, title in zip(axes, titles, strict=True):
        show_plane(place, title)
        show_field(place, engine, MIDDLE, alpha=0.35)
        show_terminals(place, MIDDLE[None])
    show_hidden(axes[0], by_es.centre[by_es.is_linked], size=4)
    show_cells(axes[1], by_emr, INK)
    is_old = np.isin(recovered.cell, by_emr.cell)
    show_cells(axes[2], recovered, INK, is_old)
    show_cells(axes[2], recovered, "#aa3377", ~is_old)
    return figure


def dialects() -> Figure:
    """One genome in both dialects."""
    nodes = {0: ("tanh", 0.0), 1: ("sin", 0.3), 2: ("gauss", 0.0)}
    connections = [
        [-3, 1, 2.0], [-4, 1, 1.2], [-3, 2, 0.8], [-4, 2, -0.9],
        [1, 0, 0.8], [2, 0, 0.6],
    ]  # fmt: skip
    figure = new_figure(6, 3.3)
    for axes, name in zip(figure.subplots(1, 2), ("plain", "neat-python"), strict=True):
        show_plane(axes, name)
        show_field(axes, cppn(nodes, connections, name), MIDDLE)
        show_terminals(axes, MIDDLE[None])
    return figure


def save(figure: Figure, path: Path) -> None:
    """Without dates, and with few colours, so that the file is small."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=180, bbox_inches="tight", pad_inches=0.12)
    Image.open(buffer).convert("RGB").quantize(128).save(path, optimize=True)


if __name__ == "__main__":
    matplotlib.rcdefaults()
    for make in (discovery, configurations, rules, dialects):
        save(make(), FOLDER / f"{make.__name__}.png")
