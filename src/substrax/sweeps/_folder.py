"""The folder of a sweep: which runs belong to it, and where they are.

    plan.toml        the plan, as it was given
    sweep.json       what follows from it: arms, and the directory of each run
    runs/            a run directory for each, named by what its result depends on
    results.parquet  a row for each run
    report/          the page

A run of an arm that was taken out of the plan stays where it is, and is found again
when the arm comes back.
"""

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._documents import read_text
from .._files import is_temporary_of, refuse_links, remove_temporaries, write_atomically
from ..runs import FACTS, SWEEP, DamagedRunError, sealed, unsealed

PLAN, RUNS = "plan.toml", "runs"
RESULTS = "results.parquet"
"""Of the folder of a sweep: a row for each run."""
_FORMAT, _VERSION = "substrax-sweep", 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}")
_TEMPORARY_OF = re.compile("|".join(map(re.escape, (PLAN, SWEEP, RESULTS))))
_ABANDONED = 60.0
"""Seconds after which nobody is writing a file any more: processes share a folder."""


@dataclasses.dataclass(frozen=True)
class SweepRun:
    """One run of a sweep."""

    seed: int
    path: Path
    """Its directory, which need not be there yet."""


@dataclasses.dataclass(frozen=True)
class SweepArm:
    """Runs that differ in their seeds alone."""

    label: str
    problem: str
    method: str
    target: float | None
    settings: Mapping[str, Any]
    """What the plan changes for this arm."""
    runs: tuple[SweepRun, ...]


@dataclasses.dataclass(frozen=True)
class SweepFolder:
    """What a sweep consists of, as its folder says."""

    path: Path
    title: str
    baseline: str | None
    base: str
    """The folder that paths of the plan count from."""
    arms: tuple[SweepArm, ...]

    @property
    def num_runs(self) -> int:
        return sum(len(arm.runs) for arm in self.arms)

    def write(self, plan_text: str) -> None:
        """Notes the plan and what follows from it; nothing else in the folder is
        touched, and equal files are left as they are."""
        check_folder(self.path, plan_text)
        refuse_links(self.path / name for name in (PLAN, SWEEP, RUNS, RESULTS))
        (self.path / RUNS).mkdir(parents=True, exist_ok=True)
        remove_temporaries(self.path, _TEMPORARY_OF, _ABANDONED)
        for name, text in ((SWEEP, self._text()), (PLAN, plan_text)):
            file = self.path / name
            if not file.exists() or file.read_bytes() != text.encode():
                write_atomically(file, text)

    def _text(self) -> str:
        arms = [
            {
                "label": arm.label,
                "problem": arm.problem,
                "method": arm.method,
                "target": arm.target,
                "settings": {k: _plain(v) for k, v in arm.settings.items()},
                "runs": [{"seed": r.seed, "folder": r.path.name} for r in arm.runs],
            }
            for arm in self.arms
        ]
        document = {
            "format": _FORMAT,
            "version": _VERSION,
            "title": self.title,
            "baseline": self.baseline,
            "base": self.base,
            "arms": arms,
        }
        return sealed(document)

    @staticmethod
    def read(path: str | os.PathLike[str]) -> "SweepFolder":
        """Reads a folder; JAX is not imported."""
        folder = Path(path)
        file = folder / SWEEP
        refuse_links([file, folder / RUNS])
        try:
            return _read(folder, unsealed(file.read_bytes()))
        except FileNotFoundError:
            raise ValueError(
                f"{folder} holds no sweep. Give the folder that `substrax sweep` named."
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedRunError(
                f"{file} cannot be used: {error}. Delete it, and give `substrax sweep "
                f"{folder / PLAN} --out {folder}`: runs are found without it."
            ) from error


def is_sweep(path: str | os.PathLike[str]) -> bool:
    """Whether a folder is that of a sweep."""
    return (Path(path) / SWEEP).is_file()


def read_plan(folder: Path) -> str:
    """The text of the plan in a folder."""
    refuse_links([folder / PLAN])
    return read_text(folder / PLAN)


def check_folder(folder: Path, plan_text: str) -> None:
    """Raises if a sweep cannot be in this folder."""
    another = "choose another folder (--out, or directory= in Python)"
    if is_sweep(folder):
        return
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; {another}.")
    if (folder / FACTS).exists():
        raise ValueError(f"{folder} already holds a run; {another}.")
    names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    # What a process leaves that was killed while it made the folder; and whoever puts
    # a plan there himself may have the sweep beside it.
    names = {name for name in names if not is_temporary_of(name, _TEMPORARY_OF)}
    if PLAN in names and (folder / PLAN).read_bytes() == plan_text.encode():
        names.discard(PLAN)
    if names == {RUNS} and all(map(_NAME.fullmatch, os.listdir(folder / RUNS))):
        return
    if names:
        raise ValueError(f"{folder} is not empty (it holds {min(names)}); {another}.")


def _read(folder: Path, document: Mapping[str, Any]) -> SweepFolder:
    if document.get("format") != _FORMAT or document.get("version") != _VERSION:
        raise ValueError(
            f"its format is {document.get('format')} {document.get('version')}, this "
            f"release reads {_FORMAT} {_VERSION}"
        )
    arms = tuple(_read_arm(folder, arm) for arm in document["arms"])
    return SweepFolder(
        path=folder,
        title=str(document["title"]),
        baseline=document["baseline"],
        base=str(document["base"]),
        arms=arms,
    )


def _read_arm(folder: Path, arm: Mapping[str, Any]) -> SweepArm:
    runs = []
    for run in arm["runs"]:
        name = run["folder"]
        if type(run["seed"]) is not int or not _NAME.fullmatch(name) or ".." in name:
            raise ValueError("it does not say seeds and their folders")
        runs.append(SweepRun(run["seed"], folder / RUNS / name))
    target = arm["target"]
    return SweepArm(
        label=str(arm["label"]),
        problem=str(arm["problem"]),
        method=str(arm["method"]),
        target=None if target is None else float(target),
        settings=dict(arm["settings"]),
        runs=tuple(runs),
    )


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Sequence):
        return [_plain(part) for part in value]
    return str(value)
