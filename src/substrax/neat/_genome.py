"""The genome of NEAT as arrays of fixed capacity (Stanley & Miikkulainen, 2002).

A genome is two lists, nodes and links, each stored as one array per attribute and
padded to a capacity. The padding is canonical (one fixed value per field), so two
genomes are equal exactly when their arrays are.
"""

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from .._types import round_up
from ._counting import count, running_count

T = TypeVar("T")

NO_NODE = -1
"""`node_id` of an empty node slot; also the end points of an empty link slot."""

NO_LINK = int(np.iinfo(np.int32).max)
"""`link_id` of an empty link slot: the largest id, so that empty slots sort last."""

LARGEST_GENOME = 1 << 14
"""Nodes or links up to which genomes can be compared: counts of two share 32 bits."""

# Up to this length comparing with everything beats a binary search on a CPU, because it
# needs no gather. Blocks are added up as they come: the matrix of all comparisons,
# which `jnp.searchsorted` would make, is population * links * links integers.
_COMPARE_ALL_LENGTH = 64
_COMPARE_BLOCK = 16


class Genome(eqx.Module):
    """One genome, or a population of them with one more leading axis.

    **Nodes.** Slots hold the inputs (ids `0 .. num_inputs - 1`), then the outputs
    (the next `num_outputs` ids), then the hidden nodes in ascending id, then empty
    slots. `node_activation` indexes `substrax.cppn.ACTIVATION_NAMES`. A node's value
    is `activation(bias + sum(weight * value of source))`; inputs have none of this,
    and `NO_ACTIVATION` says so.

    **Links.** `link_id` is the historical marking (innovation number) and ascends
    along the row; empty slots come last. `link_source` and `link_target` are node
    *ids*, not slots. At most one link joins an ordered pair of nodes.
    """

    node_id: Int[Array, "*population nodes"]
    node_activation: Int[Array, "*population nodes"]
    node_bias: Float[Array, "*population nodes"]
    link_id: Int[Array, "*population links"]
    link_source: Int[Array, "*population links"]
    link_target: Int[Array, "*population links"]
    link_weight: Float[Array, "*population links"]
    link_enabled: Bool[Array, "*population links"]

    @property
    def max_nodes(self) -> int:
        """Capacity for nodes."""
        return self.node_id.shape[-1]

    @property
    def max_links(self) -> int:
        """Capacity for links."""
        return self.link_id.shape[-1]

    @property
    def node_mask(self) -> Bool[Array, "*population nodes"]:
        """Which node slots are in use."""
        return self.node_id != NO_NODE

    @property
    def link_mask(self) -> Bool[Array, "*population links"]:
        """Which link slots are in use, enabled or not."""
        return self.link_id != NO_LINK

    @property
    def num_nodes(self) -> Int[Array, "*population"]:
        """Number of nodes, inputs and outputs included."""
        return count(self.node_mask)

    @property
    def num_links(self) -> Int[Array, "*population"]:
        """Number of links, disabled ones included."""
        return count(self.link_mask)


def empty_genome(max_nodes: int, max_links: int, shape: tuple[int, ...] = ()) -> Genome:
    """A genome (or an array of them, of the given `shape`) without any gene."""
    nodes, links = (*shape, max_nodes), (*shape, max_links)
    return Genome(
        node_id=jnp.full(nodes, NO_NODE, jnp.int32),
        node_activation=jnp.zeros(nodes, jnp.int32),
        node_bias=jnp.zeros(nodes, jnp.float32),
        link_id=jnp.full(links, NO_LINK, jnp.int32),
        link_source=jnp.full(links, NO_NODE, jnp.int32),
        link_target=jnp.full(links, NO_NODE, jnp.int32),
        link_weight=jnp.zeros(links, jnp.float32),
        link_enabled=jnp.zeros(links, bool),
    )


def take(genomes: Genome, index: Int[Array, "..."]) -> Genome:
    """The genomes at `index` along the population axis."""
    # Indices are computed by us and in range; clamping would cost a pass.
    return jax.tree.map(lambda x: x.at[index].get(mode="promise_in_bounds"), genomes)


def select(condition: Bool[Array, ""], first: Genome, second: Genome) -> Genome:
    """`first` where the condition holds, else `second` (one genome each)."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), first, second)


def pad_genome(genome: Genome, max_nodes: int, max_links: int) -> Genome:
    """The same genome (or population) with a larger capacity."""
    add_nodes = max_nodes - genome.max_nodes
    add_links = max_links - genome.max_links
    if add_nodes < 0 or add_links < 0:
        raise ValueError(
            f"Capacities can only grow: the genomes have max_nodes="
            f"{genome.max_nodes} and max_links={genome.max_links}, asked for "
            f"{max_nodes} and {max_links}. Ask for at least what is there."
        )

    def pad(x, amount, fill):
        widths = [(0, 0)] * (x.ndim - 1) + [(0, amount)]
        return jnp.pad(x, widths, constant_values=fill)

    return Genome(
        node_id=pad(genome.node_id, add_nodes, NO_NODE),
        node_activation=pad(genome.node_activation, add_nodes, 0),
        node_bias=pad(genome.node_bias, add_nodes, 0.0),
        link_id=pad(genome.link_id, add_links, NO_LINK),
        link_source=pad(genome.link_source, add_links, NO_NODE),
        link_target=pad(genome.link_target, add_links, NO_NODE),
        link_weight=pad(genome.link_weight, add_links, 0.0),
        link_enabled=pad(genome.link_enabled, add_links, False),
    )


def materialise(is_sane: Bool[Array, ""], tree: T) -> T:
    """The same arrays, computed once and stored, whoever uses them.

    XLA fuses producers into all their consumers and then computes them again for each,
    on CPUs even through an optimisation barrier: decisions that are one number per
    genome would be made anew for each gene. It cannot look through a conditional whose
    outcome it does not know. `is_sane` must be true at run time.
    """
    return lax.cond(is_sane, lambda t: t, _something_else, tree)


def _something_else(tree: T) -> T:
    """Other values of the same types: arrays of a kind change places.

    There is nothing to compile in this, unlike in zeros; an array that is the only one
    of its kind becomes zeros all the same.
    """
    leaves, structure = jax.tree.flatten(tree)
    # Words of 32 bits are one kind: floats and integers can be read as each other.
    kinds: dict[tuple[tuple[int, ...], str], list[int]] = {}
    for i, x in enumerate(leaves):
        is_word = x.dtype.itemsize == 4
        kinds.setdefault((x.shape, "word" if is_word else str(x.dtype)), []).append(i)
    others = list(leaves)
    for members in kinds.values():
        for i, j in zip(members, members[1:] + members[:1], strict=True):
            if i == j:
                others[i] = jnp.zeros_like(leaves[i])
            elif leaves[i].dtype == leaves[j].dtype:
                others[i] = leaves[j]
            else:
                others[i] = lax.bitcast_convert_type(leaves[j], leaves[i].dtype)
    return jax.tree.unflatten(structure, others)


def position(
    ascending: Int[Array, " n"], queries: Int[Array, " m"]
) -> Int[Array, " m"]:
    """Index of the first entry of `ascending` not below each query (n if none)."""
    length = ascending.shape[0]
    if length > _COMPARE_ALL_LENGTH:
        return jnp.searchsorted(ascending, queries).astype(jnp.int32)
    # One at least: a genome may have room for inputs and outputs only.
    num_blocks = max(-(-length // _COMPARE_BLOCK), 1)
    padding = num_blocks * _COMPARE_BLOCK - length
    # No query is larger than this, so that padding is never counted.
    ascending = jnp.pad(ascending, (0, padding), constant_values=NO_LINK)

    def step(block, number):
        start = block * _COMPARE_BLOCK
        part = lax.dynamic_slice_in_dim(ascending, start, _COMPARE_BLOCK)
        for i in range(_COMPARE_BLOCK):
            number = number + (part[i] < queries).astype(jnp.int32)
        return number

    return lax.fori_loop(0, num_blocks, step, jnp.zeros_like(queries))


def node_keys(node_id: Int[Array, "*n"]) -> Int[Array, "*n"]:
    """Node ids with the empty slots last, so that the row ascends."""
    return jnp.where(node_id == NO_NODE, NO_LINK, node_id)


def link_slots(
    genome: Genome, num_fixed: int
) -> tuple[Int[Array, " links"], Int[Array, " links"]]:
    """Node slots where the links of one genome begin and end.

    Inputs and outputs sit at their own id.
    """
    # Both ends in one search: there is half as much to compile.
    ids = jnp.concatenate([genome.link_source, genome.link_target])
    hidden = position(node_keys(genome.node_id[num_fixed:]), ids) + num_fixed
    # Ends of empty slots come out as -1: whoever uses slots masks them.
    slots = jnp.where(ids < num_fixed, ids, hidden)
    return slots[: genome.max_links], slots[genome.max_links :]


def kth_true(mask: Bool[Array, " n"], k: Int[Array, ""]) -> Bool[Array, " n"]:
    """One-hot mask of the k-th (from 0) true entry; all false if there is none."""
    return mask & (running_count(mask) == k + 1)


def compact_links(genome: Genome, keep: Bool[Array, " links"]) -> Genome:
    """Drop the links outside `keep` from one genome and close the gaps in order."""
    keep = keep & genome.link_mask
    rank = running_count(keep)
    slots = jnp.arange(genome.max_links, dtype=jnp.int32)
    # The count of kept links ascends, so the k-th of them is where it first reaches k.
    source_slot = jnp.minimum(position(rank, slots + 1), genome.max_links - 1)
    is_filled = slots < rank[-1]

    def move(x, fill):
        moved = x.at[source_slot].get(mode="promise_in_bounds")
        return jnp.where(is_filled, moved, fill)

    return Genome(
        node_id=genome.node_id,
        node_activation=genome.node_activation,
        node_bias=genome.node_bias,
        link_id=move(genome.link_id, NO_LINK),
        link_source=move(genome.link_source, NO_NODE),
        link_target=move(genome.link_target, NO_NODE),
        link_weight=move(genome.link_weight, 0.0),
        link_enabled=move(genome.link_enabled, False),
    )


def stable_sum(x: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
    """Sum over the last axis whose rounding does not depend on trailing zeros.

    Adding the upper half to the lower half, again and again, leaves the order of the
    additions unchanged when the axis is padded with zeros to the next power of two.
    A larger capacity therefore gives the same bits, which `jnp.sum` does not promise.
    """
    length = round_up(x.shape[-1], 1)
    widths = [(0, 0)] * (x.ndim - 1) + [(0, length - x.shape[-1])]
    x = jnp.pad(x, widths)
    while length > 1:
        length //= 2
        x = x[..., :length] + x[..., length:]
    return x[..., 0]
