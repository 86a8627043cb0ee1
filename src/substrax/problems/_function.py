"""The second door for a user's own problem: a JAX function of a network."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from .._resources import Resources
from .._types import brief
from ..network import Networks, capacity_for, groups_of
from ..substrate import Layout
from ._arguments import function_name, two_arguments
from ._base import AbstractProblem, check_networks, check_own, check_single
from ._network_function import (
    NetworkFunction,
    network_functions,
    over_population,
    slots_for,
)

NetworkFitness = Callable[..., Any]
"""From one network, or one network and a key, to a number, by JAX operations."""


def run_population(
    fn: NetworkFitness,
    networks: Networks,
    key: Key[Array, ""],
    resources: Resources | None = None,
) -> Float[np.ndarray, " networks"]:
    """`fn` of each network with the same key, compiled."""
    if not len(networks):
        return np.zeros(0)
    values = run_outcomes(fn, networks, key, resources)
    if values is None:
        raise ValueError(
            "the fitness function gave nothing (None); it must return a number. Is a "
            "`return` missing?"
        )
    if np.shape(values) != (len(networks),):
        raise ValueError(
            f"the fitness function gave the shape {np.shape(values)[1:]} for one "
            "network; it must give a single number, for example by .mean()."
        )
    return values


def run_outcomes(
    fn: Callable[[NetworkFunction, Key[Array, ""]], Any],
    networks: Networks,
    key: Key[Array, ""],
    resources: Resources | None = None,
) -> Any:
    """Like `run_population`, for functions whose value is a tree of arrays.

    There must be a network; without one it is not known what the tree looks like.
    """
    parts = []
    # Only while it runs: JAX's configuration is the caller's.
    with jax.enable_x64(networks.dtype == np.float64):
        capacity = capacity_for(networks, (resources or Resources()).budget)
        num_slots = slots_for(networks)
        for begin, stop in groups_of(networks, capacity):
            part = networks.part(begin, stop)
            functions = network_functions(part, capacity, num_slots)
            # All groups are padded to one number of networks.
            values = _compiled(fn, capacity.networks)(functions, key)
            num = stop - begin
            parts.append(
                jax.tree.map(lambda x, n=num: np.asarray(x, np.float64)[:n], values)
            )
    return jax.tree.map(lambda *some: np.concatenate(some), *parts)


@functools.lru_cache(maxsize=32)
def _compiled(fn: NetworkFitness, num: int) -> Callable:
    # By function and number of networks, so that a run traces once for its shape.
    return jax.jit(over_population(functools.partial(_numbers_of, fn), num))


def _numbers_of(fn: NetworkFitness, network: NetworkFunction, *args: Any) -> Any:
    """What a function says, if it is made of numbers; told while it is traced."""
    values = fn(network, *args)
    for value in jax.tree.leaves(values):
        try:
            dtype = jnp.asarray(value).dtype
        except (TypeError, ValueError):
            dtype = None  # a text, or an object
        kinds = (jnp.floating, jnp.integer, jnp.bool_)
        if dtype is None or not any(jnp.issubdtype(dtype, kind) for kind in kinds):
            what = type(value).__name__ if dtype is None else dtype
            raise ValueError(
                f"the fitness function gave {brief(what)}; it must give a number."
            )
    return values


@dataclasses.dataclass(frozen=True, eq=False)
class FunctionProblem(AbstractProblem):
    """A fitness in JAX: `fn(network)` or `fn(network, key)`, written for one network.

    `network` is a `NetworkFunction`: call it with samples, or step it through an
    environment. The function is compiled, and run for all networks of a population at
    once, so it keeps to what JAX can trace and batch: `lax.scan`, `lax.while_loop`,
    `jnp.where`. All networks of a generation get the same key, hence the same luck.

    **Arguments:**

    - `fn`: from a network, or a network and a key, to a number; larger is better. Give
      the same function object for the whole run: a new one is compiled anew.
    - `layout`: where inputs and outputs lie; their numbers are the network's.
    - `target`: the fitness that counts as solved; infinite, never, if left out.
    - `measure_fns`: further functions of the same kind by name, for `measures`; they
      get a fixed key.
    - `name`: left out, that of the function.
    """

    fn: NetworkFitness
    layout: Layout
    target: float = float("inf")
    measure_fns: dict[str, NetworkFitness] = dataclasses.field(default_factory=dict)
    suggested: dict[str, object] = dataclasses.field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        check_own(self.fn, self.layout, self.target)
        name = self.name or function_name(self.fn, "function")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "fn", two_arguments(self.fn))
        measures = {name: two_arguments(fn) for name, fn in self.measure_fns.items()}
        object.__setattr__(self, "measure_fns", measures)

    def fitness(
        self,
        networks: Networks,
        *,
        key: Key[Array, ""],
        resources: Resources | None = None,
    ) -> Float[np.ndarray, " networks"]:
        check_networks(self, networks)
        return run_population(self.fn, networks, key, resources)

    def measures(self, network: Networks) -> dict[str, float]:
        check_single(self, network)
        return {
            name: float(run_population(fn, network, jax.random.key(0))[0])
            for name, fn in self.measure_fns.items()
        }
