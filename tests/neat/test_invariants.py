"""Whatever operators act on genomes, in whatever order, the invariants hold."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from substrax.neat import MutationConfig, NEATConfig
from substrax.neat._attributes import mutate_attributes
from substrax.neat._crossover import cross, cross_equals
from substrax.neat._draws import ChildDraws, LinkEndDraws, num_child_words
from substrax.neat._genome import compact_links, stable_sum
from substrax.neat._random import normal, population_words, threefry, uniform
from substrax.neat._structure import (
    add_node,
    append_link,
    choose_link,
    choose_split,
    delete_link,
    delete_node,
    reaches,
)
from tests.neat.helpers import assert_valid, make_genome, stack

CONFIG = NEATConfig(
    num_inputs=2,
    num_outputs=2,
    activation_options=("sin", "tanh"),
    mutation=MutationConfig(
        enable_rate=0.5,
        disable_rate=0.5,
        activation_rate=0.5,
        add_link_attempts=2,
        outputs_as_sources=True,
    ),
)
NODES, LINKS = 12, 24
TRUE = jnp.bool_(True)


def _start():
    links = [(0, 0, 2, 1.0, True), (1, 1, 3, -1.0, True)]
    return make_genome(links, num_outputs=2, max_nodes=NODES, max_links=LINKS)


def _split(genome, other, words, ids):
    del other
    wanted, slot, _ = choose_split(CONFIG, genome, TRUE, uniform(words[0, 0]))
    return add_node(genome, wanted, slot, ids[0], ids[1], jnp.int32(1))[0]


def _delete_node(genome, other, words, ids):
    del other, ids
    genome, keep = delete_node(genome, TRUE, uniform(words[0, 0]), 4)
    return compact_links(genome, keep)


def _add_link(genome, other, words, ids):
    del other
    keep = genome.link_mask
    ends = LinkEndDraws(target=words[:2, 0], source=words[:2, 1])
    is_new, source, target, genome = choose_link(CONFIG, genome, keep, TRUE, ends)
    weight = normal(words[0, 2])
    return append_link(genome, keep, is_new, ids[1], source, target, weight)[0]


def _delete_link(genome, other, words, ids):
    del other, ids
    keep = delete_link(genome.link_mask, TRUE, uniform(words[0, 0]))
    return compact_links(genome, keep)


def _cross(genome, other, words, ids):
    del ids
    return cross(CONFIG, genome, other, TRUE, words[0, :NODES], words[1])


def _cross_equals(genome, other, words, ids):
    del ids
    return cross_equals(CONFIG, genome, other, words[0, :NODES], words[1])[0]


def _attributes(genome, other, words, ids):
    del other, ids
    num_genome, num_node, _ = num_child_words(CONFIG)
    draws = ChildDraws.of(
        words[0, :num_genome], words[:num_node, :NODES], words[num_node:]
    )
    return mutate_attributes(CONFIG, genome, draws)


OPERATORS = [
    _split,
    _delete_node,
    _add_link,
    _delete_link,
    _cross,
    _cross_equals,
    _attributes,
]


@jax.jit
def _apply(which, genome, other, seed, ids):
    words = jax.random.bits(jax.random.key(seed), (9, LINKS))
    return jax.lax.switch(which, OPERATORS, genome, other, words, ids)


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.integers(0, len(OPERATORS) - 1),
            st.integers(0, 2),
            st.integers(0, 2),
            st.integers(0, 10**6),
        ),
        min_size=5,
        max_size=25,
    )
)
def test_operators_keep_genomes_valid(steps):
    genomes = [_start() for _ in range(3)]
    for number, (which, first, second, seed) in enumerate(steps):
        # Ids grow with time, as the counters of a run do.
        ids = jnp.array([4 + number, 2 + 2 * number], jnp.int32)
        genomes[first] = _apply(which, genomes[first], genomes[second], seed, ids)
        assert_valid(stack(*genomes), CONFIG)


@given(st.lists(st.tuples(st.integers(0, 39), st.integers(0, 39)), max_size=16))
@settings(max_examples=40)
def test_reachability_agrees_with_a_search(links):
    source = np.full(16, 0, np.int32)
    target = np.full(16, 0, np.int32)
    for slot, (s, t) in enumerate(links):
        source[slot], target[slot] = s, t
    mask = np.arange(16) < len(links)
    found = _reach_all(source, target, mask)
    reached = {5}
    for _ in links:
        reached |= {t for s, t in links if s in reached}
    np.testing.assert_array_equal(found, [g in reached for g in range(40)])


@jax.jit
def _reach_all(source, target, mask):
    # 40 nodes: more than one word of bits.
    return jax.vmap(lambda g: reaches(40, source, target, mask, jnp.int32(5), g))(
        jnp.arange(40, dtype=jnp.int32)
    )


def test_stable_sum_does_not_depend_on_padding():
    x = jax.random.normal(jax.random.key(0), (50, 13))
    short = stable_sum(x)
    np.testing.assert_allclose(short, np.asarray(x).sum(1), rtol=1e-5, atol=1e-5)
    for width in (16, 32, 100):
        padded = jnp.pad(x, ((0, 0), (0, width - 13)))
        np.testing.assert_array_equal(stable_sum(padded), short)


def test_threefry_is_the_one_of_jax():
    key = jax.random.key(42)
    words = jax.random.key_data(key)
    # Element i of a draw is the exclusive or of the two words for counter (0, i).
    first, second = threefry(
        (words[0], words[1]), jnp.zeros(5, jnp.uint32), jnp.arange(5, dtype=jnp.uint32)
    )
    np.testing.assert_array_equal(first ^ second, jax.random.bits(key, (5,)))


def test_words_depend_on_slot_and_column_but_not_on_capacity():
    sizes = ((1, 5), (8, 3), (16, 4))
    small = population_words(jax.random.key(0), 6, sizes, jnp.bool_(True))
    large = population_words(
        jax.random.key(0), 6, ((1, 5), (32, 3), (64, 4)), jnp.bool_(True)
    )
    for a, b in zip(small, large, strict=True):
        np.testing.assert_array_equal(a, b[:, :, : a.shape[2]])
    everything = np.concatenate([np.asarray(a).ravel() for a in small])
    assert len(np.unique(everything)) == everything.size


def test_uniform_and_normal_numbers_have_their_moments():
    words = jax.random.bits(jax.random.key(0), (200_000,))
    u, z = np.asarray(uniform(words)), np.asarray(normal(words))
    assert u.min() >= 0.0 and u.max() < 1.0
    assert u.mean() == pytest.approx(0.5, abs=0.005)
    assert z.mean() == pytest.approx(0.0, abs=0.01)
    assert z.std() == pytest.approx(1.0, abs=0.01)
    extremes = jnp.array([0, 2**32 - 1], jnp.uint32)
    assert np.isfinite(np.asarray(normal(extremes))).all()
