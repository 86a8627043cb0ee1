"""Structural mutation of one genome: add and delete nodes and links.

New ids exceed all present ones, so a new gene is appended and rows stay sorted.
Functions that choose an innovation are apart from those that apply it, because between
the two the whole population's innovations are numbered together.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ._config import NEATConfig
from ._counting import any_true, count, picked, total
from ._draws import GenomeDraws, LinkEndDraws
from ._genome import NO_NODE, Genome, kth_true, link_slots
from ._random import uniform


class StructuralChoice(eqx.Module):
    """Which structural mutations an offspring undergoes."""

    add_node: Bool[Array, "*population"]
    delete_node: Bool[Array, "*population"]
    add_link: Bool[Array, "*population"]
    delete_link: Bool[Array, "*population"]


def choose_mutations(
    config: NEATConfig, genome: Genome, draws: GenomeDraws
) -> StructuralChoice:
    """Draw the structural mutations of one genome, each at its own rate.

    The paper has rates for adding nodes and links (section 4.1), neat-python also for
    deleting them.
    """
    m = config.mutation
    words = (draws.adds_node, draws.deletes_node, draws.adds_link, draws.deletes_link)
    draw = uniform(jnp.stack(words))
    rates = jnp.stack(
        [
            jnp.asarray(rate, jnp.float32)
            for rate in (
                m.add_node_rate,
                m.delete_node_rate,
                m.add_link_rate,
                m.delete_link_rate,
            )
        ]
    )
    if m.single_structural:
        # One draw decides among the four, as neat-python does it.
        total = rates[0] + rates[1] + rates[2] + rates[3]
        # Rates that exceed 1 in sum are scaled down to it; what they leave of 1 is for
        # none of the four.
        edges = jnp.cumsum(rates) / jnp.maximum(1.0, total)
        starts = jnp.concatenate([jnp.zeros(1, jnp.float32), edges[:-1]])
        happens = (draw[0] >= starts) & (draw[0] < edges)
    else:
        happens = draw < rates
    add_node, delete_node, add_link, delete_link = happens
    if m.surer:
        add_link |= add_node & (genome.num_links == 0)
    return StructuralChoice(add_node, delete_node, add_link, delete_link)


def choose_split(
    config: NEATConfig, genome: Genome, wanted: Bool[Array, ""], draw: Float[Array, ""]
) -> tuple[Bool[Array, ""], Bool[Array, " links"], Int[Array, ""]]:
    """Choose the link that a new node splits, all equally likely.

    "An existing connection is split and the new node placed where the old connection
    used to be" (section 3.1). The paper does not say which; neat-python may split a
    disabled one (`MutationConfig.split_disabled_links`).

    **Returns:** whether there is one, its slot as a one-hot mask, and its id.
    """
    mask = genome.link_mask
    if not config.mutation.split_disabled_links:
        mask &= genome.link_enabled
    number = count(mask)
    chosen = kth_true(mask, (draw * number.astype(jnp.float32)).astype(jnp.int32))
    link_id = total(jnp.where(chosen, genome.link_id, 0))
    return wanted & (number > 0), chosen, link_id


def add_node(
    genome: Genome,
    is_split: Bool[Array, ""],
    split: Bool[Array, " links"],
    node_id: Int[Array, ""],
    first_link_id: Int[Array, ""],
    activation: Int[Array, ""],
) -> tuple[Genome, Bool[Array, ""], Bool[Array, ""]]:
    """Split a link by a new node.

    "The old connection is disabled and two new connections are added to the genome. The
    new connection leading into the new node receives a weight of 1, and the new
    connection leading out receives the same weight as the old connection" (section
    3.1).

    **Returns:** the genome, and whether nodes and links exceeded their capacity (the
    genome is then unchanged).
    """
    num_nodes, num_links = genome.num_nodes, genome.num_links
    nodes_overflow = is_split & (num_nodes >= genome.max_nodes)
    links_overflow = is_split & (num_links + 2 > genome.max_links)
    is_split = is_split & ~nodes_overflow & ~links_overflow
    source, target, weight = picked(
        split, genome.link_source, genome.link_target, genome.link_weight
    )

    nodes = jnp.arange(genome.max_nodes, dtype=jnp.int32)
    links = jnp.arange(genome.max_links, dtype=jnp.int32)
    is_node = is_split & (nodes == num_nodes)
    is_in = is_split & (links == num_links)
    is_out = is_split & (links == num_links + 1)
    put = lambda x, a, b: jnp.where(is_in, a, jnp.where(is_out, b, x))
    genome = Genome(
        node_id=jnp.where(is_node, node_id, genome.node_id),
        node_activation=jnp.where(is_node, activation, genome.node_activation),
        # (neat-python's: the new node disturbs as little as it can)
        node_bias=jnp.where(is_node, 0.0, genome.node_bias),
        link_id=put(genome.link_id, first_link_id, first_link_id + 1),
        link_source=put(genome.link_source, source, node_id),
        link_target=put(genome.link_target, node_id, target),
        link_weight=put(genome.link_weight, jnp.float32(1.0), weight),
        link_enabled=put(genome.link_enabled & ~(is_split & split), True, True),
    )
    return genome, nodes_overflow, links_overflow


def delete_node(
    genome: Genome, wanted: Bool[Array, ""], draw: Float[Array, ""], num_fixed: int
) -> tuple[Genome, Bool[Array, " links"]]:
    """Delete a random hidden node, and its links with it.

    neat-python's rule: the paper deletes nothing.

    **Returns:** the genome without the node, and the links that stay. They are only
    marked here, so that one pass closes the gaps of all deletions.
    """
    slots = jnp.arange(genome.max_nodes, dtype=jnp.int32)
    num_hidden = genome.num_nodes - num_fixed
    slot = num_fixed + (draw * num_hidden.astype(jnp.float32)).astype(jnp.int32)
    is_deleted = wanted & (num_hidden > 0) & (slots == slot)
    node_id = total(jnp.where(is_deleted, genome.node_id, 0))
    happens = any_true(is_deleted)
    # Without a node to delete the id is 0, an input's: `happens` guards it below.
    touches = (genome.link_source == node_id) | (genome.link_target == node_id)

    def close(x, fill):
        following = jnp.concatenate([x[1:], jnp.full(1, fill, x.dtype)])
        return jnp.where(happens & (slots >= slot), following, x)

    genome = dataclasses.replace(
        genome,
        node_id=close(genome.node_id, NO_NODE),
        node_activation=close(genome.node_activation, 0),
        node_bias=close(genome.node_bias, 0.0),
    )
    return genome, genome.link_mask & ~(happens & touches)


def reaches(
    max_nodes: int,
    source_slot: Int[Array, " links"],
    target_slot: Int[Array, " links"],
    mask: Bool[Array, " links"],
    start: Int[Array, ""],
    goal: Int[Array, ""],
) -> Bool[Array, ""]:
    """Whether a path of links leads from slot `start` to slot `goal` (or is empty).

    The nodes reached so far are bits of a few words; a step follows all links at once.
    """
    num_words = -(-max_nodes // 32)
    words = jnp.arange(num_words, dtype=jnp.int32)

    def bit(slot):
        return jnp.uint32(1) << (slot & 31).astype(jnp.uint32)

    def has(visited, slot):
        # A select over the few words instead of a gather.
        word = jnp.where((slot >> 5)[..., None] == _like(words, slot), visited, 0)
        word = jnp.sum(word, axis=-1, dtype=jnp.uint32)
        return (word & bit(slot)) != 0

    def step(carry):
        visited, _ = carry
        new_bits = jnp.where(mask & has(visited, source_slot), bit(target_slot), 0)
        is_word = (target_slot >> 5)[None, :] == words[:, None]
        new_words = jnp.where(is_word, new_bits[None, :], 0)
        grown = visited | lax.reduce(new_words, jnp.uint32(0), lax.bitwise_or, (1,))
        return grown, jnp.any(grown != visited)

    first = jnp.where((start >> 5) == words, bit(start), 0)
    visited, _ = lax.while_loop(lambda carry: carry[1], step, (first, jnp.bool_(True)))
    return has(visited, goal)


def _like(words, slot):
    return words.reshape((1,) * slot.ndim + words.shape)


def choose_link(
    config: NEATConfig,
    genome: Genome,
    keep: Bool[Array, " links"],
    wanted: Bool[Array, ""],
    draws: LinkEndDraws,
) -> tuple[Bool[Array, ""], Int[Array, ""], Int[Array, ""], Genome]:
    """Choose the ends of a new link.

    "A single new connection gene with a random weight is added connecting two
    previously unconnected nodes" (section 3.1). Inputs are never targets.

    **Returns:** whether a pair was found, its source and target ids, and the genome,
    in which an existing link may have been enabled instead (`MutationConfig.surer`).
    """
    num_inputs, num_outputs = config.num_inputs, config.num_outputs
    num_fixed = num_inputs + num_outputs
    num_nodes = genome.num_nodes
    scale = lambda draw, n: (draw * n.astype(jnp.float32)).astype(jnp.int32)
    # Several attempts are drawn at once. Each picks slots of nodes that exist, so that
    # the capacity of a genome has no say in which pair it is.
    target_slots = num_inputs + scale(uniform(draws.target), num_nodes - num_inputs)
    source_draw = uniform(draws.source)
    if config.mutation.outputs_as_sources:
        source_slots = scale(source_draw, num_nodes)
    else:
        # outputs lie between inputs and hidden nodes: numbers behind inputs skip them
        source_slots = scale(source_draw, num_nodes - num_outputs)
        source_slots += jnp.where(source_slots >= num_inputs, num_outputs, 0)
    sources = genome.node_id[source_slots]
    targets = genome.node_id[target_slots]
    is_same = (
        keep[None, :]
        & (genome.link_source[None, :] == sources[:, None])
        & (genome.link_target[None, :] == targets[:, None])
    )
    exists = any_true(is_same)
    fits = ~exists
    if config.feed_forward:
        # Disabled links count: one that is enabled later must not have closed a cycle.
        # A node reaches itself, so that links from a node to itself are refused, too.
        from_slot, to_slot = link_slots(genome, num_fixed)
        # source -> target closes a cycle where target leads to source already
        closes_cycle = jax.vmap(
            lambda source, target: reaches(
                genome.max_nodes, from_slot, to_slot, keep, target, source
            )
        )(source_slots, target_slots)
        fits &= ~closes_cycle
    usable = fits | exists if config.mutation.surer else fits
    # The first that is usable. If none is, argmax says 0, which `fits` and `exists`
    # refuse then: the mutation fails, as an unlucky draw does in sequential programs.
    attempt = jnp.argmax(usable)
    if config.mutation.surer:
        is_enabled = wanted & exists[attempt] & is_same[attempt]
        genome = dataclasses.replace(
            genome, link_enabled=genome.link_enabled | is_enabled
        )
    return wanted & fits[attempt], sources[attempt], targets[attempt], genome


def append_link(
    genome: Genome,
    keep: Bool[Array, " links"],
    is_new: Bool[Array, ""],
    link_id: Int[Array, ""],
    source: Int[Array, ""],
    target: Int[Array, ""],
    weight: Float[Array, ""],
) -> tuple[Genome, Bool[Array, " links"], Bool[Array, ""]]:
    """Add a link behind the others; in a full row, over a link that does not stay.

    **Returns:** the genome, the links that stay, and whether capacity was exceeded.
    """
    slots = jnp.arange(genome.max_links, dtype=jnp.int32)
    is_gap = genome.link_mask & ~keep
    is_full = is_new & (genome.num_links >= genome.max_links)
    overflow = is_full & ~any_true(is_gap)
    # The links behind the first gap move into it, so that rows stay sorted.
    moves = is_full & any_true(is_gap) & (slots >= jnp.argmax(is_gap).astype(jnp.int32))
    close = lambda x: jnp.where(moves, jnp.concatenate([x[1:], x[-1:]]), x)
    genome = dataclasses.replace(
        genome,
        link_id=close(genome.link_id),
        link_source=close(genome.link_source),
        link_target=close(genome.link_target),
        link_weight=close(genome.link_weight),
        link_enabled=close(genome.link_enabled),
    )
    keep = close(keep)
    place = jnp.where(any_true(moves), genome.max_links - 1, genome.num_links)
    is_slot = is_new & (slots == place)
    genome = dataclasses.replace(
        genome,
        link_id=jnp.where(is_slot, link_id, genome.link_id),
        link_source=jnp.where(is_slot, source, genome.link_source),
        link_target=jnp.where(is_slot, target, genome.link_target),
        link_weight=jnp.where(is_slot, weight, genome.link_weight),
        link_enabled=genome.link_enabled | is_slot,
    )
    return genome, keep | is_slot, overflow


def delete_link(
    keep: Bool[Array, " links"], wanted: Bool[Array, ""], draw: Float[Array, ""]
) -> Bool[Array, " links"]:
    """Unmark a random one of the links that stay.

    neat-python's rule: the paper deletes nothing.
    """
    number = count(keep)
    chosen = kth_true(keep, (draw * number.astype(jnp.float32)).astype(jnp.int32))
    return keep & ~(wanted & chosen)
