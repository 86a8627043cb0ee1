"""Networks within a jit: matrices of a fixed size, and their evaluation.

A network is evaluated by the columns of its matrix: once a node's value is known, it is
added to the sums of all nodes that it leads to. There is no reduction whose order would
be the compiler's choice, so that neither the room a network has, nor how many are
evaluated side by side, changes a bit.
"""

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ..cppn import Dialect, activation_functions


class TensorNetwork(eqx.Module):
    """One network: inputs, outputs, hidden nodes, then slots without a node.

    `network(inputs)` evaluates samples, (samples, inputs) to (samples, outputs). A
    network without cycles settles: each node once, in the order of `rank`. Others make
    `steps` updates from a zero state. In control tasks `state = network.start(n)` is
    the state of n environments, and `state, outputs = network.step(state, inputs)`
    gives each of them its inputs.

    Everything is differentiable, in reverse mode too, with respect to weights, biases
    and inputs; which links there are is not.
    """

    weight: Float[Array, "nodes nodes"]
    """By (target, source); 0 where there is no link."""
    is_linked: Bool[Array, "nodes nodes"]
    bias: Float[Array, " nodes"]
    activation: Int[Array, " nodes"]
    """An index into `activation_ids`."""
    rank: Int[Array, " nodes"]
    """If there are no cycles, links lead to higher ranks."""
    point: Float[Array, "nodes 2"]
    is_node: Bool[Array, " nodes"]
    num_found: Int[Array, ""]
    """Hidden positions before the clean-up; -1 if nobody looked."""
    num_inputs: int = eqx.field(static=True)
    num_outputs: int = eqx.field(static=True)
    activation_ids: tuple[int, ...] = eqx.field(static=True)
    dialect: Dialect = eqx.field(static=True)
    is_acyclic: bool = eqx.field(static=True)
    steps: int = eqx.field(static=True)

    @property
    def num_links(self) -> Int[Array, ""]:
        return self.is_linked.sum(dtype=jnp.int32)

    @property
    def num_hidden(self) -> Int[Array, ""]:
        terminals = self.num_inputs + self.num_outputs
        return self.is_node[terminals:].sum(dtype=jnp.int32)

    def __call__(
        self, inputs: Float[Array, "samples inputs"]
    ) -> Float[Array, "samples outputs"]:
        if self.is_acyclic:
            return self._outputs(self._settle(self._cast(inputs)))
        return self.step(self.start(inputs.shape[0]), inputs)[1]

    def start(self, num: int = 1) -> Float[Array, "slots environments"]:
        """The state before anything happened, for `num` environments."""
        num_slots = 1 if self.is_acyclic else self.bias.shape[0]
        return jnp.zeros((num_slots, num), self.bias.dtype)

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
        held = self._cast(inputs)
        for _ in range(self.steps):
            state = self._update(state.at[: self.num_inputs].set(held))
        return state, self._outputs(state)

    def _settle(
        self, held: Float[Array, "inputs samples"]
    ) -> Float[Array, "nodes samples"]:
        order = jnp.argsort(self.rank, stable=True)
        is_input = jnp.arange(self.bias.shape[0]) < self.num_inputs
        sums = jnp.broadcast_to(self.bias[:, None], (self.bias.shape[0], held.shape[1]))
        sums = sums.at[: self.num_inputs].set(held)

        def run(k, values):
            node = order[k]
            value = values[node]
            active = self._activate(value[None], self.activation[node][None])[0]
            value = jnp.where(is_input[node], value, active)
            values = values.at[node].set(value)
            column = jnp.where(is_input, 0.0, self.weight[:, node])
            return values + column[:, None] * value[None]

        return lax.fori_loop(0, order.shape[0], run, sums)

    def _update(
        self, state: Float[Array, "nodes samples"]
    ) -> Float[Array, "nodes samples"]:
        """One synchronous update of all nodes; inputs hold their values."""

        def add(source, sums):
            return sums + self.weight[:, source][:, None] * state[source][None]

        sums = jnp.broadcast_to(self.bias[:, None], state.shape)
        sums = lax.fori_loop(0, state.shape[0], add, sums)
        new = self._activate(sums, self.activation)
        return new.at[: self.num_inputs].set(state[: self.num_inputs])

    def _activate(self, z, activation):
        functions = activation_functions(self.activation_ids, self.dialect)
        y = functions[0](z)
        for a, function in enumerate(functions[1:], start=1):
            y = jnp.where(activation[:, None] == a, function(z), y)
        return y

    def _outputs(self, values: Float[Array, "nodes samples"]):
        return values[self.num_inputs : self.num_inputs + self.num_outputs].T

    def _cast(self, inputs: Float[Array, "n inputs"]) -> Float[Array, "inputs n"]:
        if inputs.ndim != 2 or inputs.shape[1] != self.num_inputs:
            raise ValueError(
                f"a network with {self.num_inputs} inputs was given the shape "
                f"{inputs.shape}; give (samples, {self.num_inputs})."
            )
        return inputs.astype(self.bias.dtype).T
