"""What has no room, or cannot be read: told, and never a number that looks right."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.cppn import activation_id
from substrax.decoders import CPPNReading, Direct, Discovered
from substrax.substrate import EMRRule, Layout, WeightMap
from substrax.tensor import Capacity
from tests.decoders.support import genomes_of
from tests.substrate.support import ACTIVATIONS, draw_cppns

SAMPLES = jnp.asarray([[0.0, 1.0], [1.0, 0.5]])


@pytest.mark.parametrize(
    ("connections", "activation"), [("hidden", "step"), ("full", "tanh")]
)
def test_a_network_that_has_no_room_answers_nan(
    connections: str, activation: str
) -> None:
    """With an activation that makes a number of NaN, too; and with cycles."""
    decoder = Discovered(
        Layout.spread(2, 1),
        EMRRule(1, connections=connections),
        CPPNReading(activations=ACTIVATIONS),
        WeightMap("linear", 8.0),
        hidden_activation=activation,
        output_activation=activation,
        steps=3,
    )
    genomes = genomes_of(draw_cppns(3, 20))

    def outputs(capacity: Capacity) -> tuple[np.ndarray, np.ndarray]:
        def one(genome):
            traced = decoder.trace(genome, capacity)
            return traced.network(SAMPLES), traced.exceeds

        answers, exceeds = jax.jit(jax.vmap(one))(genomes)
        return np.asarray(answers), np.asarray(exceeds)

    answers, exceeds = outputs(Capacity.eager(1, 4))
    wanted, none_exceeds = outputs(Capacity.eager(1, 20))
    assert 0 < exceeds.sum() < 20
    assert not none_exceeds.any()
    assert np.isnan(answers[exceeds]).all()
    np.testing.assert_array_equal(answers[~exceeds], wanted[~exceeds])


def test_a_genome_that_cannot_be_read_answers_nan() -> None:
    decoder = Direct(5, 1, activations=ACTIVATIONS)
    few = dataclasses.replace(decoder, activations=("tanh",))
    genomes = genomes_of(draw_cppns(3, 20))

    def one(genome):
        traced = few.trace(genome)
        return traced.network(jnp.ones((2, 5))), traced.is_sound

    answers, is_sound = map(np.asarray, jax.jit(jax.vmap(one))(genomes))
    assert 0 < is_sound.sum() < 20
    assert np.isnan(answers[~is_sound]).all()
    assert np.isfinite(answers[is_sound]).all()


@pytest.mark.parametrize(
    "make", [Capacity.eager, lambda d, h: Capacity.frontier(d, h, 8)]
)
def test_no_room_can_be_negative(make) -> None:
    for depth, hidden, name in ((3, -1, "hidden"), (-1, 3, "depth")):
        with pytest.raises(ValueError, match=f"{name} must not be negative"):
            make(depth, hidden)


def test_hidden_nodes_and_outputs_have_the_functions_that_were_asked_for() -> None:
    decoder = Discovered(
        Layout.spread(2, 2),
        EMRRule(0, connections="hidden"),
        CPPNReading(activations=ACTIVATIONS),
        WeightMap("linear", 8.0),
        hidden_activation="tanh",
        output_activation="sigmoid",
    )
    genomes = genomes_of(draw_cppns(3, 20))
    networks = jax.jit(jax.vmap(lambda g: decoder.trace(g).network))(genomes)
    functions = np.array(networks.activation_ids)[np.asarray(networks.activation)]
    number = np.asarray(networks.number)  # inputs, outputs, hidden ones
    is_fed = np.asarray(networks.is_linked).any(axis=1)
    assert (is_fed & (number >= 4)).any()
    assert (functions[is_fed & (number >= 4)] == activation_id("tanh")).all()
    is_output = is_fed & (number >= 2) & (number < 4)
    assert is_output.any()
    assert (functions[is_output] == activation_id("sigmoid")).all()
