"""Capacities: growing them, and noticing that one was too small."""

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from ._genome import LARGEST_GENOME, pad_genome
from ._neat import NEAT, NEATInfo, NEATState
from ._speciation import empty_species

TellFn = Callable[..., tuple[NEATState, NEATInfo]]


class CapacityError(RuntimeError):
    """A generation needed more room than the state has."""


def grow(
    state: NEATState,
    *,
    max_nodes: int | None = None,
    max_links: int | None = None,
    max_species: int | None = None,
) -> NEATState:
    """The same state with larger capacities; nothing else changes."""
    max_nodes = max_nodes or state.max_nodes
    max_links = max_links or state.max_links
    max_species = max_species or state.max_species
    if max_species < state.max_species:
        raise ValueError(
            f"Capacities can only grow: the state has max_species={state.max_species}, "
            f"asked for {max_species}. Ask for at least what is there."
        )
    for name, wanted in (("max_nodes", max_nodes), ("max_links", max_links)):
        if wanted > LARGEST_GENOME:
            raise CapacityError(
                f"{name} would grow to {wanted}, but distances between genomes are "
                f"counted up to {LARGEST_GENOME}. Keep genomes smaller: raise the "
                "rates of deletion, or lower those of addition."
            )
    pad = lambda genome: pad_genome(genome, max_nodes, max_links)
    table = dataclasses.replace(
        state.species, representative=pad(state.species.representative)
    )
    blank = empty_species(max_species, max_nodes, max_links)
    widen = lambda x, empty: jnp.concatenate([x, empty[x.shape[0] :]])
    table = dataclasses.replace(
        table,
        species_id=widen(table.species_id, blank.species_id),
        created=widen(table.created, blank.created),
        last_improved=widen(table.last_improved, blank.last_improved),
        best_score=widen(table.best_score, blank.best_score),
        representative=type(table.representative)(
            **{
                field.name: widen(
                    getattr(table.representative, field.name),
                    getattr(blank.representative, field.name),
                )
                for field in dataclasses.fields(table.representative)
            }
        ),
    )
    return dataclasses.replace(
        state,
        population=pad(state.population),
        best_genome=pad(state.best_genome),
        species=table,
    )


def check_info(info: NEATInfo) -> None:
    """Raise if a generation, or any of a stacked sequence of them, met a limit.

    For runs under `lax.scan`, where nothing can grow: the states from the first such
    generation on are not what NEAT would have made.
    """
    settings = {
        "max_nodes": info.overflow.nodes,
        "max_links": info.overflow.links,
        "max_species": info.overflow.species,
    }
    for name, flags in settings.items():
        flags = np.atleast_1d(np.asarray(flags))
        if flags.any():
            raise CapacityError(
                f"{name} was too small in generation {int(np.argmax(flags))} of the "
                f"{flags.size} given. Set NEATConfig.{name} higher, call `grow` before "
                f"the run, or use `tell_growing`, which grows by itself."
            )
    if np.asarray(info.ids_exhausted).any():
        raise CapacityError(
            "The historical markings ran out of 32-bit ids. Start a new run from the "
            "best genome; no setting can change this."
        )


def _doubled(room: int) -> int:
    """Twice as much, or all that is possible, if that is more than there is."""
    return min(2 * room, LARGEST_GENOME) if room < LARGEST_GENOME else 2 * room


def tell_growing(
    neat: NEAT,
    state: NEATState,
    fitness: Float[Array, " population"],
    *,
    key: Key[Array, ""],
    tell_fn: TellFn | None = None,
) -> tuple[NEATState, NEATInfo]:
    """`tell`, repeated with doubled capacity while a capacity is too small.

    `tell` is pure and does not depend on the capacity, so the result is exactly what a
    state with enough room would have given. Runs on the host; `tell_fn` is usually
    `jax.jit(neat.tell)`.
    """
    tell_fn = neat.tell if tell_fn is None else tell_fn
    while True:
        next_state, info = tell_fn(state, fitness, key=key)
        nodes, links, species = (
            bool(flag)
            for flag in (
                info.overflow.nodes,
                info.overflow.links,
                info.overflow.species,
            )
        )
        if not (nodes or links or species):
            # Nothing overflowed; ids may have run out, which no capacity helps against.
            check_info(info)
            return next_state, info
        # Of the old state, and with the same key: words do not depend on capacities, so
        # that what is drawn again is the same.
        state = grow(
            state,
            max_nodes=_doubled(state.max_nodes) if nodes else state.max_nodes,
            max_links=_doubled(state.max_links) if links else state.max_links,
            max_species=state.max_species * (2 if species else 1),
        )
