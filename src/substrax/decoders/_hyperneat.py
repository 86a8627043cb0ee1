"""HyperNEAT (Stanley, D'Ambrosio & Gauci 2009): a substrate given by the user."""

import dataclasses
import itertools

import numpy as np
from jaxtyping import Float, Int

from .._types import ArrayLike
from ..cppn import longest_paths
from ..neat import Genome
from ..network import Networks
from ..substrate import Layout, WeightMap, Wiring
from ._base import AbstractDecoder, CPPNReading, activation_set
from ._discovered import networks_of

_MAX_QUERIES = 1 << 21


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
        points = np.asarray(hidden, np.float64).reshape(-1, 2)
        if points.size:
            Layout(points, layout.outputs)  # the same checks
        pairs = np.asarray(links, np.int64)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(
                f"links need the shape (n, 2): pairs of node numbers, not {pairs.shape}"
            )
        num_nodes = len(layout.points) + len(points)
        if pairs.size and (pairs.min() < 0 or pairs.max() >= num_nodes):
            raise ValueError(
                f"a link names node {pairs.max()}, but nodes are numbered 0 to "
                f"{num_nodes - 1}: inputs, outputs, hidden."
            )
        if (pairs[:, 1] < len(layout.inputs)).any():
            raise ValueError("a link leads into an input; inputs only send.")
        if len(np.unique(pairs, axis=0)) < len(pairs):
            raise ValueError("a pair of nodes is linked twice; give each link once.")
        source, target = pairs.T
        rank = longest_paths(source, target, num_nodes)
        if rank is None:
            rank = np.zeros(num_nodes, np.int64)
        return FixedSubstrate(layout, points, source, target, rank)

    @staticmethod
    def layered(layers: list[ArrayLike]) -> "FixedSubstrate":
        """Layers of points from inputs to outputs, each linked fully to the next."""
        if len(layers) < 2:
            raise ValueError("a layered substrate needs inputs and outputs at least.")
        arrays = [np.asarray(layer, np.float64).reshape(-1, 2) for layer in layers]
        sizes = [len(a) for a in arrays]
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


@dataclasses.dataclass(frozen=True)
class HyperNEAT(AbstractDecoder):
    """HyperNEAT on a fixed substrate, with or without LEO.

    **Arguments:**

    - `substrate`: the nodes and the links that may be (`FixedSubstrate`).
    - `weight_threshold`: a link is expressed where |weight| exceeds it; with LEO
      (`CPPNReading(leo=True)`), where the CPPN's second output is positive as well.
    - the rest as in `EMRHyperNEAT`.
    """

    substrate: FixedSubstrate
    reading: CPPNReading = dataclasses.field(default_factory=CPPNReading)
    weight_map: WeightMap = dataclasses.field(
        default_factory=lambda: WeightMap("deadzone", 5.0)
    )
    weight_threshold: float = 0.0
    hidden_activation: str = "sigmoid"
    output_activation: str = "sigmoid"
    steps: int = 8

    def __post_init__(self) -> None:
        activation_set([self.hidden_activation, self.output_activation])

    @property
    def num_genome_inputs(self) -> int:
        return len(self.reading.coordinates)

    @property
    def num_genome_outputs(self) -> int:
        return self.reading.num_outputs

    def decode(self, genomes: Genome) -> Networks:
        engine = self.reading.engine(genomes)
        num = engine.programs.num_genomes
        substrate = self.substrate
        points = np.concatenate([substrate.layout.points, substrate.hidden])
        source, target = points[substrate.source], points[substrate.target]
        num_links = len(source)
        at_once = max(1, _MAX_QUERIES // max(1, num_links))
        genome, link, weight = [], [], []
        for first in range(0, num, at_once):
            some = np.arange(first, min(num, first + at_once))
            outputs = engine.query_runs(
                some,
                np.full(some.size, num_links),
                np.tile(source, (some.size, 1)),
                np.tile(target, (some.size, 1)),
            )
            w = self.weight_map(outputs[0])
            expressed = np.abs(w) > self.weight_threshold
            if self.reading.leo:
                expressed &= outputs[1] > 0
            found = np.flatnonzero(expressed)
            genome.append(first + found // num_links)
            link.append(found % num_links)
            weight.append(w[found])
        return self._networks(
            np.concatenate(genome), np.concatenate(link), np.concatenate(weight), num
        )

    def _networks(
        self, genome: np.ndarray, link: np.ndarray, weight: np.ndarray, num: int
    ) -> Networks:
        substrate = self.substrate
        num_hidden = len(substrate.hidden)
        counts = np.bincount(genome, minlength=num)
        wiring = Wiring(
            layout=substrate.layout,
            hidden_bounds=np.arange(num + 1) * num_hidden,
            hidden_point=np.tile(substrate.hidden, (num, 1)),
            link_bounds=np.concatenate([[0], np.cumsum(counts)]),
            link_source=substrate.source[link].astype(np.int32),
            link_target=substrate.target[link].astype(np.int32),
            link_weight=weight,
            num_found=np.full(num, num_hidden),
            num_queries=num * substrate.source.size,
        )
        networks = networks_of(
            wiring,
            self.hidden_activation,
            self.output_activation,
            self.reading.dialect,
            is_acyclic=substrate.is_acyclic,
            steps=self.steps,
        )
        return dataclasses.replace(networks, node_rank=np.tile(substrate.rank, num))
