"""What observations were like so far: running means and spreads, merged exactly.

Each network's episodes are added up by themselves, and the sums of all networks in the
order of the population. So it does not matter who evaluated which of them.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float


class Seen(NamedTuple):
    """What the networks of one generation have seen, a row for each of them.

    `total` and `square` are sums of x - centre and of its square, where `centre` is the
    mean before this generation.
    """

    num: Any
    total: Any
    square: Any


class Statistics(NamedTuple):
    """How many, and of each number the mean and the sum of squared differences."""

    num: Float[np.ndarray, ""]
    mean: Float[np.ndarray, " numbers"]
    deviation: Float[np.ndarray, " numbers"]

    @staticmethod
    def nothing(num: int) -> "Statistics":
        return Statistics(np.zeros(()), np.zeros(num), np.zeros(num))

    def joined(self, seen: Seen) -> "Statistics":
        """With a generation more. Networks whose numbers are not finite are left out.

        Chan, Golub & LeVeque (1979): of two sets of numbers, the sum of squared
        differences from the common mean is theirs and delta^2 n m / (n + m).
        """
        each, total, square = (np.asarray(x, np.float64) for x in seen)
        is_good = np.isfinite(total).all(axis=1) & np.isfinite(square).all(axis=1)
        num = each[is_good].sum()
        if not num:
            return self
        delta = total[is_good].sum(axis=0) / num
        deviation = np.maximum(square[is_good].sum(axis=0) - num * delta**2, 0.0)
        together = self.num + num
        return Statistics(
            np.asarray(together),
            self.mean + delta * (num / together),
            self.deviation + deviation + delta**2 * (self.num * num / together),
        )

    @property
    def spread(self) -> Float[np.ndarray, " numbers"]:
        """Standard deviations; 1 of what has never changed, or was never seen."""
        if not self.num:
            return np.ones_like(self.mean)
        spread = np.sqrt(self.deviation / self.num)
        return np.where(spread > _LEAST_SPREAD, spread, 1.0)


_LEAST_SPREAD = 1e-6
