"""What a report is about: a run, read once from its directory or from memory."""

import dataclasses
import functools
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..config import Experiment, load_run
from ..decoders import AbstractDecoder
from ..evolution import Best, RunDirectory, StopReason, surroundings
from ..network import Networks, evaluate
from ..problems import AbstractProblem, Preparation
from ..runs import (
    METRICS,
    check_metrics,
    history_of,
    read_metering,
    read_reached,
)
from ._answers import Answers
from ._names import named
from ._subject import EvolvedRun

_MAX_ROWS = 32
"""Rows of a truth table that a reader looks at."""


@dataclasses.dataclass(frozen=True)
class Run:
    """All that a report shows.

    `path` is None for a run that was not saved, `experiment` for one without a
    configuration.
    """

    path: Path | None
    generations: int
    """How many were run."""
    trouble: str | None
    """What is wrong with the metrics."""
    metrics: list[dict[str, Any]]
    best: Best | None
    facts: dict[str, Any]
    stop_reason: StopReason | None
    config_text: str
    experiment: Experiment | None
    decoder: AbstractDecoder | None
    problem: AbstractProblem | None

    @staticmethod
    def read(
        directory: str | os.PathLike[str],
        decoder: AbstractDecoder | None = None,
        problem: AbstractProblem | None = None,
    ) -> "Run":
        """Reads a directory; what its configuration does not say may be given."""
        run = RunDirectory(directory)
        reached = read_reached(run.path, run.facts())
        metering = read_metering(run.path, reached)
        check_metrics(run.path, metering)
        metrics = metering.lines.records
        generations = metrics[-1]["generation"] + 1 if metrics else 0
        if reached is not None:
            generations = max(generations, reached.generations)
        if not metrics and generations:
            raise ValueError(
                f"{run.path / METRICS} is gone, and the page is made of it. "
                f"`substrax show {run.path}` says what the run has found."
            )
        if not metrics:
            raise ValueError(
                f"the run in {run.path} has not finished a generation yet, so there is "
                f"nothing to report. Continue it with `substrax resume {run.path}`."
            )
        history_of(run.path / METRICS, metrics)  # all that figures need is there
        text = run.config_text()
        experiment = None
        if text:
            experiment, _ = load_run(run.path)
            if problem is not None:
                experiment = dataclasses.replace(experiment, own=problem)
            if not experiment.is_elsewhere:
                parts = experiment.build()
                decoder, problem = decoder or parts.decoder, parts.problem
        best = run.best()
        if best is not None and decoder is not None:
            decoder = named(decoder, _preparation(problem, best))
        return Run(
            path=run.path,
            generations=generations,
            trouble=metering.sentence,
            metrics=metrics,
            best=best,
            facts=run.facts(),
            stop_reason=run.stop_reason(),
            config_text=text,
            experiment=experiment,
            decoder=decoder,
            problem=problem,
        )

    @staticmethod
    def of(run: EvolvedRun) -> "Run":
        """A run of this process, from its directory if it has one."""
        parts, result = run.experiment.build(), run.result
        if run.directory is not None:
            return Run.read(run.directory, parts.decoder, parts.problem)
        if not result.history:
            raise ValueError(
                "this run has no finished generation, so there is nothing to report."
            )
        best = None
        if result.best_fitness is not None:
            best = Best(
                result.best_fitness,
                int(result.state.last_improved),
                *result.found(),
                run.problem.preparation,
                run.problem.name,
            )
        return Run(
            path=None,
            generations=result.generations,
            trouble=None,
            metrics=[record.to_dict() for record in result.history],
            best=best,
            facts={
                "seed": run.experiment.run.seed,
                "engine": run.experiment.run.resources.engine_name,
                **surroundings(),
            },
            stop_reason=result.reason,
            config_text=run.experiment.to_toml(),
            experiment=run.experiment,
            decoder=named(parts.decoder, parts.problem.preparation),
            problem=parts.problem,
        )

    @property
    def name(self) -> str:
        if self.problem is not None:
            return self.problem.name
        return "run" if self.path is None else self.path.resolve().name

    @property
    def is_repeatable(self) -> bool:
        """Whether its configuration is all that is needed to run it again."""
        return self.experiment is not None and not self.experiment.is_in_python

    @property
    def method(self) -> str | None:
        """The name of the method, if the run has a configuration."""
        return None if self.experiment is None else self.experiment.method.name

    @property
    def preparation(self) -> Preparation:
        """What data are turned into, and what their columns and classes are called."""
        return _preparation(self.problem, self.best)

    @property
    def target(self) -> float | None:
        """The fitness that was enough, if the run had one."""
        if "target" in self.facts:  # what it went by, whatever its settings say now
            return self.facts["target"]
        if self.experiment is not None:
            return self.experiment.target
        target = math.inf if self.problem is None else self.problem.target
        return target if math.isfinite(target) else None

    @property
    def is_solved(self) -> bool | None:
        """Whether the target was reached; None if it is not known."""
        if self.target is None:
            return None
        return self.best is not None and self.best.fitness >= self.target

    @property
    def seconds(self) -> float:
        return sum(float(line.get("seconds") or 0.0) for line in self.metrics)

    @property
    def compile_seconds(self) -> float:
        return sum(float(line.get("compile_seconds") or 0.0) for line in self.metrics)

    @property
    def num_cached(self) -> int:
        """Networks that were not built, because the same genome had one."""
        return sum(int(line.get("num_cached") or 0) for line in self.metrics)

    @property
    def reason(self) -> str:
        """Why the run ended, in words."""
        if self.stop_reason is None:
            return "it is still running, or was killed"
        error = self.facts.get("error")
        return self.stop_reason.sentence + (f": {error}" if error else "")

    def measures(self) -> dict[str, float]:
        """What the problem says about the best network, besides its fitness."""
        if self.problem is None or self.best is None:
            return {}
        problem = self.problem.prepared(self.best.preparation)
        return problem.measures(self.best.network)

    def truth_table(self) -> "TruthTable | None":
        """Every row of a small problem with what the best network answers."""
        if self.problem is None or self.best is None:
            return None
        return truth_table(self.problem, self.best.network)

    @functools.cached_property
    def answers(self) -> Answers | None:
        """What the best network answers to a data set; None if there is no data set,
        or if its truth table says it all."""
        if self.problem is None or self.best is None:
            return None
        has_names = self.preparation.feature_names is not None
        has_test = self.problem.test_samples() is not None
        if self.truth_table() is not None and not (has_names or has_test):
            return None
        return Answers.of(self.problem, self.best.network)


def _preparation(problem: AbstractProblem | None, best: Best | None) -> Preparation:
    """That of the problem as the best network met it, or else what its file says."""
    if problem is None:
        return Preparation() if best is None else best.preparation
    return (problem if best is None else problem.prepared(best.preparation)).preparation


@dataclasses.dataclass(frozen=True, eq=False)
class TruthTable:
    """Inputs, what should come out, and what does; a row for each sample.

    In the units of the data, as they were before they were scaled.
    """

    inputs: np.ndarray
    targets: np.ndarray
    outputs: np.ndarray


def truth_table(problem: AbstractProblem, network: Networks) -> TruthTable | None:
    """The truth table of a network, if the problem is small enough to have one."""
    samples = problem.samples()
    if samples is None:
        return None
    inputs, targets = samples
    if len(inputs) > _MAX_ROWS or inputs.shape[1] + targets.shape[1] > 12:
        return None
    outputs = evaluate(network, inputs.astype(network.dtype))[0]
    preparation = problem.preparation
    return TruthTable(
        _unscaled(inputs, preparation),
        preparation.outputs(targets),
        preparation.outputs(outputs),
    )


def _unscaled(inputs: np.ndarray, preparation: Preparation) -> np.ndarray:
    """Rows as they were before `preparation.inputs`; a bias stays."""
    rows = inputs[:, : inputs.shape[1] - preparation.has_bias]
    if preparation.scale is not None:
        rows = rows * preparation.scale[None]
    if preparation.shift is not None:
        rows = rows + preparation.shift[None]
    return np.concatenate([rows, inputs[:, rows.shape[1] :]], axis=1)
