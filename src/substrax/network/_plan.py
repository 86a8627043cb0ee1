"""Networks as the kernels want them, and the kernels.

All networks of a batch are one graph of many parts, so that networks of very different
sizes are evaluated side by side and none is padded to the largest. Links are worked off
in chunks, rank by rank of their targets; each target adds up its links in their order,
so that neither the chunks nor the neighbours change a bit.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from .._memory import show_bytes
from .._types import round_up
from ..cppn import Dialect, activation_functions
from ._networks import Networks

LINK_CHUNKS = (2048, 64)
"""The links of a rank are worked off in large chunks, and the rest in small ones."""
NODE_CHUNKS = (256, 16)
"""The same for its nodes."""


class Plan(NamedTuple):
    """A batch of networks as the kernels want it.

    Links and nodes are sorted by rank. Those of each rank are padded with a dummy node
    (the last) and weight 0 to whole small chunks: rank r has links `link_bounds[r]` to
    `link_bounds[r+1]`, and then activates nodes `node_bounds[r]` to `node_bounds[r+1]`.
    """

    bias: Float[Array | np.ndarray, " nodes"]
    activation: Int[Array | np.ndarray, " nodes"]
    inputs: Int[Array | np.ndarray, "networks inputs"]
    outputs: Int[Array | np.ndarray, "networks outputs"]
    link_source: Int[Array | np.ndarray, " links"]
    link_target: Int[Array | np.ndarray, " links"]
    link_weight: Float[Array | np.ndarray, " links"]
    link_bounds: Int[Array | np.ndarray, " bounds"]
    node: Int[Array | np.ndarray, " entries"]
    node_bounds: Int[Array | np.ndarray, " bounds"]
    num_ranks: Int[Array | np.ndarray, ""]


def _activate(
    z: Float[Array, "nodes lanes"],
    activation: Int[Array, " nodes"],
    activation_ids: tuple[int, ...],
    dialect: Dialect,
) -> Float[Array, "nodes lanes"]:
    functions = activation_functions(activation_ids, dialect)
    y = functions[0](z)
    for a, function in zip(activation_ids[1:], functions[1:], strict=True):
        y = jnp.where(activation[:, None] == a, function(z), y)
    return y


def _in_chunks(sizes: tuple[int, int], begin, stop, work, values):
    """`work(place, size, values)` for large chunks, then for small ones."""
    for size in sizes:
        num = (stop - begin) // size
        values = lax.fori_loop(
            0,
            num,
            lambda k, v, begin=begin, size=size: work(begin + k * size, size, v),
            values,
        )
        begin = begin + num * size
    return values


def add_links(plan: Plan, begin, stop, sums, state=None):
    """Adds weighted sources to the sums of their targets, in order.

    Sources are taken from `state`, or else from the sums themselves.
    """

    def add(place, size, sums):
        source, target, weight = (
            lax.dynamic_slice_in_dim(jnp.asarray(x), place, size)
            for x in (plan.link_source, plan.link_target, plan.link_weight)
        )
        values = sums if state is None else state
        return sums.at[target].add(weight[:, None] * values[source])

    return _in_chunks(LINK_CHUNKS, begin, stop, add, sums)


def activate_nodes(plan: Plan, begin, stop, sums, activation_ids, dialect):
    """Puts nodes through their functions."""

    def activate(place, size, values):
        nodes = lax.dynamic_slice_in_dim(jnp.asarray(plan.node), place, size)
        y = _activate(values[nodes], plan.activation[nodes], activation_ids, dialect)
        return values.at[nodes].set(y)

    return _in_chunks(NODE_CHUNKS, begin, stop, activate, sums)


_STATIC = ("activation_ids", "dialect")


@functools.partial(jax.jit, static_argnames=_STATIC)
def settle(
    plan: Plan,
    inputs: Float[Array, "networks inputs lanes"],
    *,
    activation_ids: tuple[int, ...],
    dialect: Dialect,
) -> Float[Array, "networks outputs lanes"]:
    """Each node once, in order of rank: what stepping reaches when nothing changes."""
    lanes = inputs.shape[-1]
    values = jnp.broadcast_to(plan.bias[:, None], (plan.bias.shape[0], lanes))
    values = values.at[plan.inputs].set(inputs)
    return run_ranks(plan, values, activation_ids, dialect)[plan.outputs]


def run_ranks(
    plan: Plan,
    values: Float[Array, "nodes lanes"],
    activation_ids: tuple[int, ...],
    dialect: Dialect,
) -> Float[Array, "nodes lanes"]:
    """All ranks of a plan, one after the other."""
    links, nodes = plan.link_bounds, plan.node_bounds

    def run_rank(rank, values):
        values = add_links(plan, links[rank], links[rank + 1], values)
        return activate_nodes(
            plan, nodes[rank], nodes[rank + 1], values, activation_ids, dialect
        )

    return lax.fori_loop(0, plan.num_ranks, run_rank, values)


@functools.partial(jax.jit, static_argnames=_STATIC)
def advance(
    plan: Plan,
    state: Float[Array, "nodes lanes"],
    inputs: Float[Array, "networks inputs lanes"],
    steps: Int[Array, ""],
    *,
    activation_ids: tuple[int, ...],
    dialect: Dialect,
) -> Float[Array, "nodes lanes"]:
    """`steps` synchronous updates of all nodes, the inputs held."""
    num_links = plan.link_bounds[plan.num_ranks]
    num_nodes = plan.node_bounds[plan.num_ranks]
    zero = jnp.zeros_like(num_links)
    state = state.at[plan.inputs].set(inputs)

    def step(_, state):
        sums = jnp.broadcast_to(plan.bias[:, None], state.shape)
        sums = add_links(plan, zero, num_links, sums, state)
        new = activate_nodes(plan, zero, num_nodes, sums, activation_ids, dialect)
        return new.at[plan.inputs].set(inputs)

    return lax.fori_loop(0, steps, step, state)


class Capacity(NamedTuple):
    """How large plans are: each size is a kernel to compile, so they are all alike.

    Entries that are not used are stored, but not worked on.
    """

    networks: int = 256
    nodes: int = 1 << 14
    links: int = 1 << 17
    ranks: int = 1 << 10

    def holds(self, num_networks, num_nodes, num_links) -> bool:
        # The links of each rank are padded to whole chunks, and one node is a dummy.
        padding = LINK_CHUNKS[1] * self.ranks
        return bool(
            num_networks <= self.networks
            and num_nodes < self.nodes
            and num_links + padding <= self.links
        )


def capacity_for(networks: Networks, budget: int) -> Capacity:
    """A size that holds each of some networks: the usual one, or some times that.

    It follows from the largest of them alone, so that a population that grows keeps its
    kernels for as long as no network outgrows all that were.
    """
    num_nodes = int(networks.num_nodes.max(initial=0))
    num_links = int(networks.num_links.max(initial=0))
    num_ranks = int(networks.node_rank.max(initial=0)) + 1
    few = round_up(len(networks), 1)
    capacity = Capacity(networks=min(few, Capacity().networks))
    while capacity.ranks <= num_ranks:
        capacity = capacity._replace(ranks=4 * capacity.ranks, links=4 * capacity.links)
    while not capacity.holds(1, num_nodes, num_links):
        capacity = capacity._replace(nodes=4 * capacity.nodes, links=4 * capacity.links)
    most = (num_nodes + num_links) * _PLAN_BYTES
    if most > budget:
        raise ValueError(
            f"a network of {num_links:,} links needs about {show_bytes(most)} inside a "
            f"JAX function, more than memory_budget ({show_bytes(budget)}). Raise "
            "memory_budget, or lower depth."
        )
    return capacity


_PLAN_BYTES = 128
"""What a link or a node takes in a plan and while that is made."""


def groups_of(networks: Networks, capacity: Capacity) -> list[tuple[int, int]]:
    """Runs of networks, each as long as one plan holds."""
    runs = []
    begin, num = 0, len(networks)
    nodes, links = networks.node_bounds, networks.link_bounds
    while begin < num:
        stop = begin + 1
        while stop < num and capacity.holds(
            stop + 1 - begin,
            nodes[stop + 1] - nodes[begin],
            links[stop + 1] - links[begin],
        ):
            stop += 1
        runs.append((begin, stop))
        begin = stop
    return runs


def _cut(rank: np.ndarray, num_ranks: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each entry, sorted by rank, goes if ranks are padded to whole chunks."""
    counts = np.bincount(rank, minlength=num_ranks)
    padded = -(-counts // size) * size
    bounds = np.concatenate([[0], np.cumsum(padded)])
    within = np.arange(rank.size) - (np.cumsum(counts) - counts)[rank]
    return bounds[rank] + within, bounds


def functions_of(networks: Networks) -> dict[str, Any]:
    """What a plan's activations mean: the static arguments of all that runs plans."""
    return {"activation_ids": networks.activation_ids, "dialect": networks.dialect}


def make_plan(networks: Networks, capacity: Capacity) -> Plan:
    """The plan of a batch, which must not be larger than the capacity."""
    node_offset = networks.node_bounds[:-1]
    num_nodes = int(networks.node_bounds[-1])
    dummy = capacity.nodes - 1
    dtype = networks.dtype

    def padded(values: np.ndarray) -> np.ndarray:
        result = np.zeros(dummy + 1, values.dtype)
        result[:num_nodes] = values
        return result

    offset = np.repeat(node_offset, networks.num_links)
    source = (offset + networks.link_source).astype(np.int32)
    target = (offset + networks.link_target).astype(np.int32)
    is_input = np.zeros(num_nodes, bool)
    terminals = node_offset[:, None]
    inputs = terminals + np.arange(networks.num_inputs)
    outputs = terminals + networks.num_inputs + np.arange(networks.num_outputs)
    is_input[inputs] = True
    # Inputs hold their value: links into them (`es` may find some) carry nothing.
    effective = ~is_input[target]
    source, target = source[effective], target[effective]
    weight = networks.link_weight[effective]

    # Ranks that occur at targets, renumbered from 0; unfed nodes are ready at once.
    used, rank = np.unique(networks.node_rank, return_inverse=True)
    num_ranks = max(1, used.size)
    target_rank = rank[target]
    order = _stable_argsort(target_rank, num_ranks)
    place, link_bounds = _cut(target_rank[order], num_ranks, LINK_CHUNKS[1])
    num_places = capacity.links
    link_source = np.full(num_places, dummy, np.int32)
    link_target = np.full(num_places, dummy, np.int32)
    link_weight = np.zeros(num_places, dtype)
    link_source[place] = source[order]
    link_target[place] = target[order]
    link_weight[place] = weight[order]

    nodes = np.flatnonzero(~is_input)
    nodes = nodes[_stable_argsort(rank[nodes], num_ranks)]
    place, node_bounds = _cut(rank[nodes], num_ranks, NODE_CHUNKS[1])
    bounds_size = capacity.ranks + 1
    # As many as there can be, so that this is no size of its own.
    node = np.full(dummy + 1 + bounds_size * NODE_CHUNKS[1], dummy, np.int32)
    node[place] = nodes

    num_rows = capacity.networks
    return Plan(
        bias=padded(networks.node_bias.astype(dtype)),
        activation=padded(networks.node_activation.astype(np.int32)),
        inputs=_pad_rows(inputs, num_rows, dummy),
        # Rows without a network answer as the first does: a function that goes on until
        # its network says so must come to an end for them, too.
        outputs=_pad_rows(outputs, num_rows, outputs[0] if len(outputs) else dummy),
        link_source=link_source,
        link_target=link_target,
        link_weight=link_weight,
        link_bounds=_pad_bounds(link_bounds, bounds_size),
        node=node,
        node_bounds=_pad_bounds(node_bounds, bounds_size),
        num_ranks=np.asarray(num_ranks, np.int32),
    )


def _stable_argsort(rank: np.ndarray, num_ranks: int) -> np.ndarray:
    # NumPy sorts 16-bit integers by radix, many times faster than wider ones.
    small = rank.astype(np.uint16) if num_ranks < 1 << 16 else rank
    return np.argsort(small, kind="stable")


def _pad_rows(rows: np.ndarray, length: int, fill: int | np.ndarray) -> np.ndarray:
    result = np.full((length, rows.shape[1]), fill, np.int32)
    result[: rows.shape[0]] = rows
    return result


def _pad_bounds(bounds: np.ndarray, length: int) -> np.ndarray:
    result = np.full(length, bounds[-1], np.int32)
    result[: bounds.size] = bounds
    return result
