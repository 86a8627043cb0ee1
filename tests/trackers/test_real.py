"""The trackers with the libraries themselves.

Nothing is sent anywhere: Weights & Biases is offline, MLflow has a file of SQLite's.
"""

import importlib

import pytest

import substrax as sx
from substrax.trackers import MLflowTracker, TensorBoardTracker, WandbTracker

from .support import run

# What these libraries warn of is theirs to change.
pytestmark = pytest.mark.filterwarnings("default")
BEST = "fitness/best_ever"


def best_of(result):
    return [(r.generation, pytest.approx(r.best_ever)) for r in result.history]


def test_tensorboard_reads_what_was_written(tmp_path):
    place = "tensorboard.backend.event_processing.event_accumulator"
    reader = importlib.import_module(place)
    for generations in (2, 4):
        result = run(
            TensorBoardTracker(), directory=tmp_path / "run", generations=generations
        )
    found = reader.EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    found.Reload()
    assert [(s.step, s.value) for s in found.Scalars(BEST)] == best_of(result)
    assert found.Images("best_network")[0].encoded_image_string.startswith(b"\x89PNG")


def test_wandb_takes_it(tmp_path):
    tracker = WandbTracker("mine", mode="offline", dir=str(tmp_path))
    ids = []
    for generations in (2, 3):
        run(tracker, directory=tmp_path / "run", generations=generations)
        ids.append(tracker.run_id)
    assert ids[0] == ids[1]
    folders = list((tmp_path / "wandb").glob("offline-run-*"))
    assert len(folders) == 2 and all(ids[0] in folder.name for folder in folders)
    assert all(list(folder.rglob("best_network*.png")) for folder in folders)


def test_mlflow_keeps_it(tmp_path, monkeypatch):
    mlflow = importlib.import_module("mlflow")
    monkeypatch.chdir(tmp_path)
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    tracker = MLflowTracker("mine", tracking_uri=uri)
    for generations in (2, 4):
        result = run(tracker, directory=tmp_path / "run", generations=generations)
    client = mlflow.MlflowClient(uri)
    experiment = client.get_experiment_by_name("mine")
    (logged,) = client.search_runs([experiment.experiment_id])
    assert logged.info.status == "FINISHED"
    history = client.get_metric_history(logged.info.run_id, BEST)
    assert sorted((m.step, m.value) for m in history) == best_of(result)
    assert logged.data.params["neat.population_size"] == "16"
    path = client.download_artifacts(logged.info.run_id, "best.safetensors")
    assert sx.load(path).fitness == result.best_fitness
