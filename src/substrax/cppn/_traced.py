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
from ._kernel import Points, coordinate_rows


class Vocabulary(NamedTuple):
    """What the numbers of a genome mean; code is compiled for it."""

    coordinates: tuple[str, ...]
    num_outputs: int
    activation_ids: tuple[int, ...]
    dialect: Dialect


class CPPN(NamedTuple):
    """One CPPN, its nodes in the order of evaluation: inputs first.

    Row k of `weight` and `is_linked` is what node k adds up. `is_sound` is false where
    the genome has a cycle or an activation that the vocabulary does not have: its
    answers mean nothing.
    """

    weight: Float[Array, "nodes nodes"]
    is_linked: Bool[Array, "nodes nodes"]
    bias: Float[Array, " nodes"]
    activation: Int[Array, " nodes"]
    output: Int[Array, " outputs"]
    num_nodes: Int[Array, ""]
    is_sound: Bool[Array, ""]


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
    dtype = node_bias.dtype
    # Equality of all pairs: on an accelerator cheaper than a search for each.
    is_source = (link_source[:, None] == node_id) & link_enabled[:, None]
    is_target = (link_target[:, None] == node_id) & link_enabled[:, None]
    source, target = jnp.argmax(is_source, axis=1), jnp.argmax(is_target, axis=1)
    # Links that are switched off go nowhere.
    target = jnp.where(link_enabled, target, num_slots)
    linked = jnp.zeros((num_slots, num_slots), bool)
    linked = linked.at[target, source].set(True, mode="drop")
    weight = jnp.zeros((num_slots, num_slots), dtype)
    weight = weight.at[target, source].set(link_weight.astype(dtype), mode="drop")

    slot = jnp.arange(num_slots)
    is_input = slot < num_inputs
    is_output = ~is_input & (slot < num_inputs + num_outputs)
    needed = _reaching(linked, is_output)
    linked &= needed[:, None]
    depth, is_acyclic = _depths(linked)
    # Inputs, then what is needed by depth (and by slot, which is by id), then the rest.
    place = jnp.where(is_input, -1, jnp.where(needed, depth, num_slots + 1))
    order = jnp.argsort(place, stable=True)
    rank = jnp.zeros(num_slots, jnp.int32).at[order].set(slot.astype(jnp.int32))

    ids = jnp.asarray(vocabulary.activation_ids)
    is_known = node_activation[:, None] == ids
    is_evaluated = needed & ~is_input
    return CPPN(
        weight=weight[order][:, order],
        is_linked=linked[order][:, order],
        bias=node_bias[order],
        activation=jnp.argmax(is_known, axis=1)[order].astype(jnp.int32),
        output=rank[num_inputs : num_inputs + num_outputs],
        num_nodes=num_inputs + is_evaluated.sum(dtype=jnp.int32),
        is_sound=is_acyclic & (is_known.any(axis=1) | ~is_evaluated).all(),
    )


def _reaching(
    linked: Bool[Array, "nodes nodes"], wanted: Bool[Array, " nodes"]
) -> Bool[Array, " nodes"]:
    """Nodes from which links (target, source) lead to those wanted."""

    def step(state):
        reaching, _ = state
        more = reaching | (linked & reaching[:, None]).any(axis=0)
        return more, (more != reaching).any()

    return lax.while_loop(lambda state: state[1], step, (wanted, wanted.any()))[0]


def _depths(
    linked: Bool[Array, "nodes nodes"],
) -> tuple[Int[Array, " nodes"], Bool[Array, ""]]:
    """The longest path to each node, and whether there is one: no cycle."""
    num = linked.shape[0]

    def step(state):
        depth, _, count = state
        deeper = jnp.where(linked, depth + 1, 0).max(axis=1)
        return deeper, (deeper != depth).any(), count + 1

    def goes_on(state):
        return state[1] & (state[2] <= num)

    start = jnp.zeros(num, jnp.int32), jnp.asarray(True), 0
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

    Derivatives in reverse mode need a loop whose length is known, which runs over all
    slots.
    """
    source, target = jnp.broadcast_arrays(source, target)
    shape = source.shape[:-1]
    dtype = cppn.bias.dtype
    points = Points(
        source.reshape(-1, 2).astype(dtype), target.reshape(-1, 2).astype(dtype)
    )
    inputs = coordinate_rows(vocabulary.coordinates, points)
    num_slots, num_inputs = cppn.bias.shape[0], len(inputs)
    functions = activation_functions(vocabulary.activation_ids, vocabulary.dialect)
    values = jnp.zeros((num_slots, points.source.shape[0]), dtype)
    values = values.at[:num_inputs].set(jnp.stack(inputs))

    def evaluate(k, values):
        z = jnp.broadcast_to(cppn.bias[k], values.shape[1:])
        # One pass over all values, in order: no reduction, whose order is XLA's choice.
        for s in range(num_slots):
            z = jnp.where(cppn.is_linked[k, s], z + cppn.weight[k, s] * values[s], z)
        y = lax.switch(cppn.activation[k], functions, z)
        return lax.dynamic_update_index_in_dim(values, y, k, 0)

    stop = num_slots if is_differentiable else cppn.num_nodes
    values = lax.fori_loop(num_inputs, stop, evaluate, values)
    return values[cppn.output].reshape(-1, *shape)
