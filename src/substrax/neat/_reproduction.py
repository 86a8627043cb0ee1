"""Who lives, and who has how many children (Stanley & Miikkulainen, 2002, 3.3, 4.1)."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ._config import NEATConfig
from ._counting import least, rank_descending, running_count, true_first
from ._draws import ParentDraws
from ._genome import stable_sum
from ._random import uniform
from ._speciation import SpeciesTable


def scores_of(
    config: NEATConfig, fitness: Float[Array, " population"]
) -> tuple[Float[Array, " population"], Bool[Array, " population"]]:
    """Fitness turned so that larger is better, and which evaluations failed.

    A NaN or infinite fitness fails: its genome scores a little below the worst of the
    others, so it ranks last and hardly moves a mean.
    """
    is_failed = ~jnp.isfinite(fitness)
    score = fitness if config.maximise else -fitness
    worst = least(jnp.where(is_failed, jnp.inf, score))
    worst = jnp.where(jnp.isfinite(worst), worst, 0.0)
    # Not the next number: below 0 that is subnormal, which processors may flush to 0.
    below = worst - jnp.maximum(jnp.abs(worst) * 2.0**-20, 1e-30)
    # The worst may be the smallest float already; below it there is only -inf.
    below = jnp.maximum(below, jnp.finfo(jnp.float32).min)
    return jnp.where(is_failed, below, score), is_failed


def safe_scale(*numbers: Float[Array, "..."]) -> Float[Array, ""]:
    """What to multiply by so that sums and differences of such numbers stay finite.

    1, unless they are huge; a power of two, so that nothing is rounded.
    """
    largest = jnp.stack([jnp.max(jnp.abs(x)) for x in numbers]).max()
    return jnp.where(largest > 1e18, jnp.float32(2.0**-64), jnp.float32(1.0))


class SpeciesStatistics(eqx.Module):
    """Per species: members, mean score, and the score that stagnation looks at."""

    size: Int[Array, " species"]
    mean_score: Float[Array, " species"]
    score: Float[Array, " species"]


def species_statistics(
    config: NEATConfig,
    table: SpeciesTable,
    species_index: Int[Array, " population"],
    score: Float[Array, " population"],
    is_failed: Bool[Array, " population"] | None = None,
) -> SpeciesStatistics:
    """Gather the members' scores; a species whose members all failed has -inf."""
    n = table.max_species
    size = jax.ops.segment_sum(jnp.ones_like(species_index), species_index, n)
    scale = safe_scale(score)
    total = jax.ops.segment_sum(score * scale, species_index, n)
    mean = total / jnp.maximum(size, 1).astype(jnp.float32) / scale
    kind = config.reproduction.species_fitness
    if kind == "mean":
        judged = mean
    elif kind == "min":
        judged = jax.ops.segment_min(score, species_index, n)
    else:
        judged = jax.ops.segment_max(score, species_index, n)
    # Failed members have a score just below the worst, which would count as an
    # improvement in a species that has none yet.
    is_judged = table.mask
    if is_failed is not None:
        valid = (~is_failed).astype(jnp.int32)
        is_judged = is_judged & (jax.ops.segment_sum(valid, species_index, n) > 0)
    return SpeciesStatistics(size, mean, jnp.where(is_judged, judged, -jnp.inf))


def update_stagnation(
    config: NEATConfig,
    table: SpeciesTable,
    statistics: SpeciesStatistics,
    generation: Int[Array, ""],
    population_since: Int[Array, ""],
) -> tuple[SpeciesTable, Bool[Array, " species"], Bool[Array, ""]]:
    """Record improvements and say which species may reproduce.

    `population_since` is when the whole population improved, or when it was last found
    to be stuck: the third result says whether it is found so now.

    "If the maximum fitness of a species did not improve in 15 generations, the networks
    in the stagnant species were not allowed to reproduce" (section 4.1); "in rare cases
    when the fitness of the entire population does not improve for more than 20
    generations, only the top two species are allowed to reproduce" (section 3.3). The
    best species are spared in any case, so the population never dies out.
    """
    c = config.reproduction
    improves = table.mask & (statistics.score > table.best_score)
    table = dataclasses.replace(
        table,
        best_score=jnp.maximum(table.best_score, statistics.score),
        last_improved=jnp.where(improves, generation, table.last_improved),
    )
    # Of equals the older species leads: slots are in the order of age.
    rank = rank_descending(statistics.score, table.mask)
    # "in 15 generations" includes the 15th, "for more than 20" not the 20th.
    is_stagnant = (generation - table.last_improved >= c.max_stagnation) & (
        jnp.asarray(c.max_stagnation) > 0
    )
    is_spared = rank < jnp.maximum(c.species_elitism, 1)
    reproduces = table.mask & (~is_stagnant | is_spared)
    is_stuck = (generation - population_since > c.population_stagnation) & (
        jnp.asarray(c.population_stagnation) > 0
    )
    is_top = rank < c.population_stagnation_species
    return table, reproduces & (~is_stuck | is_top), is_stuck


def _adjust(
    quota: Int[Array, " species"],
    mask: Bool[Array, " species"],
    total: int,
    minimum: Int[Array, ""],
    gain_rank: Int[Array, " species"],
) -> Int[Array, " species"]:
    """Change quotas so that they sum to `total`.

    Missing offspring are handed out in the order of `gain_rank`, one each, again and
    again; superfluous ones are taken from the largest quotas first, one each per
    round, never below the minimum.
    """
    count = jnp.maximum(jnp.sum(mask, dtype=jnp.int32), 1)
    missing = jnp.maximum(total - jnp.sum(quota), 0)
    # As if in rounds: so many whole ones, and the rest to those who are first.
    gain = missing // count + (gain_rank < missing % count).astype(jnp.int32)
    quota = quota + jnp.where(mask, gain, 0)
    # Ranked once, before the first round, as neat-python sorts its list.
    loss_rank = rank_descending(quota, mask)

    def too_many(quota):
        return jnp.sum(quota) > total

    def take_round(quota):
        can_lose = mask & (quota > minimum)
        rank = rank_descending(-loss_rank, can_lose)
        loses = can_lose & (rank < jnp.sum(quota) - total)
        return quota - loses.astype(jnp.int32)

    # Ends: `minimum` is at most an equal share, so that there is somebody who can lose.
    return lax.while_loop(too_many, take_round, quota)


def quotas(
    config: NEATConfig,
    statistics: SpeciesStatistics,
    reproduces: Bool[Array, " species"],
    worst: Float[Array, ""],
    best: Float[Array, ""],
) -> Int[Array, " species"]:
    """Offspring of each species; the sum is exactly the population size.

    Explicit fitness sharing: a member's fitness is divided by the size of its species,
    so what a species is worth is the mean of its members. "Every species is assigned a
    potentially different number of offspring in proportion to the sum of adjusted
    fitnesses of its member organisms" (section 3.3). `worst` and `best` are scores
    among the members of reproducing species; a negative `worst` shifts all scores,
    which the paper, with fitnesses above zero, has no need for.
    """
    c = config.reproduction
    total = config.population_size
    count = jnp.maximum(jnp.sum(reproduces, dtype=jnp.int32), 1)
    elites = jnp.asarray(c.elitism if c.quota == "damped" else 0, jnp.int32)
    minimum = jnp.maximum(jnp.asarray(c.min_species_size, jnp.int32), elites)
    # Or the minima alone would exceed the population, where neat-python stops with an
    # error.
    minimum = jnp.minimum(minimum, total // count)
    floor = minimum.astype(jnp.float32)
    scale = safe_scale(worst, best)
    mean, worst, best = statistics.mean_score * scale, worst * scale, best * scale
    if c.quota == "damped":
        # neat-python's `max(1.0, range)`, where 1.0 is scaled as all else.
        spread = jnp.maximum(scale, best - worst)
        shared = (mean - worst) / spread
    else:
        shared = mean - jnp.minimum(worst, 0.0)
    # Below 0 by rounding only: no mean lies below the worst.
    shared = jnp.where(reproduces, jnp.maximum(shared, 0.0), 0.0)
    sum_shared = stable_sum(shared)
    share = shared / jnp.where(sum_shared > 0, sum_shared, 1.0)

    if c.quota == "damped":
        # neat-python's: half-way from the present size, rescaled, then made exact.
        present = statistics.size.astype(jnp.float32)
        ideal = jnp.where(sum_shared > 0, jnp.maximum(floor, share * total), floor)
        # Rounded to even as Python's `round` does; a step that rounds to 0 is one of 1.
        step = (ideal - present) * 0.5
        rounded = jnp.round(step)
        step = jnp.where(jnp.abs(rounded) > 0, rounded, jnp.sign(step))
        spawn = jnp.where(reproduces, present + step, 0.0)
        spawn = jnp.round(spawn * (total / jnp.maximum(stable_sum(spawn), 1.0)))
        quota = jnp.maximum(spawn, floor).astype(jnp.int32)
        quota = jnp.where(reproduces, quota, 0)
        gain_rank = rank_descending(-quota, reproduces)
        return _adjust(quota, reproduces, total, minimum, gain_rank)

    even = jnp.where(reproduces, 1.0 / count.astype(jnp.float32), 0.0)
    ideal = jnp.where(sum_shared > 0, share, even) * total
    whole = jnp.floor(ideal)
    # The largest remainders get what rounding down left over.
    gain_rank = rank_descending(ideal - whole, reproduces)
    quota = jnp.where(reproduces, jnp.maximum(whole, floor), 0.0).astype(jnp.int32)
    return _adjust(quota, reproduces, total, minimum, gain_rank)


class Parents(eqx.Module):
    """Parents of each offspring, as indices into the old population.

    `first` gives the structure: it is the fitter one. `is_copy` marks champions, which
    are `first` unchanged; `is_crossed` those with two different parents.
    """

    first: Int[Array, " population"]
    second: Int[Array, " population"]
    is_copy: Bool[Array, " population"]
    is_crossed: Bool[Array, " population"]
    is_equal: Bool[Array, " population"]


def rank_members(
    species_index: Int[Array, " population"], score: Float[Array, " population"]
) -> Int[Array, " population"]:
    """The population ordered by species, the best of each first.

    Among equals the later genome leads: champions come first in a population, so this
    lets a child replace the champion that it equals, and neutral change go on.
    """
    # Reversed, a stable sort puts the later of two equals first.
    index = jnp.arange(score.shape[0], dtype=jnp.int32)
    keys = (species_index[::-1], -score[::-1], index[::-1])
    *_, order = lax.sort(keys, num_keys=2, is_stable=True)
    return order


def choose_parents(
    config: NEATConfig,
    statistics: SpeciesStatistics,
    order: Int[Array, " population"],
    score: Float[Array, " population"],
    quota: Int[Array, " species"],
    draws: ParentDraws,
) -> Parents:
    """Fill the quotas: champions first, then children of the surviving members.

    "The champion of each species with more than five networks was copied into the next
    generation unchanged" (section 4.1). "Species then reproduce by first eliminating
    the lowest performing members from the population" (section 3.3).
    """
    c, rates = config.reproduction, config.crossover
    size = statistics.size
    # Where each species begins in `order`, which has one behind the other.
    start = jnp.cumsum(size) - size
    end = jnp.cumsum(quota)
    child = jnp.arange(config.population_size, dtype=jnp.int32)
    # From the right: species without offspring end where they begin, and are skipped.
    species = jnp.searchsorted(end, child, side="right", method="compare_all")
    species = species.astype(jnp.int32)
    place = child - (end - quota)[species]

    elites = jnp.where(size >= c.elitism_min_size, c.elitism, 0)
    elites = jnp.minimum(elites, size).astype(jnp.int32)
    is_copy = place < elites[species]

    # Slightly less than the product, or 0.3 of 10 members might round up to 4.
    survivors = jnp.ceil(size.astype(jnp.float32) * c.survival_rate * (1.0 - 1e-6))
    survivors = jnp.maximum(survivors.astype(jnp.int32), c.min_parents)
    survivors = jnp.clip(survivors, 1, jnp.maximum(size, 1))

    def draw_from(species, words):
        rank = uniform(words) * survivors[species].astype(jnp.float32)
        rank = rank.astype(jnp.int32)
        return order[start[species] + rank]

    reproduces = quota > 0
    count = jnp.sum(reproduces, dtype=jnp.int32)
    # Drawn is one of the others: numbers from one's own on move up by one. With a
    # single species this means nothing, and `is_foreign` is false.
    slot_of_rank = true_first(reproduces)
    rank_of_slot = running_count(reproduces) - 1
    other = uniform(draws.species_abroad) * (count - 1).astype(jnp.float32)
    other = other.astype(jnp.int32)
    other += (other >= rank_of_slot[species]).astype(jnp.int32)
    abroad = uniform(draws.mates_abroad)
    is_foreign = (abroad < rates.interspecies_rate) & (count > 1)
    partner_species = jnp.where(is_foreign, slot_of_rank[other], species)

    champion = order[start[species] + jnp.where(is_copy, place, 0)]
    first = draw_from(species, draws.first)
    second = draw_from(partner_species, draws.second)
    is_crossed = uniform(draws.crosses) < rates.crossover_rate
    # Not with itself, or the rule for two parents might enable its disabled genes.
    is_crossed &= ~is_copy & (first != second)
    is_equal = is_crossed & (score[second] == score[first])
    # The lower bits of a draw whose upper ones decide on interspecies mating.
    coin = (abroad * 2.0**20).astype(jnp.int32) % 2 == 1
    swaps = is_crossed & ((score[second] > score[first]) | (is_equal & coin))
    first, second = jnp.where(swaps, second, first), jnp.where(swaps, first, second)
    first = jnp.where(is_copy, champion, first)
    return Parents(
        first=first,
        second=jnp.where(is_crossed, second, first),
        is_copy=is_copy,
        is_crossed=is_crossed,
        is_equal=is_equal,
    )
