"""A fitness that takes its time, so that there is something to be disturbed."""

import dataclasses
import time

import jax
import numpy as np

from substrax.network import Networks
from substrax.problems import AbstractProblem
from substrax.substrate import Layout


@dataclasses.dataclass(frozen=True)
class Slow(AbstractProblem):
    """Weights should add up to a number."""

    seconds: float = 0.01

    name = "slow"
    layout = Layout.spread(2, 1)
    target = 0.0
    suggested = {}  # noqa: RUF012

    def fitness(self, networks: Networks, *, key, resources=None) -> np.ndarray:
        time.sleep(self.seconds * len(networks))
        sums = np.array([n.link_weight.sum() for n in networks], np.float64)
        luck = float(jax.random.uniform(key))
        return -np.abs(sums - 30.0 - luck) / 3 - 0.01

    def measures(self, network: Networks) -> dict[str, float]:
        return {}
