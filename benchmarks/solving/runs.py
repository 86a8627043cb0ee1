"""Runs of experiments over many seeds, in several processes, none done twice.

What a run came to is a line of a file of JSON; a run that has its line there is not
done again, so that the command goes on where it was killed.
"""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from substrax.sweeps import Job, Outcome, Processes, Progress, run_jobs

WORK = "benchmarks.solving.work:work_task"
"""How processes find what does a run."""


class Task(NamedTuple):
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

    @property
    def title(self) -> str:
        return f"{self.cell}, {self.arm}, seed {self.seed}"


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


def run_all(
    tasks: Iterable[Task],
    path: Path,
    *,
    processes: int,
    minutes: float = math.inf,
) -> dict[str, dict[str, Any]]:
    """Results by key, of all that are done. Each process has one core for itself."""
    done = read(path)
    missing = {task.key: task for task in tasks if task.key not in done}
    if not missing or minutes <= 0:
        return done
    path.parent.mkdir(parents=True, exist_ok=True)

    def keep(progress: Progress) -> None:
        for key in [key for key in progress.results if key not in done]:
            done[key] = progress.results[key]["result"]
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, **done[key]}) + "\n")
            print(
                f"{progress.num_done}/{len(missing)} {progress.seconds:6.0f} s  "
                f"{missing[key].title}: {_words(done[key])}",
                flush=True,
            )

    outcome = run_jobs(
        [
            Job(key, task.title, f"{task.cell}, {task.arm}", {"task": task._asdict()})
            for key, task in missing.items()
        ],
        Processes(WORK, processes),
        on_progress=keep,
        max_seconds=60 * minutes,
    )
    _tell_failures(outcome, missing)
    return done


def _tell_failures(outcome: Outcome, tasks: dict[str, Task]) -> None:
    lines = [f"{tasks[key].title}: {why}" for key, why in outcome.failures.items()]
    if lines:
        raise RuntimeError(
            "\n".join(["some runs failed; the others are kept:", *lines])
        )


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
