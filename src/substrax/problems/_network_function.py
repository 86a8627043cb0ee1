"""Networks as functions inside `jit`, `vmap` and `scan`.

A fitness in JAX is best written for one network. On CPUs the native engine evaluates
all networks of a population in one call, though; there is no axis to `vmap` over. So
what is vmapped is the number of the network, and a rule of our own
(`jax.custom_batching`) says what all the calls together mean: one call for all.
Elsewhere networks are matrices (`TensorNetwork`), and vmapped as anything is.
"""

import functools
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt32

from .._native import Engine
from .._resources import Resources
from .._types import counted
from ..network import (
    Networks,
    ReadiedNetworks,
    advance_natively,
    calls_native,
    settle_natively,
)


@runtime_checkable
class NetworkFunction(Protocol):
    """One network of a population, for use within JAX functions.

    `network(inputs)` evaluates samples, (samples, inputs) to (samples, outputs), as
    `substrax.network.evaluate` does: settled, or `steps` updates from a zero state if
    the network may have cycles.

    In control tasks a network with cycles keeps its state. `state = network.start(n)`
    is that of n environments, and `state, outputs = network.step(state, inputs)` makes
    `steps` updates with inputs (n, inputs) held. A network without cycles settles in
    each step and has nothing to remember.
    """

    num_inputs: int
    num_outputs: int

    @property
    def dtype(self) -> np.dtype:
        """Of inputs, states and outputs."""
        ...

    def __call__(
        self, inputs: Float[Array, "samples inputs"], /
    ) -> Float[Array, "samples outputs"]: ...

    def start(self, num: int = 1, /) -> Float[Array, "slots environments"]:
        """The state before anything happened, for `num` environments."""
        ...

    def step(
        self,
        state: Float[Array, "slots environments"],
        inputs: Float[Array, "environments inputs"],
        /,
    ) -> tuple[
        Float[Array, "slots environments"], Float[Array, "environments outputs"]
    ]:
        """Gives each environment's inputs to the network; next state, outputs."""
        ...


class NativeFunction(eqx.Module):
    """A network that the native engine evaluates."""

    number: UInt32[Array, " 2"]
    """Of the networks, which the engine was told before."""
    index: Int[Array, ""]
    """Which of them this is."""
    num_rows: int = eqx.field(static=True)
    """How many of them are evaluated at a time; as many as are vmapped over."""
    num_slots: int = eqx.field(static=True)
    """Values that a state has."""
    num_inputs: int = eqx.field(static=True)
    num_outputs: int = eqx.field(static=True)
    dtype: np.dtype = eqx.field(static=True)
    is_acyclic: bool = eqx.field(static=True)
    threads: int = eqx.field(static=True)

    def __call__(
        self, inputs: Float[Array, "samples inputs"]
    ) -> Float[Array, "samples outputs"]:
        if not self.is_acyclic:
            return self.step(self.start(inputs.shape[0]), inputs)[1]
        settle_one, _ = _functions(self.num_rows, self.num_outputs, self.threads)
        return settle_one(self.number, self.index, self._cast(inputs))

    def start(self, num: int = 1) -> Float[Array, "slots environments"]:
        num_slots = 1 if self.is_acyclic else self.num_slots
        return jnp.zeros((num_slots, num), self.dtype)

    def step(
        self,
        state: Float[Array, "slots environments"],
        inputs: Float[Array, "environments inputs"],
    ) -> tuple[
        Float[Array, "slots environments"], Float[Array, "environments outputs"]
    ]:
        if self.is_acyclic:
            return state, self(inputs)
        _, advance_one = _functions(self.num_rows, self.num_outputs, self.threads)
        return advance_one(self.number, self.index, state, self._cast(inputs))

    def _cast(self, inputs: Float[Array, "n inputs"]) -> Float[Array, "n inputs"]:
        if inputs.ndim != 2 or inputs.shape[1] != self.num_inputs:
            raise ValueError(
                f"a network with {counted(self.num_inputs, 'input')} was given the "
                f"shape {inputs.shape}; give (samples, {self.num_inputs})."
            )
        return inputs.astype(self.dtype)


@functools.cache
def _functions(
    num_rows: int, num_outputs: int, threads: int
) -> tuple[Callable, Callable]:
    """Settling and advancing of one network, which become those of all under vmap.

    Everything traced is an argument, nothing is closed over: the rules are called
    wherever JAX gets to batching, also from within a `scan`.
    """
    settle_all = functools.partial(
        settle_natively, num_outputs=num_outputs, threads=threads
    )
    advance_all = functools.partial(
        advance_natively, num_outputs=num_outputs, threads=threads
    )

    def everybody(x):
        return jnp.broadcast_to(x, (num_rows, *x.shape))

    @jax.custom_batching.custom_vmap
    def settle_one(number, index, inputs):
        return settle_all(number, everybody(inputs))[index]

    @settle_one.def_vmap
    def _(axis_size, in_batched, number, index, inputs):
        _, is_index_batched, is_input_batched = in_batched
        if is_index_batched:  # over the population
            inputs = _spread(inputs, is_input_batched, axis_size)
            return settle_all(number, inputs), True
        # Over samples: then there are that many more of them.
        flat = inputs.reshape(-1, inputs.shape[2])
        outputs = settle_one(number, index, flat)
        return outputs.reshape(*inputs.shape[:2], -1), True

    @jax.custom_batching.custom_vmap
    def advance_one(number, index, state, inputs):
        state, outputs = advance_all(number, everybody(inputs), everybody(state))
        return state[index], outputs[index]

    @advance_one.def_vmap
    def _(axis_size, in_batched, number, index, state, inputs):
        _, is_index_batched, is_state_batched, is_input_batched = in_batched
        state = _spread(state, is_state_batched, axis_size)
        inputs = _spread(inputs, is_input_batched, axis_size)
        if is_index_batched:
            return advance_all(number, inputs, state), (True, True)
        # Over environments: (axis, slots, lanes) is (slots, axis * lanes).
        lanes = state.transpose(1, 0, 2).reshape(state.shape[1], -1)
        lanes, outputs = advance_one(
            number, index, lanes, inputs.reshape(-1, inputs.shape[2])
        )
        state = lanes.reshape(state.shape[1], axis_size, -1).transpose(1, 0, 2)
        return (state, outputs.reshape(*inputs.shape[:2], -1)), (True, True)

    return settle_one, advance_one


def _spread(x, is_batched: bool, axis_size: int):
    return x if is_batched else jnp.broadcast_to(x, (axis_size, *x.shape))


def _state_size(networks: Networks) -> int:
    """Values that the state of the largest network has: one of few sizes, so that a
    growing population compiles seldom. The least holds what control tasks mostly find.
    Networks without cycles have no state.
    """
    if networks.is_acyclic:
        return 1
    num = 64
    while num < networks.num_nodes.max(initial=1):
        num *= 4
    return num


def native_functions(
    networks: Networks, readied: ReadiedNetworks, resources: Resources, num_rows: int
) -> NativeFunction:
    """Networks that were readied, to be vmapped over with `over_population`."""
    return NativeFunction(
        number=jnp.asarray(readied.number),
        index=jnp.asarray(0, jnp.int32),
        num_rows=num_rows,
        num_slots=_state_size(networks),
        num_inputs=networks.num_inputs,
        num_outputs=networks.num_outputs,
        dtype=networks.dtype,
        is_acyclic=networks.is_acyclic,
        threads=resources.num_threads,
    )


def callable_engine(resources: Resources) -> Engine | None:
    """The native engine, if JAX's programs can call it."""
    native = resources.native
    return native if native is not None and calls_native(native) else None


def over_population(fn: Callable[..., Any], num: int) -> Callable[..., Any]:
    """`fn(network, *args)` for the first `num` networks at once, args shared by all."""

    def one(index, networks, *args):
        network = eqx.tree_at(lambda n: n.index, networks, index)
        return fn(network, *args)

    def everyone(networks, *args):
        axes = (0, None, *(None for _ in args))
        return jax.vmap(one, in_axes=axes)(jnp.arange(num), networks, *args)

    return everyone
