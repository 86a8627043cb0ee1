"""A fitness that sleeps; workers import it from here."""

import dataclasses
import time

import numpy as np

from substrax.network import Networks
from substrax.problems import AbstractProblem
from substrax.substrate import Layout
from substrax.workers import Answer


@dataclasses.dataclass(frozen=True)
class Sleeping(AbstractProblem):
    """So many seconds for each network."""

    seconds: float = 0.0

    name = "sleeping"
    layout = Layout.spread(8, 2)
    target = 1.0
    suggested = {}  # noqa: RUF012
    is_separable = True

    def fitness(self, networks: Networks, *, key, resources=None) -> np.ndarray:
        time.sleep(self.seconds * len(networks))
        return np.zeros(len(networks))

    def measures(self, network: Networks) -> dict[str, float]:
        return {}


def answer(some: object, back: np.ndarray) -> Answer:
    """The same, as a worker tells it."""
    return Answer(back)


def echo(some: object, back: np.ndarray) -> np.ndarray:
    """The journey of a slice, and nothing else."""
    return back
