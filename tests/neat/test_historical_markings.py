"""Historical markings (Stanley & Miikkulainen, 2002, section 3.2)."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from substrax.neat import MutationConfig, NEATConfig
from substrax.neat._draws import ChildDraws, num_child_words
from substrax.neat._innovation import number_innovations
from substrax.neat._mutation import Counters, mutate
from substrax.neat._random import population_words
from tests.neat.helpers import assert_valid, links_of, make_genome, stack

FULL = [(0, 0, 2, 1.0, True), (1, 1, 2, -1.0, True)]


def _mutate(config, genomes, seed=0, next_link=2):
    population = genomes.node_id.shape[0]
    num_genome, num_node, num_link = num_child_words(config)
    sizes = (
        (1, num_genome),
        (genomes.max_nodes, num_node),
        (genomes.max_links, num_link),
    )
    words = population_words(jax.random.key(seed), population, sizes, jnp.bool_(True))
    counters = Counters(jnp.int32(3), jnp.int32(next_link), jnp.bool_(False))
    return jax.jit(mutate, static_argnums=0)(
        config,
        genomes,
        jnp.zeros(population, bool),
        ChildDraws.of(words[0][:, :, 0], words[1], words[2]),
        counters,
    )


def test_identical_innovations_in_a_generation_share_their_number():
    """ "Each identical mutation is assigned the same innovation number." """
    keys = jnp.array([7, 3, 7, 9, 3, 3], jnp.int32)
    number, count = number_innovations((keys,), jnp.ones(6, bool))
    assert int(count) == 3
    np.testing.assert_array_equal(number, [1, 0, 1, 2, 0, 0])


def test_innovations_are_pairs_when_two_keys_are_given():
    source = jnp.array([0, 0, 1, 0], jnp.int32)
    target = jnp.array([2, 3, 2, 2], jnp.int32)
    number, count = number_innovations((source, target), jnp.ones(4, bool))
    assert int(count) == 3
    assert number[0] == number[3]
    assert len({int(x) for x in number}) == 3


def test_genomes_without_an_innovation_use_up_no_number():
    keys = jnp.array([5, 1, 5], jnp.int32)
    number, count = number_innovations((keys,), jnp.array([True, False, True]))
    assert int(count) == 1
    assert number[0] == number[2] == 0


def test_splitting_the_same_link_gives_the_same_node_and_the_same_two_links():
    config = NEATConfig(mutation=MutationConfig(add_node_rate=1.0, add_link_rate=0.0))
    population = stack(*[make_genome(FULL)] * 20)
    genomes, counters, overflow = _mutate(config, population)
    assert_valid(genomes, config)
    assert not any(map(bool, jax.tree.leaves(overflow)))
    split = np.asarray(genomes.link_source[:, 2])
    for link in (0, 1):
        rows = {
            tuple(links_of(jax.tree.map(lambda x, i=i: x[i], genomes)))
            for i in np.nonzero(split == link)[0]
        }
        assert len(rows) == 1
    # Two links were split, so two nodes and four links were invented.
    assert set(split.tolist()) == {0, 1}
    assert int(counters.next_node_id) == 5
    assert int(counters.next_link_id) == 6


def test_nodes_are_not_shared_where_the_configuration_says_so():
    mutation = MutationConfig(
        add_node_rate=1.0, add_link_rate=0.0, share_split_nodes=False
    )
    population = stack(*[make_genome(FULL)] * 20)
    genomes, counters, _ = _mutate(NEATConfig(mutation=mutation), population)
    assert len(set(np.asarray(genomes.node_id[:, 3]).tolist())) == 20
    assert int(counters.next_node_id) == 23


def test_adding_the_same_link_gives_the_same_id():
    config = NEATConfig(mutation=MutationConfig(add_node_rate=0.0, add_link_rate=1.0))
    population = stack(*[make_genome([])] * 30)
    genomes, counters, _ = _mutate(config, population, next_link=0)
    assert_valid(genomes, config)
    ids = np.asarray(genomes.link_id[:, 0])
    source = np.asarray(genomes.link_source[:, 0])
    assert int(counters.next_link_id) == 2
    for s in (0, 1):
        assert len(set(ids[source == s].tolist())) == 1


def test_running_out_of_ids_is_flagged_and_never_wraps():
    last = np.iinfo(np.int32).max
    counters = Counters(jnp.int32(3), jnp.int32(last - 2), jnp.bool_(False))
    after = counters.advance(jnp.int32(1), jnp.int32(4))
    assert bool(after.exhausted)
    assert int(after.next_link_id) == last - 2


def test_the_old_link_is_disabled_and_the_new_weights_are_one_and_the_old_weight():
    """ "The new connection leading into the new node receives a weight of 1, and the
    new connection leading out receives the same weight as the old connection." """
    mutation = MutationConfig(add_node_rate=1.0, add_link_rate=0.0)
    config = NEATConfig(mutation=mutation)
    still = dataclasses.replace(config.weight, mutate_rate=0.0)
    config = dataclasses.replace(config, weight=still, bias=still)
    genomes, _, _ = _mutate(config, stack(make_genome([(0, 0, 2, 0.7, True)])))
    np.testing.assert_allclose(genomes.link_weight[0, :3], [0.7, 1.0, 0.7])
    np.testing.assert_array_equal(genomes.link_enabled[0, :3], [False, True, True])
    np.testing.assert_array_equal(genomes.link_source[0, :3], [0, 0, 3])
    np.testing.assert_array_equal(genomes.link_target[0, :3], [2, 3, 2])
    assert float(genomes.node_bias[0, 3]) == 0.0
