"""NEAT as a whole: purity, tracing, capacities, objectives, invariants."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.neat import (
    NEAT,
    CapacityError,
    MutationConfig,
    NEATConfig,
    NEATInfo,
    NEATState,
    Overflow,
    ReproductionConfig,
    SpeciationConfig,
    check_info,
    grow,
    pair_distance,
    presets,
    tell_growing,
)
from substrax.neat._genome import LARGEST_GENOME
from substrax.neat._growth import _doubled
from substrax.neat._initial import first_population, initial_pairs
from substrax.neat._neat import _as_leaf
from substrax.neat._reproduction import scores_of
from substrax.neat._speciation import speciate
from tests.neat.helpers import assert_same, assert_valid

BUSY = MutationConfig(
    add_node_rate=0.3,
    delete_node_rate=0.1,
    add_link_rate=0.5,
    delete_link_rate=0.2,
    enable_rate=0.05,
    disable_rate=0.05,
    activation_rate=0.2,
    add_link_attempts=3,
)


def _busy(**kwargs):
    defaults = {
        "num_inputs": 3,
        "num_outputs": 2,
        "population_size": 24,
        "mutation": BUSY,
        "activation_options": ("sigmoid", "sin", "tanh"),
        "max_nodes": 32,
        "max_links": 64,
        "max_species": 64,
    }
    return NEATConfig(**{**defaults, **kwargs})


TRACES = []


# Compiling NEAT takes seconds: all tests share these two.
@jax.jit
def _tell(neat, state, fitness, key):
    TRACES.append(neat)
    return neat.tell(state, fitness, key=key)


@jax.jit
def _init(neat, key):
    return neat.init(key=key)


def _fitness(genomes):
    """Something cheap that depends on the genomes, in integers: no rounding."""
    coarse = jnp.round(jnp.abs(genomes.link_weight) * 64).astype(jnp.int32)
    total = jnp.sum(coarse, axis=1) - 20 * genomes.num_nodes
    return total.astype(jnp.float32) / 64


def _run(neat, state, generations, seed=0) -> tuple[NEATState, NEATInfo]:
    for key in jax.random.split(jax.random.key(seed), generations)[:-1]:
        state, _ = _tell(neat, state, _fitness(neat.ask(state)), key)
    key = jax.random.split(jax.random.key(seed), generations)[-1]
    return _tell(neat, state, _fitness(neat.ask(state)), key)


def _shrink(state, max_nodes, max_links):
    """The first state with less room; all its genomes have 5 nodes and 6 links."""
    fit = lambda x: x[..., : {32: max_nodes, 64: max_links}[x.shape[-1]]]
    genomes = lambda s: (s.population, s.species.representative, s.best_genome)
    shrunk = jax.tree.map(fit, genomes(state))
    return eqx.tree_at(genomes, state, shrunk)


@pytest.fixture(scope="module")
def neat():
    return NEAT(_busy())


@pytest.fixture(scope="module")
def start(neat):
    return _init(neat, jax.random.key(1))


@pytest.mark.parametrize("shape", [(3,), (32, 1), ()])
def test_a_fitness_of_another_shape_gets_a_sentence(neat, start, shape):
    with pytest.raises(ValueError, match="one number for each of the"):
        neat.tell(start, np.zeros(shape, np.float32), key=jax.random.key(0))


def test_the_first_population_is_fully_linked_and_valid(neat, start):
    genomes = neat.ask(start)
    assert_valid(genomes, neat.config)
    assert (np.asarray(genomes.num_links) == 6).all()
    assert len(np.unique(np.asarray(genomes.link_weight[:, 0]))) == 24


def test_genomes_stay_valid_over_generations(neat, start):
    state = start
    for seed in range(8):
        state, info = _run(neat, state, 1, seed)
        check_info(info)
        assert_valid(neat.ask(state), neat.config)
        index = np.asarray(info.species_index)
        assert set(index.tolist()) == set(range(int(info.num_species)))
        assert int(info.species_size.sum()) == 24


def test_the_same_seed_gives_the_same_bits(neat, start):
    assert_same(_run(neat, start, 3), _run(neat, start, 3))


def test_another_key_gives_another_population(neat, start):
    first, _ = _run(neat, start, 1, seed=1)
    second, _ = _run(neat, start, 1, seed=2)
    assert not np.array_equal(
        first.population.link_weight, second.population.link_weight
    )


@pytest.mark.slow  # to the bit only as users compile it, see `make test`
def test_scan_and_vmap_over_seeds_equal_loops(neat, start):
    seeds = jnp.arange(2)

    @jax.jit
    @jax.vmap
    def run(seed):
        step = lambda s, k: neat.tell(s, _fitness(s.population), key=k)
        return jax.lax.scan(step, start, jax.random.split(jax.random.key(seed), 3))

    states, infos = run(seeds)
    check_info(infos)
    for i in range(2):
        looped, _ = _run(neat, start, 3, seed=i)
        assert_same(jax.tree.map(lambda x, i=i: x[i], states), looped)


def test_tell_is_traced_once_whatever_the_rates(neat, start):
    state, _ = _run(neat, start, 1)
    before = len(TRACES)
    for i in range(3):
        mutation = dataclasses.replace(BUSY, add_node_rate=0.1 * i)
        speciation = SpeciationConfig(compatibility_threshold=1.0 + i)
        other = NEAT(_busy(mutation=mutation, speciation=speciation))
        state, _ = _run(other, state, 2)
    assert len(TRACES) == before


def test_bound_methods_can_be_jitted_directly(neat, start):
    fitness = _fitness(start.population)
    lowered = jax.jit(neat.tell).lower(start, fitness, key=jax.random.key(0))
    assert_same(
        jax.tree.map(lambda x: x.shape, lowered.out_info),
        jax.tree.map(lambda x: x.shape, _tell(neat, start, fitness, jax.random.key(0))),
    )


def test_no_key_is_used_twice(neat, start):
    with jax.debug_key_reuse(True):
        jax.jit(lambda k: neat.init(key=k)).lower(jax.random.key(0))
        jax.jit(lambda s, f, k: neat.tell(s, f, key=k)).lower(
            start, _fitness(start.population), jax.random.key(1)
        )


@pytest.mark.slow
def test_capacities_grow_when_needed_and_a_larger_capacity_gives_the_same_bits(
    neat, start
):
    state = _shrink(start, 16, 8)
    tell = lambda s, f, key: _tell(neat, s, f, key)
    for key in jax.random.split(jax.random.key(0), 3):
        state, info = tell_growing(
            neat, state, _fitness(state.population), key=key, tell_fn=tell
        )
    assert 8 < state.max_links < 64
    expected, info = _run(neat, start, 3)
    check_info(info)
    assert_same(grow(state, max_nodes=32, max_links=64), expected)


def test_a_capacity_that_is_too_small_is_named_and_harms_no_genome(neat, start):
    state, info = _run(neat, _shrink(start, 16, 8), 1)
    assert bool(info.overflow.links)
    assert_valid(neat.ask(state), neat.config)
    fields = ("nodes", "links", "species")
    for field in fields:
        only = Overflow(*(jnp.bool_(field == f) for f in fields))
        with pytest.raises(CapacityError, match=f"max_{field}"):
            check_info(eqx.tree_at(lambda i: i.overflow, info, only))


@pytest.mark.parametrize("field", ["nodes", "links", "species"])
def test_only_the_capacity_that_was_too_small_grows(neat, start, field):
    _, info = _run(neat, start, 1)
    fields, seen = ("nodes", "links", "species"), []

    def tell(state, fitness, *, key):
        seen.append([getattr(state, f"max_{name}") for name in fields])
        is_full = {name: name == field and len(seen) == 1 for name in fields}
        overflow = Overflow(**{k: jnp.bool_(full) for k, full in is_full.items()})
        return state, eqx.tree_at(lambda i: i.overflow, info, overflow)

    fitness = _fitness(start.population)
    tell_growing(neat, start, fitness, key=jax.random.key(0), tell_fn=tell)
    before, after = (dict(zip(fields, sizes, strict=True)) for sizes in seen)
    assert after == {**before, field: 2 * before[field]}


def test_capacities_never_shrink(start):
    with pytest.raises(ValueError, match="max_nodes"):
        grow(start, max_nodes=6)
    with pytest.raises(ValueError, match="max_species"):
        grow(start, max_species=2)


def test_running_out_of_ids_is_an_error(neat, start):
    _, info = _run(neat, start, 1)
    exhausted = eqx.tree_at(lambda i: i.ids_exhausted, info, jnp.bool_(True))
    with pytest.raises(CapacityError, match="ids"):
        check_info(exhausted)


def test_champions_survive_unchanged(neat, start):
    elitist = NEAT(_busy(reproduction=ReproductionConfig(elitism_min_size=1)))
    fitness = _fitness(start.population)
    best = jax.tree.map(lambda x: x[int(jnp.argmax(fitness))], start.population)
    state, _ = _tell(elitist, start, fitness, jax.random.key(0))
    same = [
        all(
            np.array_equal(a[i], b)
            for a, b in zip(
                jax.tree.leaves(state.population), jax.tree.leaves(best), strict=True
            )
        )
        for i in range(24)
    ]
    assert any(same)
    assert_same(state.best_genome, best)


def test_minimising_is_maximising_the_opposite(neat, start):
    fitness = _fitness(start.population)
    up, _ = scores_of(neat.config, fitness)
    down, _ = scores_of(NEAT(_busy(maximise=False)).config, -fitness)
    assert_same(up, down)


def test_failed_evaluations_are_counted_and_never_spread(neat, start):
    fitness = _fitness(start.population).at[jnp.array([0, 3])].set(jnp.nan)
    fitness = fitness.at[5].set(jnp.inf)
    state, info = _tell(neat, start, fitness, jax.random.key(0))
    assert int(info.num_failed) == 3
    for leaf in (info.best_fitness, info.mean_fitness, state.best_score):
        assert np.isfinite(float(leaf))
    assert int(info.best_index) not in (0, 3, 5)
    assert_valid(neat.ask(state), neat.config)


@pytest.mark.slow
def test_a_generation_that_failed_as_a_whole_leaves_no_trace_in_the_history(start):
    """Losses are positive, so the score of a later success lies below 0."""
    neat = NEAT(_busy(maximise=False))
    state, info = _tell(neat, start, jnp.full(24, jnp.nan), jax.random.key(0))
    assert int(info.num_failed) == 24
    assert float(state.best_score) == -np.inf
    for generation in range(1, 4):
        losses = 1.0 / generation + jnp.arange(24, dtype=jnp.float32)
        state, info = _tell(neat, state, losses, jax.random.key(generation))
        assert float(state.best_score) == pytest.approx(-1.0 / generation)
        assert int(state.last_improved) == generation
    assert (np.asarray(state.species.last_improved)[:1] >= 1).all()


SPLIT = SpeciationConfig(compatibility_threshold=0.4)


def test_room_is_doubled_up_to_the_largest_genome_and_no_further():
    """What is asked for beyond is refused by `grow`, or it would be tried for ever."""
    assert _doubled(100) == 200
    assert _doubled(LARGEST_GENOME - 1) == LARGEST_GENOME
    assert _doubled(LARGEST_GENOME) > LARGEST_GENOME


@pytest.mark.slow
def test_a_run_that_began_with_too_many_species_is_that_of_a_larger_capacity():
    wide = NEAT(_busy(max_species=32, speciation=SPLIT))
    narrow = NEAT(_busy(max_species=2, speciation=SPLIT))
    key = jax.random.key(3)
    there, here = _init(wide, key), _init(narrow, key)
    fitness = jnp.arange(24, dtype=jnp.float32)
    with pytest.raises(CapacityError, match="max_species was too small"):
        check_info(jax.jit(narrow.tell)(here, fitness, key=key)[1])
    after, infos = zip(
        *(
            tell_growing(neat, state, fitness, key=key, tell_fn=jax.jit(neat.tell))
            for neat, state in ((wide, there), (narrow, here))
        ),
        strict=True,
    )
    for name in ("link_id", "link_weight", "node_bias"):
        np.testing.assert_array_equal(*(getattr(s.population, name) for s in after))
    assert int(infos[0].num_species) > 2
    assert infos[0].species_index.tolist() == infos[1].species_index.tolist()


def test_a_whole_number_for_a_rate_is_a_rate():
    assert _as_leaf(1, 0.03).dtype == np.float32
    assert _as_leaf(1, 15).dtype == np.int32


def test_genomes_too_large_to_compare_are_refused():
    with pytest.raises(ValueError, match=r"max_links is .* can be compared up to"):
        NEAT(NEATConfig(num_inputs=200, num_outputs=200)).init(key=jax.random.key(0))


def test_the_threshold_moves_towards_the_target_number_of_species(neat, start):
    speciation = SpeciationConfig(
        target_num_species=50, threshold_step=0.5, threshold_min=1.0
    )
    adaptive = NEAT(_busy(speciation=speciation))
    state, _ = _tell(adaptive, start, _fitness(start.population), jax.random.key(0))
    assert float(state.threshold) == pytest.approx(2.5)
    speciation = dataclasses.replace(speciation, target_num_species=1)
    adaptive = NEAT(_busy(speciation=speciation))
    threshold = adaptive._next_threshold(start.threshold, jnp.int32(2))
    assert float(threshold) == pytest.approx(3.5)


def test_recurrent_genomes_may_have_cycles(start):
    mutation = dataclasses.replace(BUSY, outputs_as_sources=True)
    recurrent = NEAT(_busy(feed_forward=False, mutation=mutation))
    state, _ = _run(recurrent, start, 6)
    genomes = recurrent.ask(state)
    assert_valid(genomes, recurrent.config)
    loops = np.asarray(genomes.link_source == genomes.link_target)
    assert (loops & np.asarray(genomes.link_mask)).any()


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
def test_every_preset_builds_and_can_be_changed(name):
    build = presets.PRESETS[name]
    config = build(num_inputs=3, num_outputs=1, population_size=20)
    assert config.population_size == 20
    assert NEAT(config).config.num_inputs == 3


@pytest.mark.parametrize(
    "name", [pytest.param("stanley2002", marks=pytest.mark.slow), "neat_python"]
)
@pytest.mark.slow
def test_presets_run(name):
    # The two that between them take every branch.
    config = presets.PRESETS[name](
        num_inputs=3, num_outputs=1, population_size=20, max_nodes=32, max_links=64
    )
    neat = NEAT(config)
    state = _init(neat, jax.random.key(0))
    for i in range(4):
        state, info = _run(neat, state, 1, seed=i)
        check_info(info)
        assert_valid(neat.ask(state), neat.config)
        assert int(info.generation) == i


@pytest.mark.parametrize(
    "kind,hidden,expected",
    [
        ("none", 0, 0),
        ("full", 0, 6),
        ("full", 2, 10),
        ("full_direct", 2, 16),
        ("fs", 2, 6),
        ("fs_hidden", 2, 12),
    ],
)
def test_pairs_that_initial_connections_choose_from(kind, hidden, expected):
    config = _busy(initial_connection=kind, num_hidden=hidden)
    assert len(initial_pairs(config)) == expected


@pytest.mark.parametrize(
    "kind,hidden,expected", [("partial", 0, 3), ("partial_direct", 2, 8), ("fs", 2, 2)]
)
def test_partial_connections_have_the_asked_number_of_links(kind, hidden, expected):
    config = _busy(initial_connection=kind, num_hidden=hidden, initial_fraction=0.5)
    genomes = jax.jit(lambda k: first_population(config, 32, 64, key=k))(
        jax.random.key(0)
    )
    assert_valid(genomes, config)
    assert (np.asarray(genomes.num_links) == expected).all()
    assert len(np.unique(np.asarray(genomes.link_id), axis=0)) > 1


def test_compatible_members_share_a_species(neat, start):
    state, _ = _run(neat, start, 2)
    placed = jax.jit(speciate)(
        neat.config,
        state.threshold,
        state.population,
        state.species,
        state.next_species_id,
        state.generation,
    )
    index = np.asarray(placed.species_index)
    distance = jax.jit(jax.vmap(lambda a, b: pair_distance(neat.config, a, b)))(
        state.population,
        jax.tree.map(lambda x: x[index], placed.table.representative),
    )
    assert (np.asarray(distance) < float(state.threshold)).all()
