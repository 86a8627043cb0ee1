"""Mutation of a population: structure first, then what the genes carry.

The order is neat-python's: add a node, delete a node, add a link, delete a link, then
weights, switches, biases and activations of all genes, the new ones included.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from ._attributes import draw_activation, draw_initial, mutate_attributes
from ._config import NEATConfig
from ._counting import any_true, running_count
from ._draws import ChildDraws, GenomeDraws
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

Stage = Callable[[Any], Any]
"""Stores what it is given (`materialise`), so that it is not computed again."""


class Counters(eqx.Module):
    """The next free ids. `exhausted` once an id would not fit into 32 bits."""

    next_node_id: Int[Array, ""]
    next_link_id: Int[Array, ""]
    exhausted: Bool[Array, ""]

    def advance(self, num_nodes: Int[Array, ""], num_links: Int[Array, ""]):
        """Counters after handing out so many ids."""
        # The largest number of all is `NO_LINK`, and no id.
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


def mutate(
    config: NEATConfig,
    genomes: Genome,
    is_copy: Bool[Array, " population"],
    draws: ChildDraws,
    counters: Counters,
) -> tuple[Genome, Counters, Overflow]:
    """Mutate all offspring except the copies (champions)."""
    # Ids are never negative, which XLA cannot know.
    stage = partial(materialise, counters.next_link_id >= 0)
    originals = genomes
    choice = jax.vmap(partial(choose_mutations, config))(genomes, draws.genome)
    # Copies are restored at the end; here they are kept from using up ids.
    choice = stage(jax.tree.map(lambda x: x & ~is_copy, choice))

    genomes, counters, nodes_full, links_full = _add_nodes(
        config, genomes, choice.add_node, draws.genome, counters, stage
    )
    genomes = stage(genomes)
    genomes, keep = _delete_nodes(config, genomes, choice.delete_node, draws.genome)
    genomes, keep = stage((genomes, keep))
    # Links of a node deleted above are still in their slots, but not in `keep`: they
    # close no cycle any more.
    genomes, keep, counters, link_full = _add_links(
        config, genomes, keep, choice.add_link, draws, counters, stage
    )
    keep = _delete_links(keep, choice.delete_link, draws.genome)
    genomes, keep = stage((genomes, keep))
    genomes = stage(jax.vmap(compact_links)(genomes, keep))
    genomes = jax.vmap(partial(mutate_attributes, config))(genomes, draws)
    genomes = jax.vmap(select)(is_copy, originals, genomes)
    overflow = Overflow(
        nodes=any_true(nodes_full),
        links=any_true(links_full | link_full),
        species=jnp.bool_(False),
    )
    return genomes, counters, overflow


def _add_nodes(
    config: NEATConfig,
    genomes: Genome,
    wanted: Bool[Array, " population"],
    draws: GenomeDraws,
    counters: Counters,
    stage: Stage,
) -> tuple[Genome, Counters, Bool[Array, " population"], Bool[Array, " population"]]:
    """Split a random link where wanted, and number the new nodes and links.

    **Returns:** genomes, counters, and whose nodes and links exceeded their capacity.
    """
    is_split, split, split_id = stage(
        jax.vmap(partial(choose_split, config))(
            genomes, wanted, uniform(draws.split_link)
        )
    )
    if config.mutation.share_split_nodes:
        # Splitting the same link gives the same node and the same two links.
        number, num_splits = number_innovations((split_id,), is_split)
    else:
        number = running_count(is_split) - 1
        num_splits = number[-1] + 1
    # Above all ids that exist: appended genes leave rows sorted.
    node_id = counters.next_node_id + number
    link_id = counters.next_link_id + 2 * number
    activation = draw_activation(config, draws.new_activation)
    genomes, nodes_full, links_full = jax.vmap(add_node)(
        genomes, is_split, split, node_id, link_id, activation
    )
    counters = counters.advance(num_splits, 2 * num_splits)
    return genomes, counters, nodes_full, links_full


def _delete_nodes(
    config: NEATConfig,
    genomes: Genome,
    wanted: Bool[Array, " population"],
    draws: GenomeDraws,
) -> tuple[Genome, Bool[Array, "population links"]]:
    """Delete a random hidden node where wanted; say which links stay."""
    num_fixed = config.num_inputs + config.num_outputs
    return jax.vmap(partial(delete_node, num_fixed=num_fixed))(
        genomes, wanted, uniform(draws.deleted_node)
    )


def _add_links(
    config: NEATConfig,
    genomes: Genome,
    keep: Bool[Array, "population links"],
    wanted: Bool[Array, " population"],
    draws: ChildDraws,
    counters: Counters,
    stage: Stage,
) -> tuple[
    Genome, Bool[Array, "population links"], Counters, Bool[Array, " population"]
]:
    """Add a random link where wanted, and number the new ones by their ends.

    **Returns:** genomes, the links that stay, counters, and whose links exceeded their
    capacity.
    """
    is_new, source, target, genomes = stage(
        jax.vmap(partial(choose_link, config))(genomes, keep, wanted, draws.link_end)
    )
    number, num_pairs = number_innovations((source, target), is_new)
    weight = draw_initial(config.weight, draws.genome.new_weight)
    genomes, keep, is_full = jax.vmap(append_link)(
        genomes, keep, is_new, counters.next_link_id + number, source, target, weight
    )
    return genomes, keep, counters.advance(jnp.int32(0), num_pairs), is_full


def _delete_links(
    keep: Bool[Array, "population links"],
    wanted: Bool[Array, " population"],
    draws: GenomeDraws,
) -> Bool[Array, "population links"]:
    """Delete a random link where wanted; say which links stay."""
    return jax.vmap(delete_link)(keep, wanted, uniform(draws.deleted_link))
