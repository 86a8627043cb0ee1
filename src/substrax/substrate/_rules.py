"""What both rules share: their results, the direction of links, the band test."""

import dataclasses
from typing import Protocol

import numpy as np
from jaxtyping import Bool, Float, Int

from ._cells import cell_ids
from ._connections import is_allowed
from ._fields import Fields, Quads, Queries, Values


@dataclasses.dataclass(frozen=True)
class Expressed:
    """Links between fields' points and cells, in the order field, level, Z-order.

    The order is part of the result: sums over a node's links are taken in it.
    """

    field: Int[np.ndarray, " links"]
    cell: Int[np.ndarray, " links"]
    weight: Float[np.ndarray, " links"]

    @staticmethod
    def concatenate(parts: list["Expressed"], dtype: np.dtype) -> "Expressed":
        """Joins what was found level by level, and sorts it by field."""
        empty = Expressed(
            np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, dtype)
        )
        parts = [empty, *parts]
        field = np.concatenate([p.field for p in parts])
        cell = np.concatenate([p.cell for p in parts])
        weight = np.concatenate([p.weight for p in parts])
        if len(parts) > 2:
            order = np.argsort(field, kind="stable")
            field, cell, weight = field[order], cell[order], weight[order]
        return Expressed(field, cell, weight)


class Rule(Protocol):
    """Which cells a field expresses links to."""

    depth: int

    def explore(
        self,
        queries: Queries,
        fields: Fields,
        values: Values,
        classes: frozenset[int],
        max_quads: int,
    ) -> Expressed | None:
        """The expressed links of a batch of fields, of the given classes.

        None if more than `max_quads` quads would have to be kept at once; the caller
        then comes back with fewer fields.
        """
        ...


@dataclasses.dataclass(frozen=True)
class Candidates:
    """Cells of one level that are to be tested for a link."""

    level: int
    field: Int[np.ndarray, " n"]
    i: Int[np.ndarray, " n"]
    j: Int[np.ndarray, " n"]
    value: Float[np.ndarray, " n"]

    @staticmethod
    def of_quads(
        quads: Quads,
        value: Float[np.ndarray, "quads 4"],
        mask: Bool[np.ndarray, "quads 4"],
    ) -> "Candidates":
        quad, member = np.nonzero(mask)
        return Candidates(
            quads.level,
            quads.field[quad],
            2 * quads.i[quad] + (member >> 1).astype(np.int32),
            2 * quads.j[quad] + (member & 1).astype(np.int32),
            value[quad, member],
        )

    def keep(self, mask: Bool[np.ndarray, " n"]) -> "Candidates":
        return Candidates(
            self.level, self.field[mask], self.i[mask], self.j[mask], self.value[mask]
        )

    def centres(self) -> tuple[np.ndarray, np.ndarray]:
        step = 2.0 ** -(self.level + 1)
        return (2 * self.i + 1) * step - 1, (2 * self.j + 1) * step - 1

    def expressed(self) -> Expressed:
        return Expressed(self.field, cell_ids(self.level, self.i, self.j), self.value)


def towards(
    fields: Fields, candidates: Candidates, classes: frozenset[int]
) -> Candidates:
    """The candidates whose link would be of one of the classes."""
    x, y = candidates.centres()
    there = fields.point[candidates.field]
    is_same = (there[:, 0] == x) & (there[:, 1] == y)
    ends = (there[:, 1], y) if fields.outgoing else (y, there[:, 1])
    return candidates.keep(is_allowed(classes, *ends, is_same))


def _pairs(
    fields: Fields, field: np.ndarray, x: np.ndarray, y: np.ndarray, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    fixed = fields.point[field].astype(dtype)
    moving = np.column_stack([x, y]).astype(dtype)
    return (fixed, moving) if fields.outgoing else (moving, fixed)


def in_band(
    queries: Queries, fields: Fields, candidates: Candidates, threshold: float
) -> Candidates:
    """The candidates that differ from both neighbours along x, or from both along y.

    Neighbours lie one side away, also outside the plane, whether or not a cell exists
    there (Risi & Stanley 2012; SPEC: the band test of rule `es`).
    """
    x, y = candidates.centres()
    side = 2.0**-candidates.level
    difference = []
    for dx, dy in ((-side, 0.0), (side, 0.0), (0.0, -side), (0.0, side)):
        ends = _pairs(fields, candidates.field, x + dx, y + dy, queries.engine.dtype)
        u = queries.of_points(fields.genome[candidates.field], *ends)[0]
        difference.append(np.abs(candidates.value - queries.weight_map(u)))
    left, right, down, up = difference
    band = np.maximum(np.minimum(left, right), np.minimum(down, up))
    return candidates.keep(band > threshold)


def permitted(queries: Queries, fields: Fields, candidates: Candidates) -> Candidates:
    """The candidates that LEO, a second CPPN output, lets be expressed (> 0)."""
    if not queries.has_leo or not candidates.field.size:
        return candidates
    ends = _pairs(fields, candidates.field, *candidates.centres(), queries.engine.dtype)
    leo = queries.of_points(fields.genome[candidates.field], *ends)[1]
    return candidates.keep(leo > 0)
