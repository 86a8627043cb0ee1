"""The CPPN as a pattern: weights over the plane seen from inputs and outputs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..decoders import AbstractDecoder
from ..neat import Genome
from ..substrate import Layout
from ._style import (
    COLUMN,
    INK,
    PAGE,
    frame_plane,
    new_figure,
    show_plane,
    style,
    weight_colours,
)
from ._subject import EvolvedRun, decoder_of, genome_of, panel_names_of
from ._view import CPPNView, some_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_RESOLUTION = 160
MAX_PANELS = 8


def shown_terminals(layout: Layout, max_panels: int) -> tuple[list[int], list[int]]:
    """Which inputs and which outputs get a panel."""
    outputs = some_of(len(layout.outputs), max(1, max_panels // 3))
    return some_of(len(layout.inputs), max_panels - len(outputs)), outputs


def plot_fields(
    run: EvolvedRun | AbstractDecoder,
    genome: Genome | None = None,
    *,
    max_panels: int = MAX_PANELS,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> "Figure":
    """Weights of links from each input to the plane, and from it to each output.

    Of more terminals than `max_panels` some are shown, spread evenly. A cross marks the
    fixed end of the links. If the CPPN gives biases, a last panel shows them, on a
    scale of their own.

    **Arguments:**

    - `run`: what `substrax.evolve` returned, or a decoder.
    - `genome`: the CPPN (without a leading axis); left out, the best one of the run.
    - `input_names`, `output_names`: left out, those that a run knows, or numbers.
    """
    view = CPPNView.of(decoder_of(run), genome_of(run, genome))
    if view is None:
        raise ValueError(
            "plain NEAT has no CPPN that would paint a pattern: its genome is the "
            "network. Use plot_genome."
        )
    inputs, outputs = shown_terminals(view.layout, max_panels)
    sources, targets = panel_names_of(run, view.layout, input_names, output_names)
    panels = [
        *((f"from {sources[k]}", view.layout.inputs[k], True) for k in inputs),
        *((f"to {targets[k]}", view.layout.outputs[k], False) for k in outputs),
    ]
    fields = [
        view.field(point, outgoing=outgoing, resolution=_RESOLUTION)
        for _, point, outgoing in panels
    ]
    largest = max(_largest(field) for field in fields)
    has_bias = view.bias_engine is not None
    num_panels = len(panels) + has_bias
    with style():
        # So that few places stay empty in the last row.
        columns = 3 if num_panels in (5, 6, 9) else min(4, num_panels)
        rows = -(-num_panels // columns)
        width = COLUMN if columns <= 2 else PAGE
        height = rows * ((width - 0.75) / columns + 0.2) + 0.1
        figure = new_figure(width, height)
        axes = figure.subplots(rows, columns, squeeze=False)
        image = None
        for place, (title, point, _), field in zip(
            axes.flat, panels, fields, strict=False
        ):
            image = _draw(place, title, point, field, largest)
        if has_bias:
            biases = view.bias_field(resolution=_RESOLUTION)
            extreme = _largest(biases)
            title = f"bias of a node (\N{PLUS-MINUS SIGN}{extreme:.2g})"
            _draw(axes.flat[len(panels)], title, None, biases, extreme)
        for place in axes.flat[num_panels:]:
            place.set_axis_off()
        assert image is not None, "a layout has inputs and outputs"
        bar = figure.colorbar(image, ax=axes, shrink=0.9, aspect=25 * rows, pad=0.015)
        bar.set_label("weight of the link")
        bar.outline.set_linewidth(0.5)  # pyright: ignore[reportCallIssue]
        return figure


def _largest(field: np.ndarray) -> float:
    return float(np.nanmax(np.abs(field), initial=0)) or 1.0


def _draw(
    axes: "Axes", title: str, point: np.ndarray | None, field: np.ndarray, v: float
):
    from matplotlib.patches import Rectangle

    # seen where LEO forbids a link
    axes.add_patch(Rectangle((-1, -1), 2, 2, fc="#d9d9d9", ec="none", zorder=0))
    image = axes.imshow(
        field,
        origin="lower",
        extent=(-1, 1, -1, 1),
        cmap=weight_colours(),
        vmin=-v,
        vmax=v,
        interpolation="nearest",
    )
    show_plane(axes, labels=False)
    frame_plane(axes)
    if point is not None:
        pen = {"mfc": INK, "mec": "white", "mew": 0.8}
        axes.plot(*point, "X", ms=6, zorder=4, clip_on=False, **pen)
    axes.set_title(title, pad=3)
    finite = field[np.isfinite(field)]
    note = ""
    if not finite.size:
        note = "LEO forbids\nevery link"
    elif finite.min() == finite.max():
        note = f"constant: {finite[0]:.3g}"
    if note:
        axes.text(
            0,
            0,
            note,
            ha="center",
            va="center",
            fontsize=7,
            bbox={"boxstyle": "round", "fc": "white", "ec": "none"},
        )
    return image
