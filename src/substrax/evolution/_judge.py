"""From genomes to fitness: by the native engine and its cache, or on devices.

On devices it is one program, from genomes to what a problem wants to know of each
network; networks exist there for some genomes at a time, and never here. A problem that
cannot say what that is gets networks on the host.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key

from .._resources import Resources
from ..decoders import AbstractDecoder, NetworkCache, run_on_device
from ..neat import Genome
from ..network import Networks, TensorNetwork
from ..problems import AbstractProblem, TracedFitness, checked_fitness
from ..tensor import population_mesh


class Judged(NamedTuple):
    """What is known of the networks of a population."""

    fitness: Float[np.ndarray, " population"]
    num_hidden: Int[np.ndarray, " population"]
    num_links: Int[np.ndarray, " population"]
    networks: Networks | None
    """None where they are not on the host."""
    num_grown: int = 0
    """Genomes that needed more room on the device than there was at first."""


def judge(
    decoder: AbstractDecoder,
    problem: AbstractProblem,
    genomes: Genome,
    key: Key[Array, ""],
    cache: NetworkCache,
    resources: Resources,
) -> Judged:
    """The fitness of each genome."""
    traced = problem.traced() if resources.native is None else None
    if traced is not None:
        return _judge_on_device(decoder, problem, traced, genomes, key, resources)
    networks = cache.decode(decoder, genomes, resources)
    fitness = problem.fitness(networks, key=key, resources=resources)
    return Judged(
        checked_fitness(fitness, len(networks)),
        networks.num_hidden,
        networks.num_links,
        networks,
    )


def _judge_on_device(
    decoder: AbstractDecoder,
    problem: AbstractProblem,
    traced: TracedFitness,
    genomes: Genome,
    key: Key[Array, ""],
    resources: Resources,
) -> Judged:
    words = np.asarray(jax.random.key_data(key))  # the same in all processes
    found = run_on_device(
        _observing(traced.outcome),
        decoder,
        genomes,
        resources,
        words,
        mesh=population_mesh(resources.devices),
    )
    outcomes, num_hidden, num_links = found.joined()
    wide = jax.tree.map(lambda x: x.astype(np.float64), outcomes)
    fitness = checked_fitness(traced.fitness(wide), len(num_hidden))
    return Judged(fitness, num_hidden, num_links, None, found.num_grown)


@functools.lru_cache(maxsize=32)
def _observing(outcome: Callable[..., Any]) -> Callable[..., Any]:
    """The same object for the same function, so that it is compiled once."""

    def observe(network: TensorNetwork, words: Array) -> Any:
        key = jax.random.wrap_key_data(words)
        return outcome(network, key), network.num_hidden, network.num_links

    return observe
