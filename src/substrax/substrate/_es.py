"""Rule `es`: ES-HyperNEAT (Risi & Stanley 2012), exactly as PUREPLES has it.

The quadtree is built level by level for all fields at once, without recursion.
Division: the four members of a quad are divided together, iff the variance over them
exceeds `division_threshold` or the next level lies above `initial_depth`. Extraction:
from the top, a cell whose leaves vary more than `variance_threshold` hands over to its
children; any other reached cell is tested with its four neighbours (the band).
"""

import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from .._native import Engine
from .._types import check_settings, check_threshold
from ._cells import num_cells
from ._connections import UPWARDS
from ._expression import Expressed, candidates_of, express, in_band, permitted
from ._fields import Fields, Quads, Queries, Values, block_variance
from ._rule import (
    AbstractRule,
    check_depth,
    check_known_strategy,
    num_quads,
)

QUAD_BYTES = 320
"""What a quad takes while it is explored."""


@dataclasses.dataclass(frozen=True)
class ESRule(AbstractRule):
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

    name: ClassVar[str] = "es"
    title: ClassVar[str] = "ES-HyperNEAT"
    cells_caption: ClassVar[str] = "Coloured cells are those that the quadtree has"
    explores_outputs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self)
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

    @property
    def is_acyclic(self) -> bool:
        return True

    @property
    def num_rounds(self) -> int:
        return self.iteration_level

    @property
    def explored_classes(self) -> frozenset[int]:
        return UPWARDS

    @property
    def pair_classes(self) -> frozenset[int]:
        return frozenset()

    @property
    def pair_threshold(self) -> float:
        return 0.0  # there are no pairs

    def check_strategy(self, strategy: str, budget: int) -> None:
        check_known_strategy(strategy)
        if strategy == "eager" and num_quads(self.depth) * QUAD_BYTES > max(
            budget // 2, QUAD_BYTES << 20
        ):
            raise ValueError(
                f"rule es at depth {self.depth} with strategy eager keeps "
                f"{num_cells(self.depth):,} cells for each field, more than "
                "memory_budget allows. Use strategy frontier, raise memory_budget, or "
                "lower depth."
            )

    def native_settings(self, native: Engine, *, is_eager: bool) -> Any:
        return native.module.EsSettings.make(
            depth=self.depth,
            initial_depth=self.initial_depth,
            iteration_level=self.iteration_level,
            division_threshold=self.division_threshold,
            variance_threshold=self.variance_threshold,
            band_threshold=self.band_threshold,
            is_eager=is_eager,
        )

    def explore(
        self, queries: Queries, fields: Fields, values: Values, classes: frozenset[int]
    ) -> Expressed:
        levels = []
        for level, tested in self._extract(self._divide(queries, fields, values)):
            tested &= level.weight != 0
            levels.append(
                candidates_of(fields, level.quads, level.weight, tested, classes)
            )
        levels = in_band(queries, fields, levels, self.band_threshold)
        levels = permitted(queries, fields, levels)
        return express(levels, queries.engine.dtype)

    def is_active(
        self, queries: Queries, quads: Quads, outputs: np.ndarray
    ) -> np.ndarray:
        return np.ones(quads.num, bool)

    def _divide(
        self, queries: Queries, fields: Fields, values: Values
    ) -> "list[_TreeLevel]":
        tree: list[_TreeLevel] = []
        quads = Quads.roots(fields.num)
        for level in range(self.depth + 1):
            weight = queries.weight_map(values.at(quads)[0])
            if level == self.depth:
                divided = np.zeros(quads.num, bool)
            elif level + 1 < self.initial_depth:
                divided = np.ones(quads.num, bool)
            else:
                divided = block_variance(weight) > self.division_threshold
            place = np.flatnonzero(np.repeat(divided, 4))
            children = quads.children_at(place)
            tree.append(_TreeLevel(quads, weight, quads.flat_index(place)))
            if not children.num:
                break
            quads = children
        return tree

    def _extract(self, tree: "list[_TreeLevel]"):
        """Each level with a mask of the cells that extraction reaches and tests."""
        reached = np.ones(tree[0].quads.num, bool)
        for level, below in zip(tree, _sum_up(tree), strict=True):
            tested = np.repeat(reached[None], 4, axis=0)
            if below is None:
                yield level, tested
                continue
            hands_over = np.zeros(tested.shape, bool)
            is_above = below.deviation / below.total > self.variance_threshold
            hands_over.ravel()[level.opened] = is_above
            hands_over &= tested
            yield level, tested & ~hands_over
            reached = hands_over.ravel().take(level.opened)


@dataclasses.dataclass(frozen=True)
class _TreeLevel:
    """One level of all trees.

    The quads of the next level are the children of the cells `opened`, which are flat
    indices into (4, quads), in order.
    """

    quads: Quads
    weight: Float[np.ndarray, "4 quads"]
    opened: Int[np.ndarray, " cells"]


class _Leaves(NamedTuple):
    """Of the leaves below cells: how many, their mean, their squared deviations."""

    total: Float[np.ndarray, " cells"]
    mean: Float[np.ndarray, " cells"]
    deviation: Float[np.ndarray, " cells"]


def _sum_up(tree: list[_TreeLevel]) -> list[_Leaves | None]:
    """What lies below the opened cells of each level; None where there are none.

    Bottom up, in float64; the mean is taken relative to the first child, so that equal
    leaves have variance 0 exactly.
    """
    result: list[_Leaves | None] = [None]
    below: _Leaves | None = None
    for level in reversed(tree):
        mean = level.weight.astype(np.float64)
        count, deviation = np.ones(mean.shape), np.zeros(mean.shape)
        if below is not None:
            result.append(below)
            count.ravel()[level.opened] = below.total
            mean.ravel()[level.opened] = below.mean
            deviation.ravel()[level.opened] = below.deviation
        below = _pool(count, mean, deviation)
    return result[::-1]


def _pool(
    n: Float[np.ndarray, "4 quads"],
    m: Float[np.ndarray, "4 quads"],
    s: Float[np.ndarray, "4 quads"],
) -> _Leaves:
    """The members of each quad together."""
    total = ((n[0] + n[1]) + n[2]) + n[3]
    shift = n[1] * (m[1] - m[0]) + n[2] * (m[2] - m[0]) + n[3] * (m[3] - m[0])
    centre = m[0] + shift / total
    squares = s + n * (m - centre) ** 2
    pooled = ((squares[0] + squares[1]) + squares[2]) + squares[3]
    return _Leaves(total, centre, pooled)
