"""Rule `es`: ES-HyperNEAT (Risi & Stanley 2012), exactly as PUREPLES has it.

The quadtree is built level by level for all fields at once, without recursion.
Division: the four members of a quad are divided together, iff the variance over them
exceeds `division_threshold` or the next level lies above `initial_depth`. Extraction:
from the top, a cell whose leaves vary more than `variance_threshold` hands over to its
children; any other reached cell is tested with its four neighbours (the band).
"""

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ._connections import UPWARDS
from ._emr import check_depth, check_threshold, check_whole
from ._fields import Fields, Quads, Queries, Values, block_variance
from ._rules import Candidates, Expressed, candidates_of, express, in_band, permitted

_PIECE = 1 << 13
"""Quads that are summed up at a time, so that temporary arrays stay in the cache."""


@dataclasses.dataclass(frozen=True)
class ESRule:
    """**Arguments:**

    - `depth`: D, the deepest level; PUREPLES' and MultiNEAT's `max_depth` is D + 1.
    - `initial_depth`: levels above this one (d < initial_depth) always exist.
    - `division_threshold`, `variance_threshold`, `band_threshold`: see above.
    - `iteration_level`: how many times new hidden positions are explored from.
    """

    depth: int = 3
    initial_depth: int = 0
    division_threshold: float = 0.5
    variance_threshold: float = 0.03
    band_threshold: float = 0.3
    iteration_level: int = 1

    def __post_init__(self) -> None:
        check_whole(
            depth=self.depth,
            initial_depth=self.initial_depth,
            iteration_level=self.iteration_level,
        )
        check_depth(self.depth)
        if not 0 <= self.initial_depth <= self.depth + 1:
            raise ValueError(
                f"initial_depth must lie between 0 and depth + 1 = {self.depth + 1}, "
                f"not {self.initial_depth}."
            )
        for name in ("division_threshold", "variance_threshold", "band_threshold"):
            check_threshold(name, getattr(self, name))
        if self.iteration_level < 0:
            raise ValueError(
                f"iteration_level must not be negative, not {self.iteration_level}."
            )

    def explore(
        self,
        queries: Queries,
        fields: Fields,
        values: Values,
        classes: frozenset[int],
        max_quads: int,
    ) -> Expressed | None:
        """Explores without what lies below the points first; see `_Visible`.

        The few fields for which that does not suffice are explored whole.
        """
        everything = np.arange(fields.num)
        if not fields.outgoing or classes != UPWARDS:
            return self._explore(queries, fields, values, everything, None, max_quads)
        visible = _Visible(fields)
        above = self._explore(queries, fields, values, everything, visible, max_quads)
        rest = np.flatnonzero(visible.is_insufficient)
        if above is None or not rest.size:
            return above
        whole = self._explore(queries, fields, values, rest, None, max_quads)
        if whole is None:
            return None
        return Expressed.concatenate([above, whole], queries.engine.dtype)

    def _explore(
        self,
        queries: Queries,
        fields: Fields,
        values: Values,
        which: Int[np.ndarray, " some"],
        visible: "_Visible | None",
        max_quads: int,
    ) -> Expressed | None:
        tree = self._divide(queries, fields, values, which, visible, max_quads)
        if tree is None:
            return None
        levels = []
        for level, tested in self._extract(tree, visible):
            tested &= level.weight != 0
            levels.append(
                candidates_of(fields, level.quads, level.weight, tested, UPWARDS)
            )
        if visible is not None and visible.is_insufficient.any():
            levels = [visible.without_insufficient(level) for level in levels]
        levels = in_band(queries, fields, levels, self.band_threshold)
        levels = permitted(queries, fields, levels)
        return express(levels, queries.engine.dtype)

    def _divide(
        self,
        queries: Queries,
        fields: Fields,
        values: Values,
        which: Int[np.ndarray, " some"],
        visible: "_Visible | None",
        max_quads: int,
    ) -> "list[_TreeLevel] | None":
        tree: list[_TreeLevel] = []
        kept = 0
        quads = Quads.roots(fields.num).select(which)
        for level in range(self.depth + 1):
            kept += quads.num
            if kept > max_quads and fields.num > 1:
                return None
            weight = queries.weight_map(values.at(quads)[0])
            if level == self.depth:
                divided = np.zeros(quads.num, bool)
            elif level + 1 < self.initial_depth:
                divided = np.ones(quads.num, bool)
            else:
                divided = block_variance(weight) > self.division_threshold
            opened = np.broadcast_to(divided, (4, quads.num))
            hidden = None
            if visible is not None:
                seen = visible.members(quads)
                hidden = opened & ~seen
                opened = opened & seen
            place = np.flatnonzero(opened.T)
            children = quads.children_at(place)
            tree.append(_TreeLevel(quads, weight, quads.flat_index(place), hidden))
            if not children.num:
                break
            quads = children
        return tree

    def _extract(self, tree: "list[_TreeLevel]", visible: "_Visible | None"):
        """Each level with a mask of the cells that extraction reaches and tests."""
        reached = np.ones(tree[0].quads.num, bool)
        threshold = self.variance_threshold
        for level, below in zip(tree, _sum_up(tree), strict=True):
            tested = np.repeat(reached[None], 4, axis=0)
            if below is None:
                yield level, tested
                continue
            hands_over = np.zeros(tested.shape, bool)
            at = level.opened
            is_above = below.deviation / below.total > threshold
            if visible is not None:
                # A part of the squares over all the leaves that there may be.
                most = 4.0 ** (self.depth - level.quads.level)
                is_surely_above = below.deviation > _SURELY * threshold * most
                is_unknown = below.is_incomplete & ~is_surely_above
                is_above = np.where(below.is_incomplete, is_surely_above, is_above)
                asked = is_unknown & reached.take(at % level.quads.num)
                visible.miss(level.quads.field.take(at[asked] % level.quads.num))
            hands_over.ravel()[at] = is_above
            hands_over &= tested
            yield level, tested & ~hands_over
            reached = hands_over.ravel().take(at)


_SURELY = 1.0 + 1e-9
"""Margin for the rounding of sums of squares."""


class _Visible:
    """What of the fields lies above their points, for rules that link upwards only.

    Nothing is expressed within a cell whose upper edge is not above the point. Its
    leaves still count in the variances of the cells around it, whose question is only
    whether a threshold is exceeded; and the leaves that are seen nearly always settle
    that, as squared deviations only become more. The fields where they do not are
    noted.
    """

    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        self.is_insufficient = np.zeros(fields.num, bool)

    def members(self, quads: Quads) -> Bool[np.ndarray, "4 quads"]:
        """Whether the members' upper edges lie above their field's point."""
        num = 2 ** (quads.level + 1)
        edges = 2.0 * np.arange(1, num + 1) / num - 1.0
        lowest = np.searchsorted(edges, self.fields.point[:, 1], side="right")
        bound = lowest.astype(np.int32).take(quads.field)
        row = 2 * quads.j
        lower, upper = row >= bound, row + 1 >= bound
        return np.stack([lower, upper, lower, upper])

    def miss(self, field: Int[np.ndarray, " cells"]) -> None:
        self.is_insufficient[field] = True

    def without_insufficient(self, level: Candidates) -> Candidates:
        is_settled = ~self.is_insufficient.take(level.quads.field)
        return level.narrow(np.broadcast_to(is_settled, level.mask.shape)).compact()


@dataclasses.dataclass(frozen=True)
class _TreeLevel:
    """One level of all trees.

    The quads of the next level are the children of the cells `opened`, which are flat
    indices into (4, quads), in order. Cells that are `hidden` have children, too, but
    nobody looks there.
    """

    quads: Quads
    weight: Float[np.ndarray, "4 quads"]
    opened: Int[np.ndarray, " cells"]
    hidden: Bool[np.ndarray, "4 quads"] | None


class _Leaves(NamedTuple):
    """Of the leaves below cells: how many, their mean, their squared deviations; and
    whether there are more that nobody looked at."""

    total: Float[np.ndarray, " cells"]
    mean: Float[np.ndarray, " cells"]
    deviation: Float[np.ndarray, " cells"]
    is_incomplete: Bool[np.ndarray, " cells"]


def _sum_up(tree: list[_TreeLevel]) -> list[_Leaves | None]:
    """What lies below the opened cells of each level; None where there are none.

    Bottom up, in float64; the mean is taken relative to the first child, so that equal
    leaves have variance 0 exactly.
    """
    result: list[_Leaves | None] = [None]
    below = _pool_leaves(tree[-1].weight)
    for level in reversed(tree[:-1]):
        result.append(below)
        mean = level.weight.astype(np.float64)
        count, deviation = np.ones(mean.shape), np.zeros(mean.shape)
        is_incomplete = np.zeros(mean.shape, bool)
        if level.hidden is not None:
            count[level.hidden] = 0.0
            is_incomplete |= level.hidden
        count.ravel()[level.opened] = below.total
        mean.ravel()[level.opened] = below.mean
        deviation.ravel()[level.opened] = below.deviation
        is_incomplete.ravel()[level.opened] = below.is_incomplete
        below = _pool(count, mean, deviation, is_incomplete)
    return result[::-1]


def _pool_leaves(leaf: Float[np.ndarray, "4 quads"]) -> _Leaves:
    num = leaf.shape[1]
    mean, deviation = np.empty(num), np.empty(num)
    for begin in range(0, num, _PIECE):
        piece = slice(begin, begin + _PIECE)
        m = leaf[:, piece].astype(np.float64)
        shift = m[1] - m[0]
        shift += m[2] - m[0]
        shift += m[3] - m[0]
        shift /= 4.0
        np.add(m[0], shift, out=mean[piece])
        m -= mean[piece]
        m *= m
        deviation[piece] = ((m[0] + m[1]) + m[2]) + m[3]
    return _Leaves(np.full(num, 4.0), mean, deviation, np.zeros(num, bool))


def _pool(
    n: Float[np.ndarray, "4 quads"],
    m: Float[np.ndarray, "4 quads"],
    s: Float[np.ndarray, "4 quads"],
    is_incomplete: Bool[np.ndarray, "4 quads"],
) -> _Leaves:
    """The members of each quad together. Some have no leaves, but never all."""
    total = ((n[0] + n[1]) + n[2]) + n[3]
    shift = n[1] * (m[1] - m[0]) + n[2] * (m[2] - m[0]) + n[3] * (m[3] - m[0])
    centre = m[0] + shift / total
    squares = s + n * (m - centre) ** 2
    pooled = ((squares[0] + squares[1]) + squares[2]) + squares[3]
    return _Leaves(total, centre, pooled, np.logical_or.reduce(is_incomplete))
