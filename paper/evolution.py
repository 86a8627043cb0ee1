"""The evolution of a run: started, continued, or waited for; and what came of it."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from substrax.config import Experiment
from substrax.evolution import (
    Generation,
    Result,
    RunDirectory,
    RunLockedError,
    StopReason,
)

RUN = "run"


class Abandoned(Exception):  # noqa: N818 (asked for from outside, no error)
    """Whoever started this process wants it to end, or is gone."""


_should_stop: Callable[[], bool] = lambda: False


def listen(should_stop: Callable[[], bool]) -> None:
    """From now on, evolutions of this process ask whether to go on."""
    global _should_stop
    _should_stop = should_stop


def _watch(generation: Generation) -> StopReason | None:
    return StopReason.INTERRUPTED if _should_stop() else None


def run_evolution(folder: Path, experiment: Experiment) -> tuple[Result, RunDirectory]:
    """Starts the run, or goes on with it; waits while its last process is ending."""
    path = folder / RUN
    while True:
        try:
            if (path / "run.json").exists():
                directory = RunDirectory(path)
            else:
                directory = RunDirectory.create(
                    path, seed=experiment.run.seed, config_text=experiment.to_toml()
                )
            found = experiment.evolve(directory=directory, callbacks=[_watch])
            break
        except RunLockedError:
            if _should_stop():
                raise Abandoned from None
            time.sleep(0.5)
    if found.reason is StopReason.INTERRUPTED:
        raise Abandoned
    return found, directory


def _mean(values: Iterable[float]) -> float | None:
    every = list(values)
    return float(np.mean(every)) if every else None


def evolution_facts(experiment: Experiment, result: Result) -> dict[str, Any]:
    """What is known of an evolution; times without compilation where it says so."""
    problem = experiment.build().problem
    history = result.history
    running = [record.seconds - record.compile_seconds for record in history]
    solved = (
        record.generation
        for record in history
        if record.best_ever is not None and record.best_ever >= problem.target
    )
    measures = {}
    if result.best_network is not None:
        measures = problem.measures(result.best_network)
    values = experiment.values
    return {
        "problem": experiment.problem_name,
        "rule": experiment.method.name,
        "strategy": values.get("method.strategy"),
        "depth": values.get("method.depth"),
        "connections": values.get("method.connections"),
        "dialect": values.get("method.dialect"),
        "population": experiment.neat.population_size,
        "seed": experiment.run.seed,
        "generations": result.generations,
        "target": problem.target,
        "solved_at": next(solved, None),
        "best_fitness": result.best_fitness,
        "seconds": sum(record.seconds for record in history),
        "compile_seconds": sum(record.compile_seconds for record in history),
        "seconds_per_generation": _mean(running),
        "median_seconds": float(np.median(running)) if running else None,
        "mean_hidden": _mean(record.mean_hidden for record in history),
        "mean_links": _mean(record.mean_network_links for record in history),
        "measures": measures,
    }
