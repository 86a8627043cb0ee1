"""Runs of a plan in processes of their own, several at a time, each only once."""

import dataclasses
import json
import math
import os
import statistics
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from substrax._files import write_atomically
from substrax.evolution import lock

from .plan import Task
from .work import RESULT, TASK

LOG = "worker.log"
_POLL_SECONDS = 0.1
_PATIENCE_SECONDS = 10.0
_MAX_BATCH = 50
"""Runs that one process does, one after the other, where no times count: JAX is
imported and most things are compiled once for all of them."""


@dataclasses.dataclass(frozen=True)
class Progress:
    """Where things stand: runs in all, done (now or before), failed, time left."""

    total: int
    done: int
    reused: int
    failed: int
    running: tuple[str, ...]
    seconds_left: float | None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A result for each run that has one, by its key, and why the others have none."""

    results: dict[str, dict[str, Any]]
    failures: dict[str, str]


def read_result(runs: Path, task: Task) -> dict[str, Any] | None:
    """The result of a run that is complete."""
    path = runs / task.key / RESULT
    return json.loads(path.read_text()) if path.exists() else None


def at_a_time(tasks: Sequence[Task], jobs: int) -> str:
    """How many runs there are at a time, in words."""
    timed = {task.is_timed for task in tasks}
    words = "one at a time" if jobs == 1 or timed == {True} else f"{jobs} at a time"
    alone = ", the timed ones one at a time" if timed == {True, False} else ""
    return words + (alone if jobs > 1 else "")


def run_tasks(
    tasks: Sequence[Task],
    runs: Path,
    *,
    command: Sequence[str],
    jobs: int,
    max_seconds: float = math.inf,
    with_timed: bool = True,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Outcome:
    """Does every run that is not complete yet, `jobs` at a time; then those that are
    timed, one by one, each in a process of its own.

    A run that fails does not stop the others, not even those that were to come after
    it in its process. An interruption ends the processes; what
    they had done so far is kept, and the next call goes on from there.

    **Arguments:**

    - `runs`: the folder of all run directories, of this plan and of others.
    - `command`: starts a worker; the run's directory is added to it.
    - `max_seconds`: no run is started after so long.
    - `with_timed`: False leaves out timed runs that are not complete.
    """
    if jobs < 1:
        raise ValueError(f"jobs is {jobs}. Choose at least 1.")
    stop_at = time.monotonic() + max_seconds
    ordered = sorted(tasks, key=lambda task: task.is_timed)
    unique = {task.key: task for task in ordered}
    found = {key: read_result(runs, task) for key, task in unique.items()}
    results = {key: result for key, result in found.items() if result is not None}
    waiting = [
        task
        for key, task in unique.items()
        if key not in results and (with_timed or not task.is_timed)
    ]
    total = len(results) + len(waiting)
    clock = _Clock(unique, results)
    failures: dict[str, str] = {}
    reused = len(results)

    def tell(running: Sequence["_Process"]) -> None:
        begun = [task for process in running for task in process.tasks]
        left = clock.left([*waiting, *begun], jobs)
        names = tuple(p.title for p in running if p.tasks)
        done = len(results)
        on_progress(Progress(total, done, reused, len(failures), names, left))

    is_new = True
    if max_seconds == 0:
        waiting.clear()
    with _alone(runs) if waiting else nullcontext(), _pool() as running:
        while waiting or running:
            if time.monotonic() > stop_at:
                waiting.clear()
                for process in running:
                    process.leave_out_the_rest()
            while waiting and len(running) < (1 if waiting[0].is_timed else jobs):
                batch = _next_batch(waiting, jobs - len(running))
                slot = min(set(range(jobs)) - {p.slot for p in running})
                cores = [] if batch[0].is_timed else _cores(slot, jobs)
                running.append(_Process.start(batch, runs, command, cores))
                running[-1].slot = slot
            if is_new:
                tell(running)
                is_new = False
            time.sleep(_POLL_SECONDS)
            for process in list(running):
                has_ended = process.process.poll() is not None
                for task, result in process.take_results(runs):
                    results[task.key] = result
                    clock.add(task, result)
                    is_new = True
                if has_ended:
                    running.remove(process)
                    is_new = True
                    if process.tasks:
                        failures[process.tasks[0].key] = process.message()
                        waiting[:0] = process.tasks[1:]
        tell(running)
    return Outcome(results, failures)


class _Clock:
    """Guesses the time that is left from runs that are done."""

    def __init__(
        self, tasks: dict[str, Task], results: dict[str, dict[str, Any]]
    ) -> None:
        self._seconds: dict[Any, list[float]] = defaultdict(list)
        for key, result in results.items():
            self.add(tasks[key], result)

    @staticmethod
    def _levels(task: Task) -> list[Any]:
        cell = json.dumps(dict(task.cell), sort_keys=True)
        return [(task.arm, task.role, cell), (task.arm, task.role), None]

    def add(self, task: Task, result: dict[str, Any]) -> None:
        for level in self._levels(task):
            self._seconds[level].append(result["process_seconds"])

    def left(self, tasks: Sequence[Task], jobs: int) -> float | None:
        """None while nothing is known."""
        if not self._seconds:
            return None
        total = 0.0
        for task in tasks:
            level = next(k for k in self._levels(task) if self._seconds.get(k))
            share = 1 if task.is_timed else jobs
            total += statistics.mean(self._seconds[level]) / share
        return total


def _next_batch(waiting: list[Task], num_free: int) -> list[Task]:
    """Takes what one process is to do: a timed run, or a share of the others."""
    if waiting[0].is_timed:
        return [waiting.pop(0)]
    num = sum(not task.is_timed for task in waiting)
    size = min(_MAX_BATCH, math.ceil(num / num_free))
    batch = waiting[:size]
    del waiting[:size]
    return batch


@dataclasses.dataclass(eq=False)
class _Process:
    """A worker and the runs that it still has to do; it is at the first of them."""

    tasks: list[Task]
    log: Path
    process: subprocess.Popen
    slot: int = 0

    @staticmethod
    def start(
        tasks: list[Task], runs: Path, command: Sequence[str], cores: Sequence[int]
    ) -> "_Process":
        folders = [runs / task.key for task in tasks]
        for task, folder in zip(tasks, folders, strict=True):
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(folder / TASK, json.dumps(task.to_dict(), indent=1) + "\n")
        words = [*command, *map(str, folders)]
        if tasks[0].is_cold:
            words.append("--no-cache")
        if cores:
            words += ["--cores", ",".join(map(str, cores))]
        log = folders[0] / LOG
        with open(log, "wb") as file:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=file, stderr=file
            )
        return _Process(tasks, log, process)

    def take_results(self, runs: Path) -> Iterator[tuple[Task, dict[str, Any]]]:
        """Runs that are complete since the last call."""
        while self.tasks and (result := read_result(runs, self.tasks[0])) is not None:
            yield self.tasks.pop(0), result

    def leave_out_the_rest(self) -> None:
        """Lets the process end after the run that it is at."""
        for task in self.tasks[1:]:
            (self.log.parents[1] / task.key / TASK).unlink(missing_ok=True)
        del self.tasks[1:]

    @property
    def title(self) -> str:
        task = self.tasks[0]
        cell = ", ".join(f"{key} {value}" for key, value in task.cell.items())
        return f"{task.arm}: {cell}, seed {task.seed}"

    def message(self) -> str:
        """The last thing that the process said."""
        lines = self.log.read_text(errors="replace").strip().splitlines()
        why = lines[-1] if lines else f"exit status {self.process.returncode}"
        return f"{self.title}: {why} (all of it: {self.log})"


def _cores(slot: int, jobs: int) -> list[int]:
    """The cores that one of several runs keeps to; empty: it has them all."""
    if jobs == 1 or not hasattr(os, "sched_getaffinity"):
        return []
    every = sorted(os.sched_getaffinity(0))
    share = max(1, len(every) // jobs)
    return [every[(slot * share + k) % len(every)] for k in range(share)]


@contextmanager
def _alone(runs: Path) -> Iterator[None]:
    """Two commands would time each other, and write to the same files."""
    runs.mkdir(parents=True, exist_ok=True)
    with lock(runs / ".lock"):
        yield


@contextmanager
def _pool() -> Iterator[list[_Process]]:
    """Processes; those that still run when it is left are ended."""
    running: list[_Process] = []
    try:
        yield running
    finally:
        for process in running:
            process.process.terminate()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for process in running:
            try:
                process.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.process.kill()
