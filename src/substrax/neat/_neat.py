"""NEAT as `init`, `ask` and `tell`: pure functions over one state.

Reference: Stanley & Miikkulainen, "Evolving Neural Networks through Augmenting
Topologies", Evolutionary Computation 10(2), 2002.
"""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from .._types import ArrayLike
from ._config import NEATConfig
from ._counting import any_true, count, least, most, total
from ._crossover import cross, cross_equals
from ._draws import draw_offspring
from ._genome import Genome, materialise, select, take
from ._initial import capacities, first_population, initial_pairs
from ._mutation import Counters, Overflow, mutate
from ._random import AnyKey, bits, split, uniform
from ._reproduction import (
    Parents,
    SpeciesStatistics,
    choose_parents,
    quotas,
    rank_members,
    safe_scale,
    scores_of,
    species_statistics,
    update_stagnation,
)
from ._speciation import (
    Speciation,
    SpeciesTable,
    empty_species,
    keep_species,
    speciate,
)
from ._start import Start, make_start, started_population


class NEATState(eqx.Module):
    """All that the next generation depends on, besides fitness and a key.

    `population` is neither evaluated nor placed into species yet: `species` are those
    of its parents that had offspring, and `threshold` decides who joins them.
    `best_genome` is the best ever told, with `best_score` (larger is better, whatever
    the objective) and `last_improved`, the generation it appeared; `last_stuck` is the
    last generation in which only the best species reproduced because nothing improved.
    """

    population: Genome
    species: SpeciesTable
    counters: Counters
    next_species_id: Int[Array, ""]
    threshold: Float[Array, ""]
    generation: Int[Array, ""]
    best_genome: Genome
    best_score: Float[Array, ""]
    last_improved: Int[Array, ""]
    last_stuck: Int[Array, ""]

    @property
    def max_nodes(self) -> int:
        """Capacity for nodes per genome."""
        return self.population.max_nodes

    @property
    def max_links(self) -> int:
        """Capacity for links per genome."""
        return self.population.max_links

    @property
    def max_species(self) -> int:
        """Capacity for species."""
        return self.species.max_species


class NEATInfo(eqx.Module):
    """What a generation was like.

    Fitness, species and the sizes of genomes are about the generation that was told;
    `parent_index` and `threshold` about the one that it begot. `species_index` is the
    slot of each genome's species, to which `species_id` and `species_size` belong. With
    an `overflow`, or with `ids_exhausted`, the new state is not what NEAT would have
    made: see `check_info` and `tell_growing`.
    """

    generation: Int[Array, ""]
    best_fitness: Float[Array, ""]
    best_index: Int[Array, ""]
    mean_fitness: Float[Array, ""]
    num_failed: Int[Array, ""]
    num_species: Int[Array, ""]
    species_index: Int[Array, " population"]
    species_id: Int[Array, " species"]
    species_size: Int[Array, " species"]
    num_stagnant_species: Int[Array, ""]
    mean_nodes: Float[Array, ""]
    mean_links: Float[Array, ""]
    parent_index: Int[Array, "population 2"]
    num_new_species: Int[Array, ""]
    threshold: Float[Array, ""]
    overflow: Overflow
    ids_exhausted: Bool[Array, ""]

    @staticmethod
    def empty() -> "NEATInfo":
        """One that says nothing, for its structure."""
        whole, real, flag = (
            jnp.asarray(np.zeros((), dtype)) for dtype in ("int32", "float32", "bool")
        )
        row, pairs = (
            jnp.asarray(np.zeros(shape, np.int32)) for shape in ((0,), (0, 2))
        )
        return NEATInfo(
            generation=whole,
            best_fitness=real,
            best_index=whole,
            mean_fitness=real,
            num_failed=whole,
            num_species=whole,
            species_index=row,
            species_id=row,
            species_size=row,
            num_stagnant_species=whole,
            mean_nodes=real,
            mean_links=real,
            parent_index=pairs,
            num_new_species=whole,
            threshold=real,
            overflow=Overflow(flag, flag, flag),
            ids_exhausted=flag,
        )


def _as_leaf(x: Any, like: Any) -> Any:
    """Numbers become NumPy scalars: traced by `jit`, and hashable all the same.

    A whole number given for a rate becomes a float, as the default of that field is.
    """
    if isinstance(x, bool) or not isinstance(x, int | float):
        return x
    return np.int32(x) if isinstance(like, int) else np.float32(x)


class NEAT(eqx.Module):
    """NeuroEvolution of Augmenting Topologies over a whole population at once.

    ```python
    neat = NEAT(presets.neat_python(num_inputs=2, num_outputs=1))
    state = neat.init(key=key_init)
    tell = jax.jit(neat.tell)
    for key in jax.random.split(key_run, 100):
        fitness = evaluate(neat.ask(state))
        state, info = tell_growing(neat, state, fitness, key=key, tell_fn=tell)
    ```

    `tell` has the same shapes before and after, so it may stand in a `lax.scan`; there,
    `check_info` afterwards tells whether a capacity was too small. An instance is a
    pytree whose leaves are the rates and thresholds of the configuration: passed into
    a jitted function they are traced, and other values do not compile again.
    """

    config: NEATConfig
    start: Start | None = eqx.field(static=True)

    def __init__(
        self, config: NEATConfig, start: Genome | None = None, jitter: float = 0.1
    ):
        """**Arguments:** the configuration; a genome that the first population is made
        of, or None, and how much its weights differ from it (see `Start`)."""
        self.start = None if start is None else make_start(config, start, jitter)
        numbers, structure = jax.tree.flatten(config)
        defaults = jax.tree.leaves(NEATConfig())
        leaves = [_as_leaf(x, d) for x, d in zip(numbers, defaults, strict=True)]
        self.config = jax.tree.unflatten(structure, leaves)

    def init(self, *, key: Key[Array, ""]) -> NEATState:
        """The first population."""
        config = self.config
        if self.start is None:
            num_nodes = config.num_inputs + config.num_outputs + config.num_hidden
            num_links = len(initial_pairs(config))
            make = first_population
        else:
            num_nodes, num_links = self.start.num_nodes, self.start.num_links
            make = partial(started_population, self.start)
        max_nodes, max_links, max_species = capacities(config, num_nodes, num_links)
        population = make(config, max_nodes, max_links, key=key)
        threshold = jnp.asarray(config.speciation.compatibility_threshold, jnp.float32)
        return NEATState(
            population=population,
            species=empty_species(max_species, max_nodes, max_links),
            counters=Counters(
                jnp.int32(num_nodes),
                jnp.int32(num_links),
                jnp.bool_(False),
            ),
            next_species_id=jnp.int32(0),
            threshold=threshold,
            generation=jnp.int32(0),
            best_genome=jax.tree.map(lambda x: x[0], population),
            best_score=jnp.float32(-jnp.inf),
            last_improved=jnp.int32(0),
            last_stuck=jnp.int32(0),
        )

    def ask(self, state: NEATState) -> Genome:
        """The population to evaluate, with the population axis in front."""
        return state.population

    def tell(
        self,
        state: NEATState,
        fitness: ArrayLike,
        *,
        key: Key[Array, ""],
    ) -> tuple[NEATState, NEATInfo]:
        """Make the next generation.

        **Arguments:** the state; the fitness of each genome of `ask`, in its order,
        where NaN and infinity mean that the evaluation failed; a key, consumed.

        **Returns:** the next state, and what happened.
        """
        config = self.config
        fitness = jnp.asarray(fitness)
        if fitness.shape != (config.population_size,):
            raise ValueError(
                f"fitness has the shape {fitness.shape}; give one number for each of "
                f"the {config.population_size} genomes, in the order of `ask`."
            )
        key_representative, key_offspring = split(key)
        placed = speciate(
            config,
            state.threshold,
            state.population,
            state.species,
            state.next_species_id,
            state.generation,
        )
        species_index = placed.species_index
        score, is_failed = scores_of(config, fitness)
        # The first of equals; one that failed only if all did, see `improves`.
        best_index = jnp.argmax(score).astype(jnp.int32)
        improves = (score[best_index] > state.best_score) & ~is_failed[best_index]
        last_improved = jnp.where(improves, state.generation, state.last_improved)

        statistics = species_statistics(
            config, placed.table, species_index, score, is_failed
        )
        species, reproduces, is_stuck = update_stagnation(
            config,
            placed.table,
            statistics,
            state.generation,
            jnp.maximum(last_improved, state.last_stuck),
        )
        # As in neat-python, stagnant species have no say in the range of scores.
        is_parent = reproduces[species_index]
        quota = quotas(
            config,
            statistics,
            reproduces,
            least(jnp.where(is_parent, score, jnp.inf)),
            most(jnp.where(is_parent, score, -jnp.inf)),
        )
        order = rank_members(species_index, score)
        population, counters, overflow, parents = self._offspring(
            state, statistics, order, score, quota, key=key_offspring
        )

        if config.speciation.representative == "random":
            representative = _random_members(
                state.population, order, statistics, key=key_representative
            )
            species = eqx.tree_at(lambda t: t.representative, species, representative)
        # Stagnant species have no offspring, and die here.
        species, _ = keep_species(species, quota > 0)
        threshold = self._next_threshold(state.threshold, placed.table.num_species)
        best_genome = take(state.population, best_index)
        next_state = NEATState(
            population=population,
            species=species,
            counters=counters,
            next_species_id=placed.next_species_id,
            threshold=threshold,
            generation=state.generation + 1,
            best_genome=select(improves, best_genome, state.best_genome),
            best_score=jnp.where(improves, score[best_index], state.best_score),
            last_improved=last_improved,
            last_stuck=jnp.where(is_stuck, state.generation, state.last_stuck),
        )
        info = _info(
            state,
            next_state,
            placed,
            statistics,
            parents,
            overflow,
            fitness,
            best_index,
            is_failed,
            reproduces,
        )
        return next_state, info

    def _next_threshold(self, threshold, num_species):
        """Move the threshold towards the target number of species, if there is one."""
        c = self.config.speciation
        # The target is a leaf, which a sweep may vary: no condition of Python's.
        direction = jnp.sign(num_species - c.target_num_species).astype(jnp.float32)
        moved = threshold + c.threshold_step * direction
        moved = jnp.clip(moved, c.threshold_min, c.threshold_max)
        return jnp.where(jnp.asarray(c.target_num_species) > 0, moved, threshold)

    def _offspring(
        self,
        state: NEATState,
        statistics: SpeciesStatistics,
        order: Int[Array, " population"],
        score: Float[Array, " population"],
        quota: Int[Array, " species"],
        *,
        key: AnyKey,
    ) -> tuple[Genome, Counters, Overflow, Parents]:
        """Choose parents, cross and mutate."""
        config = self.config
        parent_draws, draws = draw_offspring(
            config,
            config.population_size,
            state.max_nodes,
            state.max_links,
            state.generation >= 0,
            key=key,
        )
        stage = partial(materialise, state.generation >= 0)
        parents = choose_parents(config, statistics, order, score, quota, parent_draws)
        parents = stage(parents)
        first = take(state.population, parents.first)
        second = take(state.population, parents.second)
        first, second = stage((first, second))
        children = jax.vmap(lambda *args: cross(config, *args))(
            first,
            second,
            parents.is_crossed,
            draws.node.crossover,
            draws.link.crossover,
        )
        nodes_full = links_full = jnp.bool_(False)
        if config.crossover.equal_fitness == "both":
            # Both kinds of children are made for all, and one is selected: `vmap` does
            # the same to a condition.
            merged, nodes, links = jax.vmap(lambda *args: cross_equals(config, *args))(
                first, second, draws.node.crossover, draws.link.crossover
            )
            children = jax.vmap(select)(parents.is_equal, merged, children)
            # Of children that are used: others would let capacities grow for nothing.
            nodes_full = any_true(nodes & parents.is_equal)
            links_full = any_true(links & parents.is_equal)
        children = stage(children)
        children, counters, overflow = mutate(
            config, children, parents.is_copy, draws, state.counters
        )
        overflow = Overflow(
            overflow.nodes | nodes_full, overflow.links | links_full, overflow.species
        )
        return children, counters, overflow, parents


def _info(
    state: NEATState,
    next_state: NEATState,
    placed: Speciation,
    statistics: SpeciesStatistics,
    parents: Parents,
    overflow: Overflow,
    fitness: Float[Array, " population"],
    best_index: Int[Array, ""],
    is_failed: Bool[Array, " population"],
    reproduces: Bool[Array, " species"],
) -> NEATInfo:
    """What `tell` tells of a generation and of the one that it begot."""
    num_species = placed.table.num_species
    num_alive = count(reproduces)
    num_failed = count(is_failed)
    num_valid = is_failed.shape[0] - num_failed
    mean = lambda x: total(x).astype(jnp.float32) / jnp.float32(x.shape[0])
    valid_fitness = jnp.where(is_failed, 0.0, fitness)
    # The sum of the largest floats would overflow; their mean does not.
    scale = safe_scale(valid_fitness)
    num = jnp.maximum(num_valid, 1).astype(jnp.float32)
    mean_fitness = jnp.sum(valid_fitness * scale) / num
    return NEATInfo(
        generation=state.generation,
        best_fitness=fitness[best_index],
        best_index=best_index,
        mean_fitness=mean_fitness / scale,
        num_failed=num_failed,
        num_species=num_species,
        species_index=placed.species_index,
        species_id=placed.table.species_id,
        species_size=statistics.size,
        num_stagnant_species=num_species - num_alive,
        mean_nodes=mean(state.population.num_nodes),
        mean_links=mean(state.population.num_links),
        parent_index=jnp.stack([parents.first, parents.second], axis=1),
        num_new_species=placed.next_species_id - state.next_species_id,
        threshold=next_state.threshold,
        overflow=Overflow(overflow.nodes, overflow.links, placed.overflow),
        ids_exhausted=next_state.counters.exhausted,
    )


def _random_members(
    population: Genome,
    order: Int[Array, " population"],
    statistics: SpeciesStatistics,
    *,
    key: AnyKey,
) -> Genome:
    """A random member of each species."""
    size = statistics.size
    start = jnp.cumsum(size) - size
    draw = uniform(bits(key, size.shape))
    rank = (draw * size.astype(jnp.float32)).astype(jnp.int32)
    return take(population, order[jnp.minimum(start + rank, order.shape[0] - 1)])
