"""Networks within a jit: matrices of a fixed size, and their evaluation.

A network is evaluated by the rows of its matrix: once a node's value is known, it is
added to the sums of all nodes that it leads to. There is no reduction whose order would
be the compiler's choice, so that neither the room a network has, nor how many are
evaluated side by side, changes a bit. (How many samples there are may: for few of them
the compiler computes activation functions in another way.) A product would be faster
for networks with cycles, but its sums change with the room: see docs/accelerators.md.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from .._types import counted
from ..cppn import Dialect, activation_functions

_NO_RANK = int(np.iinfo(np.int32).max)
"""Behind all ranks: slots without a node come last."""


class TensorNetwork(eqx.Module):
    """One network, its nodes in the order of evaluation: inputs first, slots without a
    node last; or several such networks, with an axis for them in front, to be vmapped
    over.

    `network(inputs)` evaluates samples, (samples, inputs) to (samples, outputs). A
    network without cycles settles: each node once. Others make `steps` updates from a
    zero state. In control tasks `state = network.start(n)` is the state of n
    environments, and `state, outputs = network.step(state, inputs)` gives each of them
    its inputs.

    Everything is differentiable, in reverse mode too, with respect to weights, biases
    and inputs; which links there are is not.
    """

    weight: Float[Array, "*many nodes nodes"]
    """By (source, target); 0 where there is no link."""
    is_linked: Bool[Array, "*many nodes nodes"]
    bias: Float[Array, "*many nodes"]
    activation: Int[Array, "*many nodes"]
    """An index into `activation_ids`."""
    rank: Int[Array, "*many nodes"]
    """If there are no cycles, links lead to higher ranks."""
    point: Float[Array, "*many nodes 2"]
    is_node: Bool[Array, "*many nodes"]
    number: Int[Array, "*many nodes"]
    """Of inputs, outputs, then hidden nodes, as whoever made the network has them."""
    output: Int[Array, "*many outputs"]
    num_found: Int[Array, "*many"]
    """Hidden positions before the clean-up; -1 if nobody looked."""
    num_inputs: int = eqx.field(static=True)
    num_outputs: int = eqx.field(static=True)
    activation_ids: tuple[int, ...] = eqx.field(static=True)
    dialect: Dialect = eqx.field(static=True)
    is_acyclic: bool = eqx.field(static=True)
    steps: int = eqx.field(static=True)

    @staticmethod
    def make(
        *,
        weight: Float[Array, "nodes nodes"],
        is_linked: Bool[Array, "nodes nodes"],
        bias: Float[Array, " nodes"],
        activation: Int[Array, " nodes"],
        rank: Int[Array, " nodes"],
        point: Float[Array, "nodes 2"],
        is_node: Bool[Array, " nodes"],
        num_found: Int[Array, ""],
        num_inputs: int,
        num_outputs: int,
        activation_ids: tuple[int, ...],
        dialect: Dialect,
        is_acyclic: bool,
        steps: int,
    ) -> "TensorNetwork":
        """Puts nodes in order, which come as inputs, outputs, hidden ones, in slots of
        which some may be empty."""
        slot = jnp.arange(bias.shape[0], dtype=jnp.int32)
        # Sorting by rank alone would do, if inputs always had the least.
        key = jnp.where(is_node, rank, _NO_RANK)
        key = jnp.where(slot < num_inputs, jnp.iinfo(jnp.int32).min, key)
        order = jnp.argsort(key, stable=True).astype(jnp.int32)
        place = jnp.zeros_like(slot).at[order].set(slot)
        return TensorNetwork(
            weight=jnp.where(is_linked, weight, 0.0)[order][:, order],
            is_linked=is_linked[order][:, order],
            bias=bias[order],
            activation=activation[order],
            rank=rank[order],
            point=point[order],
            is_node=is_node[order],
            number=order,
            output=place[num_inputs : num_inputs + num_outputs],
            num_found=num_found,
            num_inputs=num_inputs,
            num_outputs=num_outputs,
            activation_ids=activation_ids,
            dialect=dialect,
            is_acyclic=is_acyclic,
            steps=steps,
        )

    @property
    def dtype(self) -> np.dtype:
        return self.bias.dtype

    @property
    def num_links(self) -> Int[Array, ""]:
        return self.is_linked.sum(dtype=jnp.int32)

    @property
    def num_hidden(self) -> Int[Array, ""]:
        num = self.is_node.sum(dtype=jnp.int32)
        return num - (self.num_inputs + self.num_outputs)

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
        state = self._advance(state, self._cast(inputs), self.steps)
        return state, self._outputs(state)

    def settled(
        self, inputs: Float[Array, "samples inputs"]
    ) -> Float[Array, "samples slots"]:
        """The values of all nodes of a network without cycles."""
        return self._settle(self._cast(inputs)).T

    def run(
        self, inputs: Float[Array, "samples inputs"], steps: int
    ) -> Float[Array, "samples outputs"]:
        """Outputs after so many updates from a zero state, with or without cycles."""
        state = jnp.zeros((self.bias.shape[0], inputs.shape[0]), self.bias.dtype)
        return self._outputs(self._advance(state, self._cast(inputs), steps))

    def _settle(
        self, held: Float[Array, "inputs samples"]
    ) -> Float[Array, "nodes samples"]:
        num, num_inputs = self.bias.shape[0], self.num_inputs

        def settle(k, sums):
            z = lax.dynamic_index_in_dim(sums, k, keepdims=False)
            which = lax.dynamic_index_in_dim(self.activation, num_inputs + k)
            y = self._activate(z[None], which)[0]
            sums = lax.dynamic_update_index_in_dim(sums, y, k, 0)
            return self._add(num_inputs + k, y, sums)

        sums = self._biases(held.shape[1])
        sums = lax.fori_loop(0, num_inputs, lambda k, s: self._add(k, held[k], s), sums)
        sums = lax.fori_loop(0, num - num_inputs, settle, sums)
        return jnp.concatenate([held, sums])

    def _advance(
        self,
        state: Float[Array, "nodes samples"],
        held: Float[Array, "inputs samples"],
        steps: int,
    ) -> Float[Array, "nodes samples"]:
        """Synchronous updates of all nodes; inputs hold their values."""

        def update(_, state):
            sums = lax.fori_loop(
                0,
                state.shape[0],
                lambda k, s: self._add(k, state[k], s),
                self._biases(state.shape[1]),
            )
            new = self._activate(sums, self.activation[self.num_inputs :])
            return jnp.concatenate([held, new])

        state = jnp.concatenate([held, state[self.num_inputs :]])
        return lax.fori_loop(0, steps, update, state)

    def _biases(self, num_samples: int) -> Float[Array, "others samples"]:
        """Sums of all nodes but inputs, before anything is added."""
        bias = self.bias[self.num_inputs :]
        return jnp.broadcast_to(bias[:, None], (bias.shape[0], num_samples))

    def _add(
        self, source, value: Float[Array, " samples"], sums: Float[Array, "n samples"]
    ) -> Float[Array, "n samples"]:
        """Adds what one node says to the sums of those that it leads to.

        Masked, and not merely multiplied by 0: what is infinite must not spread to
        nodes that no link leads to.
        """
        row = lambda x: lax.dynamic_index_in_dim(x, source, keepdims=False)
        weight = row(self.weight)[self.num_inputs :, None]
        is_linked = row(self.is_linked)[self.num_inputs :, None]
        return sums + jnp.where(is_linked, weight * value[None], 0.0)

    def _activate(self, z, activation):
        functions = activation_functions(self.activation_ids, self.dialect)
        y = functions[0](z)
        for a, function in enumerate(functions[1:], start=1):
            y = jnp.where(activation[:, None] == a, function(z), y)
        return y

    def _outputs(self, values: Float[Array, "nodes samples"]):
        return values[self.output].T

    def _cast(self, inputs: Float[Array, "n inputs"]) -> Float[Array, "inputs n"]:
        if inputs.ndim != 2 or inputs.shape[1] != self.num_inputs:
            raise ValueError(
                f"a network with {counted(self.num_inputs, 'input')} was given the "
                f"shape {inputs.shape}; give (samples, {self.num_inputs})."
            )
        return inputs.astype(self.bias.dtype).T
