"""A run compiles in its first generations, and then no more."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.cppn._kernel import run_queries
from substrax.decoders import (
    AbstractDecoder,
    CPPNReading,
    emr_hyperneat,
    es_hyperneat,
)
from substrax.neat import NEAT, presets, tell_growing
from substrax.network import evaluate, settle
from substrax.substrate import EMRRule, ESRule, Layout

INPUTS = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]], np.float32)
TARGETS = np.array([0, 1, 1, 0], np.float32)
LAYOUT = Layout.spread(3, 1)
NEAT_60 = NEAT(presets.pureples(population_size=60, max_nodes=32, max_links=128))
READING = CPPNReading(
    dialect="neat-python", activations=NEAT_60.config.activation_options
)


# The type checker does not know what a jitted function can do.
QUERIES: Any = run_queries
SETTLE: Any = settle


@dataclasses.dataclass
class Counts:
    """Compiled variants after each generation."""

    queries: list[int] = dataclasses.field(default_factory=list)
    settles: list[int] = dataclasses.field(default_factory=list)
    tells: list[int] = dataclasses.field(default_factory=list)
    links: list[int] = dataclasses.field(default_factory=list)


def evolve(decoder: AbstractDecoder, tell, num_generations: int = 50) -> Counts:
    """XOR, population 60; the caches of other tests are emptied first."""
    QUERIES.clear_cache()
    SETTLE.clear_cache()
    counts = Counts()
    key_init, key_run = jax.random.split(jax.random.key(0))
    state = jax.jit(NEAT_60.init)(key=key_init)
    for key in jax.random.split(key_run, num_generations):
        networks = decoder.decode(NEAT_60.ask(state))
        errors = evaluate(networks, INPUTS)[:, :, 0] - TARGETS
        fitness = jnp.asarray(4 - (errors**2).sum(axis=1))
        state, _ = tell_growing(NEAT_60, state, fitness, key=key, tell_fn=tell)
        counts.queries.append(QUERIES._cache_size())
        counts.settles.append(SETTLE._cache_size())
        counts.tells.append(tell._cache_size())
        counts.links.append(int(networks.num_links.sum()))
    return counts


@pytest.fixture(scope="module")
def tell():
    return jax.jit(NEAT_60.tell)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["es", "emr"])
def test_a_run_compiles_nothing_after_its_first_generations(method: str, tell) -> None:
    """Networks grow, some to many times their size; shapes come from few sizes.

    A size that is outgrown is one kernel more, so this is about a bound, and about
    the last 30 of 50 generations.
    """
    decoder = {
        "es": es_hyperneat(LAYOUT, ESRule(depth=2), reading=READING),
        "emr": emr_hyperneat(LAYOUT, EMRRule(depth=3), reading=READING),
    }[method]
    counts = evolve(decoder, tell)
    assert max(counts.links) > 4 * counts.links[0]
    assert set(counts.tells) == {1}
    # Points and quads, towards and from, in two sizes of batches each.
    assert counts.queries[-1] <= 6
    assert counts.settles[-1] <= 4
    assert counts.queries[20] == counts.queries[-1]
    assert counts.settles[20] == counts.settles[-1]
