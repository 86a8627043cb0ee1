"""HyperNEAT (Stanley, D'Ambrosio & Gauci 2009): a substrate given by the user."""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from .._memory import show_bytes
from .._native import native_array
from .._resources import Resources
from .._types import (
    ArrayLike,
    as_numbers,
    check_arrays,
    check_settings,
    check_threshold,
    check_whole,
)
from ..cppn import Programs, longest_paths
from ..neat import Genome
from ..network import Networks
from ..substrate import Layout, NetworkSettings, WeightMap, express, required_native
from ..tensor import Capacity, FixedWiring, Traced
from ._base import (
    AbstractCPPNDecoder,
    CPPNReading,
    check_bias_scale,
)

_LINK_BYTES = 64
"""What a link takes while a substrate is made: pairs of ends, some times over."""
_AXES = {"source": ("links",), "target": ("links",), "rank": ("nodes",)}


@dataclasses.dataclass(frozen=True, eq=False)
class FixedSubstrate:
    """Nodes at given places, and the links that a CPPN may express between them.

    Nodes are numbered inputs, outputs, hidden ones. `layered` and `grid` make the usual
    kinds.
    """

    layout: Layout
    hidden: Float[np.ndarray, "hidden 2"]
    source: Int[np.ndarray, " links"]
    target: Int[np.ndarray, " links"]
    rank: Int[np.ndarray, " nodes"]
    """Order of evaluation, or all equal if links form cycles."""

    def __post_init__(self) -> None:
        _check_hidden(self.layout, self.hidden)
        self.check_links()

    def check_links(self) -> None:
        """Refuses links between nodes that do not exist."""
        check_arrays(self, {"hidden": ("hidden", "2")}, (), {"2": 2})
        num_nodes = len(self.layout.points) + len(self.hidden)
        check_arrays(self, _AXES, _AXES, {"nodes": num_nodes})
        _check_ends(self.source, self.target, len(self.layout.inputs), num_nodes)
        if not -(2**31) < self.rank.min() <= self.rank.max() < 2**31:
            raise ValueError("ranks of nodes must fit 32 bits; number them from 0.")

    @property
    def points(self) -> Float[np.ndarray, "nodes 2"]:
        """Where nodes lie, by their numbers."""
        return np.concatenate([self.layout.points, self.hidden])

    @property
    def is_acyclic(self) -> bool:
        return bool((self.rank[self.source] < self.rank[self.target]).all())

    @staticmethod
    def from_links(
        inputs: ArrayLike, outputs: ArrayLike, hidden: ArrayLike, links: ArrayLike
    ) -> "FixedSubstrate":
        """Any substrate: places of nodes, and pairs (source, target) of their numbers.

        Numbers count inputs first, then outputs, then hidden nodes.
        """
        layout = Layout(inputs, outputs)
        points = _check_hidden(layout, hidden)
        pairs = np.asarray(links)
        if not pairs.size:
            pairs = np.zeros((0, 2), np.int64)
        if not np.issubdtype(pairs.dtype, np.integer):
            raise ValueError(f"links name nodes by integers, not by {pairs.dtype}.")
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(
                f"links need the shape (n, 2): pairs of node numbers, not "
                f"{pairs.shape}."
            )
        num_nodes = len(layout.points) + len(points)
        _check_ends(pairs[:, 0], pairs[:, 1], len(layout.inputs), num_nodes)
        source, target = pairs.astype(np.int64).T
        # As sorted numbers: np.unique of millions of pairs takes many times as long.
        number = np.sort(source * num_nodes + target)
        if (number[1:] == number[:-1]).any():
            raise ValueError("a pair of nodes is linked twice; give each link once.")
        rank = longest_paths(source, target, num_nodes)
        if rank is None:
            rank = np.zeros(num_nodes, np.int64)
        return FixedSubstrate(layout, points, source, target, rank)

    @staticmethod
    def layered(layers: list[ArrayLike]) -> "FixedSubstrate":
        """Layers of points from inputs to outputs, each linked fully to the next."""
        if len(layers) < 2:
            raise ValueError("a layered substrate needs inputs and outputs at least.")
        rule = "a layer must be rows (x, y) of numbers"
        arrays = [as_numbers(rule, layer, np.float64) for layer in layers]
        for k, array in enumerate(arrays):
            if array.ndim != 2 or array.shape[1] != 2:
                raise ValueError(
                    f"layer {k} needs the shape (n, 2), one row (x, y) for each node; "
                    f"it has {array.shape}."
                )
        sizes = [len(a) for a in arrays]
        check_num_links(sizes)
        num_inputs, num_outputs = sizes[0], sizes[-1]
        firsts = num_inputs + num_outputs + np.cumsum([0, *sizes[1:-1]])
        numbers = [
            np.arange(num_inputs),
            *(np.arange(f, f + n) for f, n in zip(firsts, sizes[1:-1], strict=False)),
            np.arange(num_inputs, num_inputs + num_outputs),
        ]
        links = [
            np.stack(np.meshgrid(a, b, indexing="ij"), axis=-1).reshape(-1, 2)
            for a, b in itertools.pairwise(numbers)
        ]
        hidden = np.concatenate([np.zeros((0, 2)), *arrays[1:-1]])
        return FixedSubstrate.from_links(
            arrays[0], arrays[-1], hidden, np.concatenate(links)
        )

    @staticmethod
    def grid(layout: Layout, columns: int, rows: int) -> "FixedSubstrate":
        """Hidden nodes at the centres of a grid of cells; every link that runs upwards.

        Links lead from each node to every node that lies higher, outputs included.
        """
        check_whole(columns=columns, rows=rows)
        if columns < 1 or rows < 1:
            raise ValueError(
                f"a grid needs a column and a row at least, not {columns} and {rows}."
            )
        num_points = len(layout.points) + columns * rows
        # Every pair is looked at, and about half of them become links.
        check_num_links([num_points, num_points // 2])
        x = (2 * np.arange(columns) + 1) / columns - 1
        y = (2 * np.arange(rows) + 1) / rows - 1
        hidden = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        points = np.concatenate([layout.points, hidden])
        source, target = np.nonzero(points[:, None, 1] < points[None, :, 1])
        keep = target >= len(layout.inputs)
        is_output = (source >= len(layout.inputs)) & (source < len(layout.points))
        keep &= ~is_output
        return FixedSubstrate.from_links(
            layout.inputs,
            layout.outputs,
            hidden,
            np.column_stack([source[keep], target[keep]]),
        )


def check_num_links(sizes: Sequence[int]) -> None:
    """Refuses layers of so many nodes, each linked fully to the next, if they do not
    fit the memory: before they are made."""
    num = sum(a * b for a, b in itertools.pairwise(sizes))
    needed, budget = num * _LINK_BYTES, Resources().budget
    if needed > budget:
        raise ValueError(
            f"a substrate of up to {num:,} links takes about {show_bytes(needed)} "
            f"while it is made, but memory allows for {show_bytes(budget)}. Choose "
            "fewer hidden nodes (hidden_layers, or columns and rows)."
        )


def _check_ends(
    source: np.ndarray, target: np.ndarray, num_inputs: int, num_nodes: int
) -> None:
    for ends in (source, target):
        wrong = ends[(ends < 0) | (ends >= num_nodes)]
        if wrong.size:
            raise ValueError(
                f"a link names node {wrong[0]}, but nodes are numbered 0 to "
                f"{num_nodes - 1}: inputs, outputs, hidden."
            )
    if (target < num_inputs).any():
        raise ValueError("a link leads into an input; inputs only send.")


def _check_hidden(layout: Layout, hidden: ArrayLike) -> Float[np.ndarray, "hidden 2"]:
    """Hidden points: in the plane, each a place of its own."""
    points = as_numbers("hidden nodes must be rows (x, y)", hidden, np.float64).copy()
    if not points.size:
        return np.zeros((0, 2))
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(
            f"hidden nodes need the shape (n, 2), one row (x, y) for each; these have "
            f"{points.shape}."
        )
    outside = ~(np.abs(points) <= 1).all(axis=1)
    if outside.any():
        k = int(np.flatnonzero(outside)[0])
        raise ValueError(
            f"hidden[{k}] = ({points[k, 0]:g}, {points[k, 1]:g}) lies outside the "
            "plane [-1, 1]^2; move it, or scale all with substrax.substrate.normalise."
        )
    everything = np.concatenate([layout.points, points])
    places, counts = np.unique(everything, axis=0, return_counts=True)
    if (counts > 1).any():
        x, y = places[counts > 1][0]
        raise ValueError(
            f"({x:g}, {y:g}) is the place of more than one node, which a CPPN cannot "
            "tell apart. Move one of them."
        )
    return points


@dataclasses.dataclass(frozen=True)
class HyperNEAT(AbstractCPPNDecoder):
    """HyperNEAT on a fixed substrate, with or without LEO.

    **Arguments:**

    - `substrate`: the nodes and the links that may be (`FixedSubstrate`).
    - `weight_threshold`: a link is expressed where |weight| exceeds it; if the CPPN
      has an output `leo`, where that is positive as well.
    - the rest as in `Discovered`.

    Hidden nodes exist whether or not links reach them. One that none reaches yields 0,
    or what its bias makes of it if the CPPN has an output `bias`.
    """

    substrate: FixedSubstrate
    reading: CPPNReading = dataclasses.field(default_factory=CPPNReading)
    weight_map: WeightMap = dataclasses.field(
        default_factory=lambda: WeightMap("deadzone", 5.0)
    )
    bias_scale: float | None = None
    weight_threshold: float = 0.0
    hidden_activation: str = "sigmoid"
    output_activation: str = "sigmoid"
    steps: int = 8

    def __post_init__(self) -> None:
        check_settings(self)
        self._settings()
        check_bias_scale(self.bias_scale)
        check_threshold("weight_threshold", self.weight_threshold)

    def _wire(self, programs: Programs, resources: Resources | None) -> Networks:
        resources = resources or Resources()
        native = required_native(resources)
        substrate = self.substrate
        substrate.check_links()  # arrays may have changed since it was made
        found = express(
            native,
            programs,
            self.reading.coordinates,
            substrate.layout,
            native.module.FixedSettings.make(
                point=native_array(substrate.points, np.float64),
                rank=native_array(substrate.rank, np.int32),
                source=native_array(substrate.source, np.int32),
                target=native_array(substrate.target, np.int32),
                weight_threshold=self.weight_threshold,
            ),
            self.weight_map,
            self._settings(),
            is_acyclic=substrate.is_acyclic,
            depth=None,
            resources=resources,
        )
        return found.networks

    def num_traced_nodes(self, capacity: Capacity | None, num_slots: int) -> int:
        return len(self.substrate.points)

    def trace(
        self,
        genome: Genome,
        capacity: Capacity | None = None,
        *,
        is_differentiable: bool = False,
    ) -> Traced:
        del capacity
        substrate, layout = self.substrate, self.substrate.layout
        reader = self.reading.read(genome, is_differentiable)
        wire = FixedWiring(
            substrate.points,
            substrate.rank,
            substrate.source,
            substrate.target,
            len(layout.inputs),
            len(layout.outputs),
            self.weight_map,
            self.weight_threshold,
            self._settings(),
            self.largest_bias,
            substrate.is_acyclic,
        )
        return Traced.of(wire(reader), reader.cppn.is_sound)

    def _settings(self) -> NetworkSettings:
        return NetworkSettings(
            self.hidden_activation,
            self.output_activation,
            self.steps,
            has_bias=self.reading.has_bias,
        )
