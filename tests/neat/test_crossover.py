"""Crossover (Stanley & Miikkulainen, 2002, sections 3.2 and 4.1)."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.neat import CrossoverConfig, NEATConfig
from substrax.neat._crossover import cross, cross_equals, has_cycle
from tests.neat.helpers import assert_same, assert_valid, links_of, make_genome, stack

CONFIG = NEATConfig()
FITTER = make_genome(
    [(0, 0, 2, 1.0, True), (3, 0, 3, 2.0, True), (4, 3, 2, 3.0, True)],
    hidden=[3],
    biases={2: 1.0, 3: 5.0},
)
OTHER = make_genome(
    [(0, 0, 2, -1.0, True), (1, 1, 2, -2.0, True), (7, 1, 4, 1.0, True)],
    hidden=[4],
    biases={2: -1.0, 4: -5.0},
)


def _words(seed, genome, count):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.bits(keys[0], (count, genome.max_nodes)),
        jax.random.bits(keys[1], (count, genome.max_links)),
    )


def _children(config, fitter, other, count=400, seed=0):
    nodes, links = _words(seed, fitter, count)
    one = lambda n, w: cross(config, fitter, other, jnp.bool_(True), n, w)
    return jax.jit(jax.vmap(one))(nodes, links)


def test_matching_genes_come_from_either_parent_at_random():
    """ "Genes are randomly chosen from either parent at matching genes." """
    weight = np.asarray(_children(CONFIG, FITTER, OTHER).link_weight[:, 0])
    assert set(weight.tolist()) == {1.0, -1.0}
    assert 0.4 < (weight == 1.0).mean() < 0.6


def test_disjoint_and_excess_genes_come_from_the_more_fit_parent():
    """ "All excess or disjoint genes are always included from the more fit parent." """
    children = _children(CONFIG, FITTER, OTHER)
    for i in range(20):
        child = jax.tree.map(lambda x, i=i: x[i], children)
        assert links_of(child) == links_of(FITTER)
    np.testing.assert_array_equal(children.link_weight[:, 1], 2.0)
    np.testing.assert_array_equal(children.node_bias[:, 3], 5.0)


def test_attributes_of_matching_nodes_come_from_either_parent():
    bias = np.asarray(_children(CONFIG, FITTER, OTHER).node_bias[:, 2])
    assert set(bias.tolist()) == {1.0, -1.0}


@pytest.mark.parametrize("first,second", [(True, False), (False, True)])
def test_a_gene_disabled_in_either_parent_is_disabled_in_75_percent(first, second):
    """ "There was a 75% chance that an inherited gene was disabled if it was disabled
    in either parent." """
    a = make_genome([(0, 0, 2, 1.0, first)])
    b = make_genome([(0, 0, 2, 1.0, second)])
    enabled = np.asarray(_children(CONFIG, a, b, 4000).link_enabled[:, 0])
    assert abs((~enabled).mean() - 0.75) < 0.03


def test_the_rate_for_genes_disabled_in_both_parents_is_a_setting():
    crossover = CrossoverConfig(disable_rate_both=1.0)
    config = dataclasses.replace(CONFIG, crossover=crossover)
    a = make_genome([(0, 0, 2, 1.0, False)])
    assert not np.asarray(_children(config, a, a).link_enabled[:, 0]).any()


def test_a_gene_enabled_in_both_parents_stays_enabled():
    assert np.asarray(_children(CONFIG, FITTER, OTHER).link_enabled[:, :3]).all()


def test_without_crossover_the_child_is_a_copy():
    nodes, links = _words(3, FITTER, 64)
    one = lambda n, w: cross(CONFIG, FITTER, OTHER, jnp.bool_(False), n, w)
    assert_same(jax.vmap(one)(nodes, links), stack(*[FITTER] * 64))


def test_alignment_is_by_id_not_by_position():
    a = make_genome([(2, 0, 2, 1.0, True), (5, 1, 2, 1.0, True)])
    b = make_genome([(5, 1, 2, -1.0, True)])
    weight = np.asarray(_children(CONFIG, a, b).link_weight)
    np.testing.assert_array_equal(weight[:, 0], 1.0)
    assert set(weight[:, 1].tolist()) == {1.0, -1.0}


def test_equally_fit_parents_both_give_disjoint_and_excess_genes():
    """ "In this case, equal fitnesses are assumed, so the disjoint and excess genes
    are also inherited randomly." """
    nodes, links = _words(0, FITTER, 300)
    one = lambda n, w: cross_equals(CONFIG, FITTER, OTHER, n, w)
    children, nodes_full, links_full = jax.vmap(one)(nodes, links)
    assert not np.asarray(nodes_full).any() and not np.asarray(links_full).any()
    assert_valid(children, CONFIG)
    seen = {0: 0, 1: 0, 3: 0, 4: 0, 7: 0}
    for i in range(300):
        for number, _, _ in links_of(jax.tree.map(lambda x, i=i: x[i], children)):
            seen[number] += 1
    assert seen.pop(0) == 300
    assert all(100 < count < 200 for count in seen.values())


def test_equally_fit_parents_never_make_a_cycle_or_a_double_link():
    # 3 -> 4 in one and 4 -> 3 in the other; 1 -> 2 under two different ids.
    a = make_genome(
        [(0, 0, 3, 1.0, True), (5, 3, 4, 1.0, True), (8, 1, 2, 1.0, True)],
        hidden=[3, 4],
    )
    b = make_genome(
        [(0, 0, 3, 1.0, True), (6, 4, 3, 1.0, True), (9, 1, 2, 1.0, True)],
        hidden=[3, 4],
    )
    nodes, links = _words(1, a, 200)
    one = lambda n, w: cross_equals(CONFIG, a, b, n, w)
    children, _, _ = jax.vmap(one)(nodes, links)
    assert_valid(children, CONFIG)


@pytest.mark.slow
def test_a_child_of_equals_that_does_not_fit_is_flagged():
    a = make_genome(
        [(0, 0, 2, 1.0, True), (1, 0, 3, 1.0, True)], hidden=[3], max_links=2
    )
    b = make_genome(
        [(5, 1, 2, 1.0, True), (6, 1, 3, 1.0, True)], hidden=[3], max_links=2
    )
    nodes, links = _words(1, a, 100)
    one = lambda n, w: cross_equals(CONFIG, a, b, n, w)
    children, _, links_full = jax.vmap(one)(nodes, links)
    assert np.asarray(links_full).any()
    assert_valid(children, CONFIG)


def test_cycles_are_found():
    cyclic = make_genome([(0, 3, 4, 1.0, True), (1, 4, 3, 1.0, True)], hidden=[3, 4])
    chain = make_genome([(0, 3, 4, 1.0, True), (1, 4, 2, 1.0, True)], hidden=[3, 4])
    loop = make_genome([(0, 3, 3, 1.0, True)], hidden=[3])
    found = [bool(has_cycle(g, 3, g.link_mask)) for g in (cyclic, chain, loop)]
    assert found == [True, False, True]


def test_crossing_a_population_equals_crossing_one_by_one():
    population = stack(FITTER, OTHER, FITTER)
    others = stack(OTHER, FITTER, FITTER)
    nodes, links = _words(4, FITTER, 3)
    one = lambda a, b, n, w: cross(CONFIG, a, b, jnp.bool_(True), n, w)
    together = jax.vmap(one)(population, others, nodes, links)
    for i in range(3):
        pick = lambda x, i=i: x[i]
        alone = one(
            jax.tree.map(pick, population),
            jax.tree.map(pick, others),
            nodes[i],
            links[i],
        )
        assert_same(alone, jax.tree.map(pick, together))
