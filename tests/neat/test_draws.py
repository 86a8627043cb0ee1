"""Each random draw has a word of its own, and decides what its name says."""

import dataclasses
from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from substrax.neat import (
    NEAT,
    CrossoverConfig,
    FloatGeneConfig,
    Genome,
    MutationConfig,
    NEATConfig,
    NEATState,
    ReproductionConfig,
    SpeciationConfig,
    _draws,
    _neat,
)
from substrax.neat._draws import (
    ChildDraws,
    LinkCoin,
    NodeCoin,
    ParentDraws,
    draw_first_nodes,
    draw_offspring,
)

POPULATION, NODES, LINKS = 64, 16, 48
# Everything may happen: many species, and each mutation at a rate of its own.
FLOATS = FloatGeneConfig(mutate_rate=0.7, perturb_rate=0.4, replace_rate=0.3)
CONFIG = NEATConfig(
    num_inputs=3,
    num_outputs=2,
    num_hidden=2,
    population_size=POPULATION,
    activation_options=("sin", "tanh", "gauss"),
    max_nodes=NODES,
    max_links=LINKS,
    max_species=POPULATION,
    weight=FLOATS,
    bias=FLOATS,
    mutation=MutationConfig(
        add_node_rate=0.5,
        delete_node_rate=0.3,
        add_link_rate=0.6,
        delete_link_rate=0.4,
        enable_rate=0.3,
        disable_rate=0.3,
        activation_rate=0.3,
        add_link_attempts=3,
        split_disabled_links=True,
    ),
    crossover=CrossoverConfig(
        crossover_rate=0.7, interspecies_rate=0.5, per_attribute=True
    ),
    speciation=SpeciationConfig(compatibility_threshold=3.0),
    reproduction=ReproductionConfig(survival_rate=1.0, elitism=0),
)

# What a draw may change. Those that are not here may change all of a genome.
OWN = {
    "genome.mutates_weights": {"link_weight"},
    "genome.mutates_biases": {"node_bias"},
    "genome.new_activation": {"node_activation"},
    "genome.new_weight": {"link_weight"},
    "node.crossover": {"node_bias", "node_activation"},
    "node.bias_choice": {"node_bias"},
    "node.bias_size": {"node_bias"},
    "node.changes_activation": {"node_activation"},
    "node.activation": {"node_activation"},
    "link.crossover": {"link_weight", "link_enabled"},
    "link.weight_choice": {"link_weight"},
    "link.weight_size": {"link_weight"},
    "link.toggles": {"link_enabled"},
}


def named_words(draws: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(draws):
        value = getattr(draws, field.name)
        if dataclasses.is_dataclass(value):
            yield from named_words(value, f"{prefix}{field.name}.")
        else:
            yield prefix + field.name, value


def draw(seed: int, config: NEATConfig = CONFIG) -> tuple[ParentDraws, ChildDraws]:
    key = jax.random.key(seed)
    return draw_offspring(config, POPULATION, NODES, LINKS, jnp.bool_(True), key=key)


@partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
def next_state(state, parent_draws, draws) -> NEATState:
    # Few different numbers, so that some parents are equally fit.
    fitness = jnp.arange(POPULATION, dtype=jnp.float32) % 5
    given_draws = mock.patch.object(
        _neat, "draw_offspring", return_value=(parent_draws, draws)
    )
    with given_draws:
        after, _ = NEAT(CONFIG).tell(state, fitness, key=jax.random.key(0))
    return after


def offspring_of(state, parent_draws, draws) -> Genome:
    return next_state(state, parent_draws, draws).population


def with_field(draws: Any, path: str, words: Any) -> Any:
    """The draws with other words in one field."""
    name, _, rest = path.partition(".")
    inner = getattr(draws, name)
    value = with_field(inner, rest, words) if rest else words
    return dataclasses.replace(draws, **{name: value})


@pytest.fixture(scope="module")
def state():
    """After some generations: genomes of many species that differ in structure."""
    neat = NEAT(CONFIG)
    state = neat.init(key=jax.random.key(3))
    for seed in range(3):
        state = next_state(state, *draw(100 + seed))
    return state


def changed_fields(before: Genome, after: Genome) -> set[str]:
    return {
        name
        for name, value in vars(before).items()
        if (np.asarray(value) != np.asarray(getattr(after, name))).any()
    }


@given(seed=st.integers(0, 2**31))
@settings(max_examples=5)
def test_every_draw_decides_what_its_name_says_and_nothing_else(state, seed):
    """A draw that takes another's word leaves its own without a use."""
    parent_draws, draws = draw(seed)
    other_parents, others = draw(seed + 1)
    before = offspring_of(state, parent_draws, draws)
    for name, words in named_words(other_parents):
        after = offspring_of(state, with_field(parent_draws, name, words), draws)
        assert changed_fields(before, after), name
    for name, words in named_words(others):
        after = offspring_of(state, parent_draws, with_field(draws, name, words))
        changed = changed_fields(before, after)
        assert changed, name
        assert changed <= OWN.get(name, changed), name


def counted_words(key, population, sizes, is_sane):
    """Like `population_words`, but each word is its own number."""
    del key, is_sane
    shapes = [(population, columns, slots) for slots, columns in sizes]
    ends = np.cumsum([np.prod(shape) for shape in shapes])
    words = np.split(np.arange(ends[-1], dtype=np.uint32), ends[:-1])
    return tuple(jnp.asarray(w.reshape(s)) for w, s in zip(words, shapes, strict=True))


@pytest.mark.parametrize(("options", "num_node"), [(("sin",), 3), (("sin", "abs"), 5)])
def test_no_word_is_named_twice_and_none_is_left_over(options, num_node):
    config = dataclasses.replace(CONFIG, activation_options=options)
    with mock.patch.object(_draws, "population_words", counted_words):
        draws = draw(0, config)
    words = [np.asarray(x).ravel() for x in jax.tree.leaves(draws)]
    # Five for parents, eleven of the genome, two for each of three attempts at a link.
    num = POPULATION * (5 + 11 + 3 * 2 + num_node * NODES + 4 * LINKS)
    np.testing.assert_array_equal(np.sort(np.concatenate(words)), np.arange(num))


def test_a_first_node_has_a_word_for_each_of_its_draws():
    draws = draw_first_nodes(jax.random.key(0), 100)
    words = np.concatenate([draws.activation, draws.bias])
    assert np.unique(words).size == 200


def test_coins_are_bits_that_no_uniform_number_uses():
    for kind in (NodeCoin, LinkCoin):
        assert len({int(coin) for coin in kind}) == len(kind.__members__)
        assert all(0 <= coin < 8 for coin in kind)
