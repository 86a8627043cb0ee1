"""Weights & Biases and MLflow, by fakes that know what was asked of them."""

import sys

import pytest

import substrax as sx
from substrax.evolution import RunDirectory, StopReason, TrackerError
from substrax.trackers import MLflowTracker, TensorBoardTracker, WandbTracker

from .fakes import Mlflow, Wandb
from .support import run

BEST = "fitness/best_ever"


@pytest.fixture
def wandb(monkeypatch):
    monkeypatch.delenv("WANDB_PROJECT", raising=False)
    fake = Wandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    return fake


@pytest.fixture
def mlflow(monkeypatch):
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    fake = Mlflow()
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    return fake


def best_of(result):
    return [(r.generation, r.best_ever) for r in result.history]


def wandb_best(logged):
    return [(row["generation"], row[BEST]) for row in logged.rows if BEST in row]


def mlflow_best(logged):
    return [(step, value) for name, step, value in logged.metrics if name == BEST]


def test_wandb_is_given_settings_generations_and_the_best_network(wandb, tmp_path):
    tracker = WandbTracker("mine", tags=["a"])
    result = run(tracker, directory=tmp_path / "run")
    assert wandb.started == [
        {"project": "mine", "id": None, "name": "run", "tags": ["a"]}
    ]
    (logged,) = wandb.runs.values()
    assert wandb_best(logged) == best_of(result)
    assert logged.metrics == {"generation": None, "*": "generation"}
    assert logged.config.values["neat.population_size"] == 16
    assert logged.summary == {"reason": "generations"}
    assert logged.rows[-1]["best_network"].startswith(b"\x89PNG")
    (artifact,) = logged.artifacts
    assert (artifact.name, artifact.type) == ("run-best", "model")
    path = tmp_path / "model.safetensors"
    path.write_bytes(artifact.files["best.safetensors"])
    assert sx.load(path).fitness == result.best_fitness
    assert logged.exit_codes == [0]


def test_mlflow_is_given_settings_generations_and_the_best_network(mlflow, tmp_path):
    tracker = MLflowTracker("mine", tracking_uri="sqlite:///x.db", tags={"a": "b"})
    result = run(tracker, directory=tmp_path / "run", config_text="[a]\nb = 1\n")
    assert mlflow.uris == ["sqlite:///x.db"] and list(mlflow.experiments) == ["mine"]
    (logged,) = mlflow.runs.values()
    assert mlflow_best(logged) == best_of(result)
    assert logged.info.run_name == "run" and logged.params == {"a.b": "1"}
    assert logged.tags == {"a": "b", "reason": "generations"}
    assert logged.artifacts.keys() == {"config.toml", "best.safetensors", "best.png"}
    path = tmp_path / "model.safetensors"
    path.write_bytes(logged.artifacts["best.safetensors"])
    assert sx.load(path).fitness == result.best_fitness
    assert logged.status == ["RUNNING", "FINISHED"]


def test_a_run_that_goes_on_is_the_same_one_there(wandb, mlflow, tmp_path):
    for generations in (2, 4):
        result = run(
            WandbTracker(),
            MLflowTracker(),
            directory=tmp_path / "run",
            generations=generations,
        )
    (one,), (other,) = wandb.runs.values(), mlflow.runs.values()
    assert wandb_best(one) == mlflow_best(other) == best_of(result)
    # A name that was changed there is not changed back.
    assert [s["name"] for s in wandb.started] == ["run", None]
    assert other.status == ["RUNNING", "FINISHED"] * 2


def test_generations_without_the_tracker_are_logged_later(wandb, mlflow, tmp_path):
    run(directory=tmp_path / "run", generations=60)
    result = run(
        WandbTracker(), MLflowTracker(), directory=tmp_path / "run", generations=61
    )
    (one,), (other,) = wandb.runs.values(), mlflow.runs.values()
    assert wandb_best(one) == mlflow_best(other) == best_of(result)


def test_another_project_is_another_run_with_all_generations(wandb, mlflow, tmp_path):
    run(WandbTracker(), MLflowTracker(), directory=tmp_path / "run", generations=1)
    trackers = WandbTracker("other"), MLflowTracker("other")
    result = run(*trackers, directory=tmp_path / "run", generations=2)
    assert wandb_best(wandb.runs["id1"]) == best_of(result)
    assert mlflow_best(mlflow.runs["r1"]) == best_of(result)


@pytest.mark.parametrize("is_killed", [False, True])
def test_how_a_run_ended_is_told(wandb, mlflow, is_killed):
    def end(generation):
        if is_killed:
            raise KeyboardInterrupt
        return StopReason.INTERRUPTED

    try:
        run(WandbTracker(), MLflowTracker(), end)
        assert not is_killed
    except KeyboardInterrupt:
        assert is_killed
    (one,), (other,) = wandb.runs.values(), mlflow.runs.values()
    assert one.exit_codes == [1 if is_killed else 0]
    assert other.status == ["RUNNING", "FAILED" if is_killed else "KILLED"]


def test_what_could_not_be_logged_is_logged_when_the_run_goes_on(
    mlflow, tmp_path, monkeypatch, caplog
):
    with monkeypatch.context() as patch:
        from .fakes import MlflowClient

        plain = MlflowClient.log_batch

        def broken(self, run_id, metrics=(), params=()):
            if any(metric.step == 1 for metric in metrics):
                raise ConnectionError("no route to host")
            plain(self, run_id, metrics, params)

        patch.setattr(MlflowClient, "log_batch", broken)
        run(MLflowTracker(), directory=tmp_path / "run", generations=3)
    assert "MLflowTracker has failed in generation 1: no route to host" in caplog.text
    result = run(MLflowTracker(), directory=tmp_path / "run", generations=4)
    (logged,) = mlflow.runs.values()
    assert mlflow_best(logged) == best_of(result)


def test_a_run_that_is_gone_there_says_how_to_begin_anew(mlflow, tmp_path):
    run(MLflowTracker(), directory=tmp_path / "run", generations=1)
    mlflow.runs.clear()
    said = r"id=r0 not found. It was to go on with r0. To begin anew, delete tracker"
    with pytest.raises(TrackerError, match=said):
        run(MLflowTracker(), directory=tmp_path / "run", generations=2)
    (tmp_path / "run" / "trackers.json").unlink()
    result = run(MLflowTracker(), directory=tmp_path / "run", generations=2)
    assert mlflow_best(mlflow.runs["r0"]) == best_of(result)


def test_settings_that_cannot_be_logged_close_what_was_opened(mlflow):
    with pytest.raises(TrackerError, match="not valid TOML"):
        run(MLflowTracker(), config_text="[")
    assert mlflow.runs["r0"].status == ["RUNNING", "FAILED"]


def test_the_environment_names_project_and_experiment(wandb, mlflow, monkeypatch):
    assert WandbTracker().project == MLflowTracker().experiment == "substrax"
    monkeypatch.setenv("WANDB_PROJECT", "a")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "b")
    assert (WandbTracker().project, MLflowTracker().experiment) == ("a", "b")
    assert (WandbTracker("x").project, MLflowTracker("y").experiment) == ("x", "y")


def test_several_seeds_are_several_runs(wandb, tmp_path):
    sx.evolve_seeds(
        "xor",
        seeds=2,
        method="neat",
        population=16,
        max_nodes=16,
        max_links=32,
        generations=1,
        callbacks=[WandbTracker()],
        directory=tmp_path,
    )
    assert [logged.name for logged in wandb.runs.values()] == ["seed0", "seed1"]
    notes = RunDirectory(tmp_path / "seed1").notes("wandb substrax")
    assert notes == {"id": "id1", "generations": 1}


@pytest.mark.parametrize(
    ("tracker", "library", "extra"),
    [
        (TensorBoardTracker, "tensorboardX", "tensorboard"),
        (WandbTracker, "wandb", "wandb"),
        (MLflowTracker, "mlflow", "mlflow"),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_extra(
    tracker, library, extra, monkeypatch
):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"{library} .*'substrax\[{extra}\]'"):
        tracker()


def test_a_folder_of_wandbs_runs_is_not_taken_for_wandb(tmp_path, monkeypatch):
    (tmp_path / "wandb").mkdir()
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(ImportError, match="wandb is missing"):
        WandbTracker()
