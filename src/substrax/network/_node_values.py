"""What every node of a network computes, for those who want to look inside."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float

from .._types import ArrayLike, as_numbers
from ._check import check_networks
from ._host import to_tensors
from ._networks import Networks


def node_values(network: Networks, rows: ArrayLike) -> Float[np.ndarray, "steps nodes"]:
    """The value of each node of one network while it is given one row after the other.

    A network with cycles remembers what it saw, as in a control task. Nodes come in the
    order of the network's arrays: inputs, outputs, hidden ones.
    """
    check_networks(network)
    inputs = as_numbers("rows must be arrays of numbers", rows, network.dtype)
    wanted = ("steps", network.num_inputs)
    if inputs.ndim != 2 or inputs.shape[1] != wanted[1]:
        raise ValueError(f"rows have the shape {inputs.shape}; give {wanted}.")
    num_nodes = int(network.num_nodes[0])
    with jax.enable_x64(network.dtype == np.float64):
        tensors, node = to_tensors(network, np.zeros(1, np.int64), num_nodes)
        one = jax.tree.map(lambda x: x[0], tensors)
        if network.is_acyclic:
            values = np.asarray(one.settled(jnp.asarray(inputs)))
        else:

            def step(state, row):
                state, _ = one.step(state, row[None])
                return state, state[:, 0]

            _, values = lax.scan(step, one.start(1), jnp.asarray(inputs))
    found = np.empty((len(inputs), num_nodes), network.dtype)
    found[:, node[0]] = np.asarray(values)
    return found
