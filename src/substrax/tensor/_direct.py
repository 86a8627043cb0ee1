"""Plain NEAT within a jit: the genome is the network."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..cppn import Dialect, activation_id, link_matrix, path_lengths
from ..network import TensorNetwork


def direct_network(
    node_id: Int[Array, " slots"],
    node_activation: Int[Array, " slots"],
    node_bias: Float[Array, " slots"],
    link_source: Int[Array, " links"],
    link_target: Int[Array, " links"],
    link_weight: Float[Array, " links"],
    link_enabled: Bool[Array, " links"],
    *,
    num_inputs: int,
    num_outputs: int,
    activation_ids: tuple[int, ...],
    dialect: Dialect,
    is_recurrent: bool,
    steps: int,
) -> tuple[TensorNetwork, Bool[Array, ""]]:
    """The network of a genome, and whether it is sound: no cycle where none may be, no
    activation that is not among `activation_ids`."""
    num_slots = node_id.shape[0]
    weight, linked = link_matrix(
        node_id, link_source, link_target, link_weight, link_enabled
    )
    slot = jnp.arange(num_slots, dtype=jnp.int32)
    is_node = node_id >= 0
    is_input = slot < num_inputs
    identity = activation_ids.index(activation_id("identity"))
    is_known = node_activation[:, None] == jnp.asarray(activation_ids, jnp.int32)[None]
    activation = jnp.argmax(is_known, axis=1).astype(jnp.int32)
    is_plain = is_input | ~is_node
    is_sound = (is_known.any(axis=1) | is_plain).all()
    rank = jnp.zeros(num_slots, jnp.int32)
    if not is_recurrent:
        rank, is_acyclic = path_lengths(linked)
        is_sound &= is_acyclic
    network = TensorNetwork.make(
        weight=weight.T,
        is_linked=linked.T,
        bias=jnp.where(is_plain, 0.0, node_bias),
        activation=jnp.where(is_plain, identity, activation),
        rank=rank,
        point=jnp.full((num_slots, 2), jnp.nan, node_bias.dtype),
        is_node=is_node,
        num_found=jnp.asarray(-1, jnp.int32),
        num_inputs=num_inputs,
        num_outputs=num_outputs,
        activation_ids=activation_ids,
        dialect=dialect,
        is_acyclic=not is_recurrent,
        steps=steps,
    )
    return network, is_sound
