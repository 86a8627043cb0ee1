"""The directory of a run: what is in it, and how it stays whole.

    config.toml      the resolved configuration, if the run has one
    run.json         seed, versions, device, start; why it stopped, once it has
    metrics.jsonl    one line for each generation
    checkpoints/     the state after the last two checkpoints
    best.json, best.safetensors
    scratch/         while the run goes on, what exceeds memory_budget
    report/          made by `substrax report`

A process may be killed between any two writes. The newest intact checkpoint says where
the run stands; metrics behind it are cut off, and the best files are made anew from it.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from . import _checkpoint
from ._best import Best, best_to_json, best_to_safetensors, read_best
from ._checkpoint import DamagedRunError
from ._facts import gather_facts
from ._files import remove_temporaries, write_atomically
from ._lock import lock
from ._record import StopReason

State = TypeVar("State")

FACTS, CONFIG, METRICS = "run.json", "config.toml", "metrics.jsonl"
BEST, BEST_ARRAYS = "best.json", "best.safetensors"
LOCK, CHECKPOINTS, SCRATCH = ".lock", "checkpoints", "scratch"


class RunDirectory:
    """A directory that holds a run. `RunDirectory.create` makes one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not (self.path / FACTS).is_file():
            what = "holds no run" if self.path.is_dir() else "does not exist"
            raise ValueError(
                f"{self.path} {what}. Give the directory that `substrax run` named, or "
                "start a run with `substrax run EXPERIMENT --out "
                f"{self.path}`."
            )

    @staticmethod
    def create(
        path: str | os.PathLike[str], *, seed: int, config_text: str = ""
    ) -> "RunDirectory":
        """Makes the directory of a new run.

        One that holds a run, or anything else, is refused.
        """
        folder = Path(path)
        check_unused(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CHECKPOINTS).mkdir(exist_ok=True)
        with lock(folder / LOCK):
            check_unused(folder)
            if config_text:
                write_atomically(folder / CONFIG, config_text)
            # written last: what has this file is a run
            facts = json.dumps(gather_facts(seed), indent=1)
            write_atomically(folder / FACTS, facts + "\n")
        return RunDirectory(folder)

    def __repr__(self) -> str:
        return f"RunDirectory({str(self.path)!r})"

    # reading

    def facts(self) -> dict[str, Any]:
        """The content of `run.json`: seed, versions, device, start, why it stopped."""
        return json.loads((self.path / FACTS).read_text())

    def stop_reason(self) -> StopReason | None:
        """Why the run stopped; None while it goes on, or if it was killed."""
        reason = self.facts().get("stopped")
        return None if reason is None else StopReason(reason)

    def config_text(self) -> str:
        """The resolved configuration; empty if the run was not made from one."""
        path = self.path / CONFIG
        return path.read_text() if path.exists() else ""

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of `metrics.jsonl`, one for each generation.

        A last line that is still being written is left out.
        """
        return [line for _, line in self._metrics_lines()]

    def best(self) -> Best | None:
        """The best genome so far with its network; None if there is none yet."""
        path = self.path / BEST_ARRAYS
        if not path.exists():
            return None
        try:
            return read_best(path)
        except ValueError as error:
            raise DamagedRunError(
                f"{path} is damaged: {error}. `substrax resume {self.path}` makes it "
                "anew from the last checkpoint."
            ) from error

    # writing, by the one process that holds the lock

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keeps other processes out; what a killed one left half-written is removed."""
        with lock(self.path / LOCK):
            remove_temporaries(self.path)
            remove_temporaries(self.path / CHECKPOINTS)
            yield

    def write_config(self, text: str) -> None:
        """Replaces the configuration (a resumed run may have other limits)."""
        write_atomically(self.path / CONFIG, text)

    def write_stop_reason(self, reason: StopReason | None) -> None:
        """Notes why the run stopped; None says that it goes on."""
        facts = self.facts()
        noted = None if reason is None else reason.value
        if facts.get("stopped") != noted:
            content = json.dumps(facts | {"stopped": noted}, indent=1)
            write_atomically(self.path / FACTS, content + "\n")

    def append_metrics(self, record: dict[str, Any]) -> None:
        """Adds a line, on the disk before this returns."""
        with open(self.path / METRICS, "ab") as file:
            file.write(json.dumps(record, allow_nan=False).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def truncate_metrics(self, generations: int) -> list[dict[str, Any]]:
        """Cuts off the lines of all but the first generations; returns those kept."""
        kept = self._metrics_lines()[:generations]
        if len(kept) < generations:
            raise DamagedRunError(
                f"{self.path / METRICS} has {len(kept)} intact lines, but the "
                f"checkpoint is {generations} generations on. Put the file back as it "
                "was, or start a new run in another directory."
            )
        path = self.path / METRICS
        if path.exists():
            os.truncate(path, kept[-1][0] if kept else 0)
        return [line for _, line in kept]

    def write_best(self, best: Best | None) -> None:
        """Replaces the best files; None removes them."""
        if best is None:
            (self.path / BEST).unlink(missing_ok=True)
            (self.path / BEST_ARRAYS).unlink(missing_ok=True)
            return
        write_atomically(self.path / BEST_ARRAYS, best_to_safetensors(best))
        write_atomically(self.path / BEST, best_to_json(best))

    def write_checkpoint(self, generation: int, state: Any) -> None:
        """Keeps the state after `generation` generations, and the one before."""
        _checkpoint.write_checkpoint(self.path / CHECKPOINTS, generation, state)

    def read_checkpoint(self, like: Callable[[], State]) -> tuple[int, State] | None:
        """The newest intact checkpoint: generations done, state. None without any.

        `like` gives a state of the same kind, or its shapes, if there is a checkpoint.
        """
        folder = self.path / CHECKPOINTS
        found = _checkpoint.read_newest(folder, like)
        if found is not None:
            # damaged ones that are newer, and what a killed process did not delete
            _checkpoint.prune(folder, found[0])
        return found

    def _metrics_lines(self) -> list[tuple[int, dict[str, Any]]]:
        """Each intact line, with the number of bytes up to its end."""
        path = self.path / METRICS
        if not path.exists():
            return []
        lines = []
        end = 0
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True)):
            end += len(line)
            try:
                values = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                values = None
            if not isinstance(values, dict) or values.get("generation") != number:
                break
            lines.append((end, values))
        return lines


def check_unused(folder: Path) -> None:
    """Raises if a run cannot be started in this directory."""
    if (folder / FACTS).exists():
        raise ValueError(
            f"{folder} already holds a run. Continue it with `substrax resume "
            f"{folder}`, or choose another directory with --out."
        )
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file. Choose another directory with --out.")
    ours = {LOCK, CHECKPOINTS, CONFIG}
    others = {p.name for p in folder.iterdir()} - ours if folder.exists() else set()
    others = {name for name in others if not name.endswith(".tmp")}
    if others:
        raise ValueError(
            f"{folder} is not empty (it holds {min(others)}). Choose a new directory "
            "with --out."
        )
