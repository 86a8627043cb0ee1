"""The second door for a user's own problem: a JAX function of a network."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from .._resources import Resources
from .._types import brief
from ..network import Networks, ReadiedNetworks, fits_readied, tensor_groups
from ..network import check_networks as check_networks_of
from ..substrate import Layout
from ._arguments import function_name, two_arguments
from ._base import (
    AbstractProblem,
    TracedFitness,
    check_networks,
    check_own,
    check_positive,
    check_single,
)
from ._network_function import (
    NetworkFunction,
    callable_engine,
    native_functions,
    over_population,
)

NetworkFitness = Callable[..., Any]
"""From one network, or one network and a key, to a number, by JAX operations."""


def run_population(
    fn: NetworkFitness,
    networks: Networks,
    key: Key[Array, ""],
    resources: Resources | None = None,
    block_size: int | None = None,
) -> Float[np.ndarray, " networks"]:
    """`fn` of each network with the same key, compiled."""
    if not len(networks):
        return np.zeros(0)
    return _one_each(run_outcomes(fn, networks, key, resources, block_size))


def _one_each(values: Any) -> Float[np.ndarray, " networks"]:
    """What a fitness function gave, if that is a number for each network."""
    if values is None:
        raise ValueError(
            "the fitness function gave nothing (None); it must return a number. Is a "
            "`return` missing?"
        )
    if np.ndim(values) != 1:
        raise ValueError(
            f"the fitness function gave the shape {np.shape(values)[1:]} for one "
            "network; it must give a single number, for example by .mean()."
        )
    return values


def run_outcomes(
    fn: Callable[[NetworkFunction, Any], Any],
    networks: Networks,
    key: Any,
    resources: Resources | None = None,
    block_size: int | None = None,
) -> Any:
    """Like `run_population`, for functions whose value is a tree of arrays, and for
    those that want more than a key: a tree of arrays, the same for all networks.

    There must be a network; without one it is not known what the tree looks like.
    """
    resources = resources or Resources()
    check_networks_of(networks)
    # Only while it runs: JAX's configuration is the caller's.
    with jax.enable_x64(networks.dtype == np.float64):
        native = callable_engine(resources)
        if native is None:
            return _on_device(fn, networks, key, resources)
        parts, num_rows = [], min(block_size or AT_ONCE, len(networks))
        while num_rows > 1 and not fits_readied(networks, num_rows, resources.budget):
            num_rows //= 2
        for begin in range(0, len(networks), num_rows):
            part = networks.part(begin, min(begin + num_rows, len(networks)))
            readied = ReadiedNetworks(native, part, resources)
            functions = native_functions(networks, readied, resources, num_rows)
            values = _for_native(fn, num_rows)(functions, key)
            num = len(part)
            parts.append(
                # (to NumPy's while the networks are there: JAX may still be at work)
                jax.tree.map(lambda x, n=num: np.asarray(x, np.float64)[:n], values)
            )
    return jax.tree.map(lambda *some: np.concatenate(some), *parts)


def _on_device(
    fn: NetworkFitness, networks: Networks, key: Any, resources: Resources
) -> Any:
    """Networks of about one size at a time, as matrices."""
    parts, which = [], []
    for group in tensor_groups(networks, resources.budget):
        values = _for_tensors(fn)(group.tensors, key)
        num = group.which.size
        parts.append(
            jax.tree.map(lambda x, n=num: np.asarray(x, np.float64)[:n], values)
        )
        which.append(group.which)
    order = np.argsort(np.concatenate(which))
    return jax.tree.map(lambda *some: np.concatenate(some)[order], *parts)


AT_ONCE = 1024
"""Networks that are evaluated side by side, at most."""


@functools.lru_cache(maxsize=32)
def _for_native(fn: NetworkFitness, num: int) -> Callable:
    # By function and number of networks, so that a run traces once for its shape.
    return jax.jit(over_population(_numbers_fn(fn), num))


@functools.lru_cache(maxsize=32)
def _for_tensors(fn: NetworkFitness) -> Callable:
    return jax.jit(jax.vmap(_numbers_fn(fn), in_axes=(0, None)))


@functools.lru_cache(maxsize=32)
def _numbers_fn(fn: NetworkFitness) -> Callable[..., Any]:
    """The same object for the same function, so that it is compiled once."""
    return functools.partial(_numbers_of, fn)


def _numbers_of(fn: NetworkFitness, network: NetworkFunction, *args: Any) -> Any:
    """What a function says, if it is made of numbers; told while it is traced."""
    try:
        values = fn(network, *args)
    except (
        jax.errors.ConcretizationTypeError,  # float(x), if x > 0, x.item()
        jax.errors.TracerArrayConversionError,  # np.sin(x)
        jax.errors.TracerIntegerConversionError,
    ) as error:
        raise ValueError(
            "the fitness function needs the numbers themselves, which JAX does not "
            "have while it compiles. Write it with jax.numpy (jnp.where for if, no "
            "float(), no NumPy), or give sx.HostProblem a Python function."
        ) from error
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
    - `block_size`: how many networks the function is compiled for; left out, for all of
      a population up to 1024. Workers (`executor`) share whole blocks of networks,
      because sums may round otherwise where another number of networks is evaluated
      side by side: choose 32, for example, if the population is to be shared.
    """

    fn: NetworkFitness
    layout: Layout
    target: float = float("inf")
    measure_fns: dict[str, NetworkFitness] = dataclasses.field(default_factory=dict)
    suggested: dict[str, object] = dataclasses.field(default_factory=dict)
    name: str = ""
    block_size: int | None = None

    is_separable: ClassVar[bool | None] = True

    def __post_init__(self) -> None:
        check_own(self.fn, self.layout, self.target)
        if self.block_size is not None:
            check_positive("block_size", self.block_size)
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
        return run_population(self.fn, networks, key, resources, self.block_size)

    def traced(self) -> TracedFitness:
        return TracedFitness(_numbers_fn(self.fn), _one_each)

    def measures(self, network: Networks) -> dict[str, float]:
        check_single(self, network)
        return {
            name: float(run_population(fn, network, jax.random.key(0))[0])
            for name, fn in self.measure_fns.items()
        }
