"""The same evolution from several seeds."""

import dataclasses
import html
import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..config import Experiment, refuse_while_loading
from ..evolution import Callback, RunDirectory, is_first
from ..methods import AbstractMethod
from ..models import Model
from ..runs import note_seeds, seed_folder
from ..sweeps import (
    SeedOutcome,
    Table,
    checked_seeds,
    seeds_table,
    sum_up,
    summary_sentences,
)
from ._evolve import go, same_directory
from ._experiment import as_experiment
from ._notebook import beside_figures
from ._run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True)
class SeedRuns:
    """Runs that differ in nothing but their seeds.

    `print` says how many were solved. In a notebook, they show a table and the best
    fitness of all of them over generations; `report` writes a page.
    """

    runs: tuple[Run, ...]
    directory: Path | None = None
    """The folder of all of them, if they were saved."""

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __getitem__(self, index: int) -> Run:
        return self.runs[index]

    @property
    def best(self) -> Model:
        """The best network of all runs."""
        return max(self.runs, key=_fitness).best

    def outcomes(self) -> list[SeedOutcome]:
        """What each run has come to."""
        return [
            SeedOutcome(
                seed=run.experiment.run.seed,
                generations=run.generations,
                best_fitness=run.best_fitness,
                seconds=run.seconds,
                is_solved=None if run.target is None else run.is_solved,
                stopped=run.reason.value,
                solved_at=run.solved_at,
            )
            for run in self.runs
        ]

    def summary(self) -> dict[str, int | float]:
        """How many were solved, with Wilson's interval of 95 %, and medians with
        quartiles."""
        return sum_up(self.outcomes())

    def __repr__(self) -> str:
        return "\n".join(summary_sentences(self.outcomes()))

    def table(self) -> Table:
        """A line for each seed."""
        experiment = self.runs[0].experiment
        title = f"{experiment.problem.name} by {experiment.method.title}"
        return seeds_table(self.outcomes(), title)

    def plot(self) -> "Figure":
        """The best fitness of each run over the generations, median and quartiles."""
        from ..report import plot_fitness

        return plot_fitness(self)

    def report(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Writes a page about these runs; returns where it is.

        **Arguments:**

        - `path`: a folder for it; left out, `report` in the folder of the runs or, if
          they were not saved, a new folder of that name where the program runs.
        """
        from ..report import write_report

        return write_report(self, path)

    def _repr_html_(self) -> str:
        has_curve = any(run.history for run in self.runs)
        figures = lambda: [self.plot()] if has_curve else []
        words = html.escape(f"{self.table().to_text()}\n\n{self!r}")
        return beside_figures(figures, f"<pre>{words}</pre>")


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
      program is killed, the same call goes on where it was. `substrax show`, `resume`
      and `report` take the folder, too.
    - the rest as in `evolve`.
    """
    refuse_while_loading()
    experiment = as_experiment(problem, inputs, outputs, method, settings)
    watchers = list(callbacks)
    runs = []
    for each, place in seed_runs(experiment, seeds, directory):
        runs.append(go(each, place, watchers, progress))
    return SeedRuns(tuple(runs), None if directory is None else Path(directory))


def seed_runs(
    experiment: Experiment,
    seeds: int | Iterable[int],
    directory: str | os.PathLike[str] | None,
) -> Iterator[tuple[Experiment, RunDirectory | None]]:
    """The experiment with each seed, and the place of each run."""
    experiment.check()  # whatever is wrong is said before a directory is made
    # All of them: the last one is not to stop what the others have begun.
    if not isinstance(seeds, int | range):
        seeds = [int(s) if isinstance(s, np.integer) else s for s in seeds]
    numbers = checked_seeds("seeds", seeds)
    every = [experiment.with_settings({"run.seed": seed}) for seed in numbers]
    for seed, each in zip(numbers, every, strict=True):
        if directory is None or not is_first():
            yield each, None
        else:
            # One by one: each directory is made when its run begins, so that what a
            # kill leaves behind are runs that were begun. The list of seeds is written
            # again each time, as another machine may have written its own.
            note_seeds(directory, numbers)
            yield same_directory(each, Path(directory) / seed_folder(seed))
