"""Rule `emr`: EMR-HyperNEAT (Claret et al. 2026), the mask of equation 2.

Level d <= initial_depth is active; a deeper cell is active iff its parent is and the
variance over the parent's children exceeds the threshold. Every active cell of every
level is a candidate; a link is expressed iff |w| > weight_threshold.

The paper's code takes the variance from the first input alone; here each input has its
own field, as its text says.
"""

import dataclasses

import numpy as np

from ._cells import MAX_DEPTH
from ._connections import configuration
from ._fields import Fields, Quads, Queries, Values, block_variance
from ._recover import explore_recovering
from ._rules import Expressed, candidates_of
from ._stream import Sieve, walk

FIELDS = ("output", "weight")


@dataclasses.dataclass(frozen=True)
class EMRRule:
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
    connections: str = "hidden"
    field: str = "output"
    rounds: int = 0
    recover: bool = False

    def __post_init__(self) -> None:
        check_whole(
            depth=self.depth, initial_depth=self.initial_depth, rounds=self.rounds
        )
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
                f"{self.field!r}."
            )
        if self.rounds < 0:
            raise ValueError(f"rounds must not be negative, not {self.rounds}.")
        configuration(self.connections)

    def explore(
        self,
        queries: Queries,
        fields: Fields,
        values: Values,
        classes: frozenset[int],
        max_quads: int,
    ) -> Expressed:
        if self.recover:
            return explore_recovering(self, queries, fields, values, classes, max_quads)
        sieve = Sieve(queries, fields, self.band_threshold, max_quads)

        def visit(quads: Quads, below_active: np.ndarray | None) -> np.ndarray | None:
            u = values.at(quads)[0]
            weight = queries.weight_map(u)
            is_active = below_active
            if quads.level > self.initial_depth:
                varying = u if self.field == "output" else weight
                is_active = block_variance(varying) > self.variance_threshold  # eq. 2
                if below_active is not None:
                    is_active &= below_active
            if is_active is not None:
                active = np.flatnonzero(is_active)
                quads, weight = quads.select(active), weight.take(active, axis=1)
            strong = np.abs(weight) > self.weight_threshold
            sieve.add(candidates_of(fields, quads, weight, strong, classes))
            return is_active

        walk(fields.num, self.depth, max_quads, values.wants_everything, visit)
        return sieve.expressed()


def check_whole(**settings: object) -> None:
    for name, value in settings.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ValueError(f"{name} must be a whole number, not {value!r}.")


def check_depth(depth: int) -> None:
    if not 0 <= depth <= MAX_DEPTH:
        raise ValueError(f"depth must lie between 0 and {MAX_DEPTH}, not {depth}.")


def check_threshold(name: str, value: float) -> None:
    if not (np.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be a number of at least 0, not {value}.")
