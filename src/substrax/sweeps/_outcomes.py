"""What the runs of a sweep have come to: by arm, in words, as columns."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._types import counted
from ..runs import FACTS, summary
from ._folder import SweepArm, SweepFolder, SweepRun
from ._seeds import DAMAGED, SeedOutcome, sum_up, troubles
from ._statistics import (
    Comparison,
    fisher,
    holm,
    mann_whitney,
    median_interval,
    rate,
)
from ._tables import Table, number, seconds

_MOST_FOR_ALL_PAIRS = 5
"""With more arms, each is compared with the first, or with the baseline."""


@dataclasses.dataclass(frozen=True)
class ArmOutcome:
    """An arm, and what each of its runs has come to."""

    arm: SweepArm
    runs: tuple[SeedOutcome, ...]
    errors: Mapping[int, str]
    """Why runs failed, by seed."""

    @property
    def finished(self) -> list[SeedOutcome]:
        return [run for run in self.runs if run.is_finished]

    @property
    def solved(self) -> list[SeedOutcome]:
        return [run for run in self.finished if run.is_solved]

    @property
    def has_target(self) -> bool:
        return self.arm.target is not None

    def fitness(self) -> list[float]:
        """The best fitness of each finished run that has one."""
        found = (run.best_fitness for run in self.finished)
        return [value for value in found if value is not None]

    def generations_to_solution(self) -> list[int]:
        return [run.generations_to_solution for run in self.solved]


def read_arms(folder: SweepFolder) -> list[ArmOutcome]:
    """What all runs of a sweep have come to; JAX is not imported."""
    return [_read_arm(arm) for arm in folder.arms]


def _read_arm(arm: SweepArm) -> ArmOutcome:
    errors: dict[int, str] = {}
    runs = tuple(_read_run(run, errors) for run in arm.runs)
    return ArmOutcome(arm, runs, errors)


def _read_run(run: SweepRun, errors: dict[int, str]) -> SeedOutcome:
    nothing = SeedOutcome(run.seed, 0, None, 0.0, None, None)
    if not (run.path / FACTS).is_file():
        return nothing
    try:
        facts = summary(run.path)
    except (ValueError, OSError) as error:
        errors[run.seed] = str(error)
        return dataclasses.replace(nothing, stopped=DAMAGED)
    if facts["error"]:
        errors[run.seed] = facts["error"]
    return SeedOutcome.of(facts)


ARM_COLUMNS = (
    "arm", "done", "solved", "rate", "generations to a solution", "best fitness",
    "seconds",
)  # fmt: skip


def arms_table(outcomes: Sequence[ArmOutcome], title: str = "") -> Table:
    """A line for each arm: rates with Wilson's interval, and medians with the interval
    of a bootstrap, where there are three runs at least."""
    rows = []
    for outcome in outcomes:
        share = rate(len(outcome.solved), len(outcome.finished))
        has_rate = outcome.has_target and outcome.finished
        rows.append(
            (
                outcome.arm.label,
                f"{len(outcome.finished)} of {len(outcome.runs)}",
                str(share.successes) if has_rate else "",
                _percent(share) if has_rate else "",
                median_text(outcome.generations_to_solution()),
                median_text(outcome.fitness()),
                median_text([run.seconds for run in outcome.finished], seconds),
            )
        )
    return Table.of(title, ARM_COLUMNS, rows, troubles_of(outcomes))


def troubles_of(outcomes: Iterable[ArmOutcome], most: int = 5) -> list[str]:
    """What is wrong with the metrics of runs, a line each, but no more than some."""
    lines = [
        line
        for outcome in outcomes
        for line in troubles(outcome.runs, f"{outcome.arm.label}, ")
    ]
    rest = len(lines) - most
    return lines[:most] + ([f"and {counted(rest, 'more run')}."] if rest > 0 else [])


def _percent(share: Any) -> str:
    return f"{100 * share.value:.0f} % [{100 * share.low:.0f}, {100 * share.high:.0f}]"


def median_text(values: Sequence[float | int], text_fn: Any = number) -> str:
    """The median with its interval of 95 %; nothing without values."""
    if not values:
        return ""
    middle, low, high = median_interval(values)
    if math.isnan(low):
        return f"{text_fn(middle)}"
    return f"{text_fn(middle)} [{text_fn(low)}, {text_fn(high)}]"


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two arms of one problem beside each other. None: there is nothing to compare."""

    first: str
    second: str
    solved: Comparison | None
    generations: Comparison | None
    fitness: Comparison | None


def compare_arms(
    outcomes: Sequence[ArmOutcome], baseline: str | None = None
) -> list[Pair]:
    """Arms of one problem compared: rates by Fisher's exact test (effect: Cohen's h),
    fitness and generations to a solution by Mann-Whitney's (effect: Cliff's delta).

    p-values are corrected by Holm's method, over all pairs for each of the three. All
    pairs of a problem are compared if it has five arms at most; otherwise each arm with
    the baseline, or with the first. Needs the extra `sweep`.
    """
    by_problem: dict[str, list[ArmOutcome]] = {}
    for outcome in outcomes:
        if outcome.finished:
            by_problem.setdefault(outcome.arm.problem, []).append(outcome)
    pairs = [pair for arms in by_problem.values() for pair in _pairs_of(arms, baseline)]
    tests = [
        _corrected([test_fn(a, b) for a, b in pairs])
        for test_fn in (_solved, _generations, _fitness)
    ]
    return [
        Pair(a.arm.label, b.arm.label, *each)
        for (a, b), *each in zip(pairs, *tests, strict=True)
    ]


def _pairs_of(
    arms: Sequence[ArmOutcome], baseline: str | None
) -> list[tuple[ArmOutcome, ArmOutcome]]:
    labels = [outcome.arm.label for outcome in arms]
    if baseline in labels or len(arms) > _MOST_FOR_ALL_PAIRS:
        first = arms[labels.index(baseline)] if baseline in labels else arms[0]
        return [(other, first) for other in arms if other is not first]
    return [(a, b) for k, b in enumerate(arms) for a in arms[k + 1 :]]


def _corrected(tests: Sequence[Comparison | None]) -> list[Comparison | None]:
    which = [k for k, test in enumerate(tests) if test is not None]
    result = list(tests)
    for k, test in zip(which, holm([t for t in tests if t is not None]), strict=True):
        result[k] = test
    return result


def _solved(a: ArmOutcome, b: ArmOutcome) -> Comparison | None:
    if not (a.has_target and b.has_target):
        return None
    first, second = (rate(len(arm.solved), len(arm.finished)) for arm in (a, b))
    return fisher(first, second)


def _generations(a: ArmOutcome, b: ArmOutcome) -> Comparison | None:
    values = a.generations_to_solution(), b.generations_to_solution()
    return mann_whitney(*values) if all(values) else None


def _fitness(a: ArmOutcome, b: ArmOutcome) -> Comparison | None:
    values = a.fitness(), b.fitness()
    return mann_whitney(*values) if all(values) else None


def pairs_table(pairs: Sequence[Pair], title: str = "") -> Table:
    """A line for each pair."""
    text = lambda test: "" if test is None else _test_text(test)
    rows = [
        (f"{p.first} - {p.second}", *map(text, (p.solved, p.generations, p.fitness)))
        for p in pairs
    ]
    columns = ("arms", "solved", "generations to a solution", "best fitness")
    return Table.of(title, columns, rows)


def _test_text(test: Comparison) -> str:
    if math.isnan(test.p):
        return ""
    p = "p < 0.001" if test.p < 0.001 else f"p = {test.p:.3f}"
    return f"{p}, {test.effect} = {test.size:+.2f} ({test.size_name})"


def sweep_sentences(outcomes: Sequence[ArmOutcome]) -> list[str]:
    """How far a sweep is, a line each."""
    runs = [run for outcome in outcomes for run in outcome.runs]
    done = [run for run in runs if run.is_finished]
    line = f"{len(done)} of {len(runs)} runs are done"
    if any(outcome.has_target for outcome in outcomes):
        line += f", {sum(bool(run.is_solved) for run in done)} of them solved"
    num_failed = sum(len(outcome.errors) for outcome in outcomes)
    return [line + (f"; {num_failed} failed" if num_failed else "")]


def failures_of(outcomes: Iterable[ArmOutcome]) -> list[str]:
    """Why runs failed, a line each."""
    return [
        f"{outcome.arm.label}, seed {seed}: {error}"
        for outcome in outcomes
        for seed, error in outcome.errors.items()
    ]


def rows_of(outcomes: Sequence[ArmOutcome]) -> list[dict[str, Any]]:
    """A row for each run, of plain values: its arm, its settings, what it came to."""
    names = dict.fromkeys(key for o in outcomes for key in o.arm.settings)
    return [
        {
            "arm": outcome.arm.label,
            "problem": outcome.arm.problem,
            "method": outcome.arm.method,
            **{f"setting_{name}": outcome.arm.settings.get(name) for name in names},
            "seed": run.seed,
            "is_finished": run.is_finished,
            "is_solved": run.is_solved,
            "generations": run.generations,
            "has_all_metrics": run.trouble is None,
            "best_fitness": run.best_fitness,
            "seconds": run.seconds,
            "stopped": run.stopped,
            "directory": place.path.name,
        }
        for outcome in outcomes
        for run, place in zip(outcome.runs, outcome.arm.runs, strict=True)
    ]


def summary_of(outcomes: Sequence[ArmOutcome]) -> dict[str, dict[str, int | float]]:
    """What each arm has come to, by label; see `sum_up`."""
    return {outcome.arm.label: sum_up(outcome.runs) for outcome in outcomes}
