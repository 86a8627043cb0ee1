"""From nodes at places to a network, within a jit: pairs of nodes as matrices."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..cppn import activation_id, reached_from
from ..network import TensorNetwork
from ..substrate import NetworkSettings, WeightMap
from ._reading import Reader
from ._weights import weight_of

Square = Float[Array, "nodes nodes"]
Mask = Bool[Array, "nodes nodes"]


def ask_pairs(
    reader: Reader, point: Float[Array, "nodes 2"], weight_map: WeightMap
) -> tuple[Square, Mask]:
    """The weight of each pair of nodes, and whether LEO permits it: one query for all.

    By (source, target).
    """
    num = point.shape[0]
    source = jnp.broadcast_to(point[:, None], (num, num, 2))
    target = jnp.broadcast_to(point[None], (num, num, 2))
    outputs = reader.links(source, target)
    permitted = jnp.ones((num, num), bool)
    if outputs.shape[0] > 1:
        permitted = outputs[1] > 0
    return weight_of(weight_map, outputs[0]), permitted


def on_paths(linked: Mask, num_inputs: int, num_outputs: int) -> Bool[Array, " nodes"]:
    """Nodes that lie on a way from an input to an output, from links (source, target).

    Ways may lead through inputs and outputs as through any other node.
    """
    node = jnp.arange(linked.shape[0], dtype=jnp.int32)
    is_input = node < num_inputs
    is_output = ~is_input & (node < num_inputs + num_outputs)
    return reached_from(is_input, linked) & reached_from(is_output, linked.T)


def make_network(
    reader: Reader,
    linked: Mask,
    weight: Square,
    *,
    point: Float[Array, "nodes 2"],
    rank: Int[Array, " nodes"],
    is_node: Bool[Array, " nodes"],
    num_found: Int[Array, ""],
    num_inputs: int,
    num_outputs: int,
    settings: NetworkSettings,
    bias_scale: float,
    is_acyclic: bool,
) -> TensorNetwork:
    """The network of links (source, target)."""
    names = (settings.hidden_activation, settings.output_activation, "identity")
    ids = tuple(sorted({activation_id(name) for name in names}))
    hidden, output, identity = (ids.index(activation_id(name)) for name in names)
    node = jnp.arange(linked.shape[0], dtype=jnp.int32)
    is_input = node < num_inputs
    is_output = ~is_input & (node < num_inputs + num_outputs)
    activation = jnp.where(is_output, output, hidden)
    activation = jnp.where(is_input | ~is_node, identity, activation)
    bias = jnp.zeros(node.shape, reader.dtype)
    if settings.has_bias:
        bias = jnp.nan_to_num(reader.biases(point) * bias_scale)
        bias = jnp.where(is_input | ~is_node, 0.0, bias)
    else:
        # A node that nothing feeds yields 0, as PUREPLES has it.
        activation = jnp.where(linked.any(axis=0), activation, identity)
    return TensorNetwork.make(
        weight=weight,
        is_linked=linked,
        bias=bias,
        activation=activation.astype(jnp.int32),
        rank=rank,
        point=point,
        is_node=is_node,
        num_found=num_found,
        num_inputs=num_inputs,
        num_outputs=num_outputs,
        activation_ids=ids,
        dialect=reader.vocabulary.dialect,
        is_acyclic=is_acyclic,
        steps=settings.steps,
    )
