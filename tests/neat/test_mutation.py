"""Each rule of structural mutation (Stanley & Miikkulainen, 2002, section 3.1)."""

import dataclasses
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.neat import NEAT, FloatGeneConfig
from tests.neat.mutants import (
    COPIES,
    CYCLE_PAIRS,
    FREE_PAIRS,
    FROM_OUTPUTS,
    LINKS,
    NODES,
    ROWS,
    SIN,
    SINGLE,
    STILL,
    SURER,
    TANH,
    count_links,
    count_nodes,
    draw_children,
    is_even,
    mutants,
    outcomes_of,
    run_mutate,
    start_genome,
    still_config,
)


def test_nothing_mutates_at_rate_zero():
    assert outcomes_of(mutants(still_config())) == {(NODES, ROWS): COPIES}


def test_delete_node_takes_its_links_along():
    outcomes = outcomes_of(mutants(still_config(delete_node_rate=1.0)))
    expected = {
        (
            tuple(n for n in NODES if n[0] != gone),
            tuple(row for row in ROWS if gone not in row[1:3]),
        )
        for gone in (4, 5)
    }
    assert set(outcomes) == expected
    assert is_even(outcomes)


def test_delete_node_never_takes_inputs_or_outputs():
    one_hidden = start_genome([row for row in LINKS if 5 not in row[1:3]], hidden=(4,))
    outcomes = outcomes_of(mutants(still_config(delete_node_rate=1.0), one_hidden))
    rows = tuple(row for row in ROWS if not {4, 5} & set(row[1:3]))
    assert outcomes == {(NODES[:4], rows): COPIES}
    no_hidden = start_genome(list(rows), hidden=())
    outcomes = outcomes_of(mutants(still_config(delete_node_rate=1.0), no_hidden))
    assert outcomes == {(NODES[:4], rows): COPIES}


def test_delete_link_takes_one_link_and_no_node():
    outcomes = outcomes_of(mutants(still_config(delete_link_rate=1.0)))
    expected = {(NODES, ROWS[:i] + ROWS[i + 1 :]) for i in range(8)}
    assert set(outcomes) == expected
    assert is_even(outcomes)


def test_add_node_splits_an_enabled_link_into_weight_one_and_the_old_weight():
    """ "The old connection is disabled and two new connections are added to the genome.
    The new connection leading into the new node receives a weight of 1, and the new
    connection leading out receives the same weight as the old connection." """
    outcomes = outcomes_of(mutants(still_config(add_node_rate=1.0)))
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
    assert is_even(outcomes)


def test_split_disabled_links_decides_whether_a_disabled_link_can_be_split():
    rows = [(0, 0, 2, 0.5, False)]
    genome = start_genome(rows, hidden=())
    outcomes = outcomes_of(mutants(still_config(add_node_rate=1.0), genome))
    assert outcomes == {(NODES[:4], tuple(rows)): COPIES}
    config = still_config(add_node_rate=1.0, **SINGLE)
    outcomes = outcomes_of(mutants(config, genome))
    new = ((8, 0, 6, 1.0, True), (9, 6, 2, 0.5, True))
    assert {links for _, links in outcomes} == {(*rows, *new)}


def _added_pairs(genomes):
    """Ends of the link that each genome got; all else must be as before."""
    start = start_genome()
    for name in ("link_source", "link_target", "link_weight", "link_enabled"):
        before, after = getattr(start, name)[:8], getattr(genomes, name)[:, :8]
        np.testing.assert_array_equal(after, np.tile(before, (COPIES, 1)))
    assert (count_links(genomes) == 9).all() and (count_nodes(genomes) == 6).all()
    assert genomes.link_enabled[:, 8].all()
    ends = genomes.link_source[:, 8], genomes.link_target[:, 8]
    return Counter(zip(*(x.tolist() for x in ends), strict=True))


def test_add_link_joins_unconnected_nodes_and_closes_no_cycle_when_feed_forward():
    """ "A single new connection gene with a random weight is added connecting two
    previously unconnected nodes." """
    genomes = mutants(still_config(add_link_rate=1.0))
    pairs = _added_pairs(genomes)
    # All that is allowed occurs: no duplicate, no link into an input, no cycle.
    assert set(pairs) == FREE_PAIRS
    assert is_even(pairs)
    assert set(genomes.link_id[:, 8].tolist()) == set(range(8, 13))


def test_add_link_may_close_a_cycle_when_recurrent():
    config = still_config(add_link_rate=1.0, feed_forward=False)
    pairs = _added_pairs(mutants(config))
    assert set(pairs) == FREE_PAIRS | CYCLE_PAIRS
    assert is_even(pairs)


def test_add_link_may_start_at_an_output_only_where_asked():
    config = still_config(add_link_rate=1.0, **FROM_OUTPUTS)
    from_outputs = {(s, t) for s in (2, 3) for t in (2, 3, 4, 5)}
    pairs = _added_pairs(mutants(config))
    assert set(pairs) == FREE_PAIRS | CYCLE_PAIRS | from_outputs
    assert is_even(pairs)


def test_add_link_draws_a_new_random_weight():
    weight = dataclasses.replace(STILL, init_mean=2.0, init_stdev=3.0)
    weights = mutants(still_config(add_link_rate=1.0, weight=weight)).link_weight[:, 8]
    assert len(set(weights.tolist())) > 0.99 * COPIES
    assert weights.mean() == pytest.approx(2.0, abs=0.4)
    assert weights.std() == pytest.approx(3.0, abs=0.4)


def test_add_link_does_nothing_where_all_pairs_are_linked():
    pairs = [(s, t) for s in (0, 1) for t in (2, 3)]
    rows = tuple((i, s, t, 0.5, True) for i, (s, t) in enumerate(pairs))
    config = still_config(add_link_rate=1.0)
    outcomes = outcomes_of(mutants(config, start_genome(rows, hidden=())))
    assert outcomes == {(NODES[:4], rows): COPIES}
    # With one of the four missing, it is always this one that is added.
    outcomes = outcomes_of(mutants(config, start_genome(rows[:3], hidden=())))
    assert {tuple(r[1:3] for r in links) for _, links in outcomes} == {tuple(pairs)}


# Change of the number of nodes and of links, unless a node was deleted.
CHANGES = {
    "add_node_rate": (1, 2),
    "delete_node_rate": (-1, -3),
    "add_link_rate": (0, 1),
    "delete_link_rate": (0, -1),
}


def _changes(genomes):
    nodes, links = count_nodes(genomes) - 6, count_links(genomes) - 8
    return Counter(zip(nodes.tolist(), links.tolist(), strict=True))


@pytest.mark.parametrize("name", CHANGES)
def test_structural_mutations_happen_at_their_rate(name):
    changes = _changes(mutants(still_config(**{name: 0.3})))
    assert set(changes) == {(0, 0), CHANGES[name]}
    assert changes[CHANGES[name]] / COPIES == pytest.approx(0.3, abs=0.06)


def test_several_structural_mutations_may_happen_at_once():
    changes = _changes(mutants(still_config(add_node_rate=1.0, delete_link_rate=1.0)))
    assert changes == {(1, 1): COPIES}


@pytest.mark.parametrize(("rate", "share"), [(0.1, 0.1), (0.25, 0.25), (1.0, 0.25)])
def test_single_structural_lets_at_most_one_happen(rate, share):
    rates = dict.fromkeys(CHANGES, rate)
    changes = _changes(mutants(still_config(**rates, **SINGLE)))
    assert set(changes) <= {(0, 0), *CHANGES.values()}
    for change in CHANGES.values():
        assert changes[change] / COPIES == pytest.approx(share, abs=0.06)
    assert changes[(0, 0)] / COPIES == pytest.approx(1 - 4 * share, abs=0.06)


def test_surer_adds_a_link_instead_of_a_node_where_there_is_no_link():
    empty = start_genome([], hidden=())
    genomes = mutants(still_config(add_node_rate=1.0), empty)
    assert not count_links(genomes).any() and (count_nodes(genomes) == 4).all()
    genomes = mutants(still_config(add_node_rate=1.0, **SURER), empty)
    assert (count_links(genomes) == 1).all() and (count_nodes(genomes) == 4).all()
    # Where there are links, it is a node as always.
    genomes = mutants(still_config(add_node_rate=1.0, **SURER))
    assert _changes(genomes) == {(1, 2): COPIES}


def test_surer_enables_a_link_that_exists_already():
    pairs = [(s, t) for s in (0, 1) for t in (2, 3)]
    rows = tuple((i, s, t, 0.5, False) for i, (s, t) in enumerate(pairs))
    genome = start_genome(rows, hidden=())
    outcomes = outcomes_of(mutants(still_config(add_link_rate=1.0), genome))
    assert outcomes == {(NODES[:4], rows): COPIES}
    outcomes = outcomes_of(mutants(still_config(add_link_rate=1.0, **SURER), genome))
    expected = {
        (NODES[:4], (*rows[:i], (*rows[i][:4], True), *rows[i + 1 :])) for i in range(4)
    }
    assert set(outcomes) == expected
    assert is_even(outcomes)


def test_copies_are_not_mutated():
    """ "The champion [...] was copied into the next generation unchanged." """
    weight = FloatGeneConfig(perturb_rate=1.0, replace_rate=0.0)
    config = NEAT(still_config(add_node_rate=1.0, weight=weight)).config
    start = jax.tree.map(lambda x: jnp.tile(x, (COPIES, 1)), start_genome())
    is_copy = np.arange(COPIES) % 2 == 0
    draws = draw_children(config, start_genome(), 0)
    genomes, _, _ = run_mutate(config, start, draws, jnp.asarray(is_copy))
    for before, after in zip(*map(jax.tree.leaves, (start, genomes)), strict=True):
        np.testing.assert_array_equal(before[is_copy], after[is_copy])
    genomes = jax.tree.map(np.asarray, genomes)
    assert (count_nodes(genomes)[~is_copy] == 7).all()
    assert (genomes.link_weight != np.asarray(start.link_weight)).any(1)[~is_copy].all()


def test_a_full_genome_has_room_where_links_were_deleted():
    """What a new link costs depends on what stays, not on what there was."""
    config = still_config(delete_node_rate=1.0, add_link_rate=1.0)
    roomy = start_genome()
    full = jax.tree.map(
        lambda x: x[: len(LINKS)] if x.shape[0] == roomy.max_links else x, roomy
    )
    assert full.max_links == len(LINKS) < roomy.max_links
    assert full.max_nodes == roomy.max_nodes != roomy.max_links
    # `mutants` says so if a capacity was exceeded.
    assert outcomes_of(mutants(config, full)) == outcomes_of(mutants(config, roomy))
