"""A small run: plain NEAT, and a problem that needs no evaluation of networks."""

import dataclasses

import jax
import numpy as np

from substrax.decoders import Direct
from substrax.evolution import TIMES, GenerationRecord
from substrax.neat import NEAT, presets
from substrax.network import Networks
from substrax.problems import AbstractProblem
from substrax.substrate import Layout


class Problem(AbstractProblem):
    """What problems of these tests share."""

    name = "test"
    layout = Layout.spread(2, 1)
    target = 1.0
    suggested = {}  # noqa: RUF012

    def measures(self, network: Networks) -> dict[str, float]:
        return {}


@dataclasses.dataclass(frozen=True)
class SumOfWeights(Problem):
    """Weights should add up to a number; the key adds a little noise."""

    wanted: float = 30.0
    target: float = 0.0
    noise: float = 0.01

    def fitness(self, networks: Networks, *, key, resources=None) -> np.ndarray:
        sums = np.array([n.link_weight.sum() for n in networks], np.float64)
        noise = np.asarray(jax.random.uniform(key, (len(networks),)), np.float64)
        return -np.abs(sums - self.wanted) - self.noise * noise - 0.01


def parts(problem=None, **overrides):
    """Algorithm, decoder, problem."""
    settings = {"population_size": 16, "max_nodes": 16, "max_links": 32, **overrides}
    neat = NEAT(presets.neat_python(num_inputs=2, num_outputs=1, **settings))
    decoder = Direct(2, 1, dialect="neat-python", activations=("sigmoid",))
    return neat, decoder, problem or SumOfWeights()


def timeless(history) -> list[dict]:
    """Records without the times, which differ between equal runs."""
    rows = [r.to_dict() if isinstance(r, GenerationRecord) else r for r in history]
    return [{k: v for k, v in row.items() if k not in TIMES} for row in rows]
