"""Networks of a device as networks of the host: compact arrays."""

import jax
import numpy as np

from ..network import Networks, checked
from ._network import TensorNetwork


def to_host(networks: TensorNetwork) -> Networks:
    """Networks, with an axis for the population in front, as `Networks`.

    Hidden nodes come by height, then from left to right; links by source, then target.
    """
    n = jax.tree.map(np.asarray, networks)
    num_terminals = n.num_inputs + n.num_outputs
    num, num_slots = n.is_node.shape
    slot = np.arange(num_slots)
    point = n.point.astype(np.float64)
    is_hidden = slot >= num_terminals
    # Terminals stay where they are; slots without a node go to the end.
    kind = np.where(is_hidden, 1, 0) + 2 * ~n.is_node
    keys = [slot[None] * np.ones((num, 1), int)]
    keys += [np.where(is_hidden[None], np.nan_to_num(point[..., k]), 0) for k in (0, 1)]
    order = np.lexsort((*keys, kind), axis=-1)
    counts = n.is_node.sum(axis=1)
    bounds = np.concatenate([[0], np.cumsum(counts)])
    genome, place = np.nonzero(np.arange(num_slots)[None] < counts[:, None])
    node = order[genome, place]
    number = np.zeros((num, num_slots), np.int64)
    number[genome, node] = place
    g, target, source = np.nonzero(n.is_linked)
    ends = np.stack([number[g, source], number[g, target]])
    by_source = np.lexsort((ends[1], ends[0], g))
    g, target, source = g[by_source], target[by_source], source[by_source]
    ids = np.array(n.activation_ids, np.int32)
    rank = n.rank[genome, node]
    return checked(
        Networks(
            num_inputs=n.num_inputs,
            num_outputs=n.num_outputs,
            node_bounds=bounds,
            node_activation=ids[n.activation[genome, node]],
            node_bias=n.bias[genome, node],
            node_rank=rank.astype(np.int32),
            node_point=point[genome, node],
            link_bounds=np.concatenate([[0], np.cumsum(np.bincount(g, minlength=num))]),
            link_source=ends[0][by_source].astype(np.int32),
            link_target=ends[1][by_source].astype(np.int32),
            link_weight=n.weight[g, target, source],
            num_found=n.num_found.astype(np.int64),
            is_acyclic=n.is_acyclic,
            dialect=n.dialect,
            activation_ids=n.activation_ids,
            steps=n.steps,
        )
    )
