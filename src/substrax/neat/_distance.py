"""Compatibility distance (Stanley & Miikkulainen, 2002, equation 1).

    delta = c1 * E / N + c2 * D / N + c3 * W

with E excess and D disjoint genes, W the mean weight difference of matching genes and
N the number of genes of the larger genome. neat-python's distance is there as well: it
counts nodes too, does not tell excess from disjoint, and divides attribute differences
by N rather than by the number of matching genes.

The two ways to line genes up, `pair_distance` for two genomes and `DistanceTable` for
a population against the representatives of all species, share the arithmetic.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from ._config import NEATConfig
from ._counting import any_true, count
from ._genome import NO_LINK, NO_NODE, Genome, node_keys, position, stable_sum

# Slots per step of a loop: enough work per step, little to compile.
_UNROLL = 8
# Bits of a count of genes.
_HALF = 15
# Mixed keys of links have 30 bits: those of nodes begin behind them.
_FIRST_NODE_KEY = 1 << 30


class _Comparison(eqx.Module):
    """Genes of one kind of two genomes: counts, and what matching ones differ by."""

    num_own: Int[Array, "*n"]
    num_other: Int[Array, ""]
    num_matching: Int[Array, "*n"]
    num_differing: Int[Array, "*n"]
    total: Float[Array, "*n"]

    @property
    def num_unmatched(self) -> Int[Array, "*n"]:
        """Disjoint and excess genes of both."""
        return self.num_own + self.num_other - 2 * self.num_matching

    @property
    def size(self) -> Int[Array, "*n"]:
        """Genes of the larger genome."""
        return jnp.maximum(self.num_own, self.num_other)


def _last_link(genome: Genome) -> Int[Array, ""]:
    """The largest link id of one genome, -1 without links."""
    return jnp.max(jnp.where(genome.link_mask, genome.link_id, -1), initial=-1)


def _divide(total, count):
    return total / jnp.maximum(count, 1).astype(jnp.float32)


def _stanley_distance(
    config: NEATConfig, links: _Comparison, num_excess: Int[Array, "*n"]
) -> Float[Array, "*n"]:
    c = config.speciation
    num_disjoint = links.num_unmatched - num_excess
    # "N can be set to 1 if both genomes are small, i.e., consist of fewer than 20
    # genes" (section 3.3).
    size = jnp.where(links.size < c.small_genome_size, 1, links.size)
    return (
        c.excess_coefficient * _divide(num_excess.astype(jnp.float32), size)
        + c.disjoint_coefficient * _divide(num_disjoint.astype(jnp.float32), size)
        + c.weight_coefficient * _divide(links.total, links.num_matching)
    )


def _neat_python_distance(
    config: NEATConfig, links: _Comparison, nodes: _Comparison
) -> Float[Array, "*n"]:
    c = config.speciation

    def part(genes):
        # Another switch or activation counts as a difference of 1 there.
        total = genes.total + genes.num_differing.astype(jnp.float32)
        total = c.weight_coefficient * total
        total += c.disjoint_coefficient * genes.num_unmatched.astype(jnp.float32)
        return _divide(total, genes.size)

    return part(links) + part(nodes)


def link_keys(config: NEATConfig, genome: Genome) -> Int[Array, "*n"]:
    """What makes two links the same gene for the distance; `NO_LINK` in empty slots.

    The historical marking; but for neat-python the two ends, so that a link deleted and
    added again in a later generation is the old one. (Crossover goes by the marking in
    both.) The ends are mixed into 30 bits; two different pairs get the same key with
    a chance of 1e-9, and the distance is then off by one gene.
    """
    if config.speciation.distance == "stanley2002":
        return genome.link_id
    # The primes of xxHash32, and shifts that bring the upper bits down between them.
    mixed = genome.link_source.astype(jnp.uint32) * jnp.uint32(0x9E3779B1)
    mixed = (mixed ^ (mixed >> 15)) * jnp.uint32(0x85EBCA77)
    mixed = mixed ^ (genome.link_target.astype(jnp.uint32) * jnp.uint32(0xC2B2AE3D))
    mixed = (mixed ^ (mixed >> 13)) * jnp.uint32(0x27D4EB2F)
    mixed = mixed ^ (mixed >> 16)
    # Larger keys are those of nodes.
    return jnp.where(genome.link_mask, (mixed >> 2).astype(jnp.int32), NO_LINK)


def _node_gene_keys(
    config: NEATConfig, genomes: Genome
) -> Int[Array, "population nodes"]:
    """Keys of nodes other than inputs, none of which is a key of a link."""
    node_id = genomes.node_id[:, config.num_inputs :]
    return jnp.where(node_id == NO_NODE, NO_LINK, node_id + _FIRST_NODE_KEY)


def _compare(
    ids: Int[Array, " n"],
    other_ids: Int[Array, " n"],
    numbers: tuple[Float[Array, " n"], Float[Array, " n"]],
    kinds: tuple[Int[Array, " n"], Int[Array, " n"]],
) -> _Comparison:
    """Line up genes of two genomes; the other row ascends, empty slots last."""
    index = jnp.minimum(position(other_ids, ids), other_ids.shape[0] - 1)
    is_match = (other_ids[index] == ids) & (ids != NO_LINK)
    difference = jnp.abs(numbers[0] - numbers[1][index])
    differs = is_match & (kinds[0] != kinds[1][index])
    return _Comparison(
        num_own=count(ids != NO_LINK),
        num_other=count(other_ids != NO_LINK),
        num_matching=count(is_match),
        num_differing=count(differs),
        total=stable_sum(jnp.where(is_match, difference, 0.0)),
    )


def pair_distance(
    config: NEATConfig, first: Genome, second: Genome
) -> Float[Array, ""]:
    """Compatibility distance of two genomes."""
    keys = link_keys(config, second)
    # Ids ascend as they are; neat-python's mixed keys do not.
    order = jnp.argsort(keys)
    links = _compare(
        link_keys(config, first),
        keys[order],
        (first.link_weight, second.link_weight[order]),
        (
            first.link_enabled.astype(jnp.int32),
            second.link_enabled[order].astype(jnp.int32),
        ),
    )
    if config.speciation.distance == "stanley2002":
        above = lambda genome, last: jnp.sum(
            genome.link_mask & (genome.link_id > last), dtype=jnp.int32
        )
        num_excess = above(first, _last_link(second)) + above(second, _last_link(first))
        return _stanley_distance(config, links, num_excess)
    start = config.num_inputs
    nodes = _compare(
        node_keys(first.node_id[start:]),
        node_keys(second.node_id[start:]),
        (first.node_bias[start:], second.node_bias[start:]),
        (first.node_activation[start:], second.node_activation[start:]),
    )
    return _neat_python_distance(config, links, nodes)


class DistanceTable(eqx.Module):
    """A population prepared for distances to many representatives.

    Each gene of the population is looked up once in the sorted union of all
    representatives' genes. A representative is then a row of attributes over that
    union, and lining a genome up with it is one gather per gene: no search per pair,
    no comparison of every gene with every other. Only slots that some genome uses are
    visited.

    Slots come first, so that a step over slots works on whole populations: those of
    links, then those of nodes (if they count), each kind a multiple of `_UNROLL`. `row`
    points into the union, whose last row stands for all genes that the representatives
    lack. `number` and `kind` are weight and switch of a link, or bias and activation of
    a node; `union_number` is infinite where a representative lacks the gene.
    `first_step` and `num_steps` say which blocks of slots each kind of gene uses.
    """

    row: Int[Array, "slots population"]
    number: Float[Array, "slots population"]
    kind: Int[Array, "slots population"]
    union_number: Float[Array, "species union"]
    union_kind: Int[Array, "species union"]
    first_step: Int[Array, " kinds"]
    num_steps: Int[Array, " kinds"]
    num_links: Int[Array, " population"]
    num_nodes: Int[Array, " population"]
    last_link: Int[Array, " population"]
    link_id: Int[Array, "population links"]
    representatives: Genome

    def _compare(
        self, species: Int[Array, ""]
    ) -> tuple[
        Float[Array, "kinds population"],
        Int[Array, "kinds population"],
        Int[Array, "kinds population"],
    ]:
        """Against one representative: the sum of differences of matching genes, how
        many match, and how many of these differ in kind.
        """
        number, kind = self.union_number[species], self.union_kind[species]
        population = self.row.shape[1]

        def step(block, carry):
            total, counts = carry
            for i in range(_UNROLL):
                # One row at a time: XLA then fuses the whole step into one loop.
                part = lambda x, i=i: lax.dynamic_index_in_dim(
                    x, block * _UNROLL + i, keepdims=False
                )
                row = part(self.row)
                gather = lambda x, row=row: x.at[row].get(mode="promise_in_bounds")
                # A gene that either side lacks differs by infinity, which saves a
                # gather of masks.
                difference = jnp.abs(part(self.number) - gather(number))
                is_match = difference < jnp.inf
                differs = gather(kind) != part(self.kind)
                total = total + jnp.where(is_match, difference, 0.0)
                counts = counts + jnp.where(
                    is_match, jnp.where(differs, 1 + (1 << _HALF), 1), 0
                )
            return total, counts

        # Adding slot after slot, the sum does not depend on the capacity. Both counts
        # share an integer, because each array that a step makes is one more pass.
        # One after the other, so that links and nodes share one compiled step.
        start = (jnp.zeros(population, jnp.float32), jnp.zeros(population, jnp.int32))
        total, counts = lax.map(
            lambda steps: lax.fori_loop(steps[0], steps[0] + steps[1], step, start),
            (self.first_step, self.num_steps),
        )
        return total, counts & ((1 << _HALF) - 1), counts >> _HALF

    def distances(
        self, config: NEATConfig, species: Int[Array, ""]
    ) -> Float[Array, " population"]:
        """Distance of every genome to one representative."""
        row = jax.tree.map(lambda x: x[species], self.representatives)
        total, num_matching, num_differing = self._compare(species)
        links = _Comparison(
            self.num_links, row.num_links, num_matching[0], num_differing[0], total[0]
        )
        if config.speciation.distance == "stanley2002":
            last = _last_link(row)
            # Genes beyond the end of the other genome, on both sides.
            is_above = (self.link_id > last) & (self.link_id != NO_LINK)
            num_excess = count(is_above)
            num_excess += row.num_links - position(row.link_id, self.last_link + 1)
            return _stanley_distance(config, links, num_excess)
        num_nodes = row.num_nodes - config.num_inputs
        nodes = _Comparison(
            self.num_nodes, num_nodes, num_matching[1], num_differing[1], total[1]
        )
        return _neat_python_distance(config, links, nodes)


class _Genes(eqx.Module):
    """Genes of many genomes side by side, of all kinds that the distance counts."""

    key: Int[Array, "genomes slots"]
    number: Float[Array, "genomes slots"]
    kind: Int[Array, "genomes slots"]


def _genes(config: NEATConfig, genomes: Genome) -> tuple[_Genes, list[int]]:
    """Genes, and how many slots each kind of gene has."""
    parts = [
        (
            link_keys(config, genomes),
            genomes.link_weight,
            genomes.link_enabled.astype(jnp.int32),
        )
    ]
    if config.speciation.distance == "neat_python":
        start = config.num_inputs
        parts.append(
            (
                _node_gene_keys(config, genomes),
                genomes.node_bias[:, start:],
                genomes.node_activation[:, start:],
            )
        )

    def pad(x, empty):
        widths = ((0, 0), (0, -x.shape[1] % _UNROLL))
        return jnp.pad(x, widths, constant_values=empty)

    padded = [
        (pad(key, NO_LINK), pad(number, 0.0), pad(kind, 0))
        for key, number, kind in parts
    ]
    joined = [jnp.concatenate(x, axis=1) for x in zip(*padded, strict=True)]
    return _Genes(*joined), [key.shape[1] for key, _, _ in padded]


def _find(
    union: Int[Array, " union"], size: Int[Array, ""], ids: Int[Array, "*n"]
) -> Int[Array, "*n"]:
    """Position of the first of `size` ascending entries that is not below each id.

    A binary search that takes as many steps as the used part of the union needs.
    """
    num_steps = 32 - lax.clz(size)

    def step(i, low):
        # `low` counts entries known to lie below; each step tries one bit more.
        middle = low + (jnp.int32(1) << (num_steps - 1 - i))
        entry = union.at[jnp.minimum(middle, size) - 1].get(mode="promise_in_bounds")
        return jnp.where((middle <= size) & (entry < ids), middle, low)

    return lax.fori_loop(0, num_steps, step, jnp.zeros_like(ids))


def distance_table(
    config: NEATConfig, genomes: Genome, representatives: Genome
) -> DistanceTable:
    """Look the genes of a population up in those of the representatives."""
    own, num_slots = _genes(config, genomes)
    other, _ = _genes(config, representatives)
    # Genes of several representatives stay in it several times: a search always finds
    # the first of equals, so the others are rows that nothing points at.
    union = jnp.sort(other.key.reshape(-1))
    capacity = union.shape[0]
    size = count(union != NO_LINK)
    key = own.key.T

    # Used slots of each kind come first; unused blocks of slots are not visited.
    first, num_steps = [], []
    for length in num_slots:
        begin = sum(num_slots[: len(first)])
        is_used = own.key[:, begin : begin + length] != NO_LINK
        # Used slots come first, so the longest genome decides.
        num_used = count(any_true(is_used.T))
        first.append(begin // _UNROLL)
        num_steps.append((num_used + _UNROLL - 1) // _UNROLL)
    first_step = np.array(first, np.int32)

    def look_up(step, row):
        # Steps count the used blocks of links, then those of nodes.
        beyond = step - num_steps[0]
        block = (
            step if len(first) == 1 else jnp.where(beyond < 0, step, first[1] + beyond)
        )
        part = lax.dynamic_slice_in_dim(key, block * _UNROLL, _UNROLL)
        found = _find(union, size, part)
        entry = jnp.minimum(found, capacity - 1)
        known = union.at[entry].get(mode="promise_in_bounds")
        # What no representative has points at the last row, which is infinite.
        found = jnp.where((known == part) & (part != NO_LINK), found, capacity)
        return lax.dynamic_update_slice_in_dim(row, found, block * _UNROLL, 0)

    row = lax.fori_loop(0, sum(num_steps), look_up, jnp.full_like(key, capacity))

    # Empty slots all point at the same row; they must not write there.
    at = jnp.where(other.key == NO_LINK, capacity + 1, _find(union, size, other.key))
    num_species = other.key.shape[0]
    species = jnp.arange(num_species, dtype=jnp.int32)[:, None]

    def fill(values, empty):
        table = jnp.full((num_species, capacity + 1), empty, values.dtype)
        return table.at[species, at].set(values, mode="drop")

    return DistanceTable(
        row=row,
        number=own.number.T,
        kind=own.kind.T,
        union_number=fill(other.number, jnp.inf),
        union_kind=fill(other.kind, 0),
        first_step=jnp.asarray(first_step),
        num_steps=jnp.stack(num_steps),
        num_links=genomes.num_links,
        num_nodes=genomes.num_nodes - config.num_inputs,
        last_link=jax.vmap(_last_link)(genomes),
        link_id=genomes.link_id,
        representatives=representatives,
    )
