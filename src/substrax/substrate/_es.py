"""Rule `es`: ES-HyperNEAT (Risi & Stanley 2012), exactly as PUREPLES has it.

The quadtree is built level by level for all fields at once, without recursion.
Division: the four members of a quad are divided together, iff the variance over them
exceeds `division_threshold` or the next level lies above `initial_depth`. Extraction:
from the top, a cell whose leaves vary more than `variance_threshold` hands over to its
children; any other reached cell is tested with its four neighbours (the band).
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

from ._emr import check_depth, check_threshold
from ._fields import Fields, Quads, Queries, Values, block_variance
from ._rules import Expressed, candidates_of, in_band, permitted


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
        tree = self._divide(queries, fields, values, max_quads)
        if tree is None:
            return None
        found = []
        for level, tested in self._extract(tree):
            # Cheap tests first: a band test costs queries.
            worth = tested & (level.weight != 0)
            candidates = candidates_of(
                fields, level.quads, level.weight, worth, classes
            )
            candidates = in_band(queries, fields, candidates, self.band_threshold)
            found.append(permitted(queries, fields, candidates).expressed())
        return Expressed.concatenate(found, queries.engine.dtype)

    def _divide(
        self, queries: Queries, fields: Fields, values: Values, max_quads: int
    ) -> "list[_TreeLevel] | None":
        tree: list[_TreeLevel] = []
        kept = 0
        quads = Quads.roots(fields.num)
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
            divided_cells = np.repeat(divided[:, None], 4, axis=1)
            children = quads.select(divided).children()
            if level == 0 and fields.outgoing:
                may_lead_up = _may_lead_up(fields)
                divided_cells &= may_lead_up
                children = children.select(may_lead_up[divided].ravel())
            tree.append(_TreeLevel(quads, weight, divided_cells))
            if not children.num:
                break
            quads = children
        return tree

    def _extract(self, tree: "list[_TreeLevel]"):
        """Each level with a mask of the cells that extraction reaches and tests."""
        variances = _leaf_variances(tree)
        reached = np.ones(tree[0].quads.num, bool)
        for level, variance in zip(tree, variances, strict=True):
            hands_over = (
                reached[:, None] & level.divided & (variance > self.variance_threshold)
            )
            yield level, reached[:, None] & ~hands_over
            reached = hands_over[level.divided]


@dataclasses.dataclass(frozen=True)
class _TreeLevel:
    """One level of all trees. The quads of the next level are the children of those
    cells that are `divided`, in order."""

    quads: Quads
    weight: Float[np.ndarray, "quads 4"]
    divided: Bool[np.ndarray, "quads 4"]


def _may_lead_up(fields: Fields) -> Bool[np.ndarray, "fields 4"]:
    """Whether cells of level 0 reach above the field's point.

    Links run upwards, so nothing can be expressed within a cell of level 0 whose upper
    edge is not above the source. (Deeper cells have to exist all the same: their leaves
    count in the variances of those above them. The root is never asked for its own.)
    """
    lower = fields.point[:, 1] < 0.0
    ones = np.ones(fields.num, bool)
    return np.column_stack([lower, ones, lower, ones])


def _leaf_variances(tree: list[_TreeLevel]) -> list[Float[np.ndarray, "quads 4"]]:
    """For each cell, the variance over the leaves below it; 0 for a leaf.

    Bottom up by counts, means and sums of squared deviations, in float64; the mean is
    taken relative to the first child, so that equal leaves have variance 0 exactly.
    """
    result: list[np.ndarray] = []
    below: tuple[np.ndarray, ...] | None = None
    for level in reversed(tree):
        count = np.ones(level.weight.shape)
        mean = level.weight.astype(np.float64)
        deviation = np.zeros(level.weight.shape)
        if below is not None:
            count[level.divided], mean[level.divided], deviation[level.divided] = below
        result.append(deviation / count)
        below = _pool(count, mean, deviation)
    return result[::-1]


def _pool(
    count: Float[np.ndarray, "quads 4"],
    mean: Float[np.ndarray, "quads 4"],
    deviation: Float[np.ndarray, "quads 4"],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Statistics of the four members of each quad taken together."""
    # Members as planes: NumPy is slow at reducing rows of four.
    n, m, s = (x.T.copy(order="C") for x in (count, mean, deviation))
    total = ((n[0] + n[1]) + n[2]) + n[3]
    shift = n[1] * (m[1] - m[0]) + n[2] * (m[2] - m[0]) + n[3] * (m[3] - m[0])
    centre = m[0] + shift / total
    m -= centre
    s += n * m * m
    return total, centre, ((s[0] + s[1]) + s[2]) + s[3]
