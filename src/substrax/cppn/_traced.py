"""CPPNs within a jit: genomes as they are, and what they answer, without the host.

`compile_programs` does on the host what `read_cppn` does here, for one genome whose
capacities are fixed. Nodes are put in the order of evaluation and sums are taken in the
same order as there, so that both engines round alike.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ._activation import activation_functions
from ._activation_table import Dialect
from ._coordinates import coordinate_rows

_FAN_IN = 4
"""Weighted values that are added in one turn of the loop over a node's links."""


class Vocabulary(NamedTuple):
    """What the numbers of a genome mean; code is compiled for it."""

    coordinates: tuple[str, ...]
    num_outputs: int
    activation_ids: tuple[int, ...]
    dialect: Dialect


class CPPN(NamedTuple):
    """One CPPN, its nodes in the order of evaluation: inputs first.

    Node k adds up the first `fan_in[k]` values of `source[k]`. `is_sound` is false
    where the genome has a cycle or an activation that the vocabulary does not have: its
    answers mean nothing.
    """

    source: Int[Array, "nodes most"]
    weight: Float[Array, "nodes most"]
    fan_in: Int[Array, " nodes"]
    bias: Float[Array, " nodes"]
    activation: Int[Array, " nodes"]
    output: Int[Array, " outputs"]
    num_nodes: Int[Array, ""]
    is_sound: Bool[Array, ""]

    def with_outputs(self, which: tuple[int, ...]) -> "CPPN":
        """The same with some of its outputs, in that order."""
        return self._replace(output=self.output[jnp.asarray(which, jnp.int32)])


def read_cppn(
    node_id: Int[Array, " slots"],
    node_activation: Int[Array, " slots"],
    node_bias: Float[Array, " slots"],
    link_source: Int[Array, " links"],
    link_target: Int[Array, " links"],
    link_weight: Float[Array, " links"],
    link_enabled: Bool[Array, " links"],
    vocabulary: Vocabulary,
) -> CPPN:
    """The CPPN of one genome, whose slots hold inputs, outputs, then hidden nodes."""
    num_slots = node_id.shape[0]
    num_inputs, num_outputs = len(vocabulary.coordinates), vocabulary.num_outputs
    weight, linked = link_matrix(
        node_id, link_source, link_target, link_weight, link_enabled
    )
    slot = jnp.arange(num_slots, dtype=jnp.int32)
    is_input = slot < num_inputs
    is_output = ~is_input & (slot < num_inputs + num_outputs)
    needed = reached_from(is_output, linked)
    linked &= needed[:, None]
    depth, is_acyclic = path_lengths(linked)
    # Inputs, then what is needed by depth (and by slot, which is by id), then the rest.
    place = jnp.where(is_input, -1, jnp.where(needed, depth, num_slots + 1))
    order = jnp.argsort(place, stable=True).astype(jnp.int32)
    rank = jnp.zeros(num_slots, jnp.int32).at[order].set(slot)
    linked, weight = linked[order][:, order], weight[order][:, order]
    # The sources of each node, in their order, before all that are none.
    source = jnp.argsort(~linked, axis=1, stable=True).astype(jnp.int32)

    ids = jnp.asarray(vocabulary.activation_ids, jnp.int32)
    is_known = node_activation[:, None] == ids[None]
    is_evaluated = needed & ~is_input
    return CPPN(
        source=source,
        weight=jnp.take_along_axis(weight, source, axis=1),
        fan_in=linked.sum(axis=1, dtype=jnp.int32),
        bias=node_bias[order],
        activation=jnp.argmax(is_known, axis=1)[order].astype(jnp.int32),
        output=rank[num_inputs : num_inputs + num_outputs],
        num_nodes=num_inputs + is_evaluated.sum(dtype=jnp.int32),
        is_sound=is_acyclic & (is_known.any(axis=1) | ~is_evaluated).all(),
    )


def link_matrix(
    node_id: Int[Array, " slots"],
    link_source: Int[Array, " links"],
    link_target: Int[Array, " links"],
    link_weight: Float[Array, " links"],
    link_enabled: Bool[Array, " links"],
) -> tuple[Float[Array, "slots slots"], Bool[Array, "slots slots"]]:
    """Weights, and which links there are, by the slots of (target, source)."""
    num_slots = node_id.shape[0]
    # Equality of all pairs: on an accelerator cheaper than a search for each.
    is_source = link_source[:, None] == node_id[None]
    is_target = link_target[:, None] == node_id[None]
    source, target = jnp.argmax(is_source, axis=1), jnp.argmax(is_target, axis=1)
    # Links that are switched off go nowhere.
    target = jnp.where(link_enabled, target, num_slots)
    weight = jnp.zeros((num_slots, num_slots), link_weight.dtype)
    weight = weight.at[target, source].set(link_weight, mode="drop")
    linked = jnp.zeros((num_slots, num_slots), bool)
    return weight, linked.at[target, source].set(True, mode="drop")


def reached_from(
    start: Bool[Array, " nodes"], leads: Bool[Array, "nodes nodes"]
) -> Bool[Array, " nodes"]:
    """Nodes to which a way leads from those of `start`, which belong to them.

    `leads[a, b]` says that one step leads from a to b.
    """

    def step(state):
        reached, _ = state
        more = reached | (leads & reached[:, None]).any(axis=0)
        return more, (more != reached).any()

    return lax.while_loop(lambda state: state[1], step, (start, start.any()))[0]


def path_lengths(
    linked: Bool[Array, "nodes nodes"],
) -> tuple[Int[Array, " nodes"], Bool[Array, ""]]:
    """Links on the longest path to each node, from links (target, source); and whether
    there is one: no cycle."""
    num = linked.shape[0]

    def step(state):
        depth, _, count = state
        deeper = jnp.where(linked, depth[None] + 1, 0).max(axis=1)
        return deeper, (deeper != depth).any(), count + 1

    def goes_on(state):
        return state[1] & (state[2] <= num)

    start = jnp.zeros(num, jnp.int32), jnp.asarray(True), jnp.asarray(0, jnp.int32)
    depth, changed, _ = lax.while_loop(goes_on, step, start)
    return depth, ~changed


def ask_cppn(
    cppn: CPPN,
    source: Float[Array, "... 2"],
    target: Float[Array, "... 2"],
    vocabulary: Vocabulary,
    *,
    is_differentiable: bool = False,
) -> Float[Array, "outputs ..."]:
    """What a CPPN answers about pairs of points.

    Derivatives in reverse mode need loops whose length is known, which run over all
    slots.
    """
    shape = source.shape[:-1]
    source, target = source.reshape(-1, 2), target.reshape(-1, 2)
    inputs = coordinate_rows(vocabulary.coordinates, source, target)
    num_slots, num_inputs = cppn.bias.shape[0], len(inputs)
    functions = activation_functions(vocabulary.activation_ids, vocabulary.dialect)
    values = jnp.zeros((num_slots, source.shape[0]), cppn.bias.dtype)
    for slot, row in enumerate(inputs):
        values = values.at[slot].set(row)
    most = cppn.source.shape[1]
    width = -(-most // _FAN_IN) * _FAN_IN
    spare = ((0, 0), (0, width - most))
    sources, weights = jnp.pad(cppn.source, spare), jnp.pad(cppn.weight, spare)

    def evaluate(k, values):
        fan_in = cppn.fan_in[k]

        def add(turn, z):
            # One after the other: no reduction, whose order would be XLA's choice.
            for f in range(_FAN_IN):
                link = turn * _FAN_IN + f
                product = weights[k, link] * values[sources[k, link]]
                z = jnp.where(link < fan_in, z + product, z)
            return z

        z = jnp.broadcast_to(cppn.bias[k], values.shape[1:])
        turns = width if is_differentiable else fan_in + (_FAN_IN - 1)
        z = lax.fori_loop(0, turns // _FAN_IN, add, z)
        y = lax.switch(cppn.activation[k], functions, z)
        return lax.dynamic_update_index_in_dim(values, y, k, 0)

    stop = num_slots if is_differentiable else cppn.num_nodes
    values = lax.fori_loop(num_inputs, stop, evaluate, values)
    return values[cppn.output].reshape(-1, *shape)
