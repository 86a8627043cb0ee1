"""Between the networks of a device, matrices, and those of the host, compact arrays."""

from collections.abc import Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from .._memory import show_bytes
from .._types import round_up
from ._networks import Networks, checked
from ._tensor import TensorNetwork

_LEAST_SLOTS = 16
_MOST_BYTES = 1 << 26
"""Of the matrices of the networks that are evaluated side by side."""
_LINK_BYTES = 5
"""A weight in 32 bits, and whether there is a link."""


def to_host(networks: TensorNetwork) -> Networks:
    """Networks, with an axis for the population in front, as `Networks`.

    Hidden nodes come by height, then from left to right; links by source, then target.
    """
    n = jax.tree.map(np.asarray, networks)
    num_terminals = n.num_inputs + n.num_outputs
    num, num_slots = n.is_node.shape
    point = n.point.astype(np.float64)
    is_hidden = n.number >= num_terminals
    # Terminals come by their numbers; slots without a node go to the end.
    kind = np.where(is_hidden, 1, 0) + 2 * ~n.is_node
    across, up = (np.where(is_hidden, np.nan_to_num(point[..., k]), 0) for k in (0, 1))
    order = np.lexsort((n.number, across, up, kind), axis=-1)
    counts = n.is_node.sum(axis=1)
    bounds = np.concatenate([[0], np.cumsum(counts)])
    genome, place = np.nonzero(np.arange(num_slots)[None] < counts[:, None])
    node = order[genome, place]
    number = np.zeros((num, num_slots), np.int64)
    number[genome, node] = place
    g, source, target = np.nonzero(n.is_linked)
    ends = np.stack([number[g, source], number[g, target]])
    by_source = np.lexsort((ends[1], ends[0], g))
    g, source, target = g[by_source], source[by_source], target[by_source]
    ids = np.array(n.activation_ids, np.int32)
    return checked(
        Networks(
            num_inputs=n.num_inputs,
            num_outputs=n.num_outputs,
            node_bounds=bounds,
            node_activation=ids[n.activation[genome, node]],
            node_bias=n.bias[genome, node],
            node_rank=n.rank[genome, node].astype(np.int32),
            node_point=point[genome, node],
            link_bounds=np.concatenate([[0], np.cumsum(np.bincount(g, minlength=num))]),
            link_source=ends[0][by_source].astype(np.int32),
            link_target=ends[1][by_source].astype(np.int32),
            link_weight=n.weight[g, source, target],
            num_found=n.num_found.astype(np.int64),
            is_acyclic=n.is_acyclic,
            dialect=n.dialect,
            activation_ids=n.activation_ids,
            steps=n.steps,
        )
    )


def to_tensors(
    networks: Networks, which: Int[np.ndarray, " some"], num_slots: int
) -> tuple[TensorNetwork, Int[np.ndarray, "some slots"]]:
    """Some networks as matrices of so many slots, with an axis for them in front; and
    which node of all networks each slot is, -1 for none.

    Call it under `jax.enable_x64(True)` if the networks are in 64 bits.
    """
    num, counts = which.size, networks.num_nodes[which]
    number = np.arange(num_slots)
    is_slot = number[None] < counts[:, None]
    node = np.where(is_slot, networks.node_bounds[which][:, None] + number, -1)
    key = np.where(is_slot, networks.node_rank[node].astype(np.int64), 1 << 40)
    key[:, : networks.num_inputs] = -1 << 40
    order = np.argsort(key, axis=1, kind="stable")
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.broadcast_to(number, order.shape), axis=1)
    node = np.take_along_axis(node, order, axis=1)
    is_node = node >= 0

    weight = np.zeros((num, num_slots, num_slots), networks.dtype)
    is_linked = np.zeros(weight.shape, bool)
    first, num_links = networks.link_bounds[which], networks.num_links[which]
    row = np.repeat(np.arange(num), num_links)
    nth = np.arange(row.size) - np.repeat(np.cumsum(num_links) - num_links, num_links)
    link = first[row] + nth
    ends = [place[row, x[link]] for x in (networks.link_source, networks.link_target)]
    weight[row, *ends] = networks.link_weight[link]
    is_linked[row, *ends] = True

    ids = np.array(networks.activation_ids)
    activation = np.where(is_node, networks.node_activation[node], ids[0])
    outputs = slice(networks.num_inputs, networks.num_inputs + networks.num_outputs)
    filled = lambda x, empty: np.where(is_node, x[node], empty).astype(x.dtype)
    point = np.where(is_node[..., None], networks.node_point[node], np.nan)
    arrays = {
        "weight": weight,
        "is_linked": is_linked,
        "bias": filled(networks.node_bias, 0.0),
        "activation": np.searchsorted(ids, activation).astype(np.int32),
        "rank": filled(networks.node_rank, 0),
        "point": point.astype(networks.dtype),
        "is_node": is_node,
        "number": order.astype(np.int32),
        "output": place[:, outputs].astype(np.int32),
        "num_found": networks.num_found[which].astype(np.int32),
    }
    tensors = TensorNetwork(
        **{name: jnp.asarray(x) for name, x in arrays.items()},
        num_inputs=networks.num_inputs,
        num_outputs=networks.num_outputs,
        activation_ids=networks.activation_ids,
        dialect=networks.dialect,
        is_acyclic=networks.is_acyclic,
        steps=networks.steps,
    )
    return tensors, node


class TensorGroup(NamedTuple):
    """Networks of about one size, as matrices of one size.

    The last of them may stand there several times: so many are evaluated side by side,
    and all groups of one size share a program.
    """

    which: Int[np.ndarray, " some"]
    """Numbers of the networks, each once."""
    tensors: TensorNetwork
    node: Int[np.ndarray, "rows slots"]
    """Which node of all networks each slot is, -1 for none."""


def tensor_groups(networks: Networks, budget: int) -> Iterator[TensorGroup]:
    """All networks, those of about one size together.

    Call it under `jax.enable_x64(True)` if the networks are in 64 bits.
    """
    slots = np.array([slots_for(int(n)) for n in networks.num_nodes], np.int64)
    for num_slots in np.unique(slots).tolist():
        of_one = check_matrix(num_slots, budget)
        rows = max(1, min(64, _MOST_BYTES // of_one))
        members = np.flatnonzero(slots == num_slots)
        for begin in range(0, members.size, rows):
            which = members[begin : begin + rows]
            filled = np.append(which, np.repeat(which[-1:], rows - which.size))
            yield TensorGroup(which, *to_tensors(networks, filled, num_slots))


def check_matrix(num_nodes: int, budget: int) -> int:
    """The bytes of a network as a matrix; a `ValueError` if they are too many."""
    of_one = num_nodes**2 * _LINK_BYTES
    # Twice: once here, once on the device.
    if 2 * of_one > budget:
        raise ValueError(
            f"a network of {num_nodes:,} nodes needs about {show_bytes(2 * of_one)} as "
            "a matrix within a JAX function, more than memory_budget "
            f"({show_bytes(budget)}). Raise memory_budget, or lower depth."
        )
    return of_one


def slots_for(num_nodes: int) -> int:
    """One of few sizes, so that a growing population compiles seldom."""
    return round_up(num_nodes, _LEAST_SLOTS)
