"""The third door for a user's own problem: a host function of a batch of networks."""

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Array, Float, Key

from .._resources import Resources
from .._types import ArrayLike
from ..network import Networks
from ..substrate import Layout
from ._arguments import function_name, two_arguments
from ._base import AbstractProblem, check_networks, check_own, check_single
from ._fitness import checked_fitness

HostFitness = Callable[..., ArrayLike]
"""From a batch of networks, or that and a key, to one number for each."""


@dataclasses.dataclass(frozen=True, eq=False)
class HostProblem(AbstractProblem):
    """A fitness in plain Python: `fn(networks)` or `fn(networks, key)`, for a whole
    population, or for a part of it where workers share one (`executor`).

    For simulators and whatever else JAX cannot trace. `substrax.network.evaluate` runs
    the networks on samples, `substrax.network.Stepper` runs them step by step.

    **Arguments:**

    - `fn`: from `Networks`, or `Networks` and a key, to one number for each network;
      larger is better. A number that is NaN or infinite marks a network as failed. For
      random numbers of NumPy,
      `numpy.random.default_rng(numpy.asarray(jax.random.key_data(key)))` follows the
      run's seed.
    - `layout`: where inputs and outputs lie; their numbers are the network's.
    - `target`: the fitness that counts as solved; infinite, never, if left out.
    - `measure_fn`: from one network to a dictionary, for `measures`.
    - `name`: left out, that of the function.
    - `is_separable`: False if a fitness depends on the other networks, so that workers
      cannot share them; see `AbstractProblem`.
    """

    fn: HostFitness
    layout: Layout
    target: float = float("inf")
    measure_fn: Callable[[Networks], dict[str, float]] | None = None
    suggested: dict[str, object] = dataclasses.field(default_factory=dict)
    name: str = ""
    is_separable: bool | None = None

    def __post_init__(self) -> None:
        check_own(self.fn, self.layout, self.target)
        name = self.name or function_name(self.fn, "host")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "fn", two_arguments(self.fn))

    def fitness(
        self,
        networks: Networks,
        *,
        key: Key[Array, ""],
        resources: Resources | None = None,
    ) -> Float[np.ndarray, " networks"]:
        check_networks(self, networks)
        return checked_fitness(self.fn(networks, key), len(networks))

    def measures(self, network: Networks) -> dict[str, float]:
        check_single(self, network)
        return {} if self.measure_fn is None else dict(self.measure_fn(network))
