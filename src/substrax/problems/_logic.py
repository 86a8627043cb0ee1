"""XOR and parity."""

import abc
import dataclasses
import functools
from typing import ClassVar

import numpy as np
from jaxtyping import Array, Float, Key

from .._resources import Resources
from .._types import check_settings
from ..network import Networks
from ..substrate import Layout
from ._base import AbstractProblem, TracedFitness, check_networks, check_single
from ._loss import mean_loss, misclassified, squared, traced_loss
from ._preparation import Preparation

# Rows at a time: 16 bits have no more.
_ALL = 1 << 16


def _truth_table(num_bits: int) -> tuple[np.ndarray, np.ndarray]:
    """All rows of bits, counting up, with a bias of 1 behind them; and their parity."""
    rows = np.arange(1 << num_bits)
    bits = (rows[:, None] >> np.arange(num_bits)[::-1]) & 1
    inputs = np.column_stack([bits, np.ones(len(rows))]).astype(np.float64)
    return inputs, (bits.sum(axis=1) % 2).astype(np.float64)[:, None]


class _AbstractParity(AbstractProblem):
    """What the parity of so many bits has in common for all of them."""

    target: ClassVar[float] = 0.98
    is_separable: ClassVar[bool | None] = True
    suggested: ClassVar[dict[str, object]] = {"output_activation": "sigmoid"}
    preparation: ClassVar[Preparation] = Preparation(has_bias=True, classes=(0, 1))

    @abc.abstractmethod
    def samples(self) -> tuple[np.ndarray, np.ndarray]:
        """All rows, and the answers to them."""

    def fitness(
        self,
        networks: Networks,
        *,
        key: Key[Array, ""],
        resources: Resources | None = None,
    ) -> Float[np.ndarray, " networks"]:
        del key
        check_networks(self, networks)
        return 1.0 - mean_loss(networks, *self.samples(), squared, _ALL, resources)

    def traced(self) -> TracedFitness | None:
        return self._traced

    @functools.cached_property
    def _traced(self) -> TracedFitness | None:
        return traced_loss(*self.samples(), squared)

    def measures(self, network: Networks) -> dict[str, float]:
        check_single(self, network)
        wrong = mean_loss(network, *self.samples(), misclassified, _ALL)
        return {"accuracy": 1.0 - float(wrong[0])}


@dataclasses.dataclass(frozen=True)
class XOR(_AbstractParity):
    """Exclusive or: the smallest problem that needs a hidden node.

    The four rows (a, b) in {0, 1}^2, in counting order, with a third input of 1 as a
    bias; the output should be 0, 1, 1, 0. Fitness is 1 minus the mean squared error.

    **Solved** at 0.98: a squared error of 0.02 on average. PUREPLES asks for 0.975.

    **Coordinates** of PUREPLES: a, b and the bias at (-1, -1), (0, -1), (1, -1), the
    output at (0, 1).

    Stanley & Miikkulainen (2002), Evolving Neural Networks through Augmenting
    Topologies, Evolutionary Computation 10(2), section 4.1.
    """

    name: ClassVar[str] = "xor"

    @functools.cached_property
    def layout(self) -> Layout:
        return Layout.spread(3, 1)

    def samples(self) -> tuple[np.ndarray, np.ndarray]:
        return _truth_table(2)


@dataclasses.dataclass(frozen=True)
class Parity(_AbstractParity):
    """Whether the number of ones among `num_bits` bits is odd; XOR for two bits.

    All 2^n rows of bits, and a last input of 1 as a bias; the output should be 1 for
    an odd number of ones, else 0. Fitness is 1 minus the mean squared error.

    **Solved** at 0.98, as XOR.

    **Coordinates**: bits and bias evenly along the lower edge, from (-1, -1) to
    (1, -1); the output at (0, 1).

    No network without hidden nodes computes parity, and every input matters in every
    row: Minsky & Papert (1969), Perceptrons, chapter 3.

    **Arguments:**

    - `num_bits`: 2 to 16.
    """

    num_bits: int = 3

    name: ClassVar[str] = "parity"

    def __post_init__(self) -> None:
        check_settings(self)
        if not 2 <= self.num_bits <= 16:
            raise ValueError(f"num_bits must be 2 to 16, not {self.num_bits}.")

    @functools.cached_property
    def layout(self) -> Layout:
        return Layout.spread(self.num_bits + 1, 1)

    def samples(self) -> tuple[np.ndarray, np.ndarray]:
        return _truth_table(self.num_bits)
