"""Networks made by hand."""

from collections.abc import Sequence

import numpy as np

from substrax.cppn import activation_id, longest_paths
from substrax.network import Networks

ACTIVATIONS = ("identity", "sigmoid", "tanh")


def network(
    num_inputs: int,
    num_outputs: int,
    links: Sequence[tuple[int, int, float]],
    *,
    num_hidden: int = 0,
    hidden: str = "sigmoid",
    output: str = "sigmoid",
    steps: int = 1,
    is_recurrent: bool = False,
    dtype: type[np.floating] = np.float64,
) -> Networks:
    """Nodes are inputs, outputs, hidden ones; links are (source, target, weight)."""
    num_nodes = num_inputs + num_outputs + num_hidden
    source = np.array([link[0] for link in links], np.int32)
    target = np.array([link[1] for link in links], np.int32)
    activation = np.full(num_nodes, activation_id(hidden), np.int32)
    activation[:num_inputs] = activation_id("identity")
    activation[num_inputs : num_inputs + num_outputs] = activation_id(output)
    rank = longest_paths(source, target, num_nodes)
    if rank is None or is_recurrent:
        rank, is_recurrent = np.zeros(num_nodes, np.int64), True
    return Networks(
        num_inputs=num_inputs,
        num_outputs=num_outputs,
        node_bounds=np.array([0, num_nodes]),
        node_activation=activation,
        node_bias=np.zeros(num_nodes, dtype),
        node_rank=np.asarray(rank, np.int64),
        node_point=np.full((num_nodes, 2), np.nan),
        link_bounds=np.array([0, len(links)]),
        link_source=source,
        link_target=target,
        link_weight=np.array([link[2] for link in links], dtype),
        num_found=np.array([-1]),
        is_acyclic=not is_recurrent,
        dialect="plain",
        activation_ids=tuple(sorted(activation_id(a) for a in ACTIVATIONS)),
        steps=steps,
    )


def overflowing(num_inputs: int, num_outputs: int) -> Networks:
    """A network whose outputs are infinite, or NaN, for nearly all inputs."""
    links = []
    for k in range(num_outputs):
        hidden = num_inputs + num_outputs + k
        links += [(i, hidden, 1e30 * (1 + i)) for i in range(num_inputs)]
        links.append((hidden, num_inputs + k, 1e30))
    return network(
        num_inputs,
        num_outputs,
        links,
        num_hidden=num_outputs,
        hidden="identity",
        output="identity",
        dtype=np.float32,
    )
