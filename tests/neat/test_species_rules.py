"""Rules of species that only show from one generation to the next, through `tell`.

Genomes have one link, and their distance is the difference of its weights. Forty of
them sit in four clusters, ten apart. Nothing mutates unless a test says so, and every
child has one parent, so its weight tells who that was.
"""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.neat import (
    NEAT,
    CrossoverConfig,
    FloatGeneConfig,
    MutationConfig,
    NEATConfig,
    ReproductionConfig,
    SpeciationConfig,
)
from substrax.neat._genome import take

SIZE, CLUSTERS, MEMBERS = 40, 4, 10
CLUSTER = np.repeat(np.arange(CLUSTERS), MEMBERS)
WEIGHTS = 10.0 * CLUSTER + 0.01 * np.tile(np.arange(MEMBERS), CLUSTERS)
STILL = FloatGeneConfig(mutate_rate=0.0)


def _neat(*, weight=STILL, speciation=None, **reproduction):
    defaults = {"elitism": 0, "max_stagnation": 0}
    return NEAT(
        NEATConfig(
            num_inputs=1,
            num_outputs=1,
            population_size=SIZE,
            max_nodes=4,
            max_links=4,
            max_species=SIZE,
            weight=weight,
            bias=STILL,
            mutation=MutationConfig(add_node_rate=0.0, add_link_rate=0.0),
            crossover=CrossoverConfig(crossover_rate=0.0),
            speciation=SpeciationConfig(weight_coefficient=1.0, **(speciation or {})),
            reproduction=ReproductionConfig(**{**defaults, **reproduction}),
        )
    )


# Compiling takes longer than running, so the compiler need not optimise. Rates and
# thresholds are traced, so all tests share one `_tell`.
_jit = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})


@_jit
def _tell(neat, state, fitness, key):
    return neat.tell(state, fitness, key=key)


@pytest.fixture(scope="module")
def start():
    """Four species that have not improved since the beginning."""
    state = _jit(lambda: _neat().init(key=jax.random.key(0)))()
    population = dataclasses.replace(
        state.population,
        link_weight=state.population.link_weight.at[:, 0].set(
            jnp.asarray(WEIGHTS, jnp.float32)
        ),
    )
    slots = jnp.arange(SIZE, dtype=jnp.int32)
    species = dataclasses.replace(
        state.species,
        species_id=jnp.where(slots < CLUSTERS, slots, -1),
        last_improved=jnp.zeros(SIZE, jnp.int32),
        best_score=jnp.full(SIZE, 100.0, jnp.float32),
        representative=take(population, jnp.minimum(slots * MEMBERS, SIZE - 1)),
        num_species=jnp.int32(CLUSTERS),
    )
    return dataclasses.replace(
        state,
        population=population,
        species=species,
        next_species_id=jnp.int32(CLUSTERS),
        best_score=jnp.float32(100.0),
    )


def _fitness(*of_clusters):
    return jnp.asarray(np.array(of_clusters, np.float32)[CLUSTER])


def _clusters(state):
    """Which clusters have children."""
    weights = np.asarray(state.population.link_weight[:, 0])
    return sorted(set(np.round(weights / 10.0).astype(int).tolist()))


def _after(neat, state, fitness, seed=0):
    return _tell(neat, state, fitness, jax.random.key(seed))


@pytest.mark.parametrize(
    ("elitism", "expected"),
    [
        (1, [2]),
        (2, [0, 2]),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in ((0, [2]), (3, [0, 2, 3]), (4, [0, 1, 2, 3]))
        ),
    ],
)
def test_species_elitism_spares_the_best_of_the_stagnant_species(
    start, elitism, expected
):
    neat = _neat(max_stagnation=15, species_elitism=elitism)
    state = dataclasses.replace(start, generation=jnp.int32(15))
    state, info = _after(neat, state, _fitness(7.0, 1.0, 9.0, 5.0))
    assert _clusters(state) == expected
    assert int(info.num_stagnant_species) == CLUSTERS - len(expected)
    assert int(state.species.num_species) == len(expected)


def test_a_species_is_stagnant_after_max_stagnation_generations(start):
    """ "If the maximum fitness of a species did not improve in 15 generations, the
    networks in the stagnant species were not allowed to reproduce." """
    neat = _neat(max_stagnation=15, species_elitism=1)
    fitness = _fitness(7.0, 1.0, 9.0, 5.0)
    for generation, expected in ((14, [0, 1, 2, 3]), (15, [2])):
        state = dataclasses.replace(start, generation=jnp.int32(generation))
        assert _clusters(_after(neat, state, fitness)[0]) == expected
    # The second species improves, although it is not the best one; it goes on.
    best = start.species.best_score.at[1].set(0.5)
    species = dataclasses.replace(start.species, best_score=best)
    state = dataclasses.replace(start, generation=jnp.int32(15), species=species)
    state, _ = _after(neat, state, fitness)
    assert _clusters(state) == [1, 2]
    np.testing.assert_array_equal(state.species.last_improved[:2], [15, 0])
    np.testing.assert_array_equal(state.species.best_score[:2], [1.0, 100.0])


@pytest.mark.parametrize(("num_species", "expected"), [(1, [1]), (2, [1, 2])])
def test_population_stagnation_leaves_only_the_top_species(
    start, num_species, expected
):
    """ "When the fitness of the entire population does not improve for more than 20
    generations, only the top two species are allowed to reproduce." """
    neat = _neat(population_stagnation=20, population_stagnation_species=num_species)
    state = dataclasses.replace(start, last_improved=jnp.int32(10))
    fitness = _fitness(2.0, 4.0, 3.0, 1.0)
    for generation, survivors in ((30, [0, 1, 2, 3]), (31, expected)):
        state = dataclasses.replace(state, generation=jnp.int32(generation))
        assert _clusters(_after(neat, state, fitness)[0]) == survivors
    # Better than ever before: nobody is stuck.
    state, _ = _after(neat, state, fitness + 100.0)
    assert _clusters(state) == [0, 1, 2, 3]
    assert int(state.last_improved) == 31


def test_each_species_is_represented_by_a_random_member_of_the_last_generation(start):
    """ "Each existing species is represented by a random genome inside the species
    from the previous generation." """
    # Only the best tenth has children, so their weights are 0.09 above the cluster's;
    # a representative from among them would always have that weight.
    neat = _neat(survival_rate=0.1)
    fitness = jnp.asarray(np.tile(np.arange(1.0, 11.0), CLUSTERS), jnp.float32)
    drawn, state = [], start
    for seed in range(60):
        state, _ = _after(neat, start, fitness, seed)
        weights = np.asarray(state.species.representative.link_weight[:CLUSTERS, 0])
        drawn.append(weights - 10.0 * np.arange(CLUSTERS))
    children = np.asarray(state.population.link_weight[:, 0]) % 10.0
    np.testing.assert_allclose(children, 0.09, atol=1e-4)
    members = np.round(100.0 * np.array(drawn)).astype(int)
    np.testing.assert_allclose(members, 100.0 * np.array(drawn), atol=1e-2)
    counts = np.bincount(members.ravel(), minlength=MEMBERS)
    assert len(counts) == MEMBERS
    # 240 draws among 10: 24 each, within about three and a half deviations.
    assert counts.min() > 7 and counts.max() < 41
    # Species draw independently.
    assert (members[:, 0] == members[:, 1]).mean() < 0.35


def _threshold_after(start, threshold, **speciation):
    state = dataclasses.replace(start, threshold=jnp.float32(threshold))
    neat = _neat(speciation=speciation)
    state, info = _after(neat, state, _fitness(1.0, 1.0, 1.0, 1.0))
    assert float(info.threshold) == float(state.threshold)
    return float(state.threshold)


@pytest.mark.parametrize(
    ("target", "expected"), [(0, 3.0), (2, 3.25), (3, 3.25), (4, 3.0), (5, 2.75)]
)
def test_the_threshold_moves_one_step_towards_the_target(start, target, expected):
    threshold = _threshold_after(
        start, 3.0, target_num_species=target, threshold_step=0.25
    )
    assert threshold == pytest.approx(expected)


def test_the_threshold_stays_within_its_bounds(start):
    bounds = {"threshold_min": 2.9, "threshold_max": 3.1, "threshold_step": 0.25}
    up, down = {"target_num_species": 1}, {"target_num_species": 30}
    assert _threshold_after(start, 3.0, **up, **bounds) == pytest.approx(3.1)
    assert _threshold_after(start, 3.1, **up, **bounds) == pytest.approx(3.1)
    assert _threshold_after(start, 3.0, **down, **bounds) == pytest.approx(2.9)
    assert _threshold_after(start, 2.9, **down, **bounds) == pytest.approx(2.9)


@pytest.mark.parametrize("threshold", [2.0, 41.0])
def test_the_number_of_species_finds_its_target(start, threshold):
    # Every weight is replaced in every generation, so the number of species depends
    # on the threshold alone: many for a small one, a single one for a large one.
    weight = FloatGeneConfig(
        perturb_rate=0.0,
        replace_rate=1.0,
        init_stdev=10.0,
        minimum=-20.0,
        maximum=20.0,
    )
    speciation = {"target_num_species": 5, "threshold_step": 1.0}
    neat = _neat(weight=weight, speciation=speciation)
    state = dataclasses.replace(start, threshold=jnp.float32(threshold))
    counts, thresholds = [], [threshold]
    for seed in range(50):
        state, info = _after(neat, state, jnp.ones(SIZE), seed)
        counts.append(len(set(np.asarray(info.species_index).tolist())))
        assert int(info.num_species) == counts[-1]
        assert not bool(info.overflow.species)
        thresholds.append(float(state.threshold))
    expected = np.sign(np.array(counts) - 5)
    np.testing.assert_allclose(np.diff(thresholds), expected, atol=1e-4)
    # Far from the target at first, around it in the end.
    assert abs(counts[1] - 5) >= 4
    assert abs(np.mean(counts[-10:]) - 5) < 1.5
