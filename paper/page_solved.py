"""Rates of solved runs on pages: how they are counted, compared and printed."""

from typing import Any

from substrax.sweeps import Comparison, Rate, fisher, holm, rate

from .page import median
from .results import Results

MIN_RUNS = 30
"""Rates of fewer runs are shown, but not compared."""


def solved_rate(results: Results, within: int | None = None, **where: Any) -> Rate:
    return rate(*results.solved(within, **where))


def compared(pairs: list[tuple[Rate | None, Rate | None]]) -> list[Comparison | None]:
    """Fisher's test of each pair, corrected together; None for those of few runs."""
    which = [
        (place, a, b)
        for place, (a, b) in enumerate(pairs)
        if a and b and min(a.trials, b.trials) >= MIN_RUNS
    ]
    found: list[Comparison | None] = [None] * len(pairs)
    tests = holm([fisher(a, b) for _, a, b in which])
    for (place, _, _), test in zip(which, tests, strict=True):
        found[place] = test
    return found


def comparison_text(test: Comparison | None) -> str:
    return test.text() if test else f"fewer than {MIN_RUNS} runs"


def _generations(results: Results, problem: str | None = None) -> int:
    """How many generations the longest runs of the plan (and of a problem) have."""
    plan = results.plan
    arms = {row["arm"] for row in results.rows if row.get("problem") == problem}
    return max(
        arm.settings.get("run.generations", plan.start_of(arm).run.generations)
        for arm in plan.arms
        if problem is None or arm.name in arms
    )


def solved_within(results: Results, problem: str | None = None) -> int | None:
    """Generations within which runs count as solved: at most those that were run."""
    plan = results.plan
    within = (
        plan.within if problem is None else plan.within_of.get(problem, plan.within)
    )
    return None if within is None else min(within, _generations(results, problem))


def percent_text(value: float | int | None, runs: int) -> str:
    return "" if value is None else f"{value:g} % of {runs}"


def solved_generation(results: Results, **where: Any) -> float | None:
    """The median generation of the runs that solved."""
    return median(results, "solved_at", **where)
