"""Every decoder within a jit: the networks of the host, their outputs, derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.decoders import (
    AbstractDecoder,
    CPPNReading,
    Direct,
    Discovered,
    FixedSubstrate,
    HyperNEAT,
)
from substrax.neat import NEAT, presets, tell_growing
from substrax.network import evaluate, to_host
from substrax.substrate import EMRRule, ESRule, Layout, WeightMap
from substrax.tensor import Capacity, over_genomes, population_mesh

LAYOUT = Layout.spread(3, 2)
ACTIVATIONS = ("tanh", "sin", "gauss", "sigmoid", "identity")


def reading(*outputs: str) -> CPPNReading:
    names = ("weight", *outputs)
    return CPPNReading(outputs=names, activations=ACTIVATIONS, precision="f64")


def discovered(rule, *outputs: str) -> Discovered:
    read = reading(*outputs)
    return Discovered(LAYOUT, rule, read, WeightMap("linear", 8.0), steps=3)


DECODERS: dict[str, AbstractDecoder] = {
    "neat": Direct(3, 2, precision="f64", activations=ACTIVATIONS),
    "hyperneat": HyperNEAT(
        FixedSubstrate.layered(
            [LAYOUT.inputs, [(-0.5, 0.0), (0.5, 0.0)], LAYOUT.outputs]
        ),
        reading("leo"),
    ),
    "emr": discovered(EMRRule(2)),
    "emr, full": discovered(EMRRule(2, connections="full")),
    "emr, bias, leo": discovered(EMRRule(1), "leo", "bias"),
    "es": discovered(ESRule(2, division_threshold=0.1), "bias"),
}


def neat_for(decoder: AbstractDecoder) -> NEAT:
    return NEAT(
        presets.substrax(
            num_inputs=decoder.num_genome_inputs,
            num_outputs=decoder.num_genome_outputs,
            population_size=24,
            activation_options=ACTIVATIONS,
            max_nodes=16,
            max_links=32,
        )
    )


def first_population(decoder: AbstractDecoder):
    neat = neat_for(decoder)
    return neat.ask(neat.init(key=jax.random.key(0)))


def population(decoder: AbstractDecoder, generations: int = 8):
    """Genomes that have grown under a random fitness."""
    neat = neat_for(decoder)
    state = neat.init(key=jax.random.key(0))
    tell = jax.jit(neat.tell)
    for key in jax.random.split(jax.random.key(1), generations):
        fitness = jax.random.uniform(key, (24,))
        state, _ = tell_growing(neat, state, fitness, key=key, tell_fn=tell)
    return neat.ask(state)


@pytest.fixture(
    scope="module",
    params=[
        # (takes long to compile)
        pytest.param(n, marks=[pytest.mark.slow] if n == "es" else [])
        for n in DECODERS
    ],
)
def case(request):
    decoder = DECODERS[request.param]
    return decoder, population(decoder)


def by_position(networks, k):
    """Links by the positions of their ends, or by numbers where there are none."""
    one = networks[k]
    points = [tuple(p) if p[0] == p[0] else n for n, p in enumerate(one.node_point)]
    ends = zip(one.link_source, one.link_target, strict=True)
    links = [(points[s], points[t]) for s, t in ends]
    return dict(zip(links, one.link_weight, strict=True))


def test_networks_and_outputs_are_those_of_the_host(case):
    decoder, genomes = case
    samples = np.random.default_rng(0).normal(size=(5, 3))
    capacity = decoder.first_capacity() and Capacity.eager(decoder.rule.depth, 128)

    def one(genome):
        traced = decoder.trace(genome, capacity)
        return traced.network, traced.is_whole, traced.network(jnp.asarray(samples))

    with jax.enable_x64(True):
        networks, is_whole, outputs = jax.jit(jax.vmap(one))(genomes)
        assert np.asarray(is_whole).all()
        ours = to_host(networks)
    theirs = decoder.decode(genomes)
    total = 0
    for k in range(len(theirs)):
        a, b = by_position(ours, k), by_position(theirs, k)
        if a.keys() != b.keys() and decoder is DECODERS["neat"]:
            assert len(a) == len(b)  # numbered otherwise
        else:
            assert a.keys() == b.keys()
            np.testing.assert_allclose([a[x] for x in b], list(b.values()), atol=1e-9)
        total += len(b)
    assert total > 24
    np.testing.assert_allclose(outputs, evaluate(theirs, samples), atol=1e-9)
    np.testing.assert_allclose(evaluate(ours, samples), outputs, atol=1e-9)


@pytest.mark.parametrize("name", DECODERS)
def test_a_decoder_is_one_traced_function_without_callbacks(name):
    """Under `scan`, `shard_map`, `lax.map` and `vmap`, one inside the other."""
    decoder = DECODERS[name]
    genomes = first_population(decoder)
    mesh = population_mesh(1)

    def judge(genome, samples):
        traced = decoder.trace(genome)
        outputs = traced.network(samples)
        return outputs.mean(), traced.exceeds, traced.is_sound

    def generations(genomes, some):
        def one(total, samples):
            values, *flags = over_genomes(judge, genomes, samples, block=4, mesh=mesh)
            return total + values.sum(), flags

        return jax.lax.scan(one, jnp.zeros(()), some)

    with jax.enable_x64(True):
        some = jnp.zeros((2, 4, 3))
        program = jax.jit(generations).trace(genomes, some)
        found = names_of(program.jaxpr.jaxpr)
        assert {"scan", "shard_map"} <= found
        assert not {x for x in found if "callback" in x or "ffi" in x}
        program.lower()


def names_of(jaxpr) -> set[str]:
    """Of all operations of a program, those within others included."""
    found = set()
    for equation in jaxpr.eqns:
        found.add(equation.primitive.name)
        for value in jax.tree.leaves(
            tuple(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")
        ):
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                found |= names_of(inner)
    return found


def test_derivatives_are_those_of_finite_differences(case):
    """By weights and biases of genomes, of all of them at once."""
    decoder, genomes = case
    samples = jnp.asarray(np.random.default_rng(0).normal(size=(4, 3)))
    with jax.enable_x64(True):
        wide = jax.tree.map(
            lambda x: x.astype(jnp.float64) if x.dtype == jnp.float32 else x, genomes
        )

        def loss(values, genome):
            weights, biases = values
            genome = jax.tree.map(lambda x: x, genome)
            object.__setattr__(genome, "link_weight", weights)
            object.__setattr__(genome, "node_bias", biases)
            traced = decoder.trace(genome, is_differentiable=True)
            return (traced.network(samples.astype(jnp.float64)) ** 2).sum()

        value = jax.jit(loss)
        values = (wide.link_weight, wide.node_bias)
        gradients = jax.jit(jax.vmap(jax.grad(loss)))(values, wide)
        assert all(np.isfinite(x).all() for x in gradients)
        # The genome whose links matter most; for others they may not matter at all.
        k = int(np.abs(gradients[0]).sum(axis=1).argmax())
        one = jax.tree.map(lambda x: x[k], wide)
        values = (one.link_weight, one.node_bias)
        for which, gradient in enumerate(x[k] for x in gradients):
            largest = np.argsort(-np.abs(gradient))[:4]
            assert which or np.abs(gradient[largest[0]]) > 1e-3
            for gene in largest:
                step = [jnp.zeros_like(x) for x in values]
                step[which] = step[which].at[gene].set(1e-6)
                up, down = (
                    value((values[0] + s * step[0], values[1] + s * step[1]), one)
                    for s in (1, -1)
                )
                expected = (up - down) / 2e-6
                np.testing.assert_allclose(gradient[gene], expected, 1e-5, 1e-5)
