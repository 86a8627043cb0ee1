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


class _Founding(eqx.Module):
    """Species founded so far; `founder` is indexed by slot."""

    founder: Int[Array, " species"]
    num_species: Int[Array, ""]
    waiting: Bool[Array, " population"]
    overflow: Bool[Array, ""]


class _Block(eqx.Module):
    """Founding within one block of waiting genomes; `species` is offered next."""

    species: Int[Array, ""]
    resolved: Bool[Array, " block"]
    founder: Int[Array, " species"]
    num_species: Int[Array, ""]


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

        def goes_on(b):
            has_room = b.num_species < max_species
            return (b.species < b.num_species) | (jnp.any(~b.resolved) & has_room)

        def offer(b):
            # Species founded by earlier blocks first; then the first genome that
            # nobody took founds the next one.
            is_new = b.species >= b.num_species
            first = index[jnp.argmin(b.resolved)]
            founder = jnp.where(is_new, first, b.founder[b.species])
            is_near = distances(block, take(genomes, founder)) < threshold
            return _Block(
                species=b.species + 1,
                resolved=b.resolved | is_near | (index == founder),
                founder=b.founder.at[b.species].set(founder),
                num_species=b.num_species + is_new.astype(jnp.int32),
            )

        start = _Block(num_old, index >= population, state.founder, state.num_species)
        b = lax.while_loop(goes_on, offer, start)
        return _Founding(
            founder=b.founder,
            num_species=b.num_species,
            waiting=state.waiting.at[index].set(False, mode="drop"),
            overflow=state.overflow | jnp.any(~b.resolved),
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


class _Sweep(eqx.Module):
    """Placement of a population, carried over the phases of `speciate`.

    `slot` is -1 for genomes that are nowhere yet; `distance` belongs to it, and
    `nearest_slot` to the nearest species whether compatible or not. `chosen` holds the
    genome that represents each species (the population size if none does).
    """

    representatives: Genome
    chosen: Int[Array, " species"]
    is_taken: Bool[Array, " population"]
    slot: Int[Array, " population"]
    distance: Float[Array, " population"]
    nearest_slot: Int[Array, " population"]
    nearest_distance: Float[Array, " population"]
    founding: _Founding


_CHOOSE, _JOIN_OLD, _JOIN_NEW = 0, 1, 2


def _offer(
    config: NEATConfig,
    threshold: Float[Array, ""],
    phase: Int[Array, ""],
    species: Int[Array, ""],
    distance: Float[Array, " population"],
    sweep: _Sweep,
) -> _Sweep:
    """Offer one species to all genomes, or let it choose its next representative."""
    chooses = phase == _CHOOSE
    nearest = jnp.argmin(jnp.where(sweep.is_taken, jnp.inf, distance))
    nearest = nearest.astype(jnp.int32)
    chosen = sweep.chosen.at[species].set(
        jnp.where(chooses, nearest, sweep.chosen[species])
    )
    is_taken = sweep.is_taken.at[nearest].set(sweep.is_taken[nearest] | chooses)

    # In sequence, genomes before the founder were placed before the species existed.
    index = jnp.arange(distance.shape[0], dtype=jnp.int32)
    first = jnp.where(phase == _JOIN_NEW, sweep.founding.founder[species], 0)
    may_join = (index >= first) & ~chooses
    if config.speciation.assignment == "first":
        joins = may_join & (sweep.slot < 0) & (distance < threshold)
    else:
        joins = may_join & (distance < threshold) & (distance < sweep.distance)
    is_nearer = may_join & (distance < sweep.nearest_distance)
    return dataclasses.replace(
        sweep,
        chosen=chosen,
        is_taken=is_taken,
        slot=jnp.where(joins, species, sweep.slot),
        distance=jnp.where(joins, distance, sweep.distance),
        nearest_slot=jnp.where(is_nearer, species, sweep.nearest_slot),
        nearest_distance=jnp.where(is_nearer, distance, sweep.nearest_distance),
    )


def _finish_choice(genomes: Genome, table: SpeciesTable, sweep: _Sweep) -> _Sweep:
    """Put the chosen representatives in place.

    neat-python's rule: the new representative is the genome nearest to the old one,
    and it belongs to its own species whatever else is near.
    """
    population = genomes.node_id.shape[0]
    species = jnp.arange(table.max_species, dtype=jnp.int32)
    chosen = jnp.where(table.mask, sweep.chosen, population)
    return dataclasses.replace(
        sweep,
        representatives=take(genomes, jnp.minimum(chosen, population - 1)),
        slot=sweep.slot.at[chosen].set(species, mode="drop"),
        distance=sweep.distance.at[chosen].set(-1.0, mode="drop"),
    )


def _finish_joining(
    config: NEATConfig,
    threshold: Float[Array, ""],
    genomes: Genome,
    table: SpeciesTable,
    sweep: _Sweep,
) -> _Sweep:
    """Let those whom no old species took found new ones."""
    num_old, max_species = table.num_species, table.max_species
    founding = _found_species(
        config, threshold, genomes, sweep.slot < 0, num_old, max_species
    )
    slots = jnp.arange(max_species, dtype=jnp.int32)
    is_new = (slots >= num_old) & (slots < founding.num_species)
    founders = take(genomes, founding.founder)
    representatives = jax.tree.map(
        lambda new, old: jnp.where(is_new[:, None], new, old),
        founders,
        sweep.representatives,
    )
    return dataclasses.replace(
        sweep, representatives=representatives, founding=founding
    )


def _sweep_phases(
    config: NEATConfig,
    threshold: Float[Array, ""],
    genomes: Genome,
    table: SpeciesTable,
) -> _Sweep:
    """All phases in one loop, so that distances are compiled only once."""
    population = genomes.node_id.shape[0]
    num_old = table.num_species
    nowhere = jnp.full(population, jnp.inf, jnp.float32)
    start = _Sweep(
        representatives=table.representative,
        chosen=jnp.zeros(table.max_species, jnp.int32),
        is_taken=jnp.zeros(population, bool),
        slot=jnp.full(population, -1, jnp.int32),
        distance=nowhere,
        nearest_slot=jnp.zeros(population, jnp.int32),
        nearest_distance=nowhere,
        founding=_Founding(
            founder=jnp.zeros(table.max_species, jnp.int32),
            num_species=num_old,
            waiting=jnp.zeros(population, bool),
            overflow=jnp.bool_(False),
        ),
    )

    def run_phase(phase, sweep):
        distances = distance_table(config, genomes, sweep.representatives)
        is_new = phase == _JOIN_NEW
        sweep = lax.fori_loop(
            jnp.where(is_new, num_old, 0),
            jnp.where(is_new, sweep.founding.num_species, num_old),
            lambda s, c: _offer(
                config, threshold, phase, s, distances.distances(config, s), c
            ),
            sweep,
        )
        finish = (
            lambda c: _finish_choice(genomes, table, c),
            lambda c: _finish_joining(config, threshold, genomes, table, c),
            lambda c: c,
        )
        return lax.switch(phase, finish, sweep)

    def goes_on(carry):
        # The last phase has nothing to do where nobody founded a species.
        phase, sweep = carry
        return (phase < _JOIN_NEW) | (
            (phase == _JOIN_NEW) & (sweep.founding.num_species > num_old)
        )

    chooses = config.speciation.representative == "nearest"
    first = jnp.int32(_CHOOSE if chooses else _JOIN_OLD)
    _, sweep = lax.while_loop(
        goes_on, lambda carry: (carry[0] + 1, run_phase(*carry)), (first, start)
    )
    return sweep


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
    sweep = _sweep_phases(config, threshold, genomes, table)
    num_species = sweep.founding.num_species
    slots = jnp.arange(max_species, dtype=jnp.int32)
    is_new = (slots >= num_old) & (slots < num_species)
    founder = jnp.where(is_new, sweep.founding.founder, population)
    slot = sweep.slot.at[founder].set(slots, mode="drop")
    # Only met when species ran out of room, or rounding differs at the threshold.
    slot = jnp.where(slot < 0, sweep.nearest_slot, slot)

    table = SpeciesTable(
        species_id=jnp.where(
            is_new, next_species_id + slots - num_old, table.species_id
        ),
        created=jnp.where(is_new, generation, table.created),
        last_improved=jnp.where(is_new, generation, table.last_improved),
        best_score=jnp.where(is_new, -jnp.inf, table.best_score),
        representative=sweep.representatives,
        num_species=num_species,
    )
    has_member = jnp.zeros(max_species, bool).at[slot].set(True)
    table, new_slot = keep_species(table, has_member)
    return Speciation(
        species_index=new_slot[slot],
        table=table,
        next_species_id=next_species_id + num_species - num_old,
        overflow=sweep.founding.overflow,
    )
