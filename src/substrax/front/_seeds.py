"""The same evolution from several seeds."""

import dataclasses
import math
import os
import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..models import Model
from ..sweeps import rate
from ._evolve import evolve
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
            f"median of best fitness {facts['median_best_fitness']:.6g}, of time "
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
    directory: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> SeedRuns:
    """`evolve` for several seeds, one after the other.

    **Arguments:**

    - `seeds`: how many (0, 1, 2, ...), or which.
    - `directory`: a folder in which each run gets its own, `seed0`, `seed1`, ...
    - the rest as in `evolve`.
    """
    numbers = list(range(seeds) if isinstance(seeds, int) else seeds)
    if not numbers:
        raise ValueError("evolve_seeds needs a seed at least.")
    runs = []
    for seed in numbers:
        place = None if directory is None else Path(directory) / f"seed{seed}"
        runs.append(evolve(problem, seed=seed, directory=place, **settings))
    return SeedRuns(tuple(runs))
