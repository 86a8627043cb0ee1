"""Runs in TensorBoard."""

import os
import secrets
from pathlib import Path
from typing import Any

from .._extra import import_extra
from .._files import new_folder
from ..evolution import TENSORBOARD, Result, RunInfo
from ._service import ServiceTracker, Steps

_FLUSH_SECONDS = 5
"""What a process that is killed may lose of its curves; `resume` logs it again."""


class TensorBoardTracker(ServiceTracker):
    """Writes files that `tensorboard --logdir` shows. Needs the extra `tensorboard`.

    **Arguments:**

    - `directory`: the folder of your logs; each run gets a folder of its own there.
      Left out, the logs are in the directory of the run, in `tensorboard/`.
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        self._library: Any = import_extra("tensorboardX", "tensorboard")
        self.directory = None if directory is None else Path(directory)
        self.writer: Any = None
        """Of tensorboardX, while a run goes on: for numbers of your own."""
        self._session_end: Any = None

    @property
    def label(self) -> str:
        if self.directory is None:
            return "tensorboard"
        return f"tensorboard {self.directory.absolute()}"

    def open(self, run: RunInfo, run_id: str | None, first: int) -> str:
        if self.directory is not None:
            folder = self._folder(run, run_id)
        elif run.directory is not None:
            folder = run.directory / TENSORBOARD
        else:
            raise ValueError(
                "this run is not saved, so there is no place for its logs. Give a "
                "folder, as in TensorBoardTracker('logs')."
            )
        # TensorBoard forgets what it has from `first` on. The name of a file has its
        # second only: with the suffix, no other file is written over, and files of one
        # second are read in the order of their steps.
        self.writer = self._library.SummaryWriter(
            str(folder),
            purge_step=first,
            flush_secs=_FLUSH_SECONDS,
            filename_suffix=f".{first:010d}.{secrets.token_hex(4)}",
        )
        return folder.name

    def _folder(self, run: RunInfo, name: str | None) -> Path:
        """The run's own folder: the one it had, or a new one."""
        assert self.directory is not None
        if name is not None and Path(name).name == name:
            return self.directory / name
        return new_folder(self.directory / run.name)

    def log_settings(self, run: RunInfo, is_new: bool) -> None:
        # `add_hparams` would put them into a run of their own, without the curves.
        settings = {
            name: value if isinstance(value, bool | int | float | str) else str(value)
            for name, value in run.settings.items()
        }
        shown = {"fitness/best_ever": 0.0}
        *begin, end = self._library.summary.hparams(settings, shown)
        for summary in begin:
            self.writer.file_writer.add_summary(summary)
        self._session_end = end

    def log(self, steps: Steps) -> None:
        for number, values in steps:
            for name, value in values.items():
                self.writer.add_scalar(name, value, number)

    def log_best(self, result: Result, model: Path, picture: Path | None) -> None:
        if picture is not None:
            from matplotlib.image import imread

            pixels = imread(picture)[..., :3]
            self.writer.add_image(
                "best_network", pixels, result.generations - 1, dataformats="HWC"
            )

    def close(self, result: Result | None) -> None:
        if result is not None and self._session_end is not None:
            self.writer.file_writer.add_summary(self._session_end)
        self.writer.close()
