"""Each rule of mutation, on a thousand copies of one genome.

All tests go through `mutate`, so that they see what offspring see. The genome has the
links below, numbers 8 and up are free for new links, numbers 6 and up for new nodes.
"""

import dataclasses
from collections import Counter
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.neat.helpers import assert_valid, make_genome

from substrax.cppn import activation_id
from substrax.neat import (
    NEAT,
    NO_LINK,
    NO_NODE,
    FloatGeneConfig,
    MutationConfig,
    NEATConfig,
)
from substrax.neat._mutation import (
    LINK_WORDS,
    Counters,
    MutationWords,
    mutate,
    num_genome_words,
    num_node_words,
)

COPIES = 1000
STILL = FloatGeneConfig(mutate_rate=0.0)
SIGMOID, SIN, TANH = map(activation_id, ("sigmoid", "sin", "tanh"))

# Inputs 0 and 1, outputs 2 and 3, hidden 4 and 5.
LINKS = [
    (0, 0, 2, 0.5, True),
    (1, 1, 3, -1.5, True),
    (2, 0, 4, 2.0, True),
    (3, 4, 2, -0.75, True),
    (4, 1, 5, 1.25, True),
    (5, 5, 3, 3.0, True),
    (6, 4, 5, -2.5, False),
    (7, 1, 2, 0.25, True),
]
BIASES = {2: 0.5, 3: -0.5, 4: 1.5, 5: -2.5}
# Pairs without a link that close no cycle (4 -> 5 is disabled, but might come back),
# and those that only a recurrent network may have.
FREE_PAIRS = {(0, 3), (0, 5), (1, 4), (4, 3), (5, 2)}
CYCLE_PAIRS = {(4, 4), (5, 5), (5, 4)}


def _genome(links=LINKS, hidden=(4, 5)):
    return make_genome(links, num_outputs=2, hidden=hidden, biases=BIASES)


def _config(weight=STILL, bias=STILL, feed_forward=True, **kwargs):
    """Nothing mutates but what is asked for."""
    rates = {"add_node_rate": 0.0, "add_link_rate": 0.0, "add_link_attempts": 32}
    return NEATConfig(
        num_inputs=2,
        num_outputs=2,
        feed_forward=feed_forward,
        activation_options=("sin", "tanh"),
        weight=weight,
        bias=bias,
        mutation=MutationConfig(**{**rates, **kwargs}),
    )


# The tests compile longer than they run, so the compiler need not optimise.
@partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
def _run(config, genomes, words, is_copy):
    counters = Counters(jnp.int32(6), jnp.int32(8), jnp.bool_(False))
    return mutate(config, genomes, is_copy, words, counters)


def _words(config, genome, seed):
    keys = jax.random.split(jax.random.key(seed), 3)
    shapes = (
        (num_genome_words(config),),
        (num_node_words(config), genome.max_nodes),
        (LINK_WORDS, genome.max_links),
    )
    return MutationWords(
        *(jax.random.bits(k, (COPIES, *s)) for k, s in zip(keys, shapes, strict=True))
    )


def _mutate(config, genome=None, seed=0):
    """A thousand mutants of one genome, as NumPy arrays."""
    genome = _genome() if genome is None else genome
    # `NEAT` makes rates traced leaves: one compilation for all of them.
    copies = jax.tree.map(lambda x: jnp.tile(x, (COPIES, 1)), genome)
    words = _words(config, genome, seed)
    nobody = jnp.zeros(COPIES, bool)
    genomes, _, overflow = _run(NEAT(config).config, copies, words, nobody)
    assert not any(map(bool, jax.tree.leaves(overflow)))
    assert_valid(genomes, config)
    return jax.tree.map(np.asarray, genomes)


def _describe(genome):
    """Nodes and links of one genome, as tuples of plain numbers."""
    g = jax.tree.map(np.asarray, genome)
    nodes = zip(g.node_id, g.node_activation, g.node_bias, strict=True)
    links = zip(
        g.link_id,
        g.link_source,
        g.link_target,
        g.link_weight,
        g.link_enabled,
        strict=True,
    )
    plain = lambda rows: tuple(tuple(x.item() for x in row) for row in rows)
    return plain(nodes)[: _num_nodes(g)], plain(links)[: _num_links(g)]


def _num_nodes(genomes):
    return (genomes.node_id != NO_NODE).sum(-1)


def _num_links(genomes):
    return (genomes.link_id != NO_LINK).sum(-1)


def _outcomes(genomes):
    """How often each genome occurs."""
    return Counter(
        _describe(jax.tree.map(lambda x, i=i: x[i], genomes)) for i in range(COPIES)
    )


# Independent switches share a configuration, because each one is compiled.
SINGLE = {"single_structural": True, "split_disabled_links": True}
FROM_OUTPUTS = {
    "feed_forward": False,
    "outputs_as_sources": True,
    "mutate_output_activation": False,
}
NODES, ROWS = _describe(_genome())


def _is_even(outcomes, tolerance=0.06):
    """Whether all outcomes are about equally frequent."""
    shares = np.array(list(outcomes.values())) / COPIES
    return np.abs(shares - 1 / len(shares)).max() < tolerance


def test_nothing_mutates_at_rate_zero():
    assert _outcomes(_mutate(_config())) == {(NODES, ROWS): COPIES}


def test_delete_node_takes_its_links_along():
    outcomes = _outcomes(_mutate(_config(delete_node_rate=1.0)))
    expected = {
        (
            tuple(n for n in NODES if n[0] != gone),
            tuple(row for row in ROWS if gone not in row[1:3]),
        )
        for gone in (4, 5)
    }
    assert set(outcomes) == expected
    assert _is_even(outcomes)


def test_delete_node_never_takes_inputs_or_outputs():
    one_hidden = _genome([row for row in LINKS if 5 not in row[1:3]], hidden=(4,))
    outcomes = _outcomes(_mutate(_config(delete_node_rate=1.0), one_hidden))
    rows = tuple(row for row in ROWS if not {4, 5} & set(row[1:3]))
    assert outcomes == {(NODES[:4], rows): COPIES}
    no_hidden = _genome(list(rows), hidden=())
    outcomes = _outcomes(_mutate(_config(delete_node_rate=1.0), no_hidden))
    assert outcomes == {(NODES[:4], rows): COPIES}


def test_delete_link_takes_one_link_and_no_node():
    outcomes = _outcomes(_mutate(_config(delete_link_rate=1.0)))
    expected = {(NODES, ROWS[:i] + ROWS[i + 1 :]) for i in range(8)}
    assert set(outcomes) == expected
    assert _is_even(outcomes)


def test_add_node_splits_an_enabled_link_into_weight_one_and_the_old_weight():
    """ "The old connection is disabled and two new connections are added to the genome.
    The new connection leading into the new node receives a weight of 1, and the new
    connection leading out receives the same weight as the old connection." """
    outcomes = _outcomes(_mutate(_config(add_node_rate=1.0)))
    expected = set()
    for number, slot in enumerate([0, 1, 2, 3, 4, 5, 7]):
        link, source, target, weight, _ = ROWS[slot]
        node, first = 6 + number, 8 + 2 * number
        rows = (
            *ROWS[:slot],
            (link, source, target, weight, False),
            *ROWS[slot + 1 :],
            (first, source, node, 1.0, True),
            (first + 1, node, target, weight, True),
        )
        # The new node has one of the activations to choose from, and no bias.
        expected |= {((*NODES, (node, a, 0.0)), rows) for a in (SIN, TANH)}
    assert set(outcomes) == expected
    assert _is_even(outcomes)


def test_split_disabled_links_decides_whether_a_disabled_link_can_be_split():
    rows = [(0, 0, 2, 0.5, False)]
    genome = _genome(rows, hidden=())
    outcomes = _outcomes(_mutate(_config(add_node_rate=1.0), genome))
    assert outcomes == {(NODES[:4], tuple(rows)): COPIES}
    config = _config(add_node_rate=1.0, **SINGLE)
    outcomes = _outcomes(_mutate(config, genome))
    new = ((8, 0, 6, 1.0, True), (9, 6, 2, 0.5, True))
    assert {links for _, links in outcomes} == {(*rows, *new)}


def _added_pairs(genomes):
    """Ends of the link that each genome got; all else must be as before."""
    start = _genome()
    for name in ("link_source", "link_target", "link_weight", "link_enabled"):
        before, after = getattr(start, name)[:8], getattr(genomes, name)[:, :8]
        np.testing.assert_array_equal(after, np.tile(before, (COPIES, 1)))
    assert (_num_links(genomes) == 9).all() and (_num_nodes(genomes) == 6).all()
    assert genomes.link_enabled[:, 8].all()
    ends = genomes.link_source[:, 8], genomes.link_target[:, 8]
    return Counter(zip(*(x.tolist() for x in ends), strict=True))


def test_add_link_joins_unconnected_nodes_and_closes_no_cycle_when_feed_forward():
    """ "A single new connection gene with a random weight is added connecting two
    previously unconnected nodes." """
    genomes = _mutate(_config(add_link_rate=1.0))
    pairs = _added_pairs(genomes)
    # All that is allowed occurs: no duplicate, no link into an input, no cycle.
    assert set(pairs) == FREE_PAIRS
    assert _is_even(pairs)
    assert set(genomes.link_id[:, 8].tolist()) == set(range(8, 13))


def test_add_link_may_close_a_cycle_when_recurrent():
    config = _config(add_link_rate=1.0, feed_forward=False)
    pairs = _added_pairs(_mutate(config))
    assert set(pairs) == FREE_PAIRS | CYCLE_PAIRS
    assert _is_even(pairs)


def test_add_link_may_start_at_an_output_only_where_asked():
    config = _config(add_link_rate=1.0, **FROM_OUTPUTS)
    from_outputs = {(s, t) for s in (2, 3) for t in (2, 3, 4, 5)}
    pairs = _added_pairs(_mutate(config))
    assert set(pairs) == FREE_PAIRS | CYCLE_PAIRS | from_outputs
    assert _is_even(pairs)


def test_add_link_draws_a_new_random_weight():
    weight = dataclasses.replace(STILL, init_mean=2.0, init_stdev=3.0)
    weights = _mutate(_config(add_link_rate=1.0, weight=weight)).link_weight[:, 8]
    assert len(set(weights.tolist())) > 0.99 * COPIES
    assert weights.mean() == pytest.approx(2.0, abs=0.4)
    assert weights.std() == pytest.approx(3.0, abs=0.4)


def test_add_link_does_nothing_where_all_pairs_are_linked():
    pairs = [(s, t) for s in (0, 1) for t in (2, 3)]
    rows = tuple((i, s, t, 0.5, True) for i, (s, t) in enumerate(pairs))
    config = _config(add_link_rate=1.0)
    outcomes = _outcomes(_mutate(config, _genome(rows, hidden=())))
    assert outcomes == {(NODES[:4], rows): COPIES}
    # With one of the four missing, it is always this one that is added.
    outcomes = _outcomes(_mutate(config, _genome(rows[:3], hidden=())))
    assert {tuple(r[1:3] for r in links) for _, links in outcomes} == {tuple(pairs)}


# Change of the number of nodes and of links, unless a node was deleted.
CHANGES = {
    "add_node_rate": (1, 2),
    "delete_node_rate": (-1, -3),
    "add_link_rate": (0, 1),
    "delete_link_rate": (0, -1),
}


def _changes(genomes):
    nodes, links = _num_nodes(genomes) - 6, _num_links(genomes) - 8
    return Counter(zip(nodes.tolist(), links.tolist(), strict=True))


@pytest.mark.parametrize("name", CHANGES)
def test_structural_mutations_happen_at_their_rate(name):
    changes = _changes(_mutate(_config(**{name: 0.3})))
    assert set(changes) == {(0, 0), CHANGES[name]}
    assert changes[CHANGES[name]] / COPIES == pytest.approx(0.3, abs=0.06)


def test_several_structural_mutations_may_happen_at_once():
    changes = _changes(_mutate(_config(add_node_rate=1.0, delete_link_rate=1.0)))
    assert changes == {(1, 1): COPIES}


@pytest.mark.parametrize(("rate", "share"), [(0.1, 0.1), (0.25, 0.25), (1.0, 0.25)])
def test_single_structural_lets_at_most_one_happen(rate, share):
    rates = dict.fromkeys(CHANGES, rate)
    changes = _changes(_mutate(_config(**rates, **SINGLE)))
    assert set(changes) <= {(0, 0), *CHANGES.values()}
    for change in CHANGES.values():
        assert changes[change] / COPIES == pytest.approx(share, abs=0.06)
    assert changes[(0, 0)] / COPIES == pytest.approx(1 - 4 * share, abs=0.06)


def test_surer_adds_a_link_instead_of_a_node_where_there_is_no_link():
    empty = _genome([], hidden=())
    mutants = _mutate(_config(add_node_rate=1.0), empty)
    assert not _num_links(mutants).any() and (_num_nodes(mutants) == 4).all()
    mutants = _mutate(_config(add_node_rate=1.0, surer=True), empty)
    assert (_num_links(mutants) == 1).all() and (_num_nodes(mutants) == 4).all()
    # Where there are links, it is a node as always.
    mutants = _mutate(_config(add_node_rate=1.0, surer=True))
    assert _changes(mutants) == {(1, 2): COPIES}


def test_surer_enables_a_link_that_exists_already():
    pairs = [(s, t) for s in (0, 1) for t in (2, 3)]
    rows = tuple((i, s, t, 0.5, False) for i, (s, t) in enumerate(pairs))
    genome = _genome(rows, hidden=())
    outcomes = _outcomes(_mutate(_config(add_link_rate=1.0), genome))
    assert outcomes == {(NODES[:4], rows): COPIES}
    outcomes = _outcomes(_mutate(_config(add_link_rate=1.0, surer=True), genome))
    expected = {
        (NODES[:4], (*rows[:i], (*rows[i][:4], True), *rows[i + 1 :])) for i in range(4)
    }
    assert set(outcomes) == expected
    assert _is_even(outcomes)


def _weights(genomes):
    """Weights of the eight links, and the step from what they were."""
    weights = genomes.link_weight[:, :8]
    before = np.array([row[3] for row in ROWS], np.float32)
    return weights, weights - before


def _gene(**kwargs):
    """All numbers are perturbed, with room for large ones."""
    everything = {"perturb_rate": 1.0, "replace_rate": 0.0}
    limits = {"minimum": -500.0, "maximum": 500.0}
    return FloatGeneConfig(**{**everything, **limits, **kwargs})


REPLACED = {"perturb_rate": 0.0, "replace_rate": 1.0}
UNIFORM = {"init_distribution": "uniform", "perturb_distribution": "uniform"}


@pytest.mark.parametrize("power", [0.5, 2.0])
def test_perturbed_weights_move_by_a_normal_step_of_the_given_deviation(power):
    _, steps = _weights(_mutate(_config(weight=_gene(perturb_power=power))))
    assert (steps != 0).mean() > 0.999
    assert steps.mean() == pytest.approx(0.0, abs=0.05 * power)
    assert steps.std() == pytest.approx(power, rel=0.05)
    # Normal: 68 % within one deviation, and each weight has a step of its own.
    assert (np.abs(steps) < power).mean() == pytest.approx(0.683, abs=0.03)
    assert np.abs(np.corrcoef(steps.T) - np.eye(8)).max() < 0.15


@pytest.mark.parametrize("power", [0.5, 2.0])
def test_uniform_perturbation_stays_within_its_power(power):
    config = _config(weight=_gene(perturb_power=power, **UNIFORM), surer=True)
    _, steps = _weights(_mutate(config))
    assert np.abs(steps).max() <= power * 1.0001
    assert steps.min() < -0.98 * power and steps.max() > 0.98 * power
    assert steps.mean() == pytest.approx(0.0, abs=0.05 * power)
    assert np.abs(steps).mean() == pytest.approx(0.5 * power, rel=0.05)


def test_replaced_weights_are_fresh_whatever_they_were():
    weight = _gene(init_mean=40.0, init_stdev=3.0, **REPLACED)
    weights, _ = _weights(_mutate(_config(weight=weight)))
    np.testing.assert_allclose(weights.mean(0), 40.0, atol=0.5)
    np.testing.assert_allclose(weights.std(0), 3.0, atol=0.4)


def test_a_uniform_fresh_weight_spans_two_deviations_to_both_sides():
    weight = _gene(init_mean=40.0, init_stdev=3.0, **REPLACED, **UNIFORM)
    weights, _ = _weights(_mutate(_config(weight=weight, surer=True)))
    assert 34.0 <= weights.min() < 34.1 and 45.9 < weights.max() <= 46.0
    np.testing.assert_allclose(weights.mean(0), 40.0, atol=0.5)


def test_weights_are_perturbed_replaced_or_kept_at_their_rates():
    weight = _gene(perturb_rate=0.5, replace_rate=0.2, init_mean=200.0)
    weights, steps = _weights(_mutate(_config(weight=weight)))
    is_replaced, is_kept = weights > 100.0, steps == 0.0
    is_perturbed = ~is_replaced & ~is_kept
    assert is_perturbed.mean() == pytest.approx(0.5, abs=0.03)
    assert is_replaced.mean() == pytest.approx(0.2, abs=0.03)
    assert is_kept.mean() == pytest.approx(0.3, abs=0.03)


def test_the_mutate_rate_is_for_all_weights_of_a_genome_together():
    """ "There was an 80% chance of a genome having its connection weights mutated." """
    _, steps = _weights(_mutate(_config(weight=_gene(mutate_rate=0.8))))
    is_mutated = (steps != 0).any(1)
    assert is_mutated.mean() == pytest.approx(0.8, abs=0.05)
    assert (steps[is_mutated] != 0).mean() > 0.99


@pytest.mark.parametrize("kind", [{}, REPLACED], ids=["perturbed", "replaced"])
def test_weights_are_clipped_to_their_bounds(kind):
    bounds = {"minimum": -4.0, "maximum": 5.0}
    sizes = {"perturb_power": 9.0, "init_stdev": 9.0}
    weight = _gene(**bounds, **sizes, **kind)
    weights, _ = _weights(_mutate(_config(weight=weight)))
    assert weights.min() == -4.0 and weights.max() == 5.0
    is_inside = (weights > -4.0) & (weights < 5.0)
    assert 0.2 < is_inside.mean() < 0.6


def test_biases_of_all_but_inputs_mutate_at_their_own_rates():
    config = _config(bias=_gene(perturb_power=2.0))
    genomes = _mutate(config)
    before = np.array([node[2] for node in NODES], np.float32)
    steps = genomes.node_bias[:, :6] - before
    assert (steps[:, :2] == 0).all()
    assert (steps[:, 2:] != 0).mean() > 0.999
    np.testing.assert_allclose(steps[:, 2:].mean(0), 0.0, atol=0.3)
    np.testing.assert_allclose(steps[:, 2:].std(0), 2.0, atol=0.2)
    # Weights have rates of their own.
    assert (_weights(genomes)[1] == 0).all()


def test_biases_are_replaced_and_clipped_like_weights():
    bounds = {"init_mean": 5.0, "init_stdev": 1.0, "maximum": 6.0}
    gene = _gene(mutate_rate=0.5, **REPLACED, **bounds)
    biases = _mutate(_config(bias=gene)).node_bias[:, 2:6]
    before = np.array([node[2] for node in NODES[2:]], np.float32)
    is_mutated = (biases != before).any(1)
    assert is_mutated.mean() == pytest.approx(0.5, abs=0.06)
    fresh = biases[is_mutated]
    assert fresh.max() == 6.0
    np.testing.assert_allclose(np.median(fresh, axis=0), 5.0, atol=0.3)


def test_activations_of_all_but_inputs_are_drawn_from_the_options():
    genomes = _mutate(_config(activation_rate=1.0))
    activations = genomes.node_activation[:, :6]
    # All were sigmoids, which is none of the options.
    np.testing.assert_array_equal(activations[:, :2], 0)
    assert set(activations[:, 2:].ravel().tolist()) == {SIN, TANH}
    np.testing.assert_allclose((activations[:, 2:] == SIN).mean(0), 0.5, atol=0.06)


def test_activations_mutate_at_their_rate_per_node():
    genomes = _mutate(_config(activation_rate=0.25))
    is_changed = genomes.node_activation[:, 2:6] != SIGMOID
    np.testing.assert_allclose(is_changed.mean(0), 0.25, atol=0.06)


def test_activations_of_outputs_stay_where_asked():
    genomes = _mutate(_config(activation_rate=1.0, **FROM_OUTPUTS))
    assert (genomes.node_activation[:, 2:4] == SIGMOID).all()
    assert set(genomes.node_activation[:, 4:6].ravel().tolist()) == {SIN, TANH}


@pytest.mark.parametrize(
    ("disable", "enable"), [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.2, 0.6)]
)
def test_links_are_disabled_and_enabled_at_their_rates(disable, enable):
    genomes = _mutate(_config(disable_rate=disable, enable_rate=enable))
    before = np.array([row[4] for row in ROWS])
    is_toggled = genomes.link_enabled[:, :8] != before
    assert is_toggled[:, before].mean() == pytest.approx(disable, abs=0.03)
    assert is_toggled[:, ~before].mean() == pytest.approx(enable, abs=0.06)


def test_copies_are_not_mutated():
    config = NEAT(_config(**dict.fromkeys(CHANGES, 1.0), weight=_gene())).config
    copies = jax.tree.map(lambda x: jnp.tile(x, (COPIES, 1)), _genome())
    words = _words(config, _genome(), 0)
    genomes, _, _ = _run(config, copies, words, jnp.arange(COPIES) % 2 == 0)
    same = np.asarray(genomes.link_weight == copies.link_weight).all(1)
    np.testing.assert_array_equal(same, np.arange(COPIES) % 2 == 0)
