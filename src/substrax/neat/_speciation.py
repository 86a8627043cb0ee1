"""Species and how genomes find theirs (Stanley & Miikkulainen, 2002, section 3.3).

"An ordered list of species is maintained. In each generation, genomes are sequentially
placed into species. Each existing species is represented by a random genome inside the
species from the previous generation. A given genome g in the current generation is
placed in the first species in which g is compatible with the representative genome of
that species. [...] If g is not compatible with any existing species, a new species is
created with g as its representative."

Sequential is only the founding of species, by the few genomes that no existing species
takes; everything else is one pass per species over the whole population.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ._config import NEATConfig
from ._counting import running_count, true_first
from ._distance import distance_table
from ._genome import Genome, empty_genome, select, take


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
    rank = running_count(keep)
    blank = empty_species(
        table.max_species,
        table.representative.max_nodes,
        table.representative.max_links,
    )
    # Kept slots come first, in order; what follows is blanked.
    order = true_first(keep)
    is_filled = jnp.arange(table.max_species, dtype=jnp.int32) < rank[-1]

    def move(x, empty):
        filled = is_filled.reshape(is_filled.shape + (1,) * (x.ndim - 1))
        # (`true_first` is in bounds even where it means nothing)
        moved = x.at[order].get(mode="promise_in_bounds")
        return jnp.where(filled, moved, empty)

    kept = SpeciesTable(
        species_id=move(table.species_id, blank.species_id),
        created=move(table.created, blank.created),
        last_improved=move(table.last_improved, blank.last_improved),
        best_score=move(table.best_score, blank.best_score),
        representative=jax.tree.map(move, table.representative, blank.representative),
        num_species=rank[-1],
    )
    return kept, rank - 1


class _Sweep(eqx.Module):
    """Placement of a population, carried over the phases of `speciate`.

    `slot` is -1 for genomes that are nowhere yet; `distance` belongs to it.
    `representative` is the genome that represents each species, by its number in the
    population. `offered` are the genomes whose distances the next phase needs.
    """

    offered: Genome
    offered_index: Int[Array, " species"]
    representative: Int[Array, " species"]
    is_taken: Bool[Array, " population"]
    slot: Int[Array, " population"]
    distance: Float[Array, " population"]
    num_species: Int[Array, ""]
    num_waiting: Int[Array, ""]


_CHOOSE, _JOIN, _FOUND = 0, 1, 2


def _offer(
    config: NEATConfig,
    threshold: Float[Array, ""],
    phase: Int[Array, ""],
    row: Int[Array, ""],
    distance: Float[Array, " population"],
    sweep: _Sweep,
) -> _Sweep:
    """Offer one species to all genomes, or let it choose its next representative."""
    chooses, founds = phase == _CHOOSE, phase == _FOUND
    species = jnp.where(founds, sweep.num_species, row)
    founder = sweep.offered_index[row]
    nearest = jnp.argmin(jnp.where(sweep.is_taken, jnp.inf, distance))
    nearest = nearest.astype(jnp.int32)
    representative = sweep.representative[species]
    representative = jnp.where(chooses, nearest, representative)
    representative = jnp.where(founds, founder, representative)

    # In sequence, genomes before the founder were placed before the species existed.
    index = jnp.arange(distance.shape[0], dtype=jnp.int32)
    may_join = (index >= jnp.where(founds, founder, 0)) & ~chooses
    # A founder is at distance 0, which is not below a threshold of 0.
    is_near = (distance < threshold) | (founds & (index == founder))
    if config.speciation.assignment == "first":
        joins = may_join & (sweep.slot < 0) & is_near
    else:
        # Also from a species that was founded before: in sequence, such a genome would
        # have seen both. Of equally near ones the older stays.
        joins = may_join & is_near & (distance < sweep.distance)
    return dataclasses.replace(
        sweep,
        representative=sweep.representative.at[species].set(representative),
        is_taken=sweep.is_taken | (chooses & (index == nearest)),
        slot=jnp.where(joins, species, sweep.slot),
        distance=jnp.where(joins, distance, sweep.distance),
        num_species=sweep.num_species + founds.astype(jnp.int32),
    )


def _next_phase(
    phase: Int[Array, ""], genomes: Genome, table: SpeciesTable, sweep: _Sweep
) -> _Sweep:
    """Settle a phase, and say which genomes the next one is about."""
    population = genomes.node_id.shape[0]
    chooses = phase == _CHOOSE
    # neat-python's rule: the new representative is the genome nearest to the old one,
    # and it belongs to its own species whatever else is near.
    species = jnp.arange(table.max_species, dtype=jnp.int32)
    # Beyond the last genome, where nothing is written, for all that do not choose.
    own = jnp.where(chooses & table.mask, sweep.representative, population)
    slot = sweep.slot.at[own].set(species, mode="drop")
    # Nearer than anything, so that no other species takes a representative away.
    distance = sweep.distance.at[own].set(-1.0, mode="drop")

    # Those who are nowhere yet may found a species, in the order of the population: as
    # many at a time as a table holds, until the first of them took all others in.
    is_waiting = slot < 0
    rank = running_count(is_waiting)
    place = jnp.where(is_waiting, rank - 1, table.max_species)
    index = jnp.arange(population, dtype=jnp.int32)
    # Places behind those who wait name genome 0; such rows are never offered.
    waiting = jnp.zeros(table.max_species, jnp.int32).at[place].set(index, mode="drop")
    # After the choice, species offer what they chose; then come those who wait.
    offered_index = jnp.where(chooses, sweep.representative, waiting)
    return dataclasses.replace(
        sweep,
        offered=take(genomes, offered_index),
        offered_index=offered_index,
        slot=slot,
        distance=distance,
        num_waiting=rank[-1],
    )


def _sweep_phases(
    config: NEATConfig,
    threshold: Float[Array, ""],
    genomes: Genome,
    table: SpeciesTable,
) -> _Sweep:
    """All phases in one loop, so that distances are compiled only once.

    Species choose their representatives, existing species are offered, and then, as
    often as needed, genomes that are nowhere yet found new ones.
    """
    population = genomes.node_id.shape[0]
    max_species = table.max_species
    zeros = jnp.zeros(max_species, jnp.int32)
    chooses = config.speciation.representative == "nearest"
    start = _Sweep(
        offered=table.representative,
        offered_index=zeros,
        representative=zeros,
        is_taken=jnp.zeros(population, bool),
        slot=jnp.full(population, -1, jnp.int32),
        distance=jnp.full(population, jnp.inf, jnp.float32),
        num_species=table.num_species,
        num_waiting=jnp.int32(population),
    )

    def run_phase(phase, sweep):
        distances = distance_table(config, genomes, sweep.offered)
        founds = phase == _FOUND
        # More may wait than a table has rows: the rest comes in the next round.
        rows = jnp.arange(max_species, dtype=jnp.int32)
        num_rows = jnp.where(founds, sweep.num_waiting, table.num_species)

        def next_row(row, sweep):
            # A genome that a species founded before it took founds none.
            is_placed = sweep.slot[sweep.offered_index] >= 0
            is_open = (rows >= row) & (rows < num_rows) & ~(founds & is_placed)
            # A full table ends the search; `num_waiting` then tells of the overflow.
            is_open &= ~founds | (sweep.num_species < max_species)
            return jnp.min(jnp.where(is_open, rows, max_species))

        def step(carry):
            row, sweep = carry
            distance = distances.distances(config, row)
            sweep = _offer(config, threshold, phase, row, distance, sweep)
            return next_row(row + 1, sweep), sweep

        _, sweep = lax.while_loop(
            lambda carry: carry[0] < max_species,
            step,
            (next_row(jnp.int32(0), sweep), sweep),
        )
        return _next_phase(phase, genomes, table, sweep)

    def goes_on(carry):
        phase, sweep = carry
        is_full = sweep.num_species >= max_species
        return (phase < _FOUND) | ((sweep.num_waiting > 0) & ~is_full)

    def step(carry):
        phase, sweep = carry
        return jnp.minimum(phase + 1, _FOUND), run_phase(phase, sweep)

    first = jnp.int32(_CHOOSE if chooses else _JOIN)
    return lax.while_loop(goes_on, step, (first, start))[1]


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
    num_old, max_species = table.num_species, table.max_species
    sweep = _sweep_phases(config, threshold, genomes, table)
    num_species = sweep.num_species
    slots = jnp.arange(max_species, dtype=jnp.int32)
    is_new = (slots >= num_old) & (slots < num_species)
    representatives = take(genomes, sweep.representative)
    if config.speciation.representative != "nearest":
        representatives = jax.vmap(select)(
            is_new, representatives, table.representative
        )
    # Genomes are nowhere only if there was no room for their species.
    slot = jnp.maximum(sweep.slot, 0)

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
        overflow=sweep.num_waiting > 0,
    )
