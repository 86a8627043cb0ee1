"""TensorBoard, by the files that it reads."""

import builtins

import pytest

from substrax.evolution import TrackerError
from substrax.trackers import TensorBoardTracker

from .support import events, run, tags, values

BEST = "fitness/best_ever"


def best_of(result):
    return [(r.generation, pytest.approx(r.best_ever)) for r in result.history]


def test_each_generation_the_settings_and_the_best_network_are_written(tmp_path):
    result = run(TensorBoardTracker(), directory=tmp_path / "run")
    folder = tmp_path / "run" / "tensorboard"
    assert values(folder, BEST) == best_of(result)
    assert {
        "_hparams_/experiment",
        "_hparams_/session_start_info",
        "_hparams_/session_end_info",
        "best_network",
        "species/num_species",
    } <= tags(folder)
    said = b"".join(event.SerializeToString() for event in events(folder))
    assert b"neat.population_size" in said


def test_a_run_that_goes_on_continues_its_curves(tmp_path):
    run(TensorBoardTracker(), directory=tmp_path / "run", generations=2)
    result = run(TensorBoardTracker(), directory=tmp_path / "run", generations=4)
    folder = tmp_path / "run" / "tensorboard"
    assert len(list(folder.iterdir())) == 2  # written within a second, perhaps
    assert sorted(values(folder, BEST)) == best_of(result)


def test_generations_without_the_tracker_are_written_later(tmp_path):
    run(directory=tmp_path / "run", generations=2)
    run(TensorBoardTracker(), directory=tmp_path / "run", generations=3)
    run(directory=tmp_path / "run", generations=5)
    result = run(TensorBoardTracker(), directory=tmp_path / "run", generations=6)
    folder = tmp_path / "run" / "tensorboard"
    assert sorted(values(folder, BEST)) == best_of(result)


def test_what_was_written_before_a_crash_is_purged(tmp_path):
    def die(generation):
        if generation.number == 3:
            raise KeyboardInterrupt

    folder = tmp_path / "run" / "tensorboard"
    tracker, settings = TensorBoardTracker(), {"checkpoint_every": 2}
    with pytest.raises(KeyboardInterrupt):
        run(tracker, die, directory=tmp_path / "run", generations=5, **settings)
    assert [step for step, _ in values(folder, BEST)] == [0, 1, 2, 3]
    assert "_hparams_/session_end_info" not in tags(folder)
    run(tracker, directory=tmp_path / "run", generations=5, **settings)
    # Status 1 is a start: TensorBoard forgets what it has from that step on.
    starts = [e.step for e in events(folder) if e.session_log.status == 1]
    assert sorted(starts) == [0, 2]


def test_runs_in_one_folder_of_logs_keep_apart(tmp_path):
    tracker = TensorBoardTracker(tmp_path / "logs")
    run(tracker)
    run(tracker)
    run(tracker, directory=tmp_path / "saved", generations=1)
    result = run(tracker, directory=tmp_path / "saved", generations=2)
    names = {path.name for path in (tmp_path / "logs").iterdir()}
    assert names == {"test-seed3", "test-seed3-2", "saved"}
    assert sorted(values(tmp_path / "logs" / "saved", BEST)) == best_of(result)
    assert not (tmp_path / "saved" / "tensorboard").exists()


def test_a_run_that_is_not_saved_needs_a_folder():
    with pytest.raises(TrackerError, match=r"as in TensorBoardTracker\('logs'\)"):
        run(TensorBoardTracker())


def test_without_matplotlib_there_is_no_picture(tmp_path, monkeypatch):
    plain = builtins.__import__

    def without(name, *arguments, **more):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return plain(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    run(TensorBoardTracker(tmp_path), generations=1)
    assert "best_network" not in tags(tmp_path / "test-seed3")
    assert BEST in tags(tmp_path / "test-seed3")
