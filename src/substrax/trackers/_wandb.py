"""Runs in Weights & Biases."""

import os
import re
from pathlib import Path
from typing import Any

from .._extra import import_extra
from ..evolution import Result, RunInfo
from ._service import ServiceTracker, Steps


class WandbTracker(ServiceTracker):
    """Logs to Weights & Biases. Needs the extra `wandb`.

    **Arguments:**

    - `project`: where the run is kept; left out, what `WANDB_PROJECT` in the
      environment says, or else `substrax`.
    - `init`: anything else that `wandb.init` takes: `entity`, `tags`,
      `mode="offline"`.
    """

    def __init__(self, project: str | None = None, **init: Any) -> None:
        self._library: Any = import_extra("wandb", "wandb")
        self.project = project or os.environ.get("WANDB_PROJECT") or "substrax"
        self._init = init
        self.wandb_run: Any = None
        """What `wandb.init` gave, while a run goes on: for numbers of your own."""

    @property
    def label(self) -> str:
        entity = self._init.get("entity")
        return f"wandb {f'{entity}/' if entity else ''}{self.project}"

    def open(self, run: RunInfo, run_id: str | None, first: int) -> str:
        # A run that was renamed keeps its new name.
        which = {"name": run.name} if run_id is None else {"id": run_id}
        self.wandb_run = self._library.init(
            project=self.project,
            **{"resume": "allow", "reinit": "create_new", **which, **self._init},
        )
        # W&B's own steps can only grow; after a crash some generations come again.
        self.wandb_run.define_metric("generation")
        self.wandb_run.define_metric("*", step_metric="generation")
        return str(self.wandb_run.id)

    def log_settings(self, run: RunInfo, is_new: bool) -> None:
        self.wandb_run.config.update(dict(run.settings), allow_val_change=True)

    def log(self, steps: Steps) -> None:
        for number, values in steps:
            self.wandb_run.log({"generation": number, **values})

    def log_best(self, result: Result, model: Path, picture: Path | None) -> None:
        self.wandb_run.summary["reason"] = result.reason.value
        name = re.sub(r"[^A-Za-z0-9_.-]", "-", self._run.name)
        artifact = self._library.Artifact(f"{name[:100]}-best", type="model")
        artifact.add_file(str(model))
        self.wandb_run.log_artifact(artifact)
        if picture is not None:
            shown = {"best_network": self._library.Image(str(picture))}
            self.wandb_run.log({"generation": result.generations - 1, **shown})

    def close(self, result: Result | None) -> None:
        self.wandb_run.finish(exit_code=0 if result is not None else 1)
