"""A run on a device compiles few programs, and none after its first generations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax import Resources
from substrax.decoders import (
    AbstractDecoder,
    CPPNReading,
    emr_hyperneat,
    es_hyperneat,
)
from substrax.neat import NEAT, presets, tell_growing
from substrax.network import evaluate
from substrax.substrate import EMRRule, ESRule, Layout
from tests.compilations import counted_compilations

INPUTS = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]], np.float32)
TARGETS = np.array([0, 1, 1, 0], np.float32)
LAYOUT = Layout.spread(3, 1)
NEAT_60 = NEAT(presets.pureples(population_size=60, max_nodes=32, max_links=128))
READING = CPPNReading(
    dialect="neat-python", activations=NEAT_60.config.activation_options
)
DEVICE = Resources(engine="device")


def evolve(decoder: AbstractDecoder, num_generations: int) -> list[list[str]]:
    """XOR, population 60: what each generation compiled, but for small things."""
    compiled = []
    tell = jax.jit(NEAT_60.tell)
    key_init, key_run = jax.random.split(jax.random.key(0))
    state = jax.jit(NEAT_60.init)(key=key_init)
    for key in jax.random.split(key_run, num_generations):
        with counted_compilations() as compilations:
            networks = decoder.decode(NEAT_60.ask(state), DEVICE)
            outputs = evaluate(networks, INPUTS, resources=DEVICE)
        errors = outputs[:, :, 0] - TARGETS
        fitness = jnp.asarray(4 - (errors**2).sum(axis=1))
        state, _ = tell_growing(NEAT_60, state, fitness, key=key, tell_fn=tell)
        names = ("_evaluate_tensors", "lambda")
        compiled.append([n for n in compilations.names if any(x in n for x in names)])
    return compiled


@pytest.mark.slow
@pytest.mark.parametrize("method", ["es", "emr"])
def test_a_run_compiles_nothing_after_its_first_generations(method: str) -> None:
    """Networks grow, some to many times their size; room comes in few sizes."""
    decoder = {
        "es": es_hyperneat(LAYOUT, ESRule(depth=2), reading=READING),
        "emr": emr_hyperneat(LAYOUT, EMRRule(depth=3), reading=READING),
    }[method]
    compiled = evolve(decoder, 30)
    assert sum(map(len, compiled)) <= 12
    assert not any(compiled[20:])
