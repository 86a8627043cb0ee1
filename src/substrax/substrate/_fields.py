"""Fields: what a CPPN says about all cells, seen from one point.

A *field* is a CPPN with one end of its links fixed: the source (`outgoing`), or the
target, for the links that lead to an output. Discovery looks at many fields at once, of
all genomes, level by level, in *quads*: the four children of one cell (or of the root,
the whole plane). A quad is what the variance is taken over, and what exists or not.

Where the values come from is the strategy. `FrontierValues` asks the CPPN for the quads
that are wanted and for no others; `eager` (the EMR paper) asks for every cell of every
level. Both give the same bits, because a query does not depend on its batch.
"""

import dataclasses
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from ..cppn import QueryEngine
from ._weights import WeightMap

_PIECE = 1 << 16
"""Quads that are prepared at a time, so that temporary arrays stay in the cache."""


@dataclasses.dataclass
class Queries:
    """The query engine with a tally of what it was asked."""

    engine: QueryEngine
    weight_map: WeightMap
    first_genome: int = 0
    """The engine's genome that is number 0 in questions."""
    count: int = 0

    @property
    def has_leo(self) -> bool:
        """Programs that are asked about links have the outputs `weight` and, if there
        is one, `leo`."""
        return self.engine.programs.num_outputs > 1

    def of_quads(
        self,
        fields: "Fields",
        quads: "list[Quads]",
        stretch: tuple[float, float] = (1.0, 1.0),
    ) -> Float[np.ndarray, "outputs 4 quads"]:
        """CPPN outputs at all members of quads, of several levels behind each other.

        Members lie half a side from the middle of their quad. Stretched by 3 along one
        axis they become the members' neighbours outside the quad.
        """
        if not quads:
            num_outputs = self.engine.programs.num_outputs
            return np.zeros((num_outputs, 4, 0), self.engine.dtype)
        field = np.concatenate([q.field for q in quads])
        centre, half = [], []
        for part in quads:
            step = 2.0**-part.level
            centre.append(np.column_stack([2 * part.i + 1, 2 * part.j + 1]) * step - 1)
            half.append(np.broadcast_to(np.array(stretch) * (step / 2), (part.num, 2)))
        sign = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
        # All numbers are dyadic, hence exact.
        moving = (
            np.concatenate(centre)[:, None] + np.concatenate(half)[:, None] * sign
        ).reshape(-1, 2)
        fixed = np.repeat(fields.point[field], 4, axis=0)
        ends = (fixed, moving) if fields.outgoing else (moving, fixed)
        outputs = self.of_points(np.repeat(fields.genome[field], 4), *ends)
        return outputs.reshape(len(outputs), field.size, 4).transpose(0, 2, 1)

    def of_points(
        self,
        genome: Int[np.ndarray, " queries"],
        source: Float[np.ndarray, "queries 2"],
        target: Float[np.ndarray, "queries 2"],
    ) -> Float[np.ndarray, "outputs queries"]:
        """CPPN outputs at pairs of points, best sorted by genome."""
        runs, counts = run_lengths(genome)
        self.count += source.shape[0]
        return self.engine.query_runs(runs + self.first_genome, counts, source, target)


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


@dataclasses.dataclass(frozen=True)
class Quads:
    """Quads of one level: the children of cells (i, j) of the level above.

    At level 0 the parent is the root and (i, j) = (0, 0). Sorted by field. Member m of
    a quad is cell (2i + m // 2, 2j + m % 2). What is known of members comes as arrays
    (4, quads), which suits vector instructions.
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

    def select(self, which: np.ndarray) -> "Quads":
        """Some of them, by their numbers or by a mask."""
        if which.dtype == bool:
            which = np.flatnonzero(which)
        return Quads(
            self.level, self.field.take(which), self.i.take(which), self.j.take(which)
        )

    def children_at(self, place: Int[np.ndarray, " cells"]) -> "Quads":
        """One quad of the next level for some members, at 4 * quad + member."""
        quad = place >> 2
        i = 2 * self.i.take(quad)
        i += (place >> 1).astype(np.int32) & 1
        j = 2 * self.j.take(quad)
        j += place.astype(np.int32) & 1
        return Quads(self.level + 1, self.field.take(quad), i, j)

    def flat_index(self, place: Int[np.ndarray, " cells"]) -> Int[np.ndarray, " cells"]:
        """Where members at 4 * quad + member are in arrays (4, quads), flat."""
        index = place & 3
        index *= self.num
        index += place >> 2
        return index

    def children(self) -> "Quads":
        """One quad of the next level for each member, in Z-order."""
        i = np.repeat(2 * self.i, 4).reshape(-1, 4)
        j = np.repeat(2 * self.j, 4).reshape(-1, 4)
        i[:, 2:] += 1
        j[:, 1::2] += 1
        return Quads(self.level + 1, np.repeat(self.field, 4), i.ravel(), j.ravel())


def block_variance(
    values: Float[np.ndarray, "4 quads"],
) -> Float[np.ndarray, " quads"]:
    """var4: the population variance over the members of each quad."""
    result = np.empty(values.shape[1], values.dtype)
    quarter = values.dtype.type(0.25)
    for begin in range(0, values.shape[1], _PIECE):
        members = values[:, begin : begin + _PIECE]
        mean = (((members[0] + members[1]) + members[2]) + members[3]) * quarter
        squares = members - mean
        squares *= squares
        total = ((squares[0] + squares[1]) + squares[2]) + squares[3]
        result[begin : begin + _PIECE] = total * quarter
    return result


class TooLargeError(Exception):
    """Genomes take more than the memory budget together."""


@runtime_checkable
class Values(Protocol):
    """Where the CPPN outputs at quads come from."""

    @property
    def wants_everything(self) -> bool:
        """Whether a rule is to look at all cells, also at those that cannot matter."""
        ...

    def at(self, quads: Quads) -> Float[np.ndarray, "outputs 4 quads"]:
        """Outputs at the members of quads of the batch."""
        ...


@dataclasses.dataclass(frozen=True)
class FrontierValues:
    """Asks for what is wanted, when it is wanted."""

    queries: Queries
    fields: Fields
    wants_everything: bool = False
    max_quads: int = 1 << 62

    def at(self, quads: Quads) -> Float[np.ndarray, "outputs 4 quads"]:
        if quads.num > self.max_quads:
            raise TooLargeError
        return self.queries.of_quads(self.fields, [quads])


class EagerValues:
    """Asks for every cell of every level first (EMR paper, section 3.1), and keeps it.

    For rules that need all leaves of a tree before they can decide about its root. A
    rule that decides from the top is asked to look at everything as it goes instead.
    """

    wants_everything = False

    def __init__(self, queries: Queries, fields: Fields, depth: int) -> None:
        self.levels = []
        quads = Quads.roots(fields.num)
        for level in range(depth + 1):
            self.levels.append(queries.of_quads(fields, [quads]))
            if level < depth:
                quads = quads.children()
        # Children are enumerated in Z-order: a quad's place within its field is its
        # parent's Morton code.

    def at(self, quads: Quads) -> Float[np.ndarray, "outputs 4 quads"]:
        place = quads.field.astype(np.int64) * 4**quads.level
        for bit in range(quads.level):
            place |= ((quads.i >> bit) & 1).astype(np.int64) << (2 * bit + 1)
            place |= ((quads.j >> bit) & 1).astype(np.int64) << (2 * bit)
        return self.levels[quads.level][:, :, place]
