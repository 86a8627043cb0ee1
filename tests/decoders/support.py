"""Genomes for decoders, and the oracles' networks.

CPPNs are those of `tests/substrate/support.py`, read with the same functions, so that
both folders share their kernels.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from substrax.decoders import CPPNReading
from substrax.neat import Genome
from substrax.network import Networks
from substrax.substrate import Layout
from tests.cppns import population_arrays
from tests.reference.grid import Discovery, Link
from tests.reference.network import Network
from tests.substrate.support import ACTIVATIONS

HIDDEN, OUTPUT = "tanh", "sigmoid"


def genomes_of(
    cppns: list[dict[str, Any]], outputs: tuple[str, ...] | None = None
) -> Genome:
    """CPPNs as a population of genomes, in float64: nothing is rounded."""
    arrays = population_arrays(cppns, outputs)
    arrays["link_id"] = np.broadcast_to(
        np.arange(arrays["link_source"].shape[1], dtype=np.int32),
        arrays["link_source"].shape,
    )
    with jax.enable_x64(True):
        return Genome(**{name: jnp.asarray(a) for name, a in arrays.items()})


def take(genomes: Genome, index: list[int]) -> Genome:
    with jax.enable_x64(True):
        return jax.tree.map(lambda x: x[np.array(index, np.int32)], genomes)


def reading(dialect: str = "neat-python", **options: Any) -> CPPNReading:
    return CPPNReading(
        **{
            "dialect": dialect,
            "activations": ACTIVATIONS,
            "precision": "f64",
            **options,
        }  # pyright: ignore[reportArgumentType]
    )


def links_by_place(network: Networks) -> dict[Link, float]:
    """A network's links by the places of their ends."""
    assert len(network) == 1
    points = [(float(x), float(y)) for x, y in network.node_point]
    ends = [
        (points[s], points[t])
        for s, t in zip(network.link_source, network.link_target, strict=True)
    ]
    assert len(set(ends)) == len(ends)
    return dict(zip(ends, network.link_weight.tolist(), strict=True))


def oracle_network(
    layout: Layout,
    discovery: Discovery,
    dialect: str,
    hidden: str = HIDDEN,
    output: str = OUTPUT,
) -> Network:
    return Network(
        layout.inputs,
        layout.outputs,
        discovery.links,
        hidden_activation=hidden,
        output_activation=output,
        dialect=dialect,
    )
