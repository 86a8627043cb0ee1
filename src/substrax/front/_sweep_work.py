"""One run of a sweep, in whatever process: begun, gone on with, or left to another."""

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..config import Experiment
from ..evolution import Generation, RunDirectory, RunLockedError, StopReason
from ..runs import FACTS
from ..sweeps import BUSY, DONE, INTERRUPTED
from ._evolve import same_directory

WORK = f"{__name__}:work"
"""How processes find the function below."""


def work(document: dict[str, Any], should_stop: Callable[[], bool]) -> dict[str, Any]:
    """Does the run that a document says; see `Job`."""
    began = time.monotonic()
    experiment = Experiment.from_toml(document["config"], name=document["name"])
    if document["threads"] is not None and experiment.run.threads is None:
        experiment = experiment.with_settings({"run.threads": document["threads"]})

    def watch(generation: Generation) -> StopReason | None:
        return StopReason.INTERRUPTED if should_stop() else None

    with _warnings() as warnings:
        try:
            experiment, directory = _directory(experiment, Path(document["path"]))
            result = experiment.evolve(
                directory=directory,
                callbacks=[watch],
                keep_compiled=document["keep_compiled"],
            )
        except RunLockedError:
            return {"status": BUSY}
    is_stopped = result.reason is StopReason.INTERRUPTED
    return {
        "status": INTERRUPTED if is_stopped else DONE,
        "seconds": time.monotonic() - began,
        "warnings": warnings,
    }


def _directory(experiment: Experiment, path: Path) -> tuple[Experiment, RunDirectory]:
    is_new = not os.path.exists(path / FACTS)
    try:
        return same_directory(experiment, path)
    except RunLockedError:
        raise
    except ValueError:
        # Another process has begun it since we looked.
        if is_new and os.path.exists(path / FACTS):
            return same_directory(experiment, path)
        raise


class _Collector(logging.Handler):
    """Keeps what is said, for whoever asked for the run."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextmanager
def _warnings() -> Iterator[list[str]]:
    logger, collector = logging.getLogger("substrax"), _Collector()
    logger.addHandler(collector)
    try:
        yield collector.lines
    finally:
        logger.removeHandler(collector)
