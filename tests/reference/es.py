"""ES-HyperNEAT (Risi & Stanley 2012) as PUREPLES has it, twice.

`recursive` walks a quadtree, node by node, the way the original algorithm is told;
`dense` computes the same with whole levels at a time. They must agree, and both must
reproduce the published vectors.

Rules in the corners, all of them checked against PUREPLES (max_depth there = depth + 1
here):

**Division** (for one source or output, `v` the weight field)
1. Level 0 always exists: four queries are made even where initial_depth is 0.
2. Four children exist together or not at all. Those of a level-(d-1) cell p exist iff
   p exists and (d < initial_depth or var4(block that holds p) > division_threshold),
   for d = 1..depth. The block that holds p is p and its three siblings: a block is
   divided as a whole, so siblings have children together.
3. `>` is strict, here and in every comparison below.
4. initial_depth 0 and 1 mean the same. Where initial_depth > depth + 1, PUREPLES goes
   on dividing to level initial_depth - 1, beyond its max_depth; here it is an error.

**Extraction**
5. The root is never tested: its four children are always reached.
6. A reached cell with leafvar > variance_threshold hands over to its four children and
   is itself *not* a candidate; every other reached cell is tested, be it a leaf or a
   cell with existing children whose leaves vary too little. leafvar of a leaf is 0, so
   variance_threshold must not be negative (PUREPLES fails there).
7. leafvar is the population variance over all leaves, each counted once, whatever its
   size.
8. The band test compares v(c) with v at c +- side(c) along x and along y, queried anew:
   at c's own level, outside the plane too, whether or not a cell exists there.
   band = max(min(|dv left|, |dv right|), min(|dv up|, |dv down|)).
9. A tested cell expresses a link iff band > band_threshold and v(c) != 0 (exactly 0:
   the dead zone) and source y < target y. Strictly: neither lateral links nor links of
   a position to itself can occur, and every network is acyclic.
   With band_threshold 0 the test is whether a difference is exactly 0; where a
   function saturates this hangs on the last bit.
10. The weight is v(c), never clipped by `deadzone` (u beyond 1 gives more than
    max_weight).

**Phases and coincidence.** A position equal to an input or an output *is* that node.
Nothing else is special about it:
11. Phase 1 explores from each input; every target is a *found* position, be it equal
    to an input (a link from a lower input into it) or to an output (a direct link).
12. Phase 2 repeats iteration_level times: explore from every found position that was
    not yet explored in phase 2. Found positions equal to an input are explored once
    more and give the same links again, to no effect. Found positions equal to an
    output are explored too: links *out of an output* into positions above it exist.
    (PUREPLES forgets all but the last round when it asks what is explored, and
    explores older positions again in rounds 3, 5, ...; this changes the number of
    queries, not the links. `count_like_pureples` repeats it.) Rounds end early when
    nothing is left to explore.
13. Phase 3 explores towards each output, over cells as sources, with
    `v_o(c) = w(u(c, o))`: the same division, extraction and band test; the link
    c -> o needs y_c < y_o. Its sources do *not* become found positions; a source that
    nobody found is removed by the clean-up. A source cell equal to an input gives a
    direct link; one equal to another output gives a link out of that output.
14. One pair of positions has at most one link. What is found twice (say in phase 2 and
    in phase 3, where a target equals an output) has the same weight both times, since
    it is the same query.
15. Clean-up: see `grid.clean_up`. Links into inputs survive it, and count as links of
    the network, but an input holds its value: they carry nothing (`network.py`).
16. Two inputs (or outputs) at one place, or an input on an output, are an error here;
    PUREPLES lets the last one win.

**LEO**, where the CPPN has it, is asked at expression only (`Query.is_permitted`):
variance and band know nothing of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import grid
from .cppn import Query
from .grid import Discovery, Link, Position


@dataclass(frozen=True)
class Parameters:
    """Parameters of rule `es`; `depth` is D, the deepest level."""

    depth: int = 3
    initial_depth: int = 0
    division_threshold: float = 0.5
    variance_threshold: float = 0.03
    band_threshold: float = 0.3
    iteration_level: int = 1

    def __post_init__(self) -> None:
        if self.variance_threshold < 0:
            raise ValueError("variance_threshold must not be negative")
        if self.initial_depth > self.depth + 1:
            raise ValueError("initial_depth must not exceed depth + 1")


def parameters_of(pureples: Mapping[str, Any]) -> Parameters:
    """PUREPLES' parameters as ours."""
    return Parameters(
        depth=pureples["max_depth"] - 1,
        initial_depth=pureples["initial_depth"],
        division_threshold=pureples["division_threshold"],
        variance_threshold=pureples["variance_threshold"],
        band_threshold=pureples["band_threshold"],
        iteration_level=pureples["iteration_level"],
    )


# ------------------------------------------------------------------- one quadtree


@dataclass
class _Quad:
    x: float
    y: float
    half: float  # half a side
    level: int  # -1 for the root
    weight: float = 0.0
    children: list["_Quad"] = field(default_factory=list)


def _leaf_weights(quad: _Quad) -> list[float]:
    if not quad.children:
        return [quad.weight]
    return [w for child in quad.children for w in _leaf_weights(child)]


def _leafvar(quad: _Quad) -> float:
    return float(np.var(_leaf_weights(quad))) if quad.children else 0.0


class _Tree:
    """One exploration: from `terminal` to all cells, or from all cells to it."""

    def __init__(
        self, query: Query, parameters: Parameters, terminal: Position, outgoing: bool
    ):
        self.query, self.parameters = query, parameters
        self.terminal, self.outgoing = terminal, outgoing

    def weight_at(self, x: float, y: float) -> float:
        if self.outgoing:
            return self.query.weight_at(*self.terminal, x, y)
        return self.query.weight_at(x, y, *self.terminal)

    def divide(self, quad: _Quad) -> None:
        """Give `quad` children, and grandchildren where they vary enough."""
        step = quad.half / 2.0
        for dx, dy in ((-1, -1), (-1, 1), (1, 1), (1, -1)):
            x, y = quad.x + dx * step, quad.y + dy * step
            child = _Quad(x, y, step, quad.level + 1, self.weight_at(x, y))
            quad.children.append(child)
        level_of_grandchildren = quad.level + 2
        if level_of_grandchildren > self.parameters.depth:
            return
        if (
            level_of_grandchildren < self.parameters.initial_depth
            or _leafvar(quad) > self.parameters.division_threshold
        ):
            for child in quad.children:
                self.divide(child)

    def extract(self, quad: _Quad, links: dict[Link, float]) -> None:
        """Express links to the children of `quad`, or hand over to those below."""
        for child in quad.children:
            if _leafvar(child) > self.parameters.variance_threshold:
                self.extract(child, links)
            elif self.passes_band(child) and child.weight != 0.0:
                self.express(child, links)

    def passes_band(self, quad: _Quad) -> bool:
        side = 2.0 * quad.half
        left, right, down, up = (
            abs(quad.weight - self.weight_at(quad.x + dx, quad.y + dy))
            for dx, dy in ((-side, 0), (side, 0), (0, -side), (0, side))
        )
        band = max(min(left, right), min(down, up))
        return band > self.parameters.band_threshold

    def express(self, quad: _Quad, links: dict[Link, float]) -> None:
        here = (quad.x, quad.y)
        source, target = (
            (self.terminal, here) if self.outgoing else (here, self.terminal)
        )
        if source[1] < target[1] and self.query.is_permitted(
            np.array([[*source, *target]])
        ):
            links[source, target] = quad.weight


def explore_recursively(
    query: Query, parameters: Parameters, terminal: Position, outgoing: bool
) -> dict[Link, float]:
    """All links between one terminal and the cells, by a recursive quadtree."""
    tree = _Tree(query, parameters, terminal, outgoing)
    root = _Quad(0.0, 0.0, 1.0, -1)
    tree.divide(root)
    links: dict[Link, float] = {}
    tree.extract(root, links)
    return links


# ------------------------------------------------------------------ level by level


def existing_cells(
    weights: list[np.ndarray], parameters: Parameters
) -> list[np.ndarray]:
    """Which cells of each level the division makes: rule 2, dense masks."""
    exists = [np.ones((2, 2), dtype=bool)]
    for level in range(1, parameters.depth + 1):
        if level < parameters.initial_depth:
            wanted = np.ones_like(exists[-1])
        else:
            # One variance per block of level - 1, handed to the block's members.
            variance = grid.var4(weights[level - 1])
            wanted = grid.spread(variance > parameters.division_threshold)
        exists.append(grid.spread(exists[-1] & wanted))
    return exists


def leaf_variances(
    weights: list[np.ndarray], leaves: list[np.ndarray], level: int
) -> np.ndarray:
    """Variance over the leaves at or below each cell of a level, in two passes."""
    size = 2 ** (level + 1)

    def total(quantity: list[np.ndarray]) -> np.ndarray:
        result = np.zeros((size, size))
        for below in range(level, len(weights)):
            ratio = 2 ** (below - level)
            split = quantity[below].reshape(size, ratio, size, ratio)
            result += split.sum(axis=(1, 3))
        return result

    number = np.maximum(total([leaf.astype(float) for leaf in leaves]), 1.0)
    mean = total([w * leaf for w, leaf in zip(weights, leaves, strict=True)]) / number
    squares = [np.zeros_like(w) for w in weights]
    for below in range(level, len(weights)):
        squares[below] = (weights[below] - mean) ** 2 * leaves[below]
        mean = grid.spread(mean)
    return total(squares) / number


def candidate_cells(
    weights: list[np.ndarray], parameters: Parameters
) -> list[np.ndarray]:
    """Cells that extraction reaches and tests (rules 5 and 6), dense masks."""
    exists = existing_cells(weights, parameters)
    divided = [grid.blocks(below).all(axis=-1) for below in exists[1:]]
    divided.append(np.zeros_like(exists[-1]))
    leaves = [here & ~below for here, below in zip(exists, divided, strict=True)]
    reached = np.ones((2, 2), dtype=bool)
    tested = []
    for level in range(parameters.depth + 1):
        variance = leaf_variances(weights, leaves, level)
        passes_on = (
            reached & divided[level] & (variance > parameters.variance_threshold)
        )
        tested.append(reached & ~passes_on)
        reached = grid.spread(passes_on)
    return tested


def band(
    query: Query, terminal: Position, outgoing: bool, level: int, weights: np.ndarray
) -> np.ndarray:
    """Rule 8 for all cells of a level."""
    points, side = grid.cell_points(level), 0.5**level

    def difference(dx: float, dy: float) -> np.ndarray:
        there = grid.query_points(terminal, points + np.array([dx, dy]), outgoing)
        return np.abs(weights - query.weight(there).reshape(weights.shape))

    horizontal = np.minimum(difference(-side, 0.0), difference(side, 0.0))
    vertical = np.minimum(difference(0.0, -side), difference(0.0, side))
    return np.maximum(horizontal, vertical)


def weight_field(
    query: Query, depth: int, terminal: Position, outgoing: bool
) -> list[np.ndarray]:
    """The weight at all cells of levels 0..depth, each (2^(d+1), 2^(d+1))."""
    return [
        query.weight(
            grid.query_points(terminal, grid.cell_points(level), outgoing)
        ).reshape(2 ** (level + 1), -1)
        for level in range(depth + 1)
    ]


def explore_densely(
    query: Query, parameters: Parameters, terminal: Position, outgoing: bool
) -> dict[Link, float]:
    """All links between one terminal and the cells, by masks over whole levels."""
    weights = weight_field(query, parameters.depth, terminal, outgoing)
    links: dict[Link, float] = {}
    for level, tested in enumerate(candidate_cells(weights, parameters)):
        points = grid.cell_points(level)
        rises = (
            points[..., 1] > terminal[1] if outgoing else points[..., 1] < terminal[1]
        )
        strength = band(query, terminal, outgoing, level, weights[level])
        rows = grid.query_points(terminal, points, outgoing)
        permitted = query.is_permitted(rows).reshape(tested.shape)
        expressed = (
            tested
            & (strength > parameters.band_threshold)
            & (weights[level] != 0.0)
            & rises
            & permitted
        )
        for row, weight in zip(
            rows[expressed.ravel()].tolist(),
            weights[level][expressed].tolist(),
            strict=True,
        ):
            links[(row[0], row[1]), (row[2], row[3])] = weight
    return links


# -------------------------------------------------------------------------- phases


def discover(
    query: Query,
    inputs: Iterable[Iterable[float]],
    outputs: Iterable[Iterable[float]],
    parameters: Parameters,
    *,
    dense: bool,
    count_like_pureples: bool = False,
) -> Discovery:
    """The three phases and the clean-up, by either way of exploring."""
    input_positions = grid.as_positions(inputs)
    output_positions = grid.as_positions(outputs)
    terminals = input_positions + output_positions
    if len(set(terminals)) < len(terminals):
        raise ValueError("two terminals share a coordinate; move one of them")
    explore = explore_densely if dense else explore_recursively
    queries_before = query.count
    links: dict[Link, float] = {}
    found: set[Position] = set()

    for position in input_positions:
        new = explore(query, parameters, position, True)
        links |= new
        found |= {target for _, target in new}

    waiting, explored = set(found), set()
    for _ in range(parameters.iteration_level):
        for position in sorted(waiting):
            new = explore(query, parameters, position, True)
            links |= new
            found |= {target for _, target in new}
        explored = waiting if count_like_pureples else explored | waiting
        waiting = found - explored

    for position in output_positions:
        links |= explore(query, parameters, position, False)

    hidden, kept = grid.clean_up(links, input_positions, output_positions)
    return Discovery(
        hidden, kept, frozenset(found), links, query.count - queries_before
    )


def recursive(
    query: Query,
    inputs: Iterable[Iterable[float]],
    outputs: Iterable[Iterable[float]],
    parameters: Parameters,
    *,
    count_like_pureples: bool = False,
) -> Discovery:
    """ES-HyperNEAT by a recursive quadtree."""
    return discover(
        query,
        inputs,
        outputs,
        parameters,
        dense=False,
        count_like_pureples=count_like_pureples,
    )


def dense(
    query: Query,
    inputs: Iterable[Iterable[float]],
    outputs: Iterable[Iterable[float]],
    parameters: Parameters,
) -> Discovery:
    """ES-HyperNEAT level by level, over all cells of every level."""
    return discover(query, inputs, outputs, parameters, dense=True)
