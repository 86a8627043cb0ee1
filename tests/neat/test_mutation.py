"""Each rule of mutation, on a thousand copies of one genome.

All tests go through `mutate`, so that they see what offspring see. The genome has the
links below, numbers 8 and up are free for new links, numbers 6 and up for new nodes.
"""

import dataclasses
from collections import Counter

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.neat.helpers import assert_valid, make_genome

from substrax.cppn import activation_id
from substrax.neat import (
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
from substrax.neat._neat import NEAT
from substrax.neat._random import population_words

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


@eqx.filter_jit
def _run(config, genome, seed):
    genomes = jax.tree.map(lambda x: jnp.broadcast_to(x, (COPIES, *x.shape)), genome)
    sizes = (
        (1, num_genome_words(config)),
        (genome.max_nodes, num_node_words(config)),
        (genome.max_links, LINK_WORDS),
    )
    words = population_words(jax.random.key(seed), COPIES, sizes)
    return mutate(
        config,
        genomes,
        jnp.zeros(COPIES, bool),
        MutationWords(words[0][:, :, 0], words[1], words[2]),
        Counters(jnp.int32(6), jnp.int32(8), jnp.bool_(False)),
    )


def _mutate(config, genome=None, seed=0):
    """A thousand mutants of one genome, as NumPy arrays."""
    genome = _genome() if genome is None else genome
    # `NEAT` makes rates traced leaves: one compilation for all of them.
    genomes, _, overflow = _run(NEAT(config).config, genome, jnp.uint32(seed))
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
    config = _config(add_node_rate=1.0, split_disabled_links=True)
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
    mutation = {"outputs_as_sources": True, "mutate_output_activation": False}
    config = _config(add_link_rate=1.0, feed_forward=False, **mutation)
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
    changes = _changes(_mutate(_config(**rates, single_structural=True)))
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
