"""The arrays of genomes that decoders read."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..neat import Genome

GRAPH_FIELDS = (
    "node_id", "node_activation", "node_bias",
    "link_source", "link_target", "link_weight", "link_enabled",
)  # fmt: skip
"""The fields that a genome shares with any graph."""


def graph_arrays(genomes: Genome) -> dict[str, np.ndarray]:
    """The fields that a genome shares with any graph, on the host."""
    if np.ndim(genomes.node_id) != 2:
        raise ValueError(
            "a decoder takes a population: genomes with a leading axis. For one genome "
            "use jax.tree.map(lambda x: x[None], genome)."
        )
    return {name: np.asarray(getattr(genomes, name)) for name in GRAPH_FIELDS}


def traced_arrays(genome: Genome, dtype: Any) -> dict[str, Any]:
    """The same of one genome, within a jit."""
    if genome.node_id.ndim != 1:
        raise ValueError(
            "trace takes one genome, without a leading axis. For a population use "
            "jax.vmap(decoder.trace), or jax.lax.map."
        )
    ids = genome.node_id
    # Inputs, outputs, hidden nodes by their ids, then slots without a node: NEAT has
    # them so, others need not.
    order = jnp.argsort(jnp.where(ids < 0, jnp.iinfo(ids.dtype).max, ids), stable=True)
    arrays = {name: getattr(genome, name) for name in GRAPH_FIELDS}
    for name in ("node_id", "node_activation", "node_bias"):
        arrays[name] = arrays[name][order]
    for name in ("node_bias", "link_weight"):
        arrays[name] = arrays[name].astype(dtype)
    return arrays
