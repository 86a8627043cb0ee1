"""Rule `es`: ES-HyperNEAT (Risi & Stanley 2012), exactly as PUREPLES has it.

The quadtree is built level by level, without recursion.
Division: the four members of a quad are divided together, iff the variance over them
exceeds `division_threshold` or the next level lies above `initial_depth`. Extraction:
from the top, a cell whose leaves vary more than `variance_threshold` hands over to its
children; any other reached cell is tested with its four neighbours (the band).
"""

import dataclasses
from typing import Any, ClassVar

from .._native import Engine
from .._types import check_settings, check_threshold
from ._cells import num_cells
from ._connections import UPWARDS
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
    def has_band(self) -> bool:
        return True

    @property
    def last_whole_level(self) -> int:
        return max(self.initial_depth - 1, 0)

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
