"""Networks as functions inside `jit`, `vmap` and `scan`.

A fitness in JAX is best written for one network. All networks of a population are one
graph, though, and none is padded to the largest; there is no axis to `vmap` over. So
what is vmapped here is the number of the network, and a rule of our own
(`jax.custom_batching`) says what all the calls together mean: one evaluation of the
whole graph.
"""

import functools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .._resources import Resources
from ..cppn import Dialect
from ..network import (
    Capacity,
    Networks,
    Plan,
    advance,
    capacity_for,
    make_plan,
    settle,
)


class NetworkFunction(eqx.Module):
    """One network of a population, for use within JAX functions.

    `network(inputs)` evaluates samples, (samples, inputs) to (samples, outputs), as
    `substrax.network.evaluate` does: settled, or `steps` updates from a zero state if
    the network may have cycles.

    In control tasks a network with cycles keeps its state. `state = network.start(n)`
    is that of n environments, and `state, outputs = network.step(state, inputs)` makes
    `steps` updates with inputs (n, inputs) held. A network without cycles settles in
    each step and has nothing to remember.
    """

    plan: Plan
    slots: Int[Array, "rows slots"]
    """The node of the plan that each slot of a network's state belongs to."""
    steps: Int[Array, ""]
    index: Int[Array, ""]
    """Which network of the plan this is."""
    activation_ids: tuple[int, ...] = eqx.field(static=True)
    dialect: Dialect = eqx.field(static=True)
    is_acyclic: bool = eqx.field(static=True)

    @property
    def num_inputs(self) -> int:
        return self.plan.inputs.shape[1]

    @property
    def num_outputs(self) -> int:
        return self.plan.outputs.shape[1]

    def __call__(
        self, inputs: Float[Array, "samples inputs"]
    ) -> Float[Array, "samples outputs"]:
        if self.is_acyclic:
            settle_one, _ = _functions(self.activation_ids, self.dialect)
            return settle_one(self.plan, self.index, self._cast(inputs))
        return self.step(self.start(inputs.shape[0]), inputs)[1]

    def start(self, num: int = 1) -> Float[Array, "slots environments"]:
        """The state before anything happened, for `num` environments."""
        num_slots = 1 if self.is_acyclic else self.slots.shape[1]
        return jnp.zeros((num_slots, num), self.plan.bias.dtype)

    def step(
        self,
        state: Float[Array, "slots environments"],
        inputs: Float[Array, "environments inputs"],
    ) -> tuple[
        Float[Array, "slots environments"], Float[Array, "environments outputs"]
    ]:
        """Gives each environment's inputs to the network; next state, outputs."""
        if self.is_acyclic:
            return state, self(inputs)
        _, advance_one = _functions(self.activation_ids, self.dialect)
        return advance_one(
            (self.plan, self.slots, self.steps), self.index, state, self._cast(inputs)
        )

    def _cast(self, inputs: Float[Array, "n inputs"]) -> Float[Array, "n inputs"]:
        if inputs.ndim != 2 or inputs.shape[1] != self.num_inputs:
            raise ValueError(
                f"a network with {self.num_inputs} inputs was given the shape "
                f"{inputs.shape}; give (samples, {self.num_inputs})."
            )
        return inputs.astype(self.plan.bias.dtype)


@functools.cache
def _functions(
    activation_ids: tuple[int, ...], dialect: Dialect
) -> tuple[Callable, Callable]:
    """Settling and advancing of one network, which become those of all under vmap.

    Everything traced is an argument, nothing is closed over: the rules are called
    wherever JAX gets to batching, also from within a `scan`.
    """
    options = {"activation_ids": activation_ids, "dialect": dialect}

    def held(plan, inputs):
        """(networks, samples, inputs) as the kernels want it."""
        rows = jnp.zeros(
            (plan.inputs.shape[0], inputs.shape[2], inputs.shape[1]), inputs.dtype
        )
        return rows.at[: inputs.shape[0]].set(inputs.transpose(0, 2, 1))

    def settle_all(plan, inputs):
        outputs = settle(plan, held(plan, inputs), **options)
        return outputs[: inputs.shape[0]].transpose(0, 2, 1)

    def advance_all(parts, state, inputs):
        plan, slots, steps = parts
        slots = slots[: inputs.shape[0]]
        values = jnp.zeros((plan.bias.shape[0], inputs.shape[1]), state.dtype)
        values = values.at[slots].set(state)
        values = advance(plan, values, held(plan, inputs), steps, **options)
        outputs = values[plan.outputs][: inputs.shape[0]]
        return values[slots], outputs.transpose(0, 2, 1)

    def everybody(plan, x):
        return jnp.broadcast_to(x, (plan.inputs.shape[0], *x.shape))

    @jax.custom_batching.custom_vmap
    def settle_one(plan, index, inputs):
        return settle_all(plan, everybody(plan, inputs))[index]

    @settle_one.def_vmap
    def _(axis_size, in_batched, plan, index, inputs):
        _, is_index_batched, is_input_batched = in_batched
        if is_index_batched:  # over the population
            inputs = _spread(inputs, is_input_batched, axis_size)
            return settle_all(plan, inputs), True
        # Over samples: then there are that many more of them.
        flat = inputs.reshape(-1, inputs.shape[2])
        outputs = settle_one(plan, index, flat)
        return outputs.reshape(*inputs.shape[:2], -1), True

    @jax.custom_batching.custom_vmap
    def advance_one(parts, index, state, inputs):
        plan = parts[0]
        state, outputs = advance_all(
            parts, everybody(plan, state), everybody(plan, inputs)
        )
        return state[index], outputs[index]

    @advance_one.def_vmap
    def _(axis_size, in_batched, parts, index, state, inputs):
        _, is_index_batched, is_state_batched, is_input_batched = in_batched
        state = _spread(state, is_state_batched, axis_size)
        inputs = _spread(inputs, is_input_batched, axis_size)
        if is_index_batched:
            return advance_all(parts, state, inputs), (True, True)
        # Over environments: (axis, slots, lanes) is (slots, axis * lanes).
        lanes = state.transpose(1, 0, 2).reshape(state.shape[1], -1)
        lanes, outputs = advance_one(
            parts, index, lanes, inputs.reshape(-1, inputs.shape[2])
        )
        state = lanes.reshape(state.shape[1], axis_size, -1).transpose(1, 0, 2)
        return (state, outputs.reshape(*inputs.shape[:2], -1)), (True, True)

    return settle_one, advance_one


def _spread(x, is_batched: bool, axis_size: int):
    return x if is_batched else jnp.broadcast_to(x, (axis_size, *x.shape))


def slots_for(networks: Networks) -> int:
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


def network_functions(
    networks: Networks, capacity: Capacity | None = None, num_slots: int | None = None
) -> NetworkFunction:
    """The networks of a population, to be vmapped over with `over_population`.

    Call it under `jax.enable_x64(True)` if the networks are in 64 bits.
    """
    if capacity is None:
        capacity = capacity_for(networks, Resources().budget)
        capacity = capacity._replace(networks=len(networks))
    plan = make_plan(networks, capacity)
    num_slots = num_slots or slots_for(networks)
    dummy = plan.bias.shape[0] - 1
    slots = np.full((plan.inputs.shape[0], num_slots), dummy, np.int32)
    number = np.arange(num_slots)
    places = networks.node_bounds[:-1, None] + number
    is_node = number < networks.num_nodes[:, None]
    slots[: len(networks)] = np.where(is_node, places, dummy)
    return NetworkFunction(
        plan=jax.tree.map(jnp.asarray, plan),
        slots=jnp.asarray(slots),
        steps=jnp.asarray(networks.steps, jnp.int32),
        index=jnp.asarray(0, jnp.int32),
        activation_ids=networks.activation_ids,
        dialect=networks.dialect,
        is_acyclic=networks.is_acyclic,
    )


def over_population(fn: Callable, num: int) -> Callable:
    """`fn(network, *args)` for the first `num` networks at once, args shared by all."""

    def one(index, networks, *args):
        network = eqx.tree_at(lambda n: n.index, networks, index)
        return fn(network, *args)

    def everyone(networks, *args):
        axes = (0, None, *(None for _ in args))
        return jax.vmap(one, in_axes=axes)(jnp.arange(num), networks, *args)

    return everyone
