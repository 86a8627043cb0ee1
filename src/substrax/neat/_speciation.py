"""Species and how genomes find theirs (Stanley & Miikkulainen, 2002, section 3.3).

"An ordered list of species is maintained. In each generation, genomes are sequentially
placed into species. Each existing species is represented by a random genome inside the
species from the previous generation. A given genome g in the current generation is
placed in the first species in which g is compatible with the representative genome of
that species. [...] If g is not compatible with any existing species, a new species is
created with g as its representative."

Sequential is only the founding of species. It is done on the few genomes that no
existing species takes, block by block; everything else is one pass per species over
the whole population.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ._config import NEATConfig
from ._distance import distance_table, pair_distance
from ._genome import Genome, empty_genome, take

_BLOCK = 256


class SpeciesTable(eqx.Module):
    """All species, oldest first, in slots `0 .. num_species - 1`.

    `best_score` and `last_improved` keep the history that stagnation needs; scores are
    fitness turned so that larger is better.
    """

    species_id: Int[Array, " species"]
    created: Int[Array, " species"]
    last_improved: Int[Array, " species"]
    best_score: Float[Array, " species"]
    representative: Genome
    num_species: Int[Array, ""]

    @property
    def max_species(self) -> int:
        """Capacity for species."""
        return self.species_id.shape[0]

    @property
    def mask(self) -> Bool[Array, " species"]:
        """Which slots are in use."""
        slots = jnp.arange(self.max_species, dtype=jnp.int32)
        return slots < self.num_species


def empty_species(max_species: int, max_nodes: int, max_links: int) -> SpeciesTable:
    """A table without species."""
    return SpeciesTable(
        species_id=jnp.full(max_species, -1, jnp.int32),
        created=jnp.zeros(max_species, jnp.int32),
        last_improved=jnp.zeros(max_species, jnp.int32),
        best_score=jnp.full(max_species, -jnp.inf, jnp.float32),
        representative=empty_genome(max_nodes, max_links, (max_species,)),
        num_species=jnp.int32(0),
    )


def keep_species(
    table: SpeciesTable, keep: Bool[Array, " species"]
) -> tuple[SpeciesTable, Int[Array, " species"]]:
    """Drop species, close the gaps, and say which slot each kept one has now."""
    keep = keep & table.mask
    rank = jnp.cumsum(keep, dtype=jnp.int32)
    blank = empty_species(
        table.max_species,
        table.representative.max_nodes,
        table.representative.max_links,
    )
    # Kept slots come first, in order; what follows is blanked.
    order = jnp.argsort(~keep, stable=True)
    is_filled = jnp.arange(table.max_species, dtype=jnp.int32) < rank[-1]

    def move(x, empty):
        filled = is_filled.reshape(is_filled.shape + (1,) * (x.ndim - 1))
        return jnp.where(filled, x[order], empty)

    kept = SpeciesTable(
        species_id=move(table.species_id, blank.species_id),
        created=move(table.created, blank.created),
        last_improved=move(table.last_improved, blank.last_improved),
        best_score=move(table.best_score, blank.best_score),
        representative=jax.tree.map(move, table.representative, blank.representative),
        num_species=rank[-1],
    )
    return kept, rank - 1


class _Placement(eqx.Module):
    """Where genomes are so far: slot (-1: nowhere), and the distances behind it."""

    slot: Int[Array, " population"]
    distance: Float[Array, " population"]
    nearest_slot: Int[Array, " population"]
    nearest_distance: Float[Array, " population"]


def _place(
    config: NEATConfig,
    threshold: Float[Array, ""],
    genomes: Genome,
    representatives: Genome,
    founder: Int[Array, " species"],
    first: Int[Array, ""],
    last: Int[Array, ""],
    placement: _Placement,
) -> _Placement:
    """Offer species `first .. last - 1` to all genomes.

    Only genomes behind the `founder` of a species may join it: in sequence, the others
    were placed before it existed.
    """
    table = distance_table(config, genomes, representatives)
    index = jnp.arange(placement.slot.shape[0], dtype=jnp.int32)

    def offer(species, p):
        distance = table.distances(config, species)
        is_late = index >= founder[species]
        if config.speciation.assignment == "first":
            joins = (p.slot < 0) & (distance < threshold)
        else:
            joins = (distance < threshold) & (distance < p.distance)
        joins &= is_late
        is_nearer = is_late & (distance < p.nearest_distance)
        return _Placement(
            slot=jnp.where(joins, species, p.slot),
            distance=jnp.where(joins, distance, p.distance),
            nearest_slot=jnp.where(is_nearer, species, p.nearest_slot),
            nearest_distance=jnp.where(is_nearer, distance, p.nearest_distance),
        )

    return lax.fori_loop(first, last, offer, placement)


def _nearest_representatives(
    config: NEATConfig, genomes: Genome, table: SpeciesTable
) -> Int[Array, " species"]:
    """For each species the genome nearest to its representative, each only once.

    neat-python's rule; ties go to the first genome.
    """
    distances = distance_table(config, genomes, table.representative)
    population = genomes.node_id.shape[0]

    def choose(species, carry):
        chosen, is_taken = carry
        distance = distances.distances(config, species)
        best = jnp.argmin(jnp.where(is_taken, jnp.inf, distance)).astype(jnp.int32)
        return chosen.at[species].set(best), is_taken.at[best].set(True)

    start = (jnp.zeros(table.max_species, jnp.int32), jnp.zeros(population, bool))
    chosen, _ = lax.fori_loop(0, table.num_species, choose, start)
    return chosen


class _Founding(eqx.Module):
    """Species founded so far; `founder` is indexed by slot."""

    founder: Int[Array, " species"]
    num_species: Int[Array, ""]
    waiting: Bool[Array, " population"]
    overflow: Bool[Array, ""]


def _found_species(
    config: NEATConfig,
    threshold: Float[Array, ""],
    genomes: Genome,
    waiting: Bool[Array, " population"],
    num_old: Int[Array, ""],
    max_species: int,
) -> _Founding:
    """Who founds new species, among the genomes that no old species takes.

    In the order of the population, each waiting genome founds a species unless one
    founded before it takes it.
    """
    population = waiting.shape[0]
    block_size = min(population, _BLOCK)
    distances = jax.vmap(
        lambda genome, other: pair_distance(config, genome, other), (0, None)
    )

    def resolve_block(state):
        (index,) = jnp.nonzero(state.waiting, size=block_size, fill_value=population)
        index = index.astype(jnp.int32)
        block = take(genomes, jnp.minimum(index, population - 1))

        def join(species, resolved):
            other = take(genomes, state.founder[species])
            return resolved | (distances(block, other) < threshold)

        resolved = lax.fori_loop(num_old, state.num_species, join, index >= population)

        def goes_on(carry):
            resolved, _, num_species = carry
            return jnp.any(~resolved) & (num_species < max_species)

        def found(carry):
            resolved, founder, num_species = carry
            position = jnp.argmin(resolved)
            other = jax.tree.map(lambda x: x[position], block)
            resolved = resolved.at[position].set(True)
            resolved |= distances(block, other) < threshold
            founder = founder.at[num_species].set(index[position])
            return resolved, founder, num_species + 1

        resolved, founder, num_species = lax.while_loop(
            goes_on, found, (resolved, state.founder, state.num_species)
        )
        return _Founding(
            founder=founder,
            num_species=num_species,
            waiting=state.waiting.at[index].set(False, mode="drop"),
            overflow=state.overflow | jnp.any(~resolved),
        )

    start = _Founding(
        founder=jnp.zeros(max_species, jnp.int32),
        num_species=num_old,
        waiting=waiting,
        overflow=jnp.bool_(False),
    )
    return lax.while_loop(
        lambda state: jnp.any(state.waiting) & ~state.overflow, resolve_block, start
    )


class Speciation(eqx.Module):
    """Result of `speciate`: slots of the genomes, and the table that they refer to."""

    species_index: Int[Array, " population"]
    table: SpeciesTable
    next_species_id: Int[Array, ""]
    overflow: Bool[Array, ""]


def speciate(
    config: NEATConfig,
    threshold: Float[Array, ""],
    genomes: Genome,
    table: SpeciesTable,
    next_species_id: Int[Array, ""],
    generation: Int[Array, ""],
) -> Speciation:
    """Place a new population into the species of `table` and into new ones.

    Species that nobody joins vanish.
    """
    population = genomes.node_id.shape[0]
    num_old, max_species = table.num_species, table.max_species
    nobody = jnp.full(population, -1, jnp.int32)
    nowhere = jnp.full(population, jnp.inf, jnp.float32)
    placement = _Placement(nobody, nowhere, jnp.zeros_like(nobody), nowhere)
    representatives = table.representative
    is_old = table.mask
    chosen = jnp.zeros(max_species, jnp.int32)
    if config.speciation.representative == "nearest":
        chosen = _nearest_representatives(config, genomes, table)
        chosen = jnp.where(is_old, chosen, population)
        representatives = take(genomes, jnp.minimum(chosen, population - 1))
    founder = jnp.zeros(max_species, jnp.int32)
    placement = _place(
        config,
        threshold,
        genomes,
        representatives,
        founder,
        jnp.int32(0),
        num_old,
        placement,
    )
    slot = placement.slot
    if config.speciation.representative == "nearest":
        # A representative belongs to its own species whatever else is near.
        species = jnp.arange(max_species, dtype=jnp.int32)
        slot = slot.at[chosen].set(species, mode="drop")
        distance = placement.distance.at[chosen].set(-1.0, mode="drop")
        placement = dataclasses.replace(placement, slot=slot, distance=distance)

    founding = _found_species(
        config, threshold, genomes, slot < 0, num_old, max_species
    )
    num_species = founding.num_species
    slots = jnp.arange(max_species, dtype=jnp.int32)
    is_new = (slots >= num_old) & (slots < num_species)
    founders = take(genomes, founding.founder)
    representatives = jax.tree.map(
        lambda new, old: jnp.where(is_new[:, None], new, old), founders, representatives
    )
    placement = lax.cond(
        num_species > num_old,
        lambda p: _place(
            config,
            threshold,
            genomes,
            representatives,
            founding.founder,
            num_old,
            num_species,
            p,
        ),
        lambda p: p,
        placement,
    )
    slot = placement.slot
    founder = jnp.where(is_new, founding.founder, population)
    slot = slot.at[founder].set(slots, mode="drop")
    # Only met when species ran out of room, or rounding differs at the threshold.
    slot = jnp.where(slot < 0, placement.nearest_slot, slot)

    table = SpeciesTable(
        species_id=jnp.where(
            is_new, next_species_id + slots - num_old, table.species_id
        ),
        created=jnp.where(is_new, generation, table.created),
        last_improved=jnp.where(is_new, generation, table.last_improved),
        best_score=jnp.where(is_new, -jnp.inf, table.best_score),
        representative=representatives,
        num_species=num_species,
    )
    has_member = jnp.zeros(max_species, bool).at[slot].set(True)
    table, new_slot = keep_species(table, has_member)
    return Speciation(
        species_index=new_slot[slot],
        table=table,
        next_species_id=next_species_id + num_species - num_old,
        overflow=founding.overflow,
    )
