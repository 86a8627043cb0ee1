"""The runs of a plan as jobs of a sweep: in processes of their own, each only once."""

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from substrax.evolution import lock
from substrax.sweeps import DONE, Job, Outcome, Processes, Progress, Stop, run_jobs

from .plan import Task

RESULT, LOG = "result.json", "worker.log"
WORK = "paper.work:work_job"
"""How processes find what does a run."""


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
    jobs: int,
    max_seconds: float | int = math.inf,
    with_timed: bool = True,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    work: str = WORK,
) -> Outcome:
    """Does every run that is not complete yet, `jobs` at a time; then those that are
    timed, one by one, each in a process of its own.

    A run that fails does not stop the others. An interruption ends the processes; what
    they had done so far is kept, and the next call goes on from there.

    **Arguments:**

    - `runs`: the folder of all run directories, of this plan and of others.
    - `max_seconds`: no run is started after so long.
    - `with_timed`: False leaves out timed runs that are not complete.
    - `work`: what does a run, `module:function`.
    """
    workers = Processes(work, jobs)
    unique = {task.key: task for task in tasks}
    wanted = {
        key: task
        for key, task in unique.items()
        if with_timed or not task.is_timed or read_result(runs, task) is not None
    }

    def look(job: Job) -> dict[str, Any] | None:
        result = read_result(runs, wanted[job.key])
        return None if result is None else done(result)

    stop = Stop()
    is_open = any(read_result(runs, task) is None for task in wanted.values())
    with _alone(runs) if is_open and max_seconds > 0 else nullcontext():
        outcome = run_jobs(
            [_job(task, runs) for task in wanted.values()],
            workers,
            look_fn=look,
            on_progress=on_progress,
            stop=stop,
            max_seconds=max_seconds,
        )
    if stop and outcome.left:
        raise KeyboardInterrupt
    return dataclasses.replace(
        outcome,
        results={key: found["result"] for key, found in outcome.results.items()},
        failures={
            key: f"{_title(wanted[key])}: {error} (all of it: {runs / key / LOG})"
            for key, error in outcome.failures.items()
        },
    )


def done(result: dict[str, Any]) -> dict[str, Any]:
    """The result of a run, as one of a job."""
    return {"status": DONE, "seconds": result["process_seconds"], "result": result}


def _job(task: Task, runs: Path) -> Job:
    cell = json.dumps(dict(task.cell), sort_keys=True)
    return Job(
        key=task.key,
        title=_title(task),
        group=f"{task.arm}, {task.role}, {cell}",
        document={"folder": str(runs / task.key), "task": task.to_dict()},
        is_alone=task.is_timed,
    )


def _title(task: Task) -> str:
    cell = ", ".join(f"{key} {value}" for key, value in task.cell.items())
    return f"{task.arm}: {cell}, seed {task.seed}"


@contextmanager
def _alone(runs: Path) -> Iterator[None]:
    """Two commands would time each other, and write to the same files."""
    runs.mkdir(parents=True, exist_ok=True)
    with lock(runs / ".lock"):
        yield
