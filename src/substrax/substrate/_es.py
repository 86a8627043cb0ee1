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
from ._rules import Expressed, candidates_of, express, in_band, permitted


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
        levels = [
            candidates_of(
                fields,
                level.quads,
                level.weight,
                tested & (level.weight != 0),
                classes,
            )
            for level, tested in self._extract(tree)
        ]
        levels = in_band(queries, fields, levels, self.band_threshold)
        levels = permitted(queries, fields, levels)
        return express(levels, queries.engine.dtype)

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
            cells = np.broadcast_to(divided, (4, quads.num))
            children = quads.select(divided).children()
            if level == 0 and fields.outgoing:
                may_lead_up = _may_lead_up(fields)
                cells = cells & may_lead_up
                children = children.select(may_lead_up.T[divided].ravel())
            tree.append(_TreeLevel(quads, weight, cells))
            if not children.num:
                break
            quads = children
        return tree

    def _extract(self, tree: "list[_TreeLevel]"):
        """Each level with a mask of the cells that extraction reaches and tests."""
        variances = _leaf_variances(tree)
        reached = np.ones(tree[0].quads.num, bool)
        for level, variance in zip(tree, variances, strict=True):
            everyone = np.broadcast_to(reached, level.weight.shape)
            if variance is None:
                yield level, everyone
                continue
            hands_over = reached & level.divided & (variance > self.variance_threshold)
            yield level, everyone & ~hands_over
            reached = hands_over.T[level.divided.T]


@dataclasses.dataclass(frozen=True)
class _TreeLevel:
    """One level of all trees. The quads of the next level are the children of those
    cells that are `divided`, in order."""

    quads: Quads
    weight: Float[np.ndarray, "4 quads"]
    divided: Bool[np.ndarray, "4 quads"]


def _may_lead_up(fields: Fields) -> Bool[np.ndarray, "4 fields"]:
    """Whether cells of level 0 reach above the field's point.

    Links run upwards, so nothing can be expressed within a cell of level 0 whose upper
    edge is not above the source. (Deeper cells have to exist all the same: their leaves
    count in the variances of those above them. The root is never asked for its own.)
    """
    lower = fields.point[:, 1] < 0.0
    ones = np.ones(fields.num, bool)
    return np.stack([lower, ones, lower, ones])


def _leaf_variances(
    tree: list[_TreeLevel],
) -> list[Float[np.ndarray, "4 quads"] | None]:
    """For each cell, the variance over the leaves below it; None for levels of leaves.

    Bottom up by counts, means and sums of squared deviations, in float64; the mean is
    taken relative to the first child, so that equal leaves have variance 0 exactly.
    """
    result: list[np.ndarray | None] = []
    below = (np.zeros(0),) * 3
    for level in reversed(tree):
        mean = level.weight.astype(np.float64)
        if not level.divided.any():
            result.append(None)
            below = _pool(None, mean, None)
            continue
        count, deviation = np.ones(mean.shape), np.zeros(mean.shape)
        quads = np.flatnonzero(np.logical_and.reduce(level.divided))
        if 4 * quads.size == below[0].size:  # quads are divided whole or not at all
            for cells, pooled in zip((count, mean, deviation), below, strict=True):
                cells[:, quads] = pooled.reshape(-1, 4).T
        else:
            divided = level.divided.T
            for cells, pooled in zip((count, mean, deviation), below, strict=True):
                rows = cells.T.copy()
                rows[divided] = pooled
                cells[:] = rows.T
        result.append(deviation / count)
        below = _pool(count, mean, deviation)
    return result[::-1]


def _pool(
    n: Float[np.ndarray, "4 quads"] | None,
    m: Float[np.ndarray, "4 quads"],
    s: Float[np.ndarray, "4 quads"] | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts, means and squared deviations of the members of each quad together.

    Without counts and deviations, members are leaves.
    """
    if n is None or s is None:
        shift = ((m[1] - m[0]) + (m[2] - m[0])) + (m[3] - m[0])
        centre = m[0] + shift / 4.0
        squares = (m - centre) ** 2
        total = np.full(centre.shape, 4.0)
    else:
        total = ((n[0] + n[1]) + n[2]) + n[3]
        shift = n[1] * (m[1] - m[0]) + n[2] * (m[2] - m[0]) + n[3] * (m[3] - m[0])
        centre = m[0] + shift / total
        squares = s + n * (m - centre) ** 2
    pooled = ((squares[0] + squares[1]) + squares[2]) + squares[3]
    return total, centre, pooled
