"""From genomes to fitness: by the native engine and its cache, or on devices.

On devices it is one program, from genomes to what a problem wants to know of each
network; networks exist there for some genomes at a time, and never here. A problem that
cannot say what that is gets networks on the host. Genomes whose networks no device has
room for are left to the native engine.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key

from .._resources import Resources
from ..decoders import (
    AbstractDecoder,
    NetworkCache,
    OnDevice,
    genomes_at,
    run_on_device,
)
from ..neat import Genome
from ..network import Networks, TensorNetwork
from ..problems import AbstractProblem, TracedFitness, checked_fitness
from ..tensor import population_mesh
from ..worlds import Seen


class Judged(NamedTuple):
    """What is known of the networks of a population."""

    fitness: Float[np.ndarray, " population"]
    num_hidden: Int[np.ndarray, " population"]
    num_links: Int[np.ndarray, " population"]
    networks: Networks | None
    """None where they are not on the host."""
    num_grown: int = 0
    """Genomes that needed more room on the device than there was at first."""
    num_on_host: int = 0
    """Genomes that the device had no room for, so that the native engine had them."""
    seen: Seen | None = None
    """What networks have seen, for problems that keep statistics of it."""
    num_steps: Float[np.ndarray, " population"] | None = None
    """Of environments, if there are any."""


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
    decoded = cache.decode_counted(decoder, genomes, resources)
    networks = decoded.networks
    evaluation = problem.evaluate(networks, key=key, resources=resources)
    return Judged(
        checked_fitness(evaluation.fitness, len(networks)),
        networks.num_hidden,
        networks.num_links,
        networks,
        num_grown=int(decoded.is_grown.sum()),
        num_on_host=int(decoded.is_on_host.sum()),
        seen=evaluation.seen,
        num_steps=evaluation.num_steps,
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
        traced.arguments,
        mesh=population_mesh(resources.devices),
        # (some are judged apart from the others, then)
        may_leave=resources.reserve is not None and problem.is_separable is not False,
    )
    judged = None
    if found.parts:
        outcomes, num_hidden, num_links = found.joined()
        wide = jax.tree.map(lambda x: x.astype(np.float64), outcomes)
        evaluation = traced.evaluated(wide)
        fitness = checked_fitness(evaluation.fitness, len(num_hidden))
        judged = Judged(
            *(fitness, num_hidden, num_links, None, len(found.grown)),
            seen=evaluation.seen,
            num_steps=evaluation.num_steps,
        )
    if not found.left.size:
        assert judged is not None
        return judged
    some, host = genomes_at(genomes, found.left), resources.on_host()
    others = judge(decoder, problem, some, key, NetworkCache(0), host)
    return _together(found, judged, others)


def _together(found: OnDevice, judged: Judged | None, others: Judged) -> Judged:
    """What is known of genomes on the device, and of the others, in their order."""
    others = others._replace(networks=None, num_on_host=len(others.fitness))
    if judged is None:
        return others
    here = np.sort(np.concatenate(found.numbers))
    order = np.argsort(np.concatenate([here, found.left]))
    both = [
        (j.fitness, j.num_hidden, j.num_links, j.seen, j.num_steps)
        for j in (judged, others)
    ]
    fitness, num_hidden, num_links, seen, num_steps = jax.tree.map(
        lambda *pair: np.concatenate(pair)[order], *both
    )
    counts = judged.num_grown, others.num_on_host
    return Judged(fitness, num_hidden, num_links, None, *counts, seen, num_steps)


@functools.lru_cache(maxsize=32)
def _observing(outcome: Callable[..., Any]) -> Callable[..., Any]:
    """The same object for the same function, so that it is compiled once."""

    def observe(network: TensorNetwork, words: Array, arguments: Any) -> Any:
        key = jax.random.wrap_key_data(words)
        asked = (key, *arguments) if arguments else key
        return outcome(network, asked), network.num_hidden, network.num_links

    return observe
