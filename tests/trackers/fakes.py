"""Weights & Biases and MLflow as far as the trackers use them, without a network.

Each takes exactly the arguments of the real one; the real ones are tested in
`test_real.py`.
"""

import itertools
import types
from pathlib import Path
from typing import Any


class WandbRun:
    def __init__(self, store: "Wandb", run_id: str, name: str | None) -> None:
        self.id, self.name = run_id, name
        self.config, self.summary = WandbConfig(), {}
        self.rows: list[dict[str, Any]] = []
        self.metrics: dict[str, str | None] = {}
        self.artifacts: list[WandbArtifact] = []
        self.exit_codes: list[int | None] = []

    def define_metric(self, name: str, step_metric: str | None = None) -> None:
        self.metrics[name] = step_metric

    def log(self, data: dict[str, Any]) -> None:
        self.rows.append(data)

    def log_artifact(self, artifact_or_path: "WandbArtifact") -> None:
        self.artifacts.append(artifact_or_path)

    def finish(self, exit_code: int | None = None) -> None:
        self.exit_codes.append(exit_code)


class WandbConfig:
    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def update(self, d: dict[str, Any], allow_val_change: bool | None = None) -> None:
        if not allow_val_change:
            raise ValueError("Attempted to change value of key")
        self.values.update(d)


class WandbArtifact:
    def __init__(self, name: str, type: str) -> None:
        self.name, self.type = name, type
        self.files: dict[str, bytes] = {}

    def add_file(self, local_path: str) -> None:
        self.files[Path(local_path).name] = Path(local_path).read_bytes()


class Wandb(types.ModuleType):
    """The module `wandb`, and what its server would know."""

    __file__ = "fake"
    Artifact = WandbArtifact

    def __init__(self) -> None:
        super().__init__("wandb")
        self.runs: dict[str, WandbRun] = {}
        self.started: list[dict[str, Any]] = []
        self._ids = (f"id{number}" for number in itertools.count())

    def init(
        self,
        *,
        project: str | None = None,
        entity: str | None = None,
        name: str | None = None,
        id: str | None = None,
        resume: str | None = None,
        reinit: str | None = None,
        mode: str | None = None,
        tags: list[str] | None = None,
        dir: str | None = None,
    ) -> WandbRun:
        assert resume == "allow" and reinit == "create_new"
        self.started.append({"project": project, "id": id, "name": name, "tags": tags})
        run_id = id or next(self._ids)
        if run_id not in self.runs:
            self.runs[run_id] = WandbRun(self, run_id, name)
        return self.runs[run_id]

    @staticmethod
    def Image(data_or_path: str) -> bytes:  # noqa: N802, as W&B calls it
        return Path(data_or_path).read_bytes()


class MlflowRun:
    def __init__(self, run_id: str, run_name: str, tags: dict[str, str]) -> None:
        self.info = types.SimpleNamespace(run_id=run_id, run_name=run_name)
        self.tags, self.params = dict(tags), {}
        self.metrics: list[tuple[str, int, float]] = []
        self.artifacts: dict[str, bytes] = {}
        self.status = ["RUNNING"]


class MlflowClient:
    def __init__(self, store: "Mlflow", tracking_uri: str | None) -> None:
        self._store = store
        store.uris.append(tracking_uri)

    def get_experiment_by_name(self, name: str) -> Any:
        if name not in self._store.experiments:
            return None
        return types.SimpleNamespace(experiment_id=self._store.experiments[name])

    def create_experiment(self, name: str) -> str:
        assert name not in self._store.experiments
        return self._store.experiments.setdefault(name, f"e{name}")

    def create_run(
        self, experiment_id: str, *, tags: dict[str, str], run_name: str
    ) -> MlflowRun:
        assert experiment_id in self._store.experiments.values()
        run = MlflowRun(f"r{len(self._store.runs)}", run_name, tags)
        return self._store.runs.setdefault(run.info.run_id, run)

    def update_run(self, run_id: str, status: str) -> None:
        if run_id not in self._store.runs:
            raise RuntimeError(f"Run with id={run_id} not found")
        self._store.runs[run_id].status.append(status)

    def log_batch(self, run_id: str, metrics: Any = (), params: Any = ()) -> None:
        assert len(metrics) <= 1000 and len(params) <= 100
        run = self._store.runs[run_id]
        run.metrics += [(m.key, m.step, m.value) for m in metrics]
        for param in params:
            assert run.params.setdefault(param.key, param.value) == param.value

    def log_text(self, run_id: str, text: str, artifact_file: str) -> None:
        self._store.runs[run_id].artifacts[artifact_file] = text.encode()

    def log_artifact(self, run_id: str, local_path: str) -> None:
        path = Path(local_path)
        self._store.runs[run_id].artifacts[path.name] = path.read_bytes()

    def set_tag(self, run_id: str, key: str, value: str) -> None:
        self._store.runs[run_id].tags[key] = value

    def set_terminated(self, run_id: str, status: str) -> None:
        self._store.runs[run_id].status.append(status)


class Mlflow(types.ModuleType):
    """The module `mlflow`, and what its server would know."""

    __file__ = "fake"

    def __init__(self) -> None:
        super().__init__("mlflow")
        self.experiments: dict[str, str] = {}
        self.runs: dict[str, MlflowRun] = {}
        self.uris: list[str | None] = []
        self.entities = types.SimpleNamespace(
            Metric=lambda key, value, timestamp, step: types.SimpleNamespace(
                key=key, value=value, timestamp=timestamp, step=step
            ),
            Param=lambda key, value: types.SimpleNamespace(key=key, value=value),
        )

    def MlflowClient(self, tracking_uri: str | None = None) -> MlflowClient:  # noqa: N802
        return MlflowClient(self, tracking_uri)
