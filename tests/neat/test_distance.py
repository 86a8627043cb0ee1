"""Compatibility distance (Stanley & Miikkulainen, 2002, equation 1)."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.neat import NEAT, NEATConfig, SpeciationConfig, pair_distance, presets
from substrax.neat._distance import distance_table
from substrax.neat._genome import pad_genome
from tests.neat.helpers import make_genome, stack

# Ids 1, 2 and 3 match; 4, 6 and 7 are disjoint; 8 and 9 are excess.
FIRST = make_genome(
    [
        (1, 0, 2, 1.0, True),
        (2, 1, 2, 2.0, True),
        (3, 0, 3, 3.0, True),
        (4, 1, 3, 1.0, True),
        (7, 3, 2, 1.0, True),
    ],
    hidden=[3],
)
SECOND = make_genome(
    [
        (1, 0, 2, 1.5, True),
        (2, 1, 2, 1.0, False),
        (3, 0, 3, 3.0, True),
        (6, 0, 4, 1.0, True),
        (8, 4, 2, 1.0, True),
        (9, 1, 4, 1.0, True),
    ],
    hidden=[3, 4],
)


def _config(**kwargs):
    return NEATConfig(speciation=SpeciationConfig(**kwargs))


def test_equation_1_by_hand():
    """delta = c1 E/N + c2 D/N + c3 W, here with N = 6."""
    config = _config(
        excess_coefficient=2.0,
        disjoint_coefficient=3.0,
        weight_coefficient=0.5,
        small_genome_size=0,
    )
    # Excess: 8, 9. Disjoint: 4, 7, 6. Mean difference: (0.5 + 1 + 0) / 3.
    expected = 2.0 * 2 / 6 + 3.0 * 3 / 6 + 0.5 * 0.5
    assert float(pair_distance(config, FIRST, SECOND)) == pytest.approx(expected)
    assert float(pair_distance(config, SECOND, FIRST)) == pytest.approx(expected)


def test_n_is_one_for_genomes_of_fewer_than_20_genes():
    """ "N can be set to 1 if both genomes are small, i.e., consist of fewer than 20
    genes." """
    config = _config(weight_coefficient=0.0)
    assert float(pair_distance(config, FIRST, SECOND)) == pytest.approx(2 + 3)


def test_a_genome_is_at_distance_zero_from_itself():
    for distance in ("stanley2002", "neat_python"):
        config = _config(distance=distance)
        assert float(pair_distance(config, FIRST, FIRST)) == 0.0


def test_genomes_without_links_have_a_distance():
    empty = make_genome([])
    config = _config()
    assert float(pair_distance(config, empty, empty)) == 0.0
    assert float(pair_distance(config, empty, FIRST)) == 5.0


def test_neat_python_distance_by_hand():
    config = _config(
        distance="neat_python", disjoint_coefficient=1.0, weight_coefficient=0.5
    )
    # Links: 0.5 (0.5 + 1 + 0, and one switch differs) plus 5 unmatched, over 6.
    # Nodes (outputs and hidden): one unmatched of at most 3.
    expected = (0.5 * (1.5 + 1.0) + 5.0) / 6 + 1.0 / 3
    assert float(pair_distance(config, FIRST, SECOND)) == pytest.approx(expected)


@pytest.mark.parametrize(
    "preset",
    [pytest.param(presets.stanley2002, marks=pytest.mark.slow), presets.neat_python],
)
def test_the_table_agrees_with_pairs_and_does_not_depend_on_capacity(preset):
    config = preset(num_inputs=3, num_outputs=2, population_size=40)
    mutation = dataclasses.replace(
        config.mutation, add_node_rate=0.5, add_link_rate=0.5
    )
    config = dataclasses.replace(config, mutation=mutation, max_nodes=32, max_links=40)
    neat = NEAT(config)
    state = neat.init(key=jax.random.key(0))
    tell = jax.jit(neat.tell)
    for i in range(6):
        state, _ = tell(state, jnp.arange(40.0), key=jax.random.key(i))
    genomes, config = state.population, neat.config
    representatives = jax.tree.map(lambda x: x[::5], genomes)

    def by_table(genomes, representatives):
        table = distance_table(config, genomes, representatives)
        return jax.vmap(lambda s: table.distances(config, s))(jnp.arange(8))

    table = jax.jit(by_table)(genomes, representatives)
    one = lambda g, r: pair_distance(config, g, r)
    each = lambda r: jax.vmap(lambda g: one(g, r))(genomes)
    pairs = jax.jit(jax.vmap(each))(representatives)
    np.testing.assert_allclose(table, pairs, rtol=1e-5, atol=1e-6)
    wide = [pad_genome(g, 64, 128) for g in (genomes, representatives)]
    np.testing.assert_array_equal(jax.jit(by_table)(*wide), table)


def test_genomes_of_many_nodes_are_compared_in_several_blocks():
    """Links first, then nodes, eight of each at a time."""
    config = _config(distance="neat_python")

    def genome(hidden: range, scale: float):
        links = [(k, 0, n, scale * k, True) for k, n in enumerate(hidden)]
        biases = {n: scale * n for n in hidden}
        sizes = {"max_nodes": 48, "max_links": 48}
        return make_genome(links, hidden=list(hidden), biases=biases, **sizes)

    parts = [range(3, 24), range(3, 40), range(12, 31), range(3, 5)]
    genomes = stack(*(genome(part, 0.1 * k) for k, part in enumerate(parts, 1)))
    table = distance_table(config, genomes, genomes)
    for r in range(len(parts)):
        one = jax.tree.map(lambda x, r=r: x[r], genomes)
        pairs = jax.vmap(lambda g, r=one: pair_distance(config, g, r))(genomes)
        found = table.distances(config, jnp.int32(r))
        np.testing.assert_allclose(found, pairs, rtol=1e-5, atol=1e-6)
        assert found[r] == 0 and (np.delete(np.asarray(found), r) > 0).all()


def test_neat_python_agrees_on_its_own_genomes():
    neat_python = pytest.importorskip("neat")
    genes = neat_python.genes

    class Options:
        compatibility_disjoint_coefficient = 1.3
        compatibility_weight_coefficient = 0.7

    def convert(genome):
        other = neat_python.DefaultGenome(0)
        for slot in range(2, int(genome.num_nodes)):
            node = genes.DefaultNodeGene(int(genome.node_id[slot]))
            node.bias, node.response = float(genome.node_bias[slot]), 1.0
            node.activation, node.aggregation = "sigmoid", "sum"
            node.time_constant = 1.0
            other.nodes[node.key] = node
        for slot in range(int(genome.num_links)):
            ends = int(genome.link_source[slot]), int(genome.link_target[slot])
            link = genes.DefaultConnectionGene(ends, innovation=slot)
            link.weight = float(genome.link_weight[slot])
            link.enabled = bool(genome.link_enabled[slot])
            other.connections[ends] = link
        return other

    config = _config(
        distance="neat_python", disjoint_coefficient=1.3, weight_coefficient=0.7
    )
    expected = convert(FIRST).distance(convert(SECOND), Options)
    assert float(pair_distance(config, FIRST, SECOND)) == pytest.approx(expected)


def test_a_link_added_again_is_the_old_gene_for_neat_python_alone():
    old = make_genome([(0, 0, 2, 1.0, True)])
    again = make_genome([(9, 0, 2, 1.0, True)])
    assert float(pair_distance(_config(distance="neat_python"), old, again)) == 0.0
    assert float(pair_distance(_config(), old, again)) == 2.0


def test_a_population_of_one_representative_is_enough():
    config = _config()
    genomes = stack(FIRST, SECOND)
    table = distance_table(config, genomes, stack(FIRST))
    assert float(table.distances(config, jnp.int32(0))[0]) == 0.0
