"""Rule `es` replayed in two precisions at once: why may float32 decide differently?

The dense oracle runs on float64 and on float32 values side by side. Each comparison
whose float64 quantity is farther from its threshold than rounding can move it is
decided by float64; the others, and only those, are decided by the float32 values. If
the network of such a replay is the one that float32 found, then rounding at a
threshold, and nothing else, is why it differs from the network of float64.

**The bound.** With u = 2^-24, half an ulp of a float32 around 1:

- A CPPN node adds n weighted values to a bias. Weights, biases and coordinates are
  rounded once, each product and each sum once more, and the argument is scaled: at
  most n + 5 roundings, each of a quantity of at most S = |bias| + sum |weight * value|.
  The function multiplies the error of its argument by at most its Lipschitz constant
  and is itself evaluated to a few ulps, 8 u being generous. So
  `E = L * (sum |weight| * E_source + (n + 5) u S) + 8 u`, node after node, in the worst
  case of all points within 1.5 of the centre (band tests reach half a plane outside).
- The weight map stretches by max_weight / 0.8: E_w = max_weight / 0.8 * E + 4 u V, for
  weights of at most V.
- A standard deviation moves by no more than the largest change of a value (it is a
  norm of the centred values); evaluating it in float32 costs at most 10 u V more. That
  is why variances are compared by their roots.
- The band is a maximum of minima of differences: it moves by at most 2 E_w + 2 u V.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from substrax.cppn import QueryEngine
from substrax.substrate import WeightMap
from tests.reference import es, grid
from tests.reference.cppn import Query, evaluation_order
from tests.reference.grid import Link, Position

UNIT = 2.0**-24
REACH = 1.5
LIPSCHITZ = {
    "identity": 1.0,
    "tanh": 2.5,
    "sin": 5.0,
    "sigmoid": 1.25,
    "gauss": math.sqrt(10.0 / math.e),
}
"""Of neat-python's functions, scaled as they are there."""


def output_error(cppn: Mapping[str, Any]) -> tuple[float, float]:
    """Bounds on the error of the output in float32, and on its size."""
    sources: dict[int, list[tuple[int, float]]] = {n["id"]: [] for n in cppn["nodes"]}
    for source, target, weight in cppn["connections"]:
        sources[target].append((source, abs(weight)))
    error = {i: REACH * UNIT for i in cppn["input_ids"]}
    size = {i: REACH for i in cppn["input_ids"]}
    nodes = {n["id"]: n for n in cppn["nodes"]}
    for node_id in evaluation_order(cppn, "bias"):
        node = nodes[node_id]
        response = abs(node["response"])
        links = [(s, w * response) for s, w in sources[node_id]]
        total = abs(node["bias"]) + sum(w * size[s] for s, w in links)
        handed_on = sum(w * error[s] for s, w in links)
        rounded = (len(links) + 5) * UNIT * total
        error[node_id] = LIPSCHITZ[node["activation"]] * (handed_on + rounded)
        error[node_id] += 8 * UNIT
        size[node_id] = total if node["activation"] == "identity" else 1.0
    return error[cppn["output_id"]], size[cppn["output_id"]]


@dataclasses.dataclass
class Replay:
    """One case in both precisions, and a tally of what rounding decided."""

    query: Query
    engine: QueryEngine
    weight_map: WeightMap
    parameters: es.Parameters
    num_comparisons: int = 0
    num_near: int = 0
    num_turned: int = 0

    def __post_init__(self) -> None:
        self.output_error, size = output_error(self.query.cppn)
        scale = self.weight_map.max_weight / 0.8
        self.largest = scale * size
        self.weight_error = scale * self.output_error + 4 * UNIT * self.largest

    def exceeds(
        self,
        precise: np.ndarray,
        rounded: np.ndarray,
        threshold: float,
        error: float,
        matters: np.ndarray,
    ) -> np.ndarray:
        """`precise > threshold`, except where `rounded > threshold` may differ."""
        near = np.abs(precise - threshold) <= error
        turned = (precise > threshold) != (rounded > threshold)
        assert not (turned & ~near).any(), "rounding reached farther than its bound"
        self.num_comparisons += int(matters.sum())
        self.num_near += int((near & matters).sum())
        self.num_turned += int((turned & matters).sum())
        return np.where(near, rounded > threshold, precise > threshold)

    def varies(
        self,
        precise: np.ndarray,
        rounded: np.ndarray,
        threshold: float,
        matters: np.ndarray,
    ) -> np.ndarray:
        error = self.weight_error + 10 * UNIT * self.largest
        roots = np.sqrt(precise), np.sqrt(rounded)
        return self.exceeds(*roots, math.sqrt(threshold), error, matters)

    def outputs(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The CPPN's output at rows (x1, y1, x2, y2) in float64 and in float32."""
        precise = self.query.output(rows)
        rounded = self.engine.query(0, rows[:, :2], rows[:, 2:])[:, 0]
        assert np.abs(precise - rounded).max(initial=0) <= self.output_error
        return precise, rounded

    def weights(self, outputs: tuple[np.ndarray, np.ndarray]) -> list[np.ndarray]:
        return [self.weight_map(u) for u in outputs]

    def explore(self, terminal: Position, outgoing: bool) -> dict[Link, float]:
        """Links between one terminal and the cells; their weights are float32's."""
        depth = self.parameters.depth
        rows = [
            grid.query_points(terminal, grid.cell_points(level), outgoing)
            for level in range(depth + 1)
        ]
        shape = [(2 ** (level + 1),) * 2 for level in range(depth + 1)]
        outputs = [self.outputs(r) for r in rows]
        precise, rounded = (
            [self.weights(u)[k].reshape(s) for u, s in zip(outputs, shape, strict=True)]
            for k in (0, 1)
        )
        links: dict[Link, float] = {}
        for level, tested in enumerate(self.candidates(precise, rounded)):
            heights = grid.cell_points(level)[..., 1]
            rises = heights > terminal[1] if outgoing else heights < terminal[1]
            tested = tested & rises
            # deadzone: the weight is 0 iff |u| <= 0.2.
            sizes = [np.abs(u).reshape(shape[level]) for u in outputs[level]]
            error = self.output_error + UNIT
            exists = self.exceeds(sizes[0], sizes[1], 0.2, error, tested)
            exists &= tested
            bands = self.bands(terminal, outgoing, level, precise, rounded)
            threshold = self.parameters.band_threshold
            error = 2 * self.weight_error + 2 * UNIT * self.largest
            exists &= self.exceeds(bands[0], bands[1], threshold, error, exists)
            which = exists.ravel()
            weights = rounded[level].ravel()[which].tolist()
            for row, weight in zip(rows[level][which].tolist(), weights, strict=True):
                links[(row[0], row[1]), (row[2], row[3])] = weight
        return links

    def bands(
        self,
        terminal: Position,
        outgoing: bool,
        level: int,
        precise: list[np.ndarray],
        rounded: list[np.ndarray],
    ) -> list[np.ndarray]:
        """`es.band` in both precisions."""
        points, side = grid.cell_points(level), 0.5**level
        differences = []
        for step in ((-side, 0.0), (side, 0.0), (0.0, -side), (0.0, side)):
            rows = grid.query_points(terminal, points + np.array(step), outgoing)
            there = self.weights(self.outputs(rows))
            differences.append(
                [
                    np.abs(here[level] - w.reshape(here[level].shape))
                    for here, w in zip((precise, rounded), there, strict=True)
                ]
            )
        return [
            np.maximum(np.minimum(left, right), np.minimum(down, up))
            for left, right, down, up in zip(*differences, strict=True)
        ]

    def candidates(
        self, precise: list[np.ndarray], rounded: list[np.ndarray]
    ) -> list[np.ndarray]:
        """`es.candidate_cells` with every comparison taken by `exceeds`."""
        depth, p = self.parameters.depth, self.parameters
        exists = [np.ones((2, 2), dtype=bool)]
        for level in range(1, depth + 1):
            wanted = np.ones_like(exists[-1])
            if level >= p.initial_depth:
                varies = self.varies(
                    grid.var4(precise[level - 1]),
                    grid.var4(rounded[level - 1].astype(float)),
                    p.division_threshold,
                    grid.blocks(exists[-1])[..., 0],
                )
                wanted = grid.spread(varies)
            exists.append(grid.spread(exists[-1] & wanted))
        divided = [grid.blocks(below).all(axis=-1) for below in exists[1:]]
        divided.append(np.zeros_like(exists[-1]))
        leaves = [here & ~below for here, below in zip(exists, divided, strict=True)]
        reached = np.ones((2, 2), dtype=bool)
        tested = []
        for level in range(depth + 1):
            passes_on = reached & divided[level]
            passes_on &= self.varies(
                es.leaf_variances(precise, leaves, level),
                es.leaf_variances([w.astype(float) for w in rounded], leaves, level),
                p.variance_threshold,
                passes_on,
            )
            tested.append(reached & ~passes_on)
            reached = grid.spread(passes_on)
        return tested

    def discover(
        self, inputs: Iterable[Iterable[float]], outputs: Iterable[Iterable[float]]
    ) -> tuple[frozenset[Position], dict[Link, float]]:
        """Hidden positions and links, by the phases of `es.discover`."""
        input_positions = grid.as_positions(inputs)
        output_positions = grid.as_positions(outputs)
        links: dict[Link, float] = {}
        for position in input_positions:
            links |= self.explore(position, True)
        found = {target for _, target in links}
        explored: set[Position] = set()
        for _ in range(self.parameters.iteration_level):
            waiting = found - explored
            for position in sorted(waiting):
                new = self.explore(position, True)
                links |= new
                found |= {target for _, target in new}
            explored |= waiting
        for position in output_positions:
            links |= self.explore(position, False)
        return grid.clean_up(links, input_positions, output_positions)
