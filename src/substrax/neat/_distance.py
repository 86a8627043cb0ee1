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
from jax import lax
from jaxtyping import Array, Float, Int

from ._config import NEATConfig
from ._genome import NO_LINK, Genome, node_keys, position, stable_sum

# Slots per step of a loop: enough work per step, little to compile.
_UNROLL = 8
# Bits of a count of genes.
_HALF = 15


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
        total = genes.total + genes.num_differing.astype(jnp.float32)
        total = c.weight_coefficient * total
        total += c.disjoint_coefficient * genes.num_unmatched.astype(jnp.float32)
        return _divide(total, genes.size)

    return part(links) + part(nodes)


def link_keys(config: NEATConfig, genome: Genome) -> Int[Array, "*n"]:
    """What makes two links the same gene for the distance; `NO_LINK` in empty slots.

    The historical marking; but for neat-python the two ends, so that a link deleted and
    added again in a later generation is the old one. (Crossover goes by the marking in
    both.) The ends are mixed into 31 bits; two different pairs get the same key with
    a chance of 5e-10, and the distance is then off by one gene.
    """
    if config.speciation.distance == "stanley2002":
        return genome.link_id
    mixed = genome.link_source.astype(jnp.uint32) * jnp.uint32(0x9E3779B1)
    mixed = (mixed ^ (mixed >> 15)) * jnp.uint32(0x85EBCA77)
    mixed = mixed ^ (genome.link_target.astype(jnp.uint32) * jnp.uint32(0xC2B2AE3D))
    mixed = (mixed ^ (mixed >> 13)) * jnp.uint32(0x27D4EB2F)
    mixed = mixed ^ (mixed >> 16)
    # The largest 31-bit number stays free for empty slots.
    keys = jnp.minimum(mixed >> 1, jnp.uint32(NO_LINK - 1)).astype(jnp.int32)
    return jnp.where(genome.link_mask, keys, NO_LINK)


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
    count = lambda mask: jnp.sum(mask, dtype=jnp.int32)
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


class _Slots(eqx.Module):
    """One kind of gene of a population, slot by slot, for `DistanceTable`.

    Slots come first, so that a step over slots works on whole populations; their
    number is a multiple of `_UNROLL`. `row` points into the union of the
    representatives' genes, whose last row stands for all genes they lack. `number` and
    `kind` are weight and switch of a link, or bias and activation of a node;
    `union_number` is infinite where a representative lacks the gene.
    """

    row: Int[Array, "slots population"]
    number: Float[Array, "slots population"]
    kind: Int[Array, "slots population"]
    union_number: Float[Array, "species union"]
    union_kind: Int[Array, "species union"]
    num_steps: Int[Array, ""]

    def compare(
        self, species: Int[Array, ""]
    ) -> tuple[
        Float[Array, " population"],
        Int[Array, " population"],
        Int[Array, " population"],
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
        start = (jnp.zeros(population, jnp.float32), jnp.zeros(population, jnp.int32))
        total, counts = lax.fori_loop(0, self.num_steps, step, start)
        return total, counts & ((1 << _HALF) - 1), counts >> _HALF


class DistanceTable(eqx.Module):
    """A population prepared for distances to many representatives.

    Each gene of the population is looked up once in the sorted union of all
    representatives' genes. A representative is then a row of attributes over that
    union, and lining a genome up with it is one gather per gene: no search per pair,
    no comparison of every gene with every other. Only slots that some genome uses are
    visited.
    """

    links: _Slots
    nodes: _Slots | None
    num_links: Int[Array, " population"]
    num_nodes: Int[Array, " population"]
    last_link: Int[Array, " population"]
    link_id: Int[Array, "population links"]
    representatives: Genome

    def distances(
        self, config: NEATConfig, species: Int[Array, ""]
    ) -> Float[Array, " population"]:
        """Distance of every genome to one representative."""
        row = jax.tree.map(lambda x: x[species], self.representatives)
        total, num_matching, num_differing = self.links.compare(species)
        link_part = _Comparison(
            self.num_links, row.num_links, num_matching, num_differing, total
        )
        if self.nodes is None:
            last = _last_link(row)
            # Genes beyond the end of the other genome, on both sides.
            is_above = (self.link_id > last) & (self.link_id != NO_LINK)
            num_excess = jnp.sum(is_above, axis=1, dtype=jnp.int32)
            num_excess += row.num_links - position(row.link_id, self.last_link + 1)
            return _stanley_distance(config, link_part, num_excess)
        total, num_matching, num_differing = self.nodes.compare(species)
        num_nodes = row.num_nodes - config.num_inputs
        node_part = _Comparison(
            self.num_nodes, num_nodes, num_matching, num_differing, total
        )
        return _neat_python_distance(config, link_part, node_part)


def _find(
    union: Int[Array, " union"], size: Int[Array, ""], ids: Int[Array, "*n"]
) -> Int[Array, "*n"]:
    """Position of the first of `size` ascending entries that is not below each id.

    A binary search that takes as many steps as the used part of the union needs.
    """
    num_steps = 32 - lax.clz(size)

    def step(i, low):
        middle = low + (jnp.int32(1) << (num_steps - 1 - i))
        entry = union.at[jnp.minimum(middle, size) - 1].get(mode="promise_in_bounds")
        return jnp.where((middle <= size) & (entry < ids), middle, low)

    return lax.fori_loop(0, num_steps, step, jnp.zeros_like(ids))


def _slots(
    ids: Int[Array, "population slots"],
    number: Float[Array, "population slots"],
    kind: Int[Array, "population slots"],
    other_ids: Int[Array, "species slots"],
    other_number: Float[Array, "species slots"],
    other_kind: Int[Array, "species slots"],
) -> _Slots:
    """Look genes up in the union of the representatives' genes."""
    union = jnp.sort(other_ids.reshape(-1))
    capacity = union.shape[0]
    size = jnp.sum(union != NO_LINK, dtype=jnp.int32)
    padding = -ids.shape[1] % _UNROLL
    turn = lambda x, empty: jnp.pad(x.T, ((0, padding), (0, 0)), constant_values=empty)
    num_used = jnp.max(jnp.sum(ids != NO_LINK, axis=1, dtype=jnp.int32))
    num_steps = (num_used + _UNROLL - 1) // _UNROLL
    slots = turn(ids, NO_LINK)

    def look_up(block, row):
        part = lax.dynamic_slice_in_dim(slots, block * _UNROLL, _UNROLL)
        found = _find(union, size, part)
        entry = jnp.minimum(found, capacity - 1)
        known = union.at[entry].get(mode="promise_in_bounds")
        found = jnp.where((known == part) & (part != NO_LINK), found, capacity)
        return lax.dynamic_update_slice_in_dim(row, found, block * _UNROLL, 0)

    row = lax.fori_loop(0, num_steps, look_up, jnp.full_like(slots, capacity))

    # Empty slots all point at the same row; they must not write there.
    at = jnp.where(other_ids == NO_LINK, capacity + 1, _find(union, size, other_ids))
    num_species = other_ids.shape[0]
    species = jnp.arange(num_species, dtype=jnp.int32)[:, None]

    def fill(values, empty):
        table = jnp.full((num_species, capacity + 1), empty, values.dtype)
        return table.at[species, at].set(values, mode="drop")

    return _Slots(
        row=row,
        number=turn(number, 0.0),
        kind=turn(kind, 0),
        union_number=fill(other_number, jnp.inf),
        union_kind=fill(other_kind, 0),
        num_steps=num_steps,
    )


def distance_table(
    config: NEATConfig, genomes: Genome, representatives: Genome
) -> DistanceTable:
    """Look the genes of a population up in those of the representatives."""
    start = config.num_inputs
    links = _slots(
        link_keys(config, genomes),
        genomes.link_weight,
        genomes.link_enabled.astype(jnp.int32),
        link_keys(config, representatives),
        representatives.link_weight,
        representatives.link_enabled.astype(jnp.int32),
    )
    nodes = None
    if config.speciation.distance == "neat_python":
        nodes = _slots(
            node_keys(genomes.node_id[:, start:]),
            genomes.node_bias[:, start:],
            genomes.node_activation[:, start:],
            node_keys(representatives.node_id[:, start:]),
            representatives.node_bias[:, start:],
            representatives.node_activation[:, start:],
        )
    return DistanceTable(
        links=links,
        nodes=nodes,
        num_links=genomes.num_links,
        num_nodes=genomes.num_nodes - start,
        last_link=jax.vmap(_last_link)(genomes),
        link_id=genomes.link_id,
        representatives=representatives,
    )
