"""Fitness sharing, quotas, stagnation and parents (sections 3.3 and 4.1)."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.neat import (
    NEAT,
    CrossoverConfig,
    MutationConfig,
    NEATConfig,
    ReproductionConfig,
    SpeciationConfig,
)
from substrax.neat._draws import ParentDraws, name_words, num_draws
from substrax.neat._reproduction import (
    SpeciesStatistics,
    choose_parents,
    quotas,
    rank_members,
    scores_of,
    species_statistics,
    update_stagnation,
)
from substrax.neat._speciation import empty_species


def _config(population_size=10, **kwargs):
    return NEATConfig(
        population_size=population_size, reproduction=ReproductionConfig(**kwargs)
    )


def _statistics(sizes, means):
    return SpeciesStatistics(
        size=jnp.array(sizes, jnp.int32),
        mean_score=jnp.array(means, jnp.float32),
        score=jnp.array(means, jnp.float32),
    )


def _table(count, max_species=4, **fields):
    table = empty_species(max_species, 4, 4)
    return dataclasses.replace(table, num_species=jnp.int32(count), **fields)


_quotas = jax.jit(quotas)


def _quota(config, sizes, means, alive=None, worst=0.0, best=1.0):
    alive = [True] * len(sizes) if alive is None else alive
    return np.asarray(
        _quotas(
            config,
            _statistics(sizes, means),
            jnp.array(alive),
            jnp.float32(worst),
            jnp.float32(best),
        )
    )


def test_explicit_fitness_sharing_divides_by_the_size_of_the_species():
    """The adjusted fitness of a member is f / |S|; their sum is the mean of S."""
    config = _config(8)
    statistics = species_statistics(
        config,
        _table(2),
        jnp.array([0, 0, 0, 1, 1, 0, 0, 0], jnp.int32),
        jnp.array([1.0, 2.0, 3.0, 10.0, 30.0, 4.0, 5.0, 3.0]),
    )
    np.testing.assert_array_equal(statistics.size[:2], [6, 2])
    np.testing.assert_allclose(statistics.mean_score[:2], [3.0, 20.0])
    np.testing.assert_allclose(statistics.score[:2], [5.0, 30.0])


def test_offspring_are_in_proportion_to_shared_fitness():
    """ "Every species is assigned a potentially different number of offspring in
    proportion to the sum of adjusted fitnesses of its member organisms." """
    np.testing.assert_array_equal(_quota(_config(), [5, 5], [3.0, 1.0]), [8, 2])
    np.testing.assert_array_equal(_quota(_config(), [8, 2], [3.0, 7.0]), [3, 7])


@pytest.mark.parametrize("quota", ["proportional", "damped"])
@pytest.mark.parametrize("seed", range(8))
def test_quotas_sum_to_the_population_size(quota, seed):
    rng = np.random.default_rng(seed)
    sizes = rng.multinomial(150, rng.dirichlet(np.ones(8))).tolist()
    config = _config(150, quota=quota, min_species_size=int(rng.integers(0, 4)))
    means = rng.normal(size=8) * 10
    alive = rng.random(8) < 0.7
    alive[0] = True
    result = _quota(config, sizes, means, alive.tolist(), means.min(), means.max())
    assert result.sum() == 150
    assert (result[~alive] == 0).all() and (result >= 0).all()


def test_negative_fitness_is_shifted_before_it_is_shared():
    result = _quota(_config(), [5, 5], [-4.0, -1.0], worst=-5.0, best=0.0)
    np.testing.assert_array_equal(result, [2, 8])


def test_equal_shares_where_nobody_has_any_fitness():
    np.testing.assert_array_equal(_quota(_config(), [9, 1], [0.0, 0.0]), [5, 5])


@pytest.mark.parametrize("seed", range(12))
def test_damped_quotas_are_those_of_neat_python(seed):
    reproduction = pytest.importorskip("neat.reproduction").DefaultReproduction
    rng = np.random.default_rng(seed)
    sizes = (rng.multinomial(120, rng.dirichlet(np.ones(6))) + 5).tolist()
    means = rng.uniform(0.0, 3.0, 6).astype(np.float32)
    worst, best = float(means.min()) - 0.5, float(means.max()) + 0.5
    config = _config(150, quota="damped", min_species_size=2, elitism=2)
    shared = [(float(m) - worst) / max(1.0, best - worst) for m in means]
    expected = reproduction.compute_spawn(shared, sizes, 150, 2)
    expected = reproduction._adjust_spawn_exact(None, list(expected), 150, 2)
    result = _quota(config, sizes, means.tolist(), None, worst, best)
    np.testing.assert_array_equal(result, expected)


def test_a_species_without_improvement_for_15_generations_does_not_reproduce():
    """ "If the maximum fitness of a species did not improve in 15 generations, the
    networks in the stagnant species were not allowed to reproduce." """
    table = _table(
        3,
        best_score=jnp.array([5.0, 5.0, 5.0, -jnp.inf]),
        last_improved=jnp.array([5, 6, 5, 0], jnp.int32),
    )
    statistics = _statistics([1, 1, 1, 0], [4.0, 3.0, 2.0, 0.0])
    table, alive, _ = update_stagnation(
        _config(max_stagnation=15), table, statistics, jnp.int32(20), jnp.int32(20)
    )
    # The first is the best one and spared; the second improved 14 generations ago.
    np.testing.assert_array_equal(alive, [True, True, False, False])


def test_improvement_resets_stagnation():
    table = _table(1, best_score=jnp.array([1.0, 0.0, 0.0, 0.0]))
    statistics = _statistics([1, 0, 0, 0], [2.0, 0.0, 0.0, 0.0])
    table, _, _ = update_stagnation(
        _config(), table, statistics, jnp.int32(40), jnp.int32(40)
    )
    assert int(table.last_improved[0]) == 40
    assert float(table.best_score[0]) == 2.0


def test_only_the_top_two_species_reproduce_when_the_population_is_stuck():
    """ "When the fitness of the entire population does not improve for more than 20
    generations, only the top two species are allowed to reproduce." """
    statistics = _statistics([1, 1, 1, 0], [1.0, 3.0, 2.0, 0.0])
    config = _config(population_stagnation=20, max_stagnation=0)
    table = _table(3)
    _, alive, is_stuck = update_stagnation(
        config, table, statistics, jnp.int32(30), jnp.int32(10)
    )
    assert np.asarray(alive)[:3].all() and not is_stuck
    _, alive, is_stuck = update_stagnation(
        config, table, statistics, jnp.int32(31), jnp.int32(10)
    )
    np.testing.assert_array_equal(alive[:3], [False, True, True])
    assert is_stuck


def test_a_population_that_is_stuck_is_left_in_peace_for_as_long_again():
    """Else all but the best species would die in every generation from then on."""
    config = NEATConfig(
        num_inputs=2,
        population_size=40,
        mutation=MutationConfig(add_node_rate=0.3, add_link_rate=0.5),
        speciation=SpeciationConfig(target_num_species=8),
        reproduction=ReproductionConfig(population_stagnation=5),
    )
    neat = NEAT(config)
    state = neat.init(key=jax.random.key(0))
    tell = jax.jit(neat.tell)
    stuck = []
    for k in range(25):
        state, _ = tell(state, jnp.ones(40), key=jax.random.key(k))
        stuck.append(int(state.last_stuck))
    assert sorted(set(stuck)) == [0, 6, 12, 18, 24]


def _parents(config, species, scores, quota, seed=0):
    species = jnp.array(species, jnp.int32)
    scores = jnp.array(scores, jnp.float32)
    statistics = species_statistics(config, _table(2), species, scores)
    shape = (config.population_size, num_draws(ParentDraws))
    words = jax.random.bits(jax.random.key(seed), shape)
    return jax.jit(choose_parents)(
        config,
        statistics,
        rank_members(species, scores),
        scores,
        jnp.array([*quota, 0, 0], jnp.int32),
        name_words(ParentDraws, words, -1),
    )


def test_the_champion_of_a_species_of_more_than_five_is_copied():
    """ "The champion of each species with more than five networks was copied into the
    next generation unchanged." """
    parents = _parents(
        _config(11), [0] * 6 + [1] * 5, [*range(6), *range(10, 15)], [6, 5]
    )
    np.testing.assert_array_equal(np.nonzero(np.asarray(parents.is_copy))[0], [0])
    assert int(parents.first[0]) == 5


def test_only_the_best_share_of_a_species_become_parents():
    """ "Species then reproduce by first eliminating the lowest performing members." """
    config = dataclasses.replace(
        _config(200, survival_rate=0.3, elitism=0),
        crossover=CrossoverConfig(interspecies_rate=0.0),
    )
    scores = np.random.default_rng(0).permutation(200).astype(np.float32)
    parents = _parents(config, [0] * 100 + [1] * 100, scores, [100, 100])
    first, second = np.asarray(parents.first), np.asarray(parents.second)
    best = set(np.argsort(-scores[:100])[:30].tolist())
    assert set(first[:100].tolist()) <= best and set(second[:100].tolist()) <= best
    assert len(set(first[:100].tolist())) > 15


@pytest.mark.parametrize(
    ("rate", "size", "num"),
    [
        (0.3, 10, 3),
        (0.3, 11, 4),
        (0.05, 10, 1),
        (0.05, 41, 3),
        (1.0, 7, 7),
        (0.5, 1, 1),
    ],
)
def test_so_many_become_parents_and_no_more(rate, size, num):
    """The share of the species, rounded up; one at least."""
    config = dataclasses.replace(
        _config(2000, survival_rate=rate, elitism=0),
        crossover=CrossoverConfig(interspecies_rate=0.0),
    )
    species = [0] * size + [1] * (2000 - size)
    scores = np.random.default_rng(0).permutation(2000).astype(np.float32)
    parents = _parents(config, species, scores, [1990, 10])
    best = set(np.argsort(-scores[:size])[:num].tolist())
    assert set(np.asarray(parents.first)[:1990].tolist()) == best
    assert set(np.asarray(parents.second)[:1990].tolist()) <= best


def test_members_are_ranked_within_species_and_the_later_of_equals_leads():
    species = jnp.array([0, 0, 1, 0, 1], jnp.int32)
    order = rank_members(species, jnp.array([1.0, 1.0, 5.0, 2.0, 7.0]))
    np.testing.assert_array_equal(order, [3, 1, 0, 4, 2])


def test_the_first_parent_is_the_fitter_one():
    config = _config(100, survival_rate=1.0)
    scores = np.arange(100.0)
    parents = _parents(config, [0] * 100, scores, [100, 0])
    crossed = np.asarray(parents.is_crossed)
    assert (np.asarray(parents.first) > np.asarray(parents.second))[crossed].all()


def test_a_quarter_of_the_offspring_has_one_parent():
    """ "In each generation, 25% of offspring resulted from mutation without
    crossover." """
    config = _config(2000, survival_rate=1.0, elitism=0)
    parents = _parents(config, [0] * 2000, np.arange(2000.0), [2000, 0])
    assert abs(np.asarray(parents.is_crossed).mean() - 0.75) < 0.04


def test_interspecies_mating_happens_at_its_rate():
    config = dataclasses.replace(
        _config(1000, survival_rate=1.0, elitism=0),
        crossover=CrossoverConfig(crossover_rate=1.0, interspecies_rate=0.2),
    )
    species = np.repeat([0, 1], 500)
    parents = _parents(config, species.tolist(), np.zeros(1000), [500, 500])
    first, second = np.asarray(parents.first), np.asarray(parents.second)
    foreign = species[first] != species[second]
    assert abs(foreign.mean() - 0.2) < 0.05


@pytest.mark.parametrize("maximise", [True, False])
def test_a_failed_evaluation_is_the_worst_and_stays_finite(maximise):
    config = NEATConfig(maximise=maximise)
    fitness = jnp.array([1.0, jnp.nan, -3.0, jnp.inf, 2.0, -jnp.inf])
    score, failed = scores_of(config, fitness)
    np.testing.assert_array_equal(failed, [False, True, False, True, False, True])
    assert np.isfinite(np.asarray(score)).all()
    assert np.asarray(score)[[1, 3, 5]].max() < np.asarray(score)[[0, 2, 4]].min()
    assert int(jnp.argmax(score)) == (4 if maximise else 2)


def test_all_evaluations_may_fail():
    score, failed = scores_of(NEATConfig(), jnp.full(3, jnp.nan))
    assert np.asarray(failed).all() and np.isfinite(np.asarray(score)).all()


@pytest.mark.parametrize("fitness", [[jnp.nan, *[0.0] * 7], [*[0.0] * 7, jnp.nan]])
def test_a_failed_evaluation_is_never_as_good_as_zero(fitness):
    """0 is where the next smaller float is subnormal and may be flushed."""
    score, failed = jax.jit(lambda f: scores_of(NEATConfig(), f))(jnp.array(fitness))
    assert (score[failed] < score[~failed].min()).all()
    order = rank_members(jnp.zeros(8, jnp.int32), score)
    assert bool(failed[order[-1]])
    assert not bool(failed[jnp.argmax(score)])


def test_a_species_whose_members_all_failed_has_no_score():
    species = jnp.array([0, 0, 1, 1], jnp.int32)
    score, failed = scores_of(NEATConfig(), jnp.array([jnp.nan, jnp.inf, -5.0, -6.0]))
    statistics = species_statistics(NEATConfig(), _table(2), species, score, failed)
    assert statistics.score[:2].tolist() == [-jnp.inf, -5.0]


def test_quotas_of_huge_fitnesses_still_select():
    config = NEATConfig(population_size=10)
    found = quotas(
        config,
        _statistics([5, 5], [3e38, 1.0]),
        jnp.ones(2, bool),
        jnp.float32(1.0),
        jnp.float32(3e38),
    )
    assert int(found.sum()) == 10
    assert int(found[0]) >= 8


@pytest.mark.parametrize("kind", ["proportional", "damped"])
@pytest.mark.parametrize("largest", [10.0, 1e18, 3e38])
def test_the_fitter_get_more_up_to_the_largest_float(kind, largest):
    """Neither sums nor differences overflow."""
    means = np.array([-1.0, 0.5, 1.0, 0.0]) * largest
    reproduces = jnp.array([True, True, True, False])
    statistics = _statistics([20, 20, 20, 0], means)
    mean = statistics.mean_score
    quota = quotas(_config(60, quota=kind), statistics, reproduces, mean[0], mean[2])
    assert int(quota.sum()) == 60
    assert int(quota[2]) > int(quota[1]) > int(quota[0])


def test_means_of_the_largest_fitnesses_are_finite():
    score = jnp.full(50, 3e38, jnp.float32)
    species = jnp.zeros(50, jnp.int32)
    statistics = species_statistics(_config(50), _table(1), species, score)
    np.testing.assert_allclose(float(statistics.mean_score[0]), 3e38, rtol=1e-6)
