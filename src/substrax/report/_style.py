"""How figures look: sizes, fonts, colours, and how they are written to files.

Colours are for readers of any colour vision: classes of links are from Paul Tol's
"bright" scheme (2021), weights run from orange (negative) over white to blue.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._extra import require_extra
from .._files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

COLUMN = 3.4
"""The width of one column of a paper, in inches."""
PAGE = 7.0
"""The width of both columns of a paper, in inches."""

DPI = 300

INK, FAINT, PALE = "#222222", "#777777", "#e4e4e4"
BLUE, ORANGE, GREEN = "#2166ac", "#b35806", "#228833"

CLASS_COLOURS = {
    "forward": "#4477aa",
    "backward": "#ee6677",
    "lateral": "#228833",
    "self": "#aa3377",
}

# Paul Tol's "light" scheme (2021), which is made for areas with black text on them.
SPECIES_COLOURS = (
    "#77aadd", "#ee8866", "#bbcc33", "#ffaabb", "#44bb99", "#eedd88", "#aaaa00",
    "#99ddff",
)  # fmt: skip
OTHERS = "#ebebeb"

MAX_VECTOR_SHAPES = 2000
"""Shapes of one kind that an SVG keeps as such; more become an image inside it."""

_SETTINGS: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same everywhere
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.unicode_minus": True,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.4,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "none",  # text stays text: searchable, and editable for a paper
    # Else matplotlib draws ids in SVG files at random.
    "svg.hashsalt": "substrax",
    "path.simplify": True,
}


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Our settings while figures are made; the user's stay as they are."""
    require_matplotlib()
    import matplotlib

    with matplotlib.rc_context():
        # From matplotlib's own defaults on: a user's style must not show in a report.
        matplotlib.rcdefaults()
        for name, value in _SETTINGS.items():
            matplotlib.rcParams[name] = value  # pyright: ignore[reportArgumentType]
        yield


def require_matplotlib() -> None:
    require_extra("matplotlib", "report")


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure that belongs to no window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # For notebooks, and for `savefig`: matplotlib's own 100 is coarse in a column.
    figure = Figure(figsize=(width, height), dpi=200, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: "Figure | None", path: Path | str) -> list[Path]:
    """Writes `path` with the endings .png (300 dpi) and .svg.

    Neither holds a date or a random id, so that equal runs give equal files.
    """
    if figure is None:
        raise ValueError(
            "there is no figure to save: a plot is None where there is nothing to "
            "draw. The nodes of plain NEAT have no positions, so it has no "
            "plot_substrate, plot_fields or plot_grid; plot_genome draws its network."
        )
    path = Path(path)
    files = [path.with_suffix(".png"), path.with_suffix(".svg")]
    with style():
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # as it is now, for both
        for file, kind, metadata in (
            (files[0], "png", {"Software": None}),
            (files[1], "svg", {"Date": None, "Creator": "substrax"}),
        ):
            with replacing(file) as content:
                figure.savefig(content, format=kind, dpi=DPI, metadata=metadata)
    return files


def weight_colours() -> "Colormap":
    """Orange for negative, white for none, blue for positive."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = [ORANGE, "#e08214", "#fdb863", "#ffffff", "#92c5de", "#4393c3", BLUE]
    return LinearSegmentedColormap.from_list("substrax-weights", stops)


def count_colours() -> "Colormap":
    """Pale to strong blue, never so dark that a dot on it is lost."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("substrax-counts", ["#d8e8f3", "#5b9fca"])


def show_plane(axes: "Axes", *, labels: bool = True) -> None:
    """Axes of the substrate: the plane [-1, 1]^2, the same scale on both."""
    axes.set_aspect("equal")
    axes.set_xlim(-1.08, 1.08)
    axes.set_ylim(-1.08, 1.08)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if labels:
        axes.set_xticks([-1, 0, 1])
        axes.set_yticks([-1, 0, 1])
        axes.set_xlabel("x", labelpad=0)
        axes.set_ylabel("y", labelpad=-4)
        axes.tick_params(length=0, pad=1)
    else:
        axes.set_xticks([])
        axes.set_yticks([])


def frame_plane(axes: "Axes") -> None:
    """A thin line around the plane."""
    from matplotlib.patches import Rectangle

    axes.add_patch(
        Rectangle((-1, -1), 2, 2, fill=False, lw=0.6, ec=FAINT, zorder=3, clip_on=False)
    )


def plain_axes(axes: "Axes") -> None:
    """Nothing but what is drawn."""
    axes.set_xlim(-1.15, 1.15)
    axes.set_ylim(-1.15, 1.15)
    axes.set_aspect("equal")
    axes.set_axis_off()
