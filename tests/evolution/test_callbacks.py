"""Callbacks and trackers: what they are given, and that they change nothing."""

import dataclasses
import gc
import inspect
import weakref

import jax
import numpy as np
import pytest

from substrax.evolution import (
    DamagedRunError,
    RunDirectory,
    StopReason,
    TrackerError,
    check_callbacks,
    evolve,
)

from .support import SumOfWeights, parts, timeless


def run(*callbacks, generations=4, **settings):
    return evolve(
        *parts(), seed=3, generations=generations, callbacks=callbacks, **settings
    )


def same_bits(mine, theirs):
    for x, y in zip(jax.tree.leaves(mine), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.fixture(scope="module")
def alone():
    """The run that nobody watches."""
    return run()


class Notes:
    """A tracker that writes down what it is told, and fails where it is asked to."""

    def __init__(self, fails=(), error=None):
        self.told, self.fails = [], fails
        self.error = error or OSError("the server is gone")

    def _note(self, what):
        self.told.append(what)
        if what in self.fails:
            raise self.error

    def start(self, run):
        self.run = run
        self._note("start")

    def generation(self, generation):
        self._note(generation.number)

    def finish(self, result):
        self.result = result
        self._note("finish")


def test_a_generation_has_population_fitness_and_networks_in_one_order():
    neat, decoder, _ = parts()
    problem = SumOfWeights(noise=0.0)
    seen = []

    def look(generation):
        genomes = generation.state.population
        networks = generation.networks
        assert len(networks) == len(generation.fitness) == 16
        again = decoder.decode(genomes)
        np.testing.assert_array_equal(networks.link_weight, again.link_weight)
        fitness = problem.fitness(networks, key=jax.random.key(0))
        np.testing.assert_array_equal(generation.fitness, fitness)
        assert generation.record.best_fitness == np.float32(fitness.max())
        sizes = np.bincount(generation.info.species_index)
        assert sorted(sizes[sizes > 0]) == sorted(
            species["size"] for species in generation.record.species_size
        )
        seen.append(generation.number)

    evolve(neat, decoder, problem, generations=3, callbacks=[look])
    assert seen == [0, 1, 2]


def test_a_generation_has_the_best_of_the_run():
    def look(generation):
        record, best = generation.record, generation.best
        assert best.fitness == record.best_ever
        assert generation.is_improved == (best.generation == record.generation)
        same_bits(best.genome, generation.next_state.best_genome)
        assert best.model.fitness == best.fitness
        np.testing.assert_array_equal(
            best.model.network.link_weight, best.network.link_weight
        )

    run(look)


def test_callbacks_change_no_bits(alone, tmp_path):
    def busy(generation):
        generation.networks.num_links.sum()
        jax.random.normal(jax.random.key(0), (3,)).block_until_ready()
        np.random.default_rng().normal()

    watched = run(busy, Notes(), directory=tmp_path / "run")
    assert timeless(watched.history) == timeless(alone.history)
    same_bits(watched.state, alone.state)


def test_what_a_callback_is_given_cannot_be_changed():
    def change(generation):
        with pytest.raises(ValueError, match="read-only"):
            generation.fitness[0] = 1.0
        with pytest.raises(dataclasses.FrozenInstanceError):
            generation.record = None

    run(change, generations=1)


def test_who_keeps_a_generation_does_not_keep_its_networks():
    kept, weights, held = [], [], []

    def keep(generation):
        kept.append(generation)
        weights.append(generation.networks.link_weight.copy())
        held.append(weakref.ref(generation.networks))

    run(keep, generations=3)
    gc.collect()
    assert [reference() for reference in held] == [None] * 3
    for generation, expected in zip(kept, weights, strict=True):
        np.testing.assert_array_equal(generation.networks.link_weight, expected)


def test_a_run_is_known_before_it_begins(tmp_path):
    tracker = Notes()
    run(tracker, directory=tmp_path / "mine", config_text="[a]\nb = 1\n")
    about = tracker.run
    assert (about.seed, about.generations, about.target) == (3, 4, 0.0)
    assert about.directory == tmp_path / "mine" and about.name == "mine"
    assert about.settings == {"a.b": 1} and about.history == ()
    run(tracker)
    assert tracker.run.directory is None and tracker.run.name == "test-seed3"
    assert tracker.run.settings["neat.population_size"] == 16


def test_a_tracker_is_started_told_and_finished():
    tracker = Notes()
    result = run(tracker)
    assert tracker.told == ["start", 0, 1, 2, 3, "finish"]
    assert tracker.result is result


def test_a_tracker_of_a_run_that_goes_on_is_given_its_history(tmp_path):
    first = run(directory=tmp_path / "run", generations=2)
    tracker = Notes()
    run(tracker, directory=RunDirectory(tmp_path / "run"))
    assert tracker.told == ["start", 2, 3, "finish"]
    assert timeless(tracker.run.history) == timeless(first.history)


@pytest.mark.parametrize("error", [ZeroDivisionError("mine"), KeyboardInterrupt()])
def test_a_function_that_fails_ends_the_run_and_trackers_are_finished(
    error, alone, tmp_path
):
    def fail(generation):
        if generation.number == 2:
            raise error

    tracker = Notes()
    with pytest.raises(type(error)):
        run(tracker, fail, directory=tmp_path / "run")
    assert tracker.told == ["start", 0, 1, 2, "finish"] and tracker.result is None
    again = run(directory=RunDirectory(tmp_path / "run"))
    assert timeless(again.history) == timeless(alone.history)


def test_a_tracker_that_cannot_start_is_said_before_the_first_generation(
    alone, tmp_path
):
    first, second = Notes(), Notes(fails=["start"])
    with pytest.raises(TrackerError, match=r"Notes could not be started: the server"):
        run(first, second, directory=tmp_path / "run")
    assert first.told == ["start", "finish"] and first.result is None
    assert second.told == ["start"]
    directory = RunDirectory(tmp_path / "run")
    assert directory.stop_reason() is StopReason.ERROR
    assert "the server is gone" in (directory.error() or "")
    assert timeless(run(directory=directory).history) == timeless(alone.history)


def test_a_tracker_that_fails_later_is_said_once_and_the_run_goes_on(alone, caplog):
    tracker, other = Notes(fails=[1, 2, "finish"]), Notes()
    result = run(tracker, other)
    assert tracker.told == ["start", 0, 1, "finish"]
    assert other.told == ["start", 0, 1, 2, 3, "finish"]
    assert timeless(result.history) == timeless(alone.history)
    failed, unfinished = caplog.messages
    assert "Notes has failed in generation 1: the server is gone. The run" in failed
    assert "Notes could not be finished: the server is gone. What" in unfinished


def test_ctrl_c_in_a_tracker_is_obeyed():
    tracker, other = Notes(fails=[1], error=KeyboardInterrupt()), Notes()
    with pytest.raises(KeyboardInterrupt):
        run(other, tracker)
    assert tracker.told == ["start", 0, 1, "finish"]
    assert other.told == ["start", 0, 1, "finish"] and other.result is None


def test_trackers_are_finished_from_the_last_to_the_first():
    order = []

    class Named(Notes):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def finish(self, result):
            order.append(self.name)

    run(Named("a"), Named("b"), generations=1)
    assert order == ["b", "a"]


def test_what_is_no_callback_is_refused_before_anything_is_made(tmp_path):
    settings = {"generations": 1, "directory": tmp_path / "run"}
    with pytest.raises(ValueError, match=r"is a class; give an object.* Notes\(\)"):
        evolve(*parts(), callbacks=[Notes], **settings)  # type: ignore[arg-type]
    # An iterator, which the type checker of the tests cannot look into.
    with pytest.raises(ValueError, match="a function of a generation, or a tracker"):
        evolve(*parts(), callbacks=iter([3]), **settings)  # type: ignore[arg-type]
    # (without the checks of types that only tests have)
    with pytest.raises(ValueError, match=r"callbacks is 5; give a list of functions"):
        inspect.unwrap(check_callbacks)(5)  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()


def test_notes_of_trackers_are_kept_with_the_run(tmp_path):
    class Remembers(Notes):
        def start(self, run):
            self.before = run.notes("mine")
            run.write_notes("mine", {"id": self.before.get("id", 0) + 1})
            run.write_notes("other", {"id": "x"})

    tracker = Remembers()
    run(tracker)
    assert tracker.before == {}  # a run that is not saved keeps nothing
    run(tracker, directory=tmp_path / "run", generations=1)
    assert tracker.before == {}
    run(tracker, directory=RunDirectory(tmp_path / "run"), generations=2)
    assert tracker.before == {"id": 1}
    assert RunDirectory(tmp_path / "run").notes("mine") == {"id": 2}


def test_damaged_notes_are_told_before_the_first_generation(tmp_path):
    run(directory=tmp_path / "run", generations=1)
    directory = RunDirectory(tmp_path / "run")
    directory.write_notes("mine", {"id": "a"})
    path = tmp_path / "run" / "trackers.json"
    path.write_text(path.read_text().replace('"a"', '"b"'))
    with pytest.raises(DamagedRunError, match=r"trackers.json is damaged.*Delete it"):
        directory.notes("mine")
    run(directory=directory, generations=2)  # nothing else depends on it


def test_notes_that_are_a_link_are_refused(tmp_path):
    run(directory=tmp_path / "run", generations=1)
    (tmp_path / "run" / "trackers.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="is a symbolic link"):
        RunDirectory(tmp_path / "run")
