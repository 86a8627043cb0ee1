"""Crossover of two genomes lined up by their historical markings.

"When crossing over, the genes in both genomes with the same innovation numbers are
lined up. [...] Genes are randomly chosen from either parent at matching genes, whereas
all excess or disjoint genes are always included from the more fit parent" (Stanley &
Miikkulainen, 2002, section 3.2).
"""

import dataclasses

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, UInt32

from ._config import NEATConfig
from ._draws import LinkCoin, NodeCoin
from ._genome import NO_LINK, NO_NODE, Genome, link_slots, node_keys, position, select
from ._random import uniform


def _coin(words, bit: NodeCoin | LinkCoin):
    return ((words >> bit) & 1) == 1


def _matches(
    ids: Int[Array, " n"], other: Int[Array, " m"]
) -> tuple[Int[Array, " n"], Bool[Array, " n"]]:
    """Where each id is in another ascending row, and whether it is there."""
    # Ids above all others are looked for behind the end, and do not match there.
    index = jnp.minimum(position(other, ids), other.shape[0] - 1)
    return index, (other.at[index].get(mode="promise_in_bounds") == ids) & (
        ids != NO_LINK
    )


def cross(
    config: NEATConfig,
    fitter: Genome,
    other: Genome,
    is_crossed: Bool[Array, ""],
    node_words: UInt32[Array, " nodes"],
    link_words: UInt32[Array, " links"],
) -> Genome:
    """Child with the structure of the fitter parent; a copy where not `is_crossed`.

    The child's links are the fitter's, so it is acyclic where the fitter is.
    """
    rates = config.crossover
    index, is_match = _matches(fitter.link_id, other.link_id)
    is_match &= is_crossed
    take_other = is_match & _coin(link_words, LinkCoin.TAKES_WEIGHT)
    weight = jnp.where(take_other, other.link_weight[index], fitter.link_weight)
    # "There was a 75% chance that an inherited gene was disabled if it was disabled in
    # either parent" (section 4.1).
    other_enabled = other.link_enabled[index]
    both_disabled = ~fitter.link_enabled & ~other_enabled
    rate = jnp.where(both_disabled, rates.disable_rate_both, rates.disable_rate)
    is_disabled = ~(fitter.link_enabled & other_enabled)
    is_disabled &= uniform(link_words) < rate
    # A gene that only one parent has keeps its switch, as in neat-python.
    enabled = jnp.where(is_match, ~is_disabled, fitter.link_enabled)

    index, is_match = _matches(node_keys(fitter.node_id), node_keys(other.node_id))
    is_match &= is_crossed
    take_bias = is_match & _coin(node_words, NodeCoin.TAKES_BIAS)
    coin = NodeCoin.TAKES_ACTIVATION if rates.per_attribute else NodeCoin.TAKES_BIAS
    take_activation = is_match & _coin(node_words, coin)
    return dataclasses.replace(
        fitter,
        node_bias=jnp.where(take_bias, other.node_bias[index], fitter.node_bias),
        node_activation=jnp.where(
            take_activation, other.node_activation[index], fitter.node_activation
        ),
        link_weight=weight,
        link_enabled=enabled,
    )


def has_cycle(
    genome: Genome, num_fixed: int, keep: Bool[Array, " links"]
) -> Bool[Array, ""]:
    """Whether the links in `keep` of one genome contain a directed cycle.

    Links whose source has no incoming link cannot lie on a cycle; they are dropped
    until none is left or no more fall.
    """
    from_slot, to_slot = link_slots(genome, num_fixed)

    def step(carry):
        # Empty slots have the ends -1, which JAX takes for the last node, but are never
        # alive themselves.
        alive, _ = carry
        fed = jnp.zeros(genome.max_nodes, bool).at[to_slot].max(alive, mode="drop")
        still = alive & fed.at[from_slot].get(mode="fill", fill_value=False)
        return still, jnp.any(still != alive)

    alive, _ = lax.while_loop(
        lambda carry: carry[1], step, (keep & genome.link_mask, jnp.bool_(True))
    )
    return jnp.any(alive)


def _merge(first: Genome, second: Genome, keep_nodes, keep_links) -> Genome:
    """The kept genes of two genomes in ascending id, at the capacity of one."""

    both = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), first, second)

    def join(genes, keep, fill):
        return jnp.where(keep, genes, fill)

    node_id = join(both.node_id, keep_nodes, NO_NODE)
    link_id = join(both.link_id, keep_links, NO_LINK)
    # What was dropped sorts last. Cut off is only what exceeds the capacity, and the
    # caller refuses such a child.
    node_order = jnp.argsort(node_keys(node_id))[: first.max_nodes]
    link_order = jnp.argsort(link_id)[: first.max_links]
    return Genome(
        node_id=node_id[node_order],
        node_activation=join(both.node_activation, keep_nodes, 0)[node_order],
        node_bias=join(both.node_bias, keep_nodes, 0.0)[node_order],
        link_id=link_id[link_order],
        link_source=join(both.link_source, keep_links, NO_NODE)[link_order],
        link_target=join(both.link_target, keep_links, NO_NODE)[link_order],
        link_weight=join(both.link_weight, keep_links, 0.0)[link_order],
        link_enabled=join(both.link_enabled, keep_links, False)[link_order],
    )


def cross_equals(
    config: NEATConfig,
    first: Genome,
    second: Genome,
    node_words: UInt32[Array, " nodes"],
    link_words: UInt32[Array, " links"],
) -> tuple[Genome, Bool[Array, ""], Bool[Array, ""]]:
    """Child of equally fit parents: their disjoint and excess genes, at random.

    "In this case, equal fitnesses are assumed, so the disjoint and excess genes are
    also inherited randomly" (figure 4). Where two ids name a link between the same
    nodes, the first parent's is taken, and where a feed-forward child would get a
    cycle, it takes the structure of the first parent alone.

    **Returns:** the child and whether nodes and links exceeded their capacity.
    """
    num_fixed = config.num_inputs + config.num_outputs
    crossed = cross(config, first, second, jnp.bool_(True), node_words, link_words)
    _, in_second = _matches(first.link_id, second.link_id)
    _, in_first = _matches(second.link_id, first.link_id)
    # Matching genes are always inherited; a coin decides about each of the others.
    keep_first = _coin(link_words, LinkCoin.KEEPS_FIRST)
    keep_first = first.link_mask & (in_second | keep_first)
    # The same pair of nodes can have been linked twice in history, under two ids; one
    # genome must not hold both.
    is_duplicate = jnp.any(
        (second.link_source[:, None] == first.link_source[None, :])
        & (second.link_target[:, None] == first.link_target[None, :])
        & keep_first[None, :],
        axis=1,
    )
    keep_second = _coin(link_words, LinkCoin.KEEPS_SECOND)
    keep_second &= second.link_mask & ~in_first & ~is_duplicate
    keep_links = jnp.concatenate([keep_first, keep_second])
    ends = jnp.stack(
        [
            jnp.concatenate([first.link_source, second.link_source]),
            jnp.concatenate([first.link_target, second.link_target]),
        ]
    )
    ends = jnp.where(keep_links[None, :], ends, NO_NODE).reshape(-1)

    # A node comes along with the links that need it, whichever parent it is from.
    def used(ids):
        is_end = jnp.any(ids[:, None] == ends[None, :], axis=1)
        return (ids != NO_NODE) & (is_end | (ids < num_fixed))

    _, known = _matches(node_keys(second.node_id), node_keys(first.node_id))
    keep_nodes = jnp.concatenate([used(first.node_id), used(second.node_id) & ~known])
    # `crossed`, not `first`: matching genes have been mixed already.
    child = _merge(crossed, second, keep_nodes, keep_links)
    nodes_overflow = jnp.sum(keep_nodes) > first.max_nodes
    links_overflow = jnp.sum(keep_links) > first.max_links
    # A child that does not fit is replaced for now; the caller grows the capacity and
    # draws it again.
    is_bad = nodes_overflow | links_overflow
    if config.feed_forward:
        is_bad |= has_cycle(child, num_fixed, child.link_mask)
    return select(is_bad, crossed, child), nodes_overflow, links_overflow
