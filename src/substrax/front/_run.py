"""What an evolution came to, to be looked at and used."""

import functools
import html
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._types import counted
from ..config import Experiment
from ..evolution import (
    GenerationRecord,
    Result,
    StopReason,
    diagnose,
    genome_size,
)
from ..models import Model
from ..neat import Genome
from ..problems import AbstractProblem
from ._notebook import beside_figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Run:
    """A run that has ended, for whatever reason.

    `run.best` is the best network as a model: call it, save it. In a notebook, a run
    shows its curve and its network; `run.report()` writes a page about it.
    """

    def __init__(
        self,
        experiment: Experiment,
        result: Result,
        directory: Path | None = None,
    ) -> None:
        self.experiment, self.result, self.directory = experiment, result, directory
        self._report_folder: Path | None = None

    @property
    def problem(self) -> AbstractProblem:
        """The problem as the best network met it."""
        return self._problem

    @functools.cached_property
    def _problem(self) -> AbstractProblem:
        problem, statistics = self.experiment.problem, self.result.statistics
        return problem if statistics is None else problem.after(statistics)

    @functools.cached_property
    def best(self) -> Model:
        """The best network of all generations."""
        return Model(
            self.result.found()[1],
            self.problem.preparation,
            name=self.problem.name,
            fitness=self.result.best_fitness,
        )

    @property
    def best_fitness(self) -> float | None:
        return self.result.best_fitness

    @property
    def best_genome(self) -> Genome | None:
        return self.result.best_genome

    @property
    def history(self) -> tuple[GenerationRecord, ...]:
        """A record for each generation."""
        return self.result.history

    @property
    def generations(self) -> int:
        """How many were run."""
        return self.result.generations

    @property
    def is_solved(self) -> bool:
        """Whether the target was reached."""
        return self.result.is_solved

    @property
    def solved_at(self) -> int | None:
        """The first generation whose best reached the target."""
        return self.result.solved_at

    @property
    def reason(self) -> StopReason:
        """Why it ended."""
        return self.result.reason

    @property
    def seconds(self) -> float:
        return sum((record.seconds for record in self.history), 0.0)

    @property
    def compile_seconds(self) -> float:
        """The part of `seconds` that was spent compiling."""
        return sum((record.compile_seconds for record in self.history), 0.0)

    def measures(self) -> dict[str, float]:
        """What the problem says about the best network, besides its fitness."""
        return dict(self._measures)

    @functools.cached_property
    def _measures(self) -> dict[str, float]:
        return self.problem.measures(self.best.network)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Sequence[str]:
        experiment, result = self.experiment, self.result
        verdict = "solved, " if result.is_solved else "not solved, "
        lines = [
            f"{experiment.problem.name} by {experiment.method.title}, seed "
            f"{experiment.run.seed}: {'' if self.target is None else verdict}"
            f"{result.generations} generations in {self.seconds:.1f} s; ended because "
            f"{result.reason.sentence}"
        ]
        if result.best_network is not None and result.best_genome is not None:
            nodes, links = genome_size(result.best_genome)
            lines += [
                f"best fitness {result.best_fitness:z.6g}",
                f"genome: {counted(nodes, 'node')}, {counted(links, 'link')}",
                "network: " + str(self.best.describe()).replace("\n", "; "),
            ]
            lines += [
                f"{name}: {value:z.6g}" for name, value in self.measures().items()
            ]
        if not result.is_solved:
            found = diagnose(self.history, experiment.method.name)
            lines += [f"stuck? {sentence}" for sentence in found]
        if self.directory is not None:
            lines.append(f"directory: {self.directory}")
        return lines

    # ------------------------------------------------------------------------ pictures

    def plot(self) -> "Figure":
        """Fitness over the generations."""
        from ..report import plot_fitness

        return plot_fitness(self)

    @property
    def target(self) -> float | None:
        """The fitness that was asked for, if it is a number."""
        return self.experiment.target

    def _repr_html_(self) -> str:
        text = "<br>".join(html.escape(line) for line in self._lines())
        return beside_figures(self._figures, f'<p style="max-width:40em">{text}</p>')

    def _figures(self) -> "list[Figure]":
        from ..report import plot_best

        if not self.history:
            return []
        figures: list[Any] = [self.plot()]
        if self.result.best_network is not None:
            figures.append(plot_best(self))
        return figures

    def report(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Writes the page about this run; returns where it is.

        **Arguments:**

        - `path`: a folder for it, and for its figures; left out, `report` in the
          directory of the run or, if it was not saved, a new folder of that name (or
          `report-2`, ...) where the program runs.
        """
        from ..report import write_report

        page = write_report(self, self._report_folder if path is None else path)
        if path is None and self.directory is None:
            self._report_folder = page.parent.absolute()  # the next time, too
        return page
