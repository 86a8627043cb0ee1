"""What rules share: their results, the direction of links, the band test, LEO."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from ._cells import cell_ids
from ._connections import UPWARDS, is_allowed
from ._fields import Fields, Quads, Queries


@dataclasses.dataclass(frozen=True)
class Expressed:
    """Links between fields' points and cells; those of a field by level and Z-order.

    That order is part of the result: sums over a node's links are taken in it. Fields
    come in any order here; links are put in theirs at the end.
    """

    field: Int[np.ndarray, " links"]
    cell: Int[np.ndarray, " links"]
    weight: Float[np.ndarray, " links"]

    @staticmethod
    def concatenate(parts: list["Expressed"], dtype: np.dtype) -> "Expressed":
        """Joins what was found in batches of fields, or in levels."""
        if len(parts) == 1:
            return parts[0]
        none = np.zeros(0, np.int32)
        return Expressed(
            np.concatenate([none, *(p.field for p in parts)]),
            np.concatenate([none, *(p.cell for p in parts)]),
            np.concatenate([np.zeros(0, dtype), *(p.weight for p in parts)]),
        )


@dataclasses.dataclass(frozen=True)
class Candidates:
    """Cells of one level that are to be tested for a link: a mask over quads."""

    quads: Quads
    weight: Float[np.ndarray, "4 quads"]
    mask: Bool[np.ndarray, "4 quads"]

    def narrow(self, mask: Bool[np.ndarray, "4 quads"]) -> "Candidates":
        """Those that are in `mask` as well."""
        return Candidates(self.quads, self.weight, self.mask & mask)

    def compact(self) -> "Candidates":
        """The same without the quads that have none."""
        mask = self.mask
        some = np.flatnonzero(np.logical_or.reduce(mask))
        if some.size == self.quads.num:
            return self
        return Candidates(
            self.quads.select(some),
            self.weight.take(some, axis=1),
            mask.take(some, axis=1),
        )

    def expressed(self) -> Expressed:
        """The links to all candidates."""
        place = np.flatnonzero(self.mask.T)
        quad = place >> 2
        level = self.quads.level
        corner = cell_ids(level, 2 * self.quads.i, 2 * self.quads.j)
        offset = cell_ids(level, np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
        cell = corner.take(quad)
        cell += (offset - offset[0]).astype(corner.dtype).take(place & 3)
        # One flat index is several times faster than a pair of them.
        weight = self.weight.ravel().take(self.quads.flat_index(place))
        return Expressed(self.quads.field.take(quad), cell, weight)

    def centres(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Field and centre of each candidate, ordered by quad."""
        place = np.flatnonzero(self.mask.T)
        member, quad = place & 3, place >> 2
        i = 2 * self.quads.i[quad] + (member >> 1)
        j = 2 * self.quads.j[quad] + (member & 1)
        step = 2.0 ** -(self.quads.level + 1)
        return self.quads.field[quad], (2 * i + 1) * step - 1, (2 * j + 1) * step - 1

    def narrow_each(self, which: Bool[np.ndarray, " n"]) -> "Candidates":
        """Those that are marked, in the order of `cells`."""
        mask = self.mask.T.copy()
        mask[mask] = which
        return self.narrow(mask.T)


def express(levels: list[Candidates], dtype: np.dtype) -> Expressed:
    """The links to the candidates of all levels."""
    return Expressed.concatenate([level.expressed() for level in levels], dtype)


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
) -> Candidates:
    """The members in `mask` whose link would be of one of the classes."""
    if classes == UPWARDS:
        return Candidates(quads, weight, mask & upward(fields, quads)).compact()
    candidates = Candidates(quads, weight, mask)
    field, x, y = candidates.centres()
    there = fields.point[field]
    is_same = (there[:, 0] == x) & (there[:, 1] == y)
    ends = (there[:, 1], y) if fields.outgoing else (y, there[:, 1])
    return candidates.narrow_each(is_allowed(classes, *ends, is_same)).compact()


def in_band(
    queries: Queries, fields: Fields, levels: list[Candidates], threshold: float
) -> list[Candidates]:
    """The candidates that differ from both neighbours along x, or from both along y.

    `max(min(|dv left|, |dv right|), min(|dv down|, |dv up|)) > threshold`, neighbours
    lying one side away, also outside the plane, whether or not a cell exists there
    (Risi & Stanley 2012). One neighbour along each axis is a member of the same quad,
    whose weight is known; the other is asked for only where that one differs enough.
    """
    across = [_differs(c, ((0, 2), (1, 3)), threshold) for c in levels]
    along = [_differs(c, ((0, 1), (2, 3)), threshold) for c in levels]
    passes = _differs_outward(queries, fields, levels, across, (3.0, 1.0), threshold)
    rest = [a & ~p for a, p in zip(along, passes, strict=True)]
    also = _differs_outward(queries, fields, levels, rest, (1.0, 3.0), threshold)
    return [
        candidates.narrow(p | q)
        for candidates, p, q in zip(levels, passes, also, strict=True)
    ]


def _differs(
    candidates: Candidates, pairs: tuple[tuple[int, int], ...], threshold: float
) -> Bool[np.ndarray, "4 quads"]:
    """The candidates that differ from their sibling along one axis."""
    result = candidates.mask.copy()
    for a, b in pairs:
        difference = np.abs(candidates.weight[a] - candidates.weight[b]) > threshold
        result[a] &= difference
        result[b] &= difference
    return result


def _differs_outward(
    queries: Queries,
    fields: Fields,
    levels: list[Candidates],
    worth: list[Bool[np.ndarray, "4 _"]],
    stretch: tuple[float, float],
    threshold: float,
) -> list[Bool[np.ndarray, "4 _"]]:
    """Those worth asking that differ from their neighbour outside the quad."""
    asked = [np.flatnonzero(np.logical_or.reduce(mask)) for mask in worth]
    quads = [c.quads.select(a) for c, a in zip(levels, asked, strict=True)]
    outputs = queries.of_quads(fields, quads, stretch)
    neighbour = queries.weight_map(outputs[0])
    begin = 0
    result = []
    for candidates, mask, which in zip(levels, worth, asked, strict=True):
        stop = begin + which.size
        difference = candidates.weight.take(which, axis=1)
        difference -= neighbour[:, begin:stop]
        np.abs(difference, out=difference)
        passes = np.zeros_like(mask)
        differs = difference > threshold
        for member in range(4):  # as one assignment it is several times slower
            passes[member, which] = mask[member].take(which) & differs[member]
        result.append(passes)
        begin = stop
    return result


def permitted(
    queries: Queries, fields: Fields, levels: list[Candidates]
) -> list[Candidates]:
    """The candidates that LEO, a second CPPN output, lets be expressed (> 0)."""
    if not queries.has_leo:
        return levels
    leo = queries.of_quads(fields, [c.quads for c in levels])[1]
    bounds = np.cumsum([0, *(c.quads.num for c in levels)])
    return [
        candidates.narrow(leo[:, begin:stop] > 0)
        for candidates, begin, stop in zip(levels, bounds, bounds[1:], strict=False)
    ]
