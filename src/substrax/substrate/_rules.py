"""What both rules share: their results, the direction of links, the band test."""

import dataclasses
from typing import Protocol

import numpy as np
from jaxtyping import Bool, Float, Int

from ._cells import cell_ids
from ._connections import UPWARDS, is_allowed
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
        """Joins what was found in batches of fields."""
        none = np.zeros(0, np.int64)
        return Expressed(
            np.concatenate([none, *(p.field for p in parts)]),
            np.concatenate([none, *(p.cell for p in parts)]),
            np.concatenate([np.zeros(0, dtype), *(p.weight for p in parts)]),
        )


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
    """Cells that are to be tested for a link.

    `is_across` and `is_along` say whether the cell's sibling along x, or along y,
    differs enough for the band test; without a band threshold they are not used.
    """

    level: Int[np.ndarray, " n"]
    field: Int[np.ndarray, " n"]
    i: Int[np.ndarray, " n"]
    j: Int[np.ndarray, " n"]
    value: Float[np.ndarray, " n"]
    is_across: Bool[np.ndarray, " n"]
    is_along: Bool[np.ndarray, " n"]

    @staticmethod
    def where(
        quads: Quads,
        weight: Float[np.ndarray, "4 quads"],
        mask: Bool[np.ndarray, "4 quads"],
        threshold: float | None,
    ) -> "Candidates":
        """The members in a mask, ordered by quad; None means no band test."""
        if threshold is None:
            is_across = is_along = mask
        else:
            a, b, c, d = weight
            across = [np.abs(a - c) > threshold, np.abs(b - d) > threshold]
            along = [np.abs(a - b) > threshold, np.abs(c - d) > threshold]
            is_across = np.stack([across[0], across[1], across[0], across[1]])
            is_along = np.stack([along[0], along[0], along[1], along[1]])
            mask = mask & (is_across | is_along)
        place = np.flatnonzero(mask.T)
        member, quad = place & 3, place >> 2
        # One flat index is several times faster than a pair of them.
        flat = member * quads.num + quad
        return Candidates(
            np.full(place.size, quads.level, np.int32),
            quads.field[quad],
            2 * quads.i[quad] + (member >> 1).astype(np.int32),
            2 * quads.j[quad] + (member & 1).astype(np.int32),
            weight.ravel()[flat],
            is_across.ravel()[flat],
            is_along.ravel()[flat],
        )

    @staticmethod
    def concatenate(parts: list["Candidates"]) -> "Candidates":
        """Joins what levels have to offer, in their order."""
        names = [f.name for f in dataclasses.fields(Candidates)]
        return Candidates(
            *(np.concatenate([getattr(p, name) for p in parts]) for name in names)
        )

    def select(self, which: np.ndarray) -> "Candidates":
        names = [f.name for f in dataclasses.fields(Candidates)]
        return Candidates(*(getattr(self, name)[which] for name in names))

    def centres(self) -> tuple[np.ndarray, np.ndarray]:
        step = np.ldexp(1.0, -(self.level + 1))
        return (2 * self.i + 1) * step - 1, (2 * self.j + 1) * step - 1

    def expressed(self) -> Expressed:
        """The links of these cells, sorted by field."""
        order = np.argsort(self.field, kind="stable")
        cell = cell_ids(self.level, self.i, self.j)
        return Expressed(self.field[order], cell[order], self.value[order])


def upward(fields: Fields, quads: Quads) -> Bool[np.ndarray, "4 quads"]:
    """Which members a link would run upwards to (or, for an output, upwards from).

    The heights of a level are few, so each field's place among them is looked up once
    and members are compared as integers.
    """
    num = 2 ** (quads.level + 1)
    heights = (2.0 * np.arange(num) + 1.0) / num - 1.0
    y = fields.point[:, 1]
    row = 2 * quads.j
    if fields.outgoing:
        lowest = np.searchsorted(heights, y, side="right").astype(np.int32)
        bound = lowest[quads.field]
        lower, upper = row >= bound, row + 1 >= bound
    else:
        beyond = np.searchsorted(heights, y, side="left").astype(np.int32)
        bound = beyond[quads.field]
        lower, upper = row < bound, row + 1 < bound
    return np.stack([lower, upper, lower, upper])


def candidates_of(
    fields: Fields,
    quads: Quads,
    weight: Float[np.ndarray, "4 quads"],
    mask: Bool[np.ndarray, "4 quads"],
    classes: frozenset[int],
    band_threshold: float | None,
) -> Candidates:
    """The members in `mask` whose link would be of one of the classes.

    Those that cannot pass the band test, going by their siblings, are left out.
    """
    if classes == UPWARDS:
        mask = mask & upward(fields, quads)
        return Candidates.where(quads, weight, mask, band_threshold)
    candidates = Candidates.where(quads, weight, mask, band_threshold)
    x, y = candidates.centres()
    there = fields.point[candidates.field]
    is_same = (there[:, 0] == x) & (there[:, 1] == y)
    ends = (there[:, 1], y) if fields.outgoing else (y, there[:, 1])
    return candidates.select(is_allowed(classes, *ends, is_same))


def _pairs(
    fields: Fields, field: np.ndarray, x: np.ndarray, y: np.ndarray, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    fixed = fields.point.astype(dtype)[field]
    moving = np.empty((field.size, 2), dtype)
    moving[:, 0], moving[:, 1] = x, y
    return (fixed, moving) if fields.outgoing else (moving, fixed)


def _differs_outward(
    queries: Queries,
    fields: Fields,
    candidates: Candidates,
    threshold: float,
    axis: int,
) -> Bool[np.ndarray, " n"]:
    """Whether the neighbour outside the quad, along one axis, differs enough."""
    side = np.ldexp(1.0, -candidates.level)
    x, y = candidates.centres()
    # A member in the lower half has its other neighbour below, and so on.
    is_upper = (candidates.i if axis == 0 else candidates.j) & 1
    step = (2 * is_upper - 1) * side
    x, y = (x + step, y) if axis == 0 else (x, y + step)
    field = candidates.field
    ends = _pairs(fields, field, x, y, queries.engine.dtype)
    u = queries.of_points(fields.genome[field], *ends)[0]
    return np.abs(candidates.value - queries.weight_map(u)) > threshold


def in_band(
    queries: Queries, fields: Fields, candidates: Candidates, threshold: float
) -> Candidates:
    """The candidates that differ from both neighbours along x, or from both along y.

    `max(min(|dv left|, |dv right|), min(|dv down|, |dv up|)) > threshold`, neighbours
    lying one side away, also outside the plane, whether or not a cell exists there
    (Risi & Stanley 2012). One neighbour along each axis is a member of the same quad,
    whose weight is known; the other is asked for only where that one differs enough.
    """
    passes = np.zeros(candidates.field.size, bool)
    for axis, differs in ((0, candidates.is_across), (1, candidates.is_along)):
        asked = np.flatnonzero(differs & ~passes)
        if asked.size:
            some = candidates.select(asked)
            passes[asked] = _differs_outward(queries, fields, some, threshold, axis)
    return candidates.select(passes)


def permitted(queries: Queries, fields: Fields, candidates: Candidates) -> Candidates:
    """The candidates that LEO, a second CPPN output, lets be expressed (> 0)."""
    if not queries.has_leo or not candidates.field.size:
        return candidates
    field = candidates.field
    ends = _pairs(fields, field, *candidates.centres(), queries.engine.dtype)
    leo = queries.of_points(fields.genome[field], *ends)[1]
    return candidates.select(leo > 0)
