"""A run compiles in its first two generations, and then no more."""

import jax
import jax.numpy as jnp
import pytest

from substrax.decoders import (
    AbstractDecoder,
    CPPNReading,
    Direct,
    FixedSubstrate,
    HyperNEAT,
    emr_hyperneat,
    es_hyperneat,
)
from substrax.evolution import evolve
from substrax.neat import NEAT, presets
from substrax.problems import XOR, FunctionProblem
from substrax.substrate import EMRRule, ESRule
from tests.compilations import counted_compilations

NUM_GENERATIONS = 12
LAYOUT = XOR().layout
# No capacity is met in so few generations: that compiles anew, and has to.
ROOM = {"population_size": 40, "max_nodes": 64, "max_links": 128, "max_species": 64}


def plain(dialect: str = "neat-python") -> tuple[NEAT, AbstractDecoder]:
    config = presets.neat_python(num_inputs=len(LAYOUT.inputs), **ROOM)
    decoder = Direct(
        len(LAYOUT.inputs),
        len(LAYOUT.outputs),
        dialect=dialect,
        activations=config.activation_options,
    )
    return NEAT(config), decoder


def on_substrate(make) -> tuple[NEAT, AbstractDecoder]:
    config = presets.pureples(**ROOM)
    return NEAT(config), make(CPPNReading(activations=config.activation_options))


PARTS = {
    "direct": lambda: plain(),
    "hyperneat": lambda: on_substrate(
        lambda r: HyperNEAT(FixedSubstrate.grid(LAYOUT, 3, 2), reading=r)
    ),
    "es": lambda: on_substrate(
        lambda r: es_hyperneat(LAYOUT, ESRule(depth=2), reading=r)
    ),
    "emr": lambda: on_substrate(
        lambda r: emr_hyperneat(LAYOUT, EMRRule(depth=2), reading=r)
    ),
}


def with_cycles(network, key):
    """A fitness in JAX that steps through time and keeps the network's state."""
    del key

    def step(state, inputs):
        state, outputs = network.step(state, inputs)
        return state, outputs[:, 0].mean()

    samples = jnp.asarray([[[0.0, 1.0, 1.0]], [[1.0, 0.0, 1.0]]], jnp.float32)
    _, means = jax.lax.scan(step, network.start(), samples)
    return means.sum()


def without_cycles(network, key):
    del key
    return network(jnp.asarray([[0.0, 1.0, 1.0]], jnp.float32))[0, 0]


FUNCTIONS = {"hidden": without_cycles, "full": with_cycles}


@pytest.mark.parametrize("connections", FUNCTIONS)
def test_functions_of_networks_compile_nothing_after_two_generations(connections):
    neat, decoder = on_substrate(
        lambda r: emr_hyperneat(
            LAYOUT, EMRRule(depth=2, connections=connections), reading=r
        )
    )
    after: list[int] = []
    sizes: list[float] = []

    def note(generation):
        after.append(len(compilations))
        sizes.append(generation.record.mean_network_links)

    with counted_compilations() as compilations:
        evolve(
            neat,
            decoder,
            FunctionProblem(FUNCTIONS[connections], LAYOUT),
            generations=NUM_GENERATIONS,
            callbacks=[note],
        )
    assert max(sizes) > 1.5 * min(sizes)  # sizes change, shapes do not
    assert compilations.names[after[1] :] == []


def test_the_counter_counts():
    with counted_compilations() as compilations:
        jax.jit(lambda x: x + 41)(1.0)
        once = len(compilations)
        jax.jit(lambda x: x + 42)(1.0)
    jax.jit(lambda x: x + 43)(1.0)
    assert 0 < once < len(compilations) <= 2 * once
    assert "lambda" in compilations.names[-1]


@pytest.mark.parametrize("is_kept", [False, True], ids=["alone", "in a directory"])
@pytest.mark.parametrize(
    "name",
    [
        "direct",
        "hyperneat",
        pytest.param("es", marks=pytest.mark.slow),
        "emr",
    ],
)
def test_nothing_is_compiled_after_two_generations(name, is_kept, tmp_path):
    neat, decoder = PARTS[name]()
    after: list[int] = []
    with counted_compilations() as compilations:
        result = evolve(
            neat,
            decoder,
            XOR(),
            seed=3,
            generations=NUM_GENERATIONS,
            target=float(jnp.inf),
            callbacks=[lambda generation: after.append(len(compilations))],
            directory=tmp_path / "run" if is_kept else None,
        )
        capacity = result.state.population
        assert (capacity.max_nodes, capacity.max_links) == (64, 128)
        assert result.state.max_species == 64
    assert len(after) == NUM_GENERATIONS
    assert compilations.names[after[1] :] == []
