"""Fields: what a CPPN says about all cells, seen from one point.

A *field* is a CPPN with one end of its links fixed: the source (`outgoing`), or the
target, for the links that lead to an output. Discovery looks at many fields at once, of
all genomes, level by level, in *quads*: the four children of one cell (or of the root,
the whole plane). A quad is what the variance is taken over, and what exists or not.

Where the values come from is the strategy. `FrontierValues` asks the CPPN for the quads
that are wanted and for no others; `EagerValues` (the EMR paper) asks for every cell of
every level first. Both give the same bits, because a query does not depend on its
batch.
"""

import dataclasses
import time
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from ..cppn import QueryEngine
from ._weights import WeightMap

_PIECE = 1 << 16
"""Quads that are prepared at a time, so that temporary arrays stay in the cache."""


@dataclasses.dataclass
class Queries:
    """The query engine with a tally of what it was asked and how long it took."""

    engine: QueryEngine
    weight_map: WeightMap
    count: int = 0
    seconds: float = 0.0

    @property
    def has_leo(self) -> bool:
        return self.engine.programs.num_outputs > 1

    def outputs(
        self,
        genome: Int[np.ndarray, " runs"],
        counts: Int[np.ndarray, " runs"],
        source: Float[np.ndarray, "queries 2"],
        target: Float[np.ndarray, "queries 2"],
    ) -> Float[np.ndarray, "outputs queries"]:
        """CPPN outputs, for queries in runs of one genome each."""
        began = time.perf_counter()
        result = self.engine.query_runs(genome, counts, source, target)
        self.seconds += time.perf_counter() - began
        self.count += source.shape[0]
        return result

    def of_points(
        self,
        genome: Int[np.ndarray, " queries"],
        source: Float[np.ndarray, "queries 2"],
        target: Float[np.ndarray, "queries 2"],
    ) -> Float[np.ndarray, "outputs queries"]:
        """The same for a sorted genome index of each query."""
        runs, counts = run_lengths(genome)
        return self.outputs(runs, counts, source, target)


def run_lengths(sorted_values: Int[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray]:
    """Each run of equal entries: its value and its length."""
    if not sorted_values.size:
        return sorted_values, np.zeros(0, np.int64)
    starts = np.flatnonzero(sorted_values[1:] != sorted_values[:-1]) + 1
    bounds = np.concatenate([[0], starts, [sorted_values.size]])
    return sorted_values[bounds[:-1]], np.diff(bounds)


@dataclasses.dataclass(frozen=True)
class Fields:
    """A batch of fields, sorted by genome.

    `point` is the fixed end of each; `outgoing` says which end that is.
    """

    genome: Int[np.ndarray, " fields"]
    point: Float[np.ndarray, "fields 2"]
    outgoing: bool

    @property
    def num(self) -> int:
        return self.genome.shape[0]

    def part(self, begin: int, stop: int) -> "Fields":
        return Fields(self.genome[begin:stop], self.point[begin:stop], self.outgoing)


@dataclasses.dataclass(frozen=True)
class Quads:
    """Quads of one level: the children of cells (i, j) of the level above.

    At level 0 the parent is the root and (i, j) = (0, 0). Sorted by field.
    """

    level: int
    field: Int[np.ndarray, " quads"]
    i: Int[np.ndarray, " quads"]
    j: Int[np.ndarray, " quads"]

    @property
    def num(self) -> int:
        return self.field.shape[0]

    @staticmethod
    def roots(num_fields: int) -> "Quads":
        zero = np.zeros(num_fields, np.int32)
        return Quads(0, np.arange(num_fields, dtype=np.int32), zero, zero)

    def select(self, which: np.ndarray | slice) -> "Quads":
        return Quads(self.level, self.field[which], self.i[which], self.j[which])

    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Indices (i, j) of the members, each (quads, 4)."""
        i = (2 * self.i)[:, None] + np.array([0, 0, 1, 1], np.int32)
        j = (2 * self.j)[:, None] + np.array([0, 1, 0, 1], np.int32)
        return i, j

    def children(self) -> "Quads":
        """One quad of the next level for each member, in order."""
        i, j = self.cells()
        return Quads(self.level + 1, np.repeat(self.field, 4), i.ravel(), j.ravel())


def block_variance(
    values: Float[np.ndarray, "quads 4"],
) -> Float[np.ndarray, " quads"]:
    """var4: the population variance over the members of each quad."""
    result = np.empty(values.shape[0], values.dtype)
    quarter = values.dtype.type(0.25)
    for begin in range(0, values.shape[0], _PIECE):
        a, b, c, d = values[begin : begin + _PIECE].T.copy(order="C")
        mean = (((a + b) + c) + d) * quarter
        for x in (a, b, c, d):
            x -= mean
            x *= x
        result[begin : begin + _PIECE] = (((a + b) + c) + d) * quarter
    return result


def _centre_coordinates(level: int, dtype: np.dtype, parent: np.ndarray):
    """Coordinates along one axis of the two rows of members of each quad."""
    step = dtype.type(2.0 ** -(level + 1))
    low = (4 * parent + 1).astype(dtype) * step - dtype.type(1)
    return low, low + 2 * step


def query_quads(
    queries: Queries, fields: Fields, quads: Quads
) -> Float[np.ndarray, "outputs quads 4"]:
    """CPPN outputs at all members of quads."""
    dtype = queries.engine.dtype
    fixed = np.empty((quads.num, 4, 2), dtype)
    moving = np.empty((quads.num, 4, 2), dtype)
    point = fields.point.astype(dtype)
    for begin in range(0, quads.num, _PIECE):
        part = slice(begin, begin + _PIECE)
        fixed[part] = point[quads.field[part]][:, None]
        low, high = _centre_coordinates(quads.level, dtype, quads.i[part])
        moving[part, :2, 0] = low[:, None]
        moving[part, 2:, 0] = high[:, None]
        low, high = _centre_coordinates(quads.level, dtype, quads.j[part])
        moving[part, 0::2, 1] = low[:, None]
        moving[part, 1::2, 1] = high[:, None]
    source, target = (fixed, moving) if fields.outgoing else (moving, fixed)
    genome, counts = run_lengths(fields.genome)
    bounds = np.searchsorted(quads.field, np.concatenate([[0], np.cumsum(counts)]))
    per_genome = 4 * np.diff(bounds)
    wanted = per_genome > 0
    values = queries.outputs(
        genome[wanted],
        per_genome[wanted],
        source.reshape(-1, 2),
        target.reshape(-1, 2),
    )
    return values.reshape(-1, quads.num, 4)


@runtime_checkable
class Values(Protocol):
    """Where the CPPN outputs at quads come from."""

    def at(self, quads: Quads) -> Float[np.ndarray, "outputs quads 4"]:
        """Outputs at the members of quads of the batch."""
        ...


@dataclasses.dataclass(frozen=True)
class FrontierValues:
    """Asks for what is wanted, when it is wanted."""

    queries: Queries
    fields: Fields

    def at(self, quads: Quads) -> Float[np.ndarray, "outputs quads 4"]:
        return query_quads(self.queries, self.fields, quads)


class EagerValues:
    """Asks for every cell of every level first (EMR paper, section 3.1)."""

    def __init__(self, queries: Queries, fields: Fields, depth: int) -> None:
        self.levels = []
        quads = Quads.roots(fields.num)
        for level in range(depth + 1):
            self.levels.append(query_quads(queries, fields, quads))
            if level < depth:
                quads = quads.children()
        # Children are enumerated in Z-order: a quad's place within its field is its
        # parent's Morton code.

    def at(self, quads: Quads) -> Float[np.ndarray, "outputs quads 4"]:
        place = np.zeros(quads.num, np.int64)
        for bit in range(quads.level):
            place |= ((quads.i >> bit) & 1).astype(np.int64) << (2 * bit + 1)
            place |= ((quads.j >> bit) & 1).astype(np.int64) << (2 * bit)
        return self.levels[quads.level][
            :, quads.field.astype(np.int64) * 4**quads.level + place
        ]


STRATEGIES = ("auto", "eager", "frontier")


def make_values(strategy: str, queries: Queries, fields: Fields, depth: int) -> Values:
    """The values of a strategy; `auto` is the frontier, which never asks more."""
    if strategy == "eager":
        return EagerValues(queries, fields, depth)
    return FrontierValues(queries, fields)
