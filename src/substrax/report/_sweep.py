"""What a report of a sweep is about, read from its folder."""

import dataclasses
import os
from pathlib import Path

import numpy as np

from ..runs import own_records
from ..sweeps import ArmOutcome, SweepFolder, read_arms, read_plan
from ._history import column


@dataclasses.dataclass(frozen=True)
class ArmCurves:
    """An arm, and the best fitness so far of each of its runs over the generations."""

    outcome: ArmOutcome
    curves: tuple[np.ndarray, ...]
    """Of runs that have a finished generation."""

    @property
    def label(self) -> str:
        return self.outcome.arm.label

    @property
    def target(self) -> float | None:
        return self.outcome.arm.target


@dataclasses.dataclass(frozen=True)
class SweepReport:
    """A sweep, its arms by problem: fitness of different problems is not compared."""

    folder: SweepFolder
    groups: dict[str, tuple[ArmCurves, ...]]
    plan_text: str

    @property
    def arms(self) -> list[ArmOutcome]:
        return [arm.outcome for arms in self.groups.values() for arm in arms]

    @staticmethod
    def read(path: str | os.PathLike[str]) -> "SweepReport":
        """Reads a folder, also while its runs go on."""
        folder = SweepFolder.read(path)
        groups: dict[str, list[ArmCurves]] = {}
        for outcome in read_arms(folder):
            curves = [_curve(run.path) for run in outcome.arm.runs]
            begun = tuple(curve for curve in curves if len(curve))
            groups.setdefault(outcome.arm.problem, []).append(ArmCurves(outcome, begun))
        if not any(arm.curves for arms in groups.values() for arm in arms):
            raise ValueError(
                f"none of the runs in {path} has a finished generation, so there is "
                "nothing to report."
            )
        return SweepReport(
            folder,
            {problem: tuple(arms) for problem, arms in groups.items()},
            read_plan(folder.path),
        )


def _curve(place: Path) -> np.ndarray:
    """The best fitness so far in each generation; what was known before stays."""
    lines = own_records(place)
    if not lines:
        return np.empty(0)
    row = np.full(int(lines[-1]["generation"]) + 1, np.nan)
    row[column(lines, "generation").astype(int)] = column(lines, "best_ever")
    known = np.maximum.accumulate(np.where(np.isnan(row), -1, np.arange(len(row))))
    return np.where(known >= 0, row[known], np.nan)


def stacked(curves: tuple[np.ndarray, ...], length: int) -> np.ndarray:
    """Curves as rows of one length: a run that has ended keeps its last value."""
    return np.stack(
        [np.concatenate([c, np.full(length - len(c), c[-1])]) for c in curves]
    )
