"""The same evolution from several seeds."""

import dataclasses
import math
import os
import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..config import Experiment, refuse_while_loading
from ..evolution import Callback, RunDirectory
from ..methods import AbstractMethod
from ..models import Model
from ..sweeps import rate
from ._evolve import go, same_directory
from ._experiment import as_experiment
from ._run import Run


@dataclasses.dataclass(frozen=True)
class SeedRuns:
    """Runs that differ in nothing but their seeds."""

    runs: tuple[Run, ...]

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __getitem__(self, index: int) -> Run:
        return self.runs[index]

    @property
    def best(self) -> Model:
        """The best network of all runs."""
        return max(self.runs, key=lambda run: _fitness(run)).best

    def summary(self) -> dict[str, int | float]:
        """How many were solved, with Wilson's interval of 95 %, and medians."""
        solved = [run for run in self.runs if run.is_solved]
        share = rate(len(solved), len(self.runs))
        found: dict[str, int | float] = {
            "runs": len(self.runs),
            "solved": len(solved),
            "rate": share.value,
            "rate_low": share.low,
            "rate_high": share.high,
            "median_best_fitness": statistics.median(map(_fitness, self.runs)),
            "median_seconds": statistics.median(run.seconds for run in self.runs),
        }
        if solved:
            generations = [run.generations for run in solved]
            found["median_generations_if_solved"] = statistics.median(generations)
        return found

    def __repr__(self) -> str:
        facts = self.summary()
        lines = [
            f"{facts['solved']} of {facts['runs']} solved (95 % interval "
            f"{facts['rate_low']:.2f} to {facts['rate_high']:.2f})",
            f"median of best fitness {facts['median_best_fitness']:z.6g}, of time "
            f"{facts['median_seconds']:.1f} s",
        ]
        if "median_generations_if_solved" in facts:
            number = facts["median_generations_if_solved"]
            lines.append(f"median of generations to a solution {number:g}")
        return "\n".join(lines)


def _fitness(run: Run) -> float:
    return -math.inf if run.best_fitness is None else run.best_fitness


def evolve_seeds(
    problem: Any,
    *,
    seeds: int | Iterable[int],
    inputs: int | None = None,
    outputs: int | None = None,
    method: str | AbstractMethod | None = None,
    directory: str | os.PathLike[str] | None = None,
    callbacks: Iterable[Callback] = (),
    progress: bool | None = None,
    **settings: Any,
) -> SeedRuns:
    """`evolve` for several seeds, one after the other.

    ```python
    import substrax as sx

    runs = sx.evolve_seeds("xor", seeds=3, population=150)
    print(runs)  # how many were solved, with an interval, and medians
    ```

    **Arguments:**

    - `seeds`: how many (0, 1, 2, ...), or which.
    - `directory`: a folder in which each run gets its own, `seed0`, `seed1`, ... If the
      program is killed, the same call goes on where it was.
    - the rest as in `evolve`.
    """
    refuse_while_loading()
    numbers = list(range(seeds) if isinstance(seeds, int) else seeds)
    if not numbers:
        raise ValueError("evolve_seeds needs a seed at least.")
    experiment = as_experiment(problem, inputs, outputs, method, settings)
    watchers = list(callbacks)
    runs = []
    for each, place in seed_runs(experiment, numbers, directory):
        runs.append(go(each, place, watchers, progress))
    return SeedRuns(tuple(runs))


def seed_runs(
    experiment: Experiment,
    seeds: Iterable[int],
    directory: str | os.PathLike[str] | None,
) -> Iterator[tuple[Experiment, RunDirectory | None]]:
    """The experiment with each seed, and the place of each run."""
    experiment.check()  # whatever is wrong is said before a directory is made
    for seed in seeds:
        each = experiment.with_settings({"run.seed": seed})
        if directory is None:
            yield each, None
        else:
            # One by one: each directory is made when its run begins, so that what a
            # kill leaves behind are runs that were begun.
            yield same_directory(each, Path(directory) / f"seed{seed}")
