"""The loop: what it computes, when it stops, what it tells."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.decoders import CPPNReading, emr_hyperneat
from substrax.evolution import GenerationRecord, StopReason, evolve
from substrax.evolution._loop import _tell
from substrax.neat import tell_growing
from substrax.substrate import EMRRule

from .support import Problem, SumOfWeights, parts, timeless


@pytest.fixture(scope="module")
def result():
    return evolve(*parts(), seed=3, generations=8)


def test_the_loop_is_ask_decode_evaluate_tell(result):
    """The same by hand: keys depend on the seed and the generation alone."""
    neat, decoder, problem = parts()
    key_init, key_run = jax.random.split(jax.random.key(3))
    state = jax.jit(neat.init)(key=key_init)
    # the jitted function of the loop, only because it is compiled already
    tell = lambda state, fitness, key: _tell(neat, state, fitness, key)
    for generation in range(8):
        key = jax.random.fold_in(key_run, generation)
        key_fitness, key_tell = jax.random.split(key)
        networks = decoder.decode(neat.ask(state))
        fitness = problem.fitness(networks, key=key_fitness)
        state, info = tell_growing(
            neat,
            state,
            jnp.asarray(fitness.astype(np.float32)),
            key=key_tell,
            tell_fn=tell,
        )
        record = result.history[generation]
        assert record.best_fitness == float(np.float32(fitness.max()))
        assert record.num_species == int(info.num_species)
        assert record.mean_network_links == networks.num_links.mean()
    for mine, theirs in zip(
        jax.tree.leaves(state), jax.tree.leaves(result.state), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_cached_is_uncached_over_thirty_generations(tmp_path):
    """Fitness has noise, so that a fitness that was kept as well would show."""
    neat, _, problem = parts()
    decoder = emr_hyperneat(
        problem.layout,
        EMRRule(depth=2),
        reading=CPPNReading("neat-python", ("x2", "y2"), activations=("sigmoid",)),
    )
    runs = {
        size: evolve(
            neat,
            decoder,
            problem,
            generations=30,
            directory=tmp_path / str(size),
            checkpoint_every=30,
            max_cached_bytes=size,
        )
        for size in (0, 8_000, 1 << 28)
    }
    hits = {s: sum(r.num_cached for r in run.history) for s, run in runs.items()}
    assert 0 == hits[0] < hits[8_000] < hits[1 << 28]
    expected = runs.pop(0)
    for size, run in runs.items():
        assert timeless(run.history) == timeless(expected.history)
        for mine, theirs in zip(
            jax.tree.leaves(run.state), jax.tree.leaves(expected.state), strict=True
        ):
            np.testing.assert_array_equal(mine, theirs)
        for name in ("best.json", "best.safetensors"):
            assert (tmp_path / str(size) / name).read_bytes() == (
                tmp_path / "0" / name
            ).read_bytes()


def test_the_same_seed_gives_the_same_run(result):
    again = evolve(*parts(), seed=3, generations=8)
    assert timeless(again.history) == timeless(result.history)
    other = evolve(*parts(), seed=4, generations=8)
    assert timeless(other.history) != timeless(result.history)


def test_the_best_ever_is_kept_with_its_network(result):
    """Noise lets a generation's best fall behind; the best ever does not."""
    best = max(r.best_fitness for r in result.history)
    assert result.best_fitness == best == result.history[-1].best_ever
    ever = [r.best_ever for r in result.history]
    assert ever == sorted(ever)
    _, decoder, problem = parts(SumOfWeights(noise=0.0))
    genomes = jax.tree.map(lambda x: x[None], result.best_genome)
    np.testing.assert_array_equal(
        decoder.decode(genomes).link_weight, result.best_network.link_weight
    )
    fitness = problem.fitness(result.best_network, key=jax.random.key(0))[0]
    assert math.isclose(fitness, best, abs_tol=0.011)


def test_species_of_a_record_add_up_to_the_population(result):
    for record in result.history:
        assert len(record.species_size) == record.num_species
        assert sum(s["size"] for s in record.species_size) == 16
        ids = [s["id"] for s in record.species_size]
        assert len(set(ids)) == len(ids)


def test_times_are_told_apart(result):
    for record in result.history:
        assert 0.0 <= record.compile_seconds <= record.seconds
    assert result.history[-1].compile_seconds == 0.0


def test_a_record_survives_json(result):
    for record in result.history:
        assert GenerationRecord.from_dict(record.to_dict()) == record


def test_it_stops_after_the_generations(result):
    assert result.reason is StopReason.GENERATIONS
    assert result.generations == len(result.history) == 8
    assert not result.is_solved
    none = evolve(*parts(), generations=0)
    assert none.reason is StopReason.GENERATIONS
    assert none.best_fitness is None and none.best_network is None


def test_it_stops_at_the_target(result):
    target = result.history[0].best_fitness
    stopped = evolve(*parts(), seed=3, generations=8, target=target)
    assert stopped.reason is StopReason.TARGET
    assert stopped.generations == 1 and stopped.solved_at == 0
    own = dataclasses.replace(SumOfWeights(), target=target)
    assert evolve(*parts(own), seed=3).reason is StopReason.TARGET


def test_it_stops_when_time_is_up(result):
    stopped = evolve(*parts(), seed=3, generations=8, seconds=0.0)
    assert stopped.reason is StopReason.SECONDS and stopped.generations == 0


class Constant(Problem):
    def fitness(self, networks, *, key, resources=None):
        return np.zeros(len(networks))


def test_it_stops_when_nothing_improves():
    """Generation 0 sets the best; three more without a new one are enough."""
    stopped = evolve(*parts(Constant()), generations=8, patience=3)
    assert stopped.reason is StopReason.PATIENCE
    assert stopped.generations == 4


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (True, StopReason.CALLBACK),
        (StopReason.INTERRUPTED, StopReason.INTERRUPTED),
    ],
)
def test_a_callback_can_stop_the_run(answer, reason):
    seen = []

    def callback(generation):
        seen.append(generation.number)
        return answer if generation.number == 2 else None

    stopped = evolve(*parts(), generations=8, callbacks=[callback])
    assert stopped.reason is reason
    assert seen == [0, 1, 2]


class Broken(Problem):
    def fitness(self, networks, *, key, resources=None):
        return np.full(len(networks), np.nan)


def test_a_run_in_which_everything_fails_has_no_best():
    failed = evolve(*parts(Broken()), generations=2)
    assert failed.best_fitness is None and failed.best_genome is None
    assert [r.num_failed for r in failed.history] == [16, 16]
    assert failed.history[0].best_fitness is None


def test_mistakes_are_named_before_anything_is_compiled():
    neat, decoder, problem = parts()
    with pytest.raises(ValueError, match="generations is -1"):
        evolve(neat, decoder, problem, generations=-1)
    with pytest.raises(ValueError, match=r"max_cached_bytes is -1\. Choose at least 0"):
        evolve(neat, decoder, problem, max_cached_bytes=-1)
    with pytest.raises(ValueError, match="patience is 0"):
        evolve(neat, decoder, problem, patience=0)
    with pytest.raises(ValueError, match="maximise=True"):
        evolve(parts(maximise=False)[0], decoder, problem)
    with pytest.raises(ValueError, match="the decoder reads genomes with 3"):
        evolve(neat, dataclasses.replace(decoder, num_inputs=3), problem)


class Misshapen(Problem):
    def fitness(self, networks, *, key, resources=None):
        return np.zeros((len(networks), 1))


def test_a_fitness_of_the_wrong_shape_is_named():
    with pytest.raises(ValueError, match=r"shape \(16, 1\).*16 networks"):
        evolve(*parts(Misshapen()), generations=1)
