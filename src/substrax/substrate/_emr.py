"""Rule `emr`: EMR-HyperNEAT (Claret et al. 2026), the mask of equation 2.

Level d <= initial_depth is active; a deeper cell is active iff its parent is and the
variance over the parent's children exceeds the threshold. Every active cell of every
level is a candidate; a link is expressed iff |w| > weight_threshold.

The paper's code takes the variance from the first input alone; here each input has its
own field, as its text says.
"""

import dataclasses
from typing import Any, ClassVar

from .._native import Engine
from .._types import check_settings, check_threshold, chosen, shown
from ._connections import CONFIGURATIONS, class_bits, configuration
from ._recover import check_brute_force
from ._rule import (
    AbstractRule,
    check_depth,
    check_known_strategy,
)

FIELDS = ("output", "weight")


@dataclasses.dataclass(frozen=True)
class EMRRule(AbstractRule):
    """**Arguments:**

    - `depth`: D, the deepest level.
    - `initial_depth`: levels up to this one are active whatever the variance.
    - `variance_threshold`: on the variance of `field` over four siblings.
    - `field`: `output` takes the variance of the CPPN's output, whose scale the paper's
      0.03 belongs to; `weight` that of the weight, as rule `es` does.
    - `weight_threshold`: a link needs a larger |weight| than this.
    - `band_threshold`: if positive, the band test of rule `es` must hold as well.
    - `connections`: one of the six configurations of hidden-to-hidden links.
    - `rounds`: how many times new hidden positions are explored from, as `es` does.
    - `recover`: a cell is active iff its parent's children vary enough, whatever the
      ancestors say: the paper's proof in place of its equation 2.
    """

    depth: int = 4
    initial_depth: int = 0
    variance_threshold: float = 0.03
    weight_threshold: float = 0.1
    band_threshold: float = 0.0
    connections: str = chosen("hidden", CONFIGURATIONS)
    field: str = chosen("output", FIELDS)
    rounds: int = 0
    recover: bool = False

    name: ClassVar[str] = "emr"
    title: ClassVar[str] = "EMR-HyperNEAT"
    cells_caption: ClassVar[str] = (
        "Coloured cells are active: all of level 0 (and up to initial_depth), deeper "
        "ones where their parent is and the pattern varies enough over them and their "
        "siblings"
    )
    explores_outputs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self)
        check_depth(self.depth)
        if not 0 <= self.initial_depth <= self.depth:
            raise ValueError(
                f"initial_depth must lie between 0 and depth={self.depth}, not "
                f"{self.initial_depth}."
            )
        for name in ("variance_threshold", "weight_threshold", "band_threshold"):
            check_threshold(name, getattr(self, name))
        if self.field not in FIELDS:
            raise ValueError(
                f"field must be one of {FIELDS} (whose variance is taken?), not "
                f"{shown(self.field)}."
            )
        if self.rounds < 0:
            raise ValueError(f"rounds must not be negative, not {self.rounds}.")
        configuration(self.connections)

    @property
    def is_acyclic(self) -> bool:
        return self.connections in ("feedforward", "hidden")

    @property
    def has_band(self) -> bool:
        return self.band_threshold > 0

    @property
    def last_whole_level(self) -> int:
        # Without bounds, the proof's mask takes all cells.
        return self.depth if self.recover else self.initial_depth + 1

    @property
    def num_rounds(self) -> int:
        return self.rounds if self.pair_classes else 0

    @property
    def explored_classes(self) -> frozenset[int]:
        return self.pair_classes

    @property
    def pair_classes(self) -> frozenset[int]:
        return configuration(self.connections)

    @property
    def pair_threshold(self) -> float:
        return self.weight_threshold

    def check_strategy(self, strategy: str, budget: int) -> None:
        check_known_strategy(strategy)
        if strategy == "eager":
            check_brute_force(self)

    def native_settings(self, native: Engine, *, is_eager: bool) -> Any:
        return native.module.EmrSettings.make(
            depth=self.depth,
            initial_depth=self.initial_depth,
            rounds=self.rounds,
            classes=class_bits(self.pair_classes),
            variance_threshold=self.variance_threshold,
            weight_threshold=self.weight_threshold,
            band_threshold=self.band_threshold,
            is_weight_field=self.field == "weight",
            is_recovering=bool(self.recover),
            is_eager=is_eager,
        )
