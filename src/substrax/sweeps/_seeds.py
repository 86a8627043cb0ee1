"""Runs of one experiment with several seeds, summed up."""

import dataclasses
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..runs import FACTS, StopReason, read_seeds, summary
from ._statistics import quartiles, rate
from ._tables import Table


@dataclasses.dataclass(frozen=True)
class SeedOutcome:
    """What the run of one seed has come to."""

    seed: int
    generations: int
    """How many were run."""
    best_fitness: float | None
    """None if there is none yet."""
    seconds: float
    is_solved: bool | None
    """None for a run without a target."""
    stopped: str | None
    """Why it stopped, a value of `StopReason`; None while it goes on, if it was killed,
    or if it has not begun."""
    solved_at: int | None = None
    """The first generation whose best reached the target, if it is known."""
    trouble: str | None = None
    """What is wrong with its metrics, of which `seconds` is the sum."""

    @staticmethod
    def of(facts: Mapping[str, Any]) -> "SeedOutcome":
        """From what `substrax.runs.summary` says."""
        best = facts["best"]
        is_solved = best is not None and best["is_solved"]
        return SeedOutcome(
            seed=facts["seed"],
            generations=facts["generations"],
            best_fitness=None if best is None else best["fitness"],
            seconds=float(facts["seconds"]),
            is_solved=None if facts["target"] is None else is_solved,
            stopped=facts["stopped"],
            solved_at=facts["solved_at"],
            trouble=facts["metrics_trouble"],
        )

    @property
    def generations_to_solution(self) -> int:
        """How many a solved run has needed. It has run more where its target was
        lowered since."""
        return self.generations if self.solved_at is None else self.solved_at + 1

    @property
    def is_finished(self) -> bool:
        """Whether it has come to its end: `substrax resume` would not go on."""
        return bool(self.is_solved) or self.stopped not in _UNFINISHED

    @property
    def words(self) -> str:
        """How far it has come."""
        if self.is_solved:
            return "solved"
        if self.is_finished:
            return "ended" if self.is_solved is None else "not solved"
        if self.stopped is not None:
            return self.stopped
        return "running, or killed" if self.generations else "not begun"


DAMAGED = "damaged"
"""In the place of a reason to stop: the files of the run cannot be used."""

_UNFINISHED = (None, StopReason.INTERRUPTED.value, StopReason.ERROR.value, DAMAGED)


def read_outcomes(folder: str | os.PathLike[str]) -> list[SeedOutcome]:
    """What the runs in a folder have come to, by seed; JAX is not imported."""
    seeds = read_seeds(folder)
    if seeds is None:
        raise ValueError(f"{folder} holds no runs of several seeds.")
    return [_read(seed, path) for seed, path in seeds.items()]


def _read(seed: int, path: Path) -> SeedOutcome:
    if not (path / FACTS).is_file():
        return SeedOutcome(seed, 0, None, 0.0, None, None)
    try:
        return SeedOutcome.of(summary(path))
    except (ValueError, OSError) as error:
        # (the others can be told all the same)
        trouble = str(error).removesuffix(".")
        return SeedOutcome(seed, 0, None, 0.0, None, DAMAGED, None, trouble)


def sum_up(outcomes: Sequence[SeedOutcome]) -> dict[str, int | float]:
    """How many were solved, with Wilson's interval of 95 %, and medians with quartiles.

    All of that is about runs that have come to their end. One whose evaluations have
    all failed has a best fitness of minus infinity; without runs, medians are NaN, and
    without a target, so is the rate.
    """
    finished = [outcome for outcome in outcomes if outcome.is_finished]
    solved = [outcome for outcome in finished if outcome.is_solved]
    share = rate(len(solved), len(finished))
    # Without a target there is nothing to be solved, and no share of it.
    is_told = not finished or any(run.is_solved is not None for run in finished)
    shares = (share.value, share.low, share.high) if is_told else (math.nan,) * 3
    found: dict[str, int | float] = {
        "runs": len(outcomes),
        "finished": len(finished),
        "solved": len(solved),
        **dict(zip(("rate", "rate_low", "rate_high"), shares, strict=True)),
        **_spread("best_fitness", map(_fitness, finished)),
        **_spread("seconds", (outcome.seconds for outcome in finished)),
    }
    if solved:
        generations = (outcome.generations_to_solution for outcome in solved)
        found |= _spread("generations_if_solved", generations)
    return found


def _spread(name: str, values: Iterable[float | int]) -> dict[str, float]:
    low, middle, high = quartiles(list(values))
    return {
        f"median_{name}": middle,
        f"lower_quartile_{name}": low,
        f"upper_quartile_{name}": high,
    }


def _fitness(outcome: SeedOutcome) -> float:
    return -math.inf if outcome.best_fitness is None else outcome.best_fitness


def summary_sentences(outcomes: Sequence[SeedOutcome]) -> list[str]:
    """The same in words, a line each."""
    facts = sum_up(outcomes)
    waiting = facts["runs"] - facts["finished"]
    first = f"none of {facts['runs']} has come to its end"
    if facts["finished"]:
        first = f"{facts['finished']} runs, without a target"
        if any(outcome.is_solved is not None for outcome in outcomes):
            first = (
                f"{facts['solved']} of {facts['finished']} solved (95 % interval "
                f"{facts['rate_low']:.2f} to {facts['rate_high']:.2f})"
            )
        first += f"; {waiting} not finished" if waiting else ""
    lines = [first]
    if facts["finished"]:
        lines += [
            f"best fitness: {_in_words(facts, 'best_fitness', '.6g')}",
            f"seconds: {_in_words(facts, 'seconds', '.3g')}",
        ]
    if facts["solved"]:
        words = _in_words(facts, "generations_if_solved", "g")
        lines.append(f"generations to a solution: {words}")
    return lines


def _in_words(facts: Mapping[str, int | float], name: str, form: str) -> str:
    middle, low, high = (
        f"{facts[f'{which}_{name}']:z{form}}"
        for which in ("median", "lower_quartile", "upper_quartile")
    )
    return f"median {middle}, quartiles {low} and {high}"


def seeds_table(outcomes: Sequence[SeedOutcome], title: str = "") -> Table:
    """A line for each seed."""
    rows = [
        (
            outcome.seed,
            outcome.words,
            outcome.generations,
            outcome.best_fitness,
            round(outcome.seconds, 2),
        )
        for outcome in outcomes
    ]
    columns = ("seed", "result", "generations", "best fitness", "seconds")
    return Table.of(title, columns, rows, troubles(outcomes))


def troubles(outcomes: Iterable[SeedOutcome], where: str = "") -> list[str]:
    """What is wrong with the metrics of runs, a line each."""
    return [
        f"{where}seed {outcome.seed}: {outcome.trouble}."
        for outcome in outcomes
        if outcome.trouble is not None
    ]
