"""From nodes at places to a network, within a jit: pairs of nodes as matrices."""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ..cppn import activation_id, reached_from
from ..network import TensorNetwork
from ..substrate import NetworkSettings, WeightMap
from ._reading import Reader
from ._weights import weight_of

Square = Float[Array, "nodes nodes"]
Mask = Bool[Array, "nodes nodes"]


PAIR_ROWS = 64
"""Sources that are asked about at a time, where there is room for many."""


def rows_at_once(num_nodes: int) -> int:
    """Of the pairs of so many nodes."""
    return num_nodes if num_nodes <= 2 * PAIR_ROWS else PAIR_ROWS


def ask_pairs(
    reader: Reader,
    point: Float[Array, "nodes 2"],
    weight_map: WeightMap,
    num_used: Int[Array, ""] | None = None,
) -> tuple[Square, Mask]:
    """The weight of each pair of nodes, and whether LEO permits it: one query for all.

    By (source, target). If only the first `num_used` nodes are nodes, and there is room
    for many, the rows of the others are not asked about, and are 0. (All are, where
    derivatives are wanted: a loop that ends early has none in reverse mode.)
    """
    num = point.shape[0]
    at_once = rows_at_once(num)
    if num_used is None or at_once == num or reader.is_differentiable:
        outputs = _ask_rows(reader, point, point)
    else:
        num_rows = -(-num // at_once) * at_once
        sources = jnp.pad(point, ((0, num_rows - num), (0, 0)))
        shape = jax.eval_shape(lambda x: _ask_rows(reader, x, point), sources)

        def ask(k, outputs):
            some = lax.dynamic_slice_in_dim(sources, k * at_once, at_once)
            answers = _ask_rows(reader, some, point)
            return lax.dynamic_update_slice_in_dim(outputs, answers, k * at_once, 1)

        outputs = jnp.zeros(shape.shape, shape.dtype)
        outputs = lax.fori_loop(0, -(-num_used // at_once), ask, outputs)[:, :num]
    permitted = jnp.ones((num, num), bool)
    if outputs.shape[0] > 1:
        permitted = outputs[1] > 0
    return weight_of(weight_map, outputs[0]), permitted


def _ask_rows(
    reader: Reader, source: Float[Array, "some 2"], target: Float[Array, "nodes 2"]
) -> Float[Array, "outputs some nodes"]:
    shape = (source.shape[0], target.shape[0], 2)
    return reader.links(
        jnp.broadcast_to(source[:, None], shape), jnp.broadcast_to(target[None], shape)
    )


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
