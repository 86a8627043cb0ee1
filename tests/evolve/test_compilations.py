"""A run compiles in its first two generations, and then no more."""

import jax
import jax.numpy as jnp
import pytest
from tests.compilations import counted_compilations

from substrax.decoders import (
    AbstractDecoder,
    CPPNReading,
    Direct,
    FixedSubstrate,
    HyperNEAT,
    emr_hyperneat,
    es_hyperneat,
)
from substrax.evolve import evolve
from substrax.neat import NEAT, presets
from substrax.problems import XOR
from substrax.substrate import EMRRule, ESRule

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
            callbacks=[lambda record: after.append(len(compilations))],
            directory=tmp_path / "run" if is_kept else None,
        )
        capacity = result.state.population
        assert (capacity.max_nodes, capacity.max_links) == (64, 128)
        assert result.state.max_species == 64
    assert len(after) == NUM_GENERATIONS
    assert compilations.names[after[1] :] == []
