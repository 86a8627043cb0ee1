"""Runs of experiments over many seeds, in several processes, none done twice.

What a run came to is a line of a file of JSON; a run that has its line there is not
done again, so that the command goes on where it was killed.
"""

import json
import math
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple


class Job(NamedTuple):
    """One run: an arm of a cell of the table, and a seed."""

    cell: str
    arm: str
    seed: int
    work: dict[str, Any]
    """What `run_one` gets: an experiment with settings, or a peer with a budget."""

    @property
    def key(self) -> str:
        # Not by the names of cell and arm, which may change.
        return json.dumps([self.work, self.seed], sort_keys=True)


def first_solution(
    best_of_generations: Iterable[float],
    target: float,
    population: int,
    generations: int,
) -> dict[str, Any]:
    """Goes through generations to the first solution, or to the end of the budget."""
    best, number, solved_at = -math.inf, 0, None
    for number, value in enumerate(best_of_generations, 1):
        best = max(best, value)
        if best >= target:
            solved_at = number - 1
        if solved_at is not None or number == generations:
            break
    return {
        "solved_at": solved_at,
        "generations": number,
        "evaluations": number * population,
        "best": best,
    }


def free_cores() -> list[int]:
    """Numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _begin(cores: Any) -> None:
    """Each process has one core, and its libraries are told so before they start."""
    core = cores.get()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def run_all(
    jobs: Iterable[Job],
    run_one: Callable[[Job], dict[str, Any]],
    path: Path,
    *,
    cores: list[int],
    minutes: float = float("inf"),
) -> dict[str, dict[str, Any]]:
    """Results by key, of all jobs that are done."""
    done = read(path)
    missing = [job for job in jobs if job.key not in done]
    if missing and minutes > 0:
        path.parent.mkdir(parents=True, exist_ok=True)
        context = multiprocessing.get_context("spawn")
        unused = context.Queue()
        for core in cores:
            unused.put(core)
        began, number = time.monotonic(), 0
        work = _Worker(run_one, began + 60 * minutes)
        # A process that dies ends the command, with an error; a pool would wait for it.
        with ProcessPoolExecutor(len(cores), context, _begin, (unused,)) as pool:
            for finished in as_completed([pool.submit(work, job) for job in missing]):
                job, result = finished.result()
                if result is None:  # the time was up
                    continue
                done[job.key] = result
                number += 1
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"key": job.key, **result}) + "\n")
                seconds = time.monotonic() - began
                print(
                    f"{number}/{len(missing)} {seconds:6.0f} s  {job.cell}, {job.arm}, "
                    f"seed {job.seed}: {_words(result)}",
                    flush=True,
                )
    return done


class _Worker:
    """Called in the processes."""

    def __init__(self, run_one: Callable[[Job], dict[str, Any]], stop: float) -> None:
        self.run_one, self.stop = run_one, stop

    def __call__(self, job: Job) -> tuple[Job, dict[str, Any] | None]:
        if time.monotonic() > self.stop:
            return job, None
        # Of the one core that the process has: what else runs there does not count.
        began = time.process_time()
        result = self.run_one(job)
        return job, result | {"seconds": round(time.process_time() - began, 2)}


def _words(result: dict[str, Any]) -> str:
    best, seconds = result["best"], result["seconds"]
    if result["solved_at"] is None:
        return f"not in {result['generations']} generations ({best:.4f}), {seconds} s"
    return f"generation {result['solved_at']}, {seconds} s"


def read(path: Path) -> dict[str, dict[str, Any]]:
    """All lines that are whole; the last may have been cut off."""
    if not path.exists():
        return {}
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            result = json.loads(line)
        except ValueError:
            continue
        found[result.pop("key")] = result
    return found
