"""From genomes to fitness on devices: what the native engine says of them, too."""

from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import substrax.decoders._discovered as discovered_module
from substrax import Resources
from substrax.decoders import (
    AbstractDecoder,
    CPPNReading,
    Direct,
    Discovered,
    FixedSubstrate,
    HyperNEAT,
    NetworkCache,
)
from substrax.evolution._judge import judge
from substrax.neat import NEAT, presets, tell_growing
from substrax.network import evaluate
from substrax.problems import (
    XOR,
    AbstractProblem,
    ArrayProblem,
    CartPole,
    DoublePole,
    FunctionProblem,
    HardMaze,
    Retina,
    TracedFitness,
)
from substrax.substrate import EMRRule, ESRule, Layout, WeightMap
from tests.decoders.support import genomes_of
from tests.evolution.shared import Weights
from tests.substrate.support import ACTIVATIONS as CPPN_ACTIVATIONS
from tests.substrate.support import draw_cppns

DEVICE, NATIVE = Resources(engine="device"), Resources(engine="native")
ACTIVATIONS = ("tanh", "gauss", "sigmoid", "identity")
NUM = 40


def drawn(network, key):
    return -(network(jax.random.normal(key, (7, 3))) ** 2).mean()


def discovered(problem: AbstractProblem, rule: EMRRule | ESRule) -> Discovered:
    reading = CPPNReading(outputs=("weight", "bias"), activations=ACTIVATIONS)
    return Discovered(problem.layout, rule, reading, WeightMap("linear", 8.0), steps=3)


def direct(problem: AbstractProblem, **settings) -> Direct:
    return Direct(
        problem.num_inputs, problem.num_outputs, activations=ACTIVATIONS, **settings
    )


def layered(problem: AbstractProblem) -> HyperNEAT:
    layers = [problem.layout.inputs, [(-0.5, 0.0), (0.5, 0.0)], problem.layout.outputs]
    return HyperNEAT(
        FixedSubstrate.layered(layers), CPPNReading(activations=ACTIVATIONS)
    )


X, Y = np.random.default_rng(0).normal(size=(2, 30, 2))
FUNCTION = FunctionProblem(drawn, Layout.spread(3, 1))
CASES: dict[str, tuple[AbstractProblem, AbstractDecoder]] = {
    "xor, emr": (XOR(), discovered(XOR(), EMRRule(1))),
    "xor, emr full": (XOR(), discovered(XOR(), EMRRule(1, connections="full"))),
    "xor, es": (XOR(), discovered(XOR(), ESRule(1, division_threshold=0.1))),
    "retina, hyperneat": (Retina(), layered(Retina())),
    "arrays, neat": (ArrayProblem(X, Y), direct(ArrayProblem(X, Y))),
    "function, neat with cycles": (FUNCTION, direct(FUNCTION, is_recurrent=True)),
    # Each step depends on the one before: few of them, or rounding decides.
    "cartpole, neat": (CartPole(max_steps=20), direct(CartPole())),
    "maze, emr": (HardMaze(max_steps=10), discovered(HardMaze(), EMRRule(0))),
    # Of these the device makes networks, and the host the fitness.
    "double pole, neat": (DoublePole(max_steps=20), direct(DoublePole())),
}


def genomes_for(decoder: AbstractDecoder):
    """Genomes that have grown under a random fitness."""
    neat = NEAT(
        presets.substrax(
            num_inputs=decoder.num_genome_inputs,
            num_outputs=decoder.num_genome_outputs,
            population_size=NUM,
            activation_options=ACTIVATIONS,
            max_nodes=32,
            max_links=64,
        )
    )
    state = neat.init(key=jax.random.key(0))
    tell = jax.jit(neat.tell)
    for key in jax.random.split(jax.random.key(1), 5):
        fitness = jax.random.uniform(key, (NUM,))
        state, _ = tell_growing(neat, state, fitness, key=key, tell_fn=tell)
    return neat.ask(state)


SLOW = (
    "xor, emr full", "xor, es", "arrays, neat", "maze, emr", "retina, hyperneat",
)  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in CASES],
)
def test_a_device_judges_as_the_native_engine_does(name: str) -> None:
    problem, decoder = CASES[name]
    genomes, key = genomes_for(decoder), jax.random.key(5)
    ours, theirs = (
        judge(decoder, problem, genomes, key, NetworkCache(0), resources)
        for resources in (DEVICE, NATIVE)
    )
    np.testing.assert_array_equal(ours.num_links, theirs.num_links)
    np.testing.assert_array_equal(ours.num_hidden, theirs.num_hidden)
    close = np.isclose(ours.fitness, theirs.fitness, rtol=1e-3, atol=1e-4)
    # A pole may fall one step later.
    assert close.mean() > 0.9
    assert np.unique(theirs.fitness).size > 1


def test_what_needs_more_room_is_counted() -> None:
    problem = XOR()
    decoder = discovered(problem, EMRRule(3, weight_threshold=0.01))
    genomes = genomes_for(decoder)
    judged = judge(
        decoder, problem, genomes, jax.random.key(0), NetworkCache(0), DEVICE
    )
    wanted = decoder.decode(genomes, NATIVE).num_found > 64
    assert judged.num_grown == wanted.sum() > 0
    assert jnp.isfinite(judged.fitness).all()


SAMPLES = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)


class Summed(Weights):
    """What networks answer; a fitness for both engines."""

    layout = Layout.spread(5, 1)

    def fitness(self, networks, *, key, resources=None):
        return evaluate(networks, SAMPLES, resources=resources).sum(axis=(1, 2))

    def traced(self):
        return TracedFitness(answers, lambda outcomes: outcomes.sum(axis=(1, 2)))


def answers(network, key):
    return network(jnp.asarray(SAMPLES))


class Compared(Summed):
    is_separable = False


def test_what_no_device_has_room_for_is_judged_by_the_native_engine() -> None:
    genomes, key = genomes_of(draw_cppns(3, 12)), jax.random.key(0)
    decoder = Direct(5, 1, activations=CPPN_ACTIVATIONS)
    # Half of this is room for 8 nodes, and not for 16.
    with (
        mock.patch("substrax._resources._automatic", lambda: None),
        mock.patch("substrax._resources.device_memory", lambda: 5_000),
    ):
        parts = decoder, Summed(), genomes, key, NetworkCache(0)
        judged = judge(*parts, Resources())
        for insisting in (DEVICE, Resources(devices=1)):
            with pytest.raises(ValueError, match="one network needs about"):
                judge(*parts, insisting)
        with pytest.raises(ValueError, match="one network needs about"):
            judge(decoder, Compared(), genomes, key, NetworkCache(0), Resources())
    is_large = (np.asarray(genomes.node_id) >= 0).sum(axis=1) > 8
    assert (judged.num_grown, judged.num_on_host) == (0, is_large.sum())
    assert 0 < is_large.sum() < 12
    native = judge(*parts, NATIVE)
    np.testing.assert_array_equal(judged.num_hidden, native.num_hidden)
    np.testing.assert_array_equal(judged.num_links, native.num_links)
    np.testing.assert_array_equal(judged.fitness[is_large], native.fitness[is_large])
    np.testing.assert_allclose(judged.fitness, native.fitness, rtol=1e-4)


def test_what_needs_more_room_is_counted_where_the_host_gives_the_fitness() -> None:
    """Also if a network is not built again, because it is there."""
    reading = CPPNReading(activations=CPPN_ACTIVATIONS)
    decoder = Discovered(
        Layout.spread(2, 1), EMRRule(0), reading, WeightMap("linear", 8.0)
    )
    genomes, cache = genomes_of(draw_cppns(3, 12)), NetworkCache(1 << 24)
    wanted = (decoder.decode(genomes, NATIVE).num_found > 2).sum()
    assert 0 < wanted < 12
    with mock.patch.object(discovered_module, "_HIDDEN", 2):
        for num_hits in (0, 12):
            judged = judge(
                decoder, Weights(), genomes, jax.random.key(0), cache, DEVICE
            )
            assert (judged.num_grown, judged.num_on_host) == (wanted, 0)
            assert cache.num_hits == num_hits
