"""Mutation of a population: structure first, then what the genes carry.

The order is neat-python's: add a node, delete a node, add a link, delete a link, then
weights, switches, biases and activations of all genes, the new ones included.
"""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from ._attributes import draw_activation, draw_initial, mutate_attributes
from ._config import NEATConfig
from ._counting import any_true, running_count
from ._genome import Genome, compact_links, materialise, select
from ._innovation import number_innovations
from ._random import uniform
from ._structure import (
    add_node,
    append_link,
    choose_link,
    choose_mutations,
    choose_split,
    delete_link,
    delete_node,
)

# Words per genome: 2 gates, 4 choices, 3 picks, a new node's activation, a new link's
# weight; then 2 per attempt at a link.
_NUM_FIXED_WORDS = 11
LINK_WORDS = 4
"""Words per link slot: crossover, mutation's kind, its size, the switch."""


class MutationWords(eqx.Module):
    """Random words of the offspring: per genome, per node slot and per link slot."""

    genome: UInt32[Array, "*population words"]
    node: UInt32[Array, "*population node_words nodes"]
    link: UInt32[Array, "*population 4 links"]


class Counters(eqx.Module):
    """The next free ids. `exhausted` once an id would not fit into 32 bits."""

    next_node_id: Int[Array, ""]
    next_link_id: Int[Array, ""]
    exhausted: Bool[Array, ""]

    def advance(self, num_nodes: Int[Array, ""], num_links: Int[Array, ""]):
        """Counters after handing out so many ids."""
        limit = np.iinfo(np.int32).max - 1
        exhausted = (
            self.exhausted
            | (self.next_node_id > limit - num_nodes)
            | (self.next_link_id > limit - num_links)
        )
        # Once exhausted the counters stop, so that they can never wrap around.
        return Counters(
            jnp.where(exhausted, self.next_node_id, self.next_node_id + num_nodes),
            jnp.where(exhausted, self.next_link_id, self.next_link_id + num_links),
            exhausted,
        )


class Overflow(eqx.Module):
    """Whether an operation met a capacity."""

    nodes: Bool[Array, ""]
    links: Bool[Array, ""]
    species: Bool[Array, ""]


def num_genome_words(config: NEATConfig) -> int:
    """How many words per genome `mutate` needs."""
    return _NUM_FIXED_WORDS + 2 * config.mutation.add_link_attempts


def num_node_words(config: NEATConfig) -> int:
    """Words per node slot: crossover, kind and size of a bias mutation, activation."""
    return 5 if len(config.activation_options) > 1 else 3


def mutate(
    config: NEATConfig,
    genomes: Genome,
    is_copy: Bool[Array, " population"],
    words: MutationWords,
    counters: Counters,
) -> tuple[Genome, Counters, Overflow]:
    """Mutate all offspring except the copies (champions)."""
    num_fixed = config.num_inputs + config.num_outputs
    genome_words = words.genome
    stage = partial(materialise, counters.next_link_id >= 0)
    draws = uniform(genome_words)
    originals = genomes

    choice = jax.vmap(lambda g, d: choose_mutations(config, g, d))(
        genomes, draws[:, 2:6]
    )
    choice = stage(jax.tree.map(lambda x: x & ~is_copy, choice))

    is_split, split, split_id = jax.vmap(lambda g, w, d: choose_split(config, g, w, d))(
        genomes, choice.add_node, draws[:, 6]
    )
    is_split, split, split_id = stage((is_split, split, split_id))
    if config.mutation.share_split_nodes:
        # Splitting the same link gives the same node and the same two links.
        number, num_splits = number_innovations((split_id,), is_split)
    else:
        number = running_count(is_split) - 1
        num_splits = number[-1] + 1
    node_id = counters.next_node_id + number
    split_link_id = counters.next_link_id + 2 * number
    activation = draw_activation(config, genome_words[:, 9])
    genomes, nodes_full, links_full = jax.vmap(add_node)(
        genomes, is_split, split, node_id, split_link_id, activation
    )
    counters = counters.advance(num_splits, 2 * num_splits)

    genomes = stage(genomes)
    genomes, keep = jax.vmap(lambda g, w, d: delete_node(g, w, d, num_fixed))(
        genomes, choice.delete_node, draws[:, 7]
    )

    genomes, keep = stage((genomes, keep))
    attempts = genome_words[:, _NUM_FIXED_WORDS:].reshape(
        -1, config.mutation.add_link_attempts, 2
    )
    is_new, source, target, genomes = jax.vmap(
        lambda g, k, w, a: choose_link(config, g, k, w, a)
    )(genomes, keep, choice.add_link, attempts)
    is_new, source, target, genomes = stage((is_new, source, target, genomes))
    number, num_pairs = number_innovations((source, target), is_new)
    weight = draw_initial(config.weight, genome_words[:, 10])
    genomes, keep, link_full = jax.vmap(append_link)(
        genomes, keep, is_new, counters.next_link_id + number, source, target, weight
    )
    counters = counters.advance(jnp.int32(0), num_pairs)

    keep = jax.vmap(delete_link)(keep, choice.delete_link, draws[:, 8])
    genomes, keep = stage((genomes, keep))
    genomes = stage(jax.vmap(compact_links)(genomes, keep))
    genomes = jax.vmap(lambda *args: mutate_attributes(config, *args))(
        genomes, genome_words[:, :2], words.node, words.link
    )
    genomes = jax.vmap(select)(is_copy, originals, genomes)
    overflow = Overflow(
        nodes=any_true(nodes_full),
        links=any_true(links_full | link_full),
        species=jnp.bool_(False),
    )
    return genomes, counters, overflow
