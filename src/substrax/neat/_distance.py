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
from jaxtyping import Array, Bool, Float, Int

from ._config import NEATConfig
from ._genome import NO_LINK, Genome, node_keys, position, stable_sum


class _Partner(eqx.Module):
    """The genes of another genome lined up with those of this one.

    `weight` and `bias` are infinite where the other genome lacks the gene. Fields of
    nodes (inputs left out) are used by neat-python's distance alone.
    """

    weight: Float[Array, " links"]
    enabled: Bool[Array, " links"]
    bias: Float[Array, " nodes"]
    activation: Int[Array, " nodes"]
    num_links: Int[Array, ""]
    num_nodes: Int[Array, ""]
    last_link: Int[Array, ""]
    num_excess: Int[Array, ""]


def _last_link(genome: Genome) -> Int[Array, ""]:
    """The largest link id of one genome, -1 without links."""
    return jnp.max(jnp.where(genome.link_mask, genome.link_id, -1), initial=-1)


def _divide(total: Float[Array, ""], count: Int[Array, ""]) -> Float[Array, ""]:
    return total / jnp.maximum(count, 1).astype(jnp.float32)


def _stanley_distance(
    config: NEATConfig, genome: Genome, partner: _Partner
) -> Float[Array, ""]:
    c = config.speciation
    difference = jnp.abs(genome.link_weight - partner.weight)
    is_match = genome.link_mask & (difference < jnp.inf)
    num_matching = jnp.sum(is_match, dtype=jnp.int32)
    num_links = genome.num_links
    is_excess = genome.link_mask & (genome.link_id > partner.last_link)
    num_excess = jnp.sum(is_excess, dtype=jnp.int32) + partner.num_excess
    num_disjoint = num_links + partner.num_links - 2 * num_matching - num_excess
    size = jnp.maximum(num_links, partner.num_links)
    # "N can be set to 1 if both genomes are small, i.e., consist of fewer than 20
    # genes" (section 3.3).
    size = jnp.where(size < c.small_genome_size, 1, size)
    mean_difference = _divide(
        stable_sum(jnp.where(is_match, difference, 0.0)), num_matching
    )
    return (
        c.excess_coefficient * _divide(num_excess.astype(jnp.float32), size)
        + c.disjoint_coefficient * _divide(num_disjoint.astype(jnp.float32), size)
        + c.weight_coefficient * mean_difference
    )


def _neat_python_distance(
    config: NEATConfig, genome: Genome, partner: _Partner
) -> Float[Array, ""]:
    c = config.speciation

    def part(mask, difference, differs, num_other):
        is_match = mask & (difference < jnp.inf)
        num_own = jnp.sum(mask, dtype=jnp.int32)
        num_matching = jnp.sum(is_match, dtype=jnp.int32)
        num_differing = jnp.sum(is_match & differs, dtype=jnp.int32)
        num_disjoint = num_own + num_other - 2 * num_matching
        total = stable_sum(jnp.where(is_match, difference, 0.0))
        total += num_differing.astype(jnp.float32)
        total = c.weight_coefficient * total
        total += c.disjoint_coefficient * num_disjoint.astype(jnp.float32)
        return _divide(total, jnp.maximum(num_own, num_other))

    links = part(
        genome.link_mask,
        jnp.abs(genome.link_weight - partner.weight),
        genome.link_enabled != partner.enabled,
        partner.num_links,
    )
    nodes = part(
        genome.node_mask[config.num_inputs :],
        jnp.abs(genome.node_bias[config.num_inputs :] - partner.bias),
        genome.node_activation[config.num_inputs :] != partner.activation,
        partner.num_nodes,
    )
    return links + nodes


def _distance(
    config: NEATConfig, genome: Genome, partner: _Partner
) -> Float[Array, ""]:
    if config.speciation.distance == "neat_python":
        return _neat_python_distance(config, genome, partner)
    return _stanley_distance(config, genome, partner)


def _num_above(genome: Genome, link_id: Int[Array, ""]) -> Int[Array, ""]:
    return jnp.sum(genome.link_mask & (genome.link_id > link_id), dtype=jnp.int32)


def pair_distance(config: NEATConfig, first: Genome, second: Genome):
    """Compatibility distance of two genomes."""
    num_inputs = config.num_inputs
    last = second.max_links - 1
    index = jnp.minimum(position(second.link_id, first.link_id), last)
    is_match = second.link_id[index] == first.link_id
    own = node_keys(first.node_id[num_inputs:])
    theirs = node_keys(second.node_id[num_inputs:])
    node_index = jnp.minimum(position(theirs, own), theirs.shape[0] - 1)
    is_node_match = theirs[node_index] == own
    partner = _Partner(
        weight=jnp.where(is_match, second.link_weight[index], jnp.inf),
        enabled=second.link_enabled[index],
        bias=jnp.where(
            is_node_match, second.node_bias[num_inputs:][node_index], jnp.inf
        ),
        activation=second.node_activation[num_inputs:][node_index],
        num_links=second.num_links,
        num_nodes=second.num_nodes - num_inputs,
        last_link=_last_link(second),
        num_excess=_num_above(second, _last_link(first)),
    )
    return _distance(config, first, partner)


class DistanceTable(eqx.Module):
    """A population prepared for distances to many representatives.

    Each gene of the population is looked up once in the sorted union of all
    representatives' genes. A representative is then a row of attributes over that
    union, and lining a genome up with it is one gather per gene: no search per pair,
    no comparison of every gene with every other.
    """

    genomes: Genome
    representatives: Genome
    link_row: Int[Array, "population links"]
    node_row: Int[Array, "population nodes"]
    weight: Float[Array, "species link_union"]
    enabled: Bool[Array, "species link_union"]
    bias: Float[Array, "species node_union"]
    activation: Int[Array, "species node_union"]
    last_link: Int[Array, " population"]

    def distances(
        self, config: NEATConfig, species: Int[Array, ""]
    ) -> Float[Array, " population"]:
        """Distance of every genome to one representative."""
        row = jax.tree.map(lambda x: x[species], self.representatives)
        weight, enabled = self.weight[species], self.enabled[species]
        bias, activation = self.bias[species], self.activation[species]
        num_links, num_nodes = row.num_links, row.num_nodes - config.num_inputs
        last_link = _last_link(row)

        def one(genome, link_row, node_row, own_last):
            gather = lambda x, i: x.at[i].get(mode="promise_in_bounds")
            partner = _Partner(
                weight=gather(weight, link_row),
                enabled=gather(enabled, link_row),
                bias=gather(bias, node_row),
                activation=gather(activation, node_row),
                num_links=num_links,
                num_nodes=num_nodes,
                last_link=last_link,
                num_excess=_num_above(row, own_last),
            )
            return _distance(config, genome, partner)

        return jax.vmap(one)(self.genomes, self.link_row, self.node_row, self.last_link)


def _tabulate(ids: Int[Array, "species genes"], queries: Int[Array, "population n"]):
    """Union of ids; where each query is in it; where each id is in it.

    The last row of the union belongs to ids that no representative has.
    """
    union = jnp.sort(ids.reshape(-1))
    find = lambda x: jnp.searchsorted(union, x).astype(jnp.int32)
    row = find(queries)
    is_known = union.at[jnp.minimum(row, union.shape[0] - 1)].get() == queries
    is_known &= queries != NO_LINK
    return jnp.where(is_known, row, union.shape[0]), find(ids)


def distance_table(
    config: NEATConfig, genomes: Genome, representatives: Genome
) -> DistanceTable:
    """Look the genes of a population up in those of the representatives."""
    num_inputs = config.num_inputs
    own, theirs = genomes.node_id[:, num_inputs:], representatives.node_id
    theirs = node_keys(theirs[:, num_inputs:])
    link_row, link_at = _tabulate(representatives.link_id, genomes.link_id)
    if config.speciation.distance == "neat_python":
        node_row, node_at = _tabulate(theirs, node_keys(own))
    else:
        node_row, node_at = jnp.zeros_like(own), jnp.zeros_like(theirs)
    num_species = theirs.shape[0]
    species = jnp.arange(num_species, dtype=jnp.int32)[:, None]

    def fill(at, values, mask, empty):
        table = jnp.full((num_species, at.size + 1), empty, values.dtype)
        # Empty slots all point at the same row; they must not write there.
        at = jnp.where(mask, at, at.size + 1)
        return table.at[species, at].set(values, mode="drop")

    link_mask, node_mask = representatives.link_mask, theirs != NO_LINK
    bias = representatives.node_bias[:, num_inputs:]
    activation = representatives.node_activation[:, num_inputs:]
    return DistanceTable(
        genomes=genomes,
        representatives=representatives,
        link_row=link_row,
        node_row=node_row,
        weight=fill(link_at, representatives.link_weight, link_mask, jnp.inf),
        enabled=fill(link_at, representatives.link_enabled, link_mask, False),
        bias=fill(node_at, bias, node_mask, jnp.inf),
        activation=fill(node_at, activation, node_mask, 0),
        last_link=jax.vmap(_last_link)(genomes),
    )
