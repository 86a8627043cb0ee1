"""Runs in MLflow."""

import os
import time
from pathlib import Path
from typing import Any

from .._extra import import_extra
from ..evolution import Result, RunInfo, StopReason
from ._service import ServiceTracker, Steps

_MOST_METRICS, _MOST_PARAMS = 1000, 100
"""That MLflow takes in one call."""


class MLflowTracker(ServiceTracker):
    """Logs to MLflow. Needs the extra `mlflow`.

    **Arguments:**

    - `experiment`: where the run is kept; it is made if there is none of that name.
      Left out, what `MLFLOW_EXPERIMENT_NAME` in the environment says, or else
      `substrax`.
    - `tracking_uri`: a server, or a database such as `sqlite:///mlflow.db`; left out,
      what MLflow is set to.
    - `tags`: of the run.
    """

    def __init__(
        self,
        experiment: str | None = None,
        *,
        tracking_uri: str | None = None,
        tags: dict[str, str] | None = None,
    ) -> None:
        self._library: Any = import_extra("mlflow", "mlflow")
        named = os.environ.get("MLFLOW_EXPERIMENT_NAME")
        self.experiment = experiment or named or "substrax"
        self.tracking_uri, self.tags = tracking_uri, dict(tags or {})
        self.client: Any = None
        """MLflow's, while a run goes on: for numbers of your own, with `run_id`."""

    @property
    def label(self) -> str:
        # Not the address: it may have a password in it.
        return f"mlflow {self.experiment}"

    def open(self, run: RunInfo, run_id: str | None, first: int) -> str:
        self.client = self._library.MlflowClient(self.tracking_uri)
        if run_id is not None:
            self.client.update_run(run_id, status="RUNNING")
            return run_id
        found = self.client.get_experiment_by_name(self.experiment)
        experiment_id = (
            self.client.create_experiment(self.experiment)
            if found is None
            else found.experiment_id
        )
        made = self.client.create_run(experiment_id, tags=self.tags, run_name=run.name)
        return str(made.info.run_id)

    def log_settings(self, run: RunInfo, is_new: bool) -> None:
        if not is_new:  # MLflow never changes them
            return
        params = [
            self._library.entities.Param(name, str(value))
            for name, value in run.settings.items()
        ]
        for begin in range(0, len(params), _MOST_PARAMS):
            some = params[begin : begin + _MOST_PARAMS]
            self.client.log_batch(self.run_id, params=some)
        if run.config_text:
            self.client.log_text(self.run_id, run.config_text, "config.toml")

    def log(self, steps: Steps) -> None:
        now = int(time.time() * 1000)
        metrics = [
            self._library.entities.Metric(name, value, now, number)
            for number, values in steps
            for name, value in values.items()
        ]
        for begin in range(0, len(metrics), _MOST_METRICS):
            some = metrics[begin : begin + _MOST_METRICS]
            self.client.log_batch(self.run_id, metrics=some)

    def log_best(self, result: Result, model: Path, picture: Path | None) -> None:
        self.client.set_tag(self.run_id, "reason", result.reason.value)
        for path in (model, picture):
            if path is not None:
                self.client.log_artifact(self.run_id, str(path))

    def close(self, result: Result | None) -> None:
        status = "FAILED"
        if result is not None:
            is_killed = result.reason is StopReason.INTERRUPTED
            status = "KILLED" if is_killed else "FINISHED"
        self.client.set_terminated(self.run_id, status=status)
