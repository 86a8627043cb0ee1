"""Problems of one's own, as a user has them in a file."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from substrax.network import Networks
from substrax.problems import AbstractProblem, HostProblem
from substrax.substrate import Layout

ROWS = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
NUMBER = 3


def fitness(network):
    """XOR, as a function of a network."""
    wanted = jnp.array([0.0, 1.0, 1.0, 0.0])
    return 1 - jnp.mean((network(jnp.array(ROWS))[:, 0] - wanted) ** 2)


def make(wanted: float = 2.0) -> HostProblem:
    """A problem that is made, with a setting."""

    def sums(networks: Networks, key) -> np.ndarray:
        return -np.array([abs(n.link_weight.sum() - wanted) for n in networks])

    return HostProblem(sums, Layout.spread(2, 1), target=0.0)


made = make()


@dataclasses.dataclass(frozen=True)
class Links(AbstractProblem):
    """A class of problems: so many links, please."""

    wanted: int = 3
    name = "links"
    layout = Layout.spread(2, 1)
    target = 0.0
    suggested = {"output_activation": "sigmoid"}  # noqa: RUF012

    def fitness(self, networks: Networks, *, key, resources=None) -> np.ndarray:
        return -np.abs(networks.num_links - float(self.wanted))

    def measures(self, network: Networks) -> dict[str, float]:
        return {"links": float(network.num_links[0])}
