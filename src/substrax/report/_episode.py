"""An episode of the best network: what it sees, does, and computes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from .._extra import import_extra
from .._files import replacing
from ..network import Networks, node_values
from ..problems import Watched
from ._layers import layer_graph
from ._style import FAINT, INK, PAGE, new_figure, plain_axes, style, weight_colours
from ._subject import is_placed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NUM_PICTURES = 6
_MAX_LINKS = 300
"""Of more links the strongest are drawn, in an animation."""
_MAX_FRAMES = 250
_MAX_ROWS = 60
"""Nodes with a name of their own in a figure."""
_SECONDS = 0.04
"""Between two frames."""


def episode_figure(
    watched: Watched,
    network: Networks,
    input_names: list[str],
    output_names: list[str],
) -> "Figure":
    """Pictures of an episode, if there are any, and below them the value of each node
    over time, with the return so far."""
    values = node_values(network, watched.inputs)
    num_steps = len(values)
    has_pictures = bool(watched.pictures)
    labels, order = _rows(network, input_names, output_names)
    height = 0.11 * min(len(order), _MAX_ROWS) + 0.6
    with style():
        figure = new_figure(PAGE, height + 0.9 + (1.15 if has_pictures else 0))
        bands: list[Any] = [figure]
        if has_pictures:
            below = height + 0.9
            rows: Any = figure.subfigures(2, 1, height_ratios=[1.15, below])
            bands = list(rows)
        if has_pictures:
            num = min(_NUM_PICTURES, num_steps)
            chosen = np.linspace(0, num_steps - 1, num).astype(int)
            for axes, step in zip(
                bands[0].subplots(1, num, squeeze=False)[0], chosen, strict=True
            ):
                axes.imshow(watched.pictures[step])
                axes.set_title(f"step {step}", pad=2)
                axes.set_axis_off()
        axes, curve = bands[-1].subplots(2, 1, sharex=True, height_ratios=[height, 0.9])
        limit = _limit(values)
        image = axes.imshow(
            values[:, order].T,
            aspect="auto",
            interpolation="nearest",
            cmap=weight_colours(),
            vmin=-limit,
            vmax=limit,
            extent=(-0.5, num_steps - 0.5, len(order) - 0.5, -0.5),
        )
        for edge in np.flatnonzero(np.diff(_kinds(network)[order])):
            axes.axhline(edge + 0.5, color=INK, lw=0.6)
        axes.set_yticks(range(len(labels)) if len(labels) <= _MAX_ROWS else [])
        if len(labels) <= _MAX_ROWS:
            axes.set_yticklabels(labels, fontsize=6)
        axes.set_title("value of each node: outputs, hidden nodes, inputs", pad=3)
        bands[-1].colorbar(image, ax=[axes, curve], pad=0.01, aspect=40)
        curve.plot(np.cumsum(watched.rewards), color=INK)
        curve.set_xlabel("step")
        curve.set_ylabel("return")
        return figure


def _limit(values: np.ndarray) -> float:
    """What has the strongest colour: a few large values must not make all others
    pale."""
    return float(np.percentile(np.abs(np.nan_to_num(values)), 99)) or 1.0


def _kinds(network: Networks) -> np.ndarray:
    """0 for inputs, 1 for hidden nodes, 2 for outputs."""
    kinds = np.ones(int(network.num_nodes[0]), np.int64)
    kinds[: network.num_inputs] = 0
    kinds[network.num_inputs : network.num_inputs + network.num_outputs] = 2
    return kinds


def _rows(
    network: Networks, input_names: list[str], output_names: list[str]
) -> tuple[list[str], np.ndarray]:
    """The nodes from above, outputs first, and what they are called."""
    kinds, num_inputs = _kinds(network), network.num_inputs
    hidden = np.flatnonzero(kinds == 1)
    # by height, so that what feeds something lies below it
    height = network.node_point[hidden, 1] if is_placed(network) else hidden
    hidden = hidden[np.argsort(-np.nan_to_num(height), kind="stable")]
    outputs = np.flatnonzero(kinds == 2)
    order = np.concatenate([outputs, hidden, np.arange(num_inputs)])
    names = [
        *output_names,
        *("" if len(hidden) > 12 else f"hidden {k}" for k in range(len(hidden))),
        *input_names,
    ]
    return names, order


def _places(network: Networks) -> Float[np.ndarray, "nodes 2"]:
    """Where nodes are drawn: on the plane, or in layers if they lie nowhere."""
    if is_placed(network):
        return network.node_point
    kinds = _kinds(network)
    graph = layer_graph(
        len(kinds),
        kinds == 0,
        kinds == 2,
        network.link_source.astype(np.int64),
        network.link_target.astype(np.int64),
    )
    width = max(float(np.abs(graph.x).max(initial=0)), 1e-6)
    height = 2 * graph.layer / max(graph.num_layers - 1, 1) - 1
    return np.column_stack([graph.x / width, height])


def write_animation(watched: Watched, network: Networks, path: Path) -> Path:
    """Writes an episode as a GIF, or as an MP4 (extra `video`): the picture, if there
    is one, beside the network, whose nodes have the colour of their values."""
    step = max(1, -(-len(watched.inputs) // _MAX_FRAMES))
    frames = _Frames(watched, network).draw(range(0, len(watched.inputs), step))
    if path.suffix.lower() == ".mp4":
        writer = import_extra("imageio.v2", "video")
        import_extra("imageio_ffmpeg", "video")
        with replacing(path) as file:
            file.write(writer.mimwrite("<bytes>", frames, "mp4", fps=1 / _SECONDS))
        return path
    if path.suffix.lower() != ".gif":
        raise ValueError(f"{path} ends in neither .gif nor .mp4; choose one of them.")
    from PIL import Image

    images = [Image.fromarray(frame) for frame in frames]
    with replacing(path) as file:
        images[0].save(
            file,
            format="GIF",
            save_all=True,
            append_images=images[1:],
            duration=int(1000 * _SECONDS * (step if step < 3 else 3)),
            loop=0,
        )
    return path


class _Frames:
    """The frames of an animation."""

    def __init__(self, watched: Watched, network: Networks) -> None:
        self._watched = watched
        self._values = node_values(network, watched.inputs)
        self._returns = np.cumsum(watched.rewards)
        self._network = network

    def draw(self, steps: range) -> list[np.ndarray]:
        pictures, values = self._watched.pictures, self._values
        places, network = _places(self._network), self._network
        with style():
            figure = new_figure(5.6 if pictures else 3.2, 3.0)
            figure.set_dpi(100)
            panels = figure.subplots(1, 1 + bool(pictures), squeeze=False)[0]
            shown = None
            if pictures:
                shown = panels[0].imshow(pictures[0])
                panels[0].set_axis_off()
            axes: Any = panels[-1]
            plain_axes(axes)
            strongest = np.argsort(-np.abs(network.link_weight))[:_MAX_LINKS]
            from matplotlib.collections import LineCollection

            ends = [network.link_source[strongest], network.link_target[strongest]]
            lines: Any = np.stack([places[end] for end in ends], axis=1)
            axes.add_collection(LineCollection(lines, colors=FAINT, lw=0.3, zorder=1))
            limit = _limit(values)
            dots = axes.scatter(
                *places.T,
                c=values[0],
                cmap=weight_colours(),
                vmin=-limit,
                vmax=limit,
                s=float(np.clip(3000 / len(places), 8, 70)),
                edgecolors=INK,
                lw=0.4,
                zorder=2,
            )
            title = figure.suptitle("step 0", fontsize=8)
            frames = []
            for step in steps:
                if shown is not None:
                    shown.set_data(pictures[step])
                dots.set_array(values[step])
                title.set_text(f"step {step}, return {self._returns[step]:.4g}")
                figure.canvas.draw()
                canvas: Any = figure.canvas
                frames.append(np.asarray(canvas.buffer_rgba())[..., :3].copy())
                if step == 0:  # places stay as they are from now on
                    figure.set_layout_engine("none")
            return frames
