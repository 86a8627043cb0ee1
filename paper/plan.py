"""Plans: one TOML for each table and figure, and the runs that follow from it.

    title = "..."            what the page is called
    paper = "table4"         the entry of `published.toml`
    page = "time"            how the results are shown, see `publish.py`
    seeds = 5                runs of each cell
    is_timed = true          times are compared: one run at a time, with all cores
    is_cold = true           each evolution compiles everything anew; else only the
                             first of several seeds, and only if it is timed
    experiment = "xor"       what all runs start from
    [settings]               changes for all of them, as in an experiment
    [grid]                   each combination is a cell
    depth = [4, 5]
    [[arm]]                  what is compared
    name = "emr, frontier"
    settings = { ... }       also: experiment, kind, seeds, grid, options, is_timed
    [quick]                  seeds, settings, grid, options and, by name, arm
                             that `--quick` uses instead

The same run in two plans is one run: its directory is named after everything that it
depends on.
"""

import dataclasses
import hashlib
import itertools
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from substrax._suggest import suggest
from substrax.config import Experiment, load_experiment

from .requirements import has_pureples
from .toml_check import check_keys, read_toml

KINDS = ("evolve", "quadtree", "pureples", "positions")
PAGES = ("rates", "time", "runtime", "comparison", "solving", "panel", "positions")
_PLAN_KEYS = {
    "title", "paper", "page", "seeds", "is_timed", "is_cold", "experiment", "settings",
    "grid", "arm", "quick", "note", "within", "within_of", "why",
}  # fmt: skip
_ARM_KEYS = {
    "name", "experiment", "kind", "settings", "seeds", "grid", "options", "role",
    "is_timed",
}  # fmt: skip
_QUICK_KEYS = {"seeds", "settings", "grid", "options", "arm"}


@dataclasses.dataclass(frozen=True)
class Task:
    """One run: what it is made of, and where it stands in its plan."""

    kind: str
    config: str
    """The resolved experiment, as TOML."""
    options: Mapping[str, Any]
    arm: str
    role: str
    cell: Mapping[str, Any]
    seed: int
    is_timed: bool
    """Whether its times count, so that nothing may run beside it."""

    is_cold: bool = False
    """Whether it compiles everything anew, so that its compile time counts."""

    @property
    def key(self) -> str:
        """The name of its directory: everything that its result depends on."""
        content = [self.kind, self.config, dict(self.options), self.is_timed]
        if self.is_cold:
            content.append("cold")
        text = json.dumps(content, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "config": self.config,
            "options": dict(self.options),
            "is_timed": self.is_timed,
            "is_cold": self.is_cold,
        }


@dataclasses.dataclass(frozen=True)
class Arm:
    """One of the things that are compared."""

    name: str
    kind: str
    settings: Mapping[str, Any]
    seeds: int
    grid: Mapping[str, tuple[Any, ...]]
    options: Mapping[str, Any]
    role: str
    is_timed: bool
    experiment: Experiment | None = None
    """What its runs start from, if not from the plan's experiment."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """A table or figure: its runs, and how they are shown."""

    name: str
    title: str
    paper: str
    page: str
    note: str
    why: str
    """Why some numbers are worse than the paper's, if some are."""
    is_quick: bool
    within: int | None
    """Generations within which a problem counts as solved; None: all that were run."""
    within_of: Mapping[str, int]
    """The same of single problems, where it differs."""
    is_cold: bool
    """Whether every evolution compiles everything anew."""
    experiment: Experiment
    arms: tuple[Arm, ...]

    def tasks(self) -> list[Task]:
        """All runs; the first seeds of all cells come first, so that a table can be
        looked at early. None for PUREPLES where it cannot be imported."""
        tasks = []
        for arm in self.arms:
            if arm.kind == "pureples" and not has_pureples():
                continue
            for cell in _cells(arm.grid):
                tasks += self._tasks(arm, cell)
        return sorted(tasks, key=lambda task: task.seed)

    @property
    def num_runs(self) -> int:
        """How many `tasks` there are, without making them."""
        return sum(
            arm.seeds * len(_cells(arm.grid))
            for arm in self.arms
            if arm.kind != "pureples" or has_pureples()
        )

    def start_of(self, arm: Arm) -> Experiment:
        """What the runs of an arm start from, before its own settings."""
        return arm.experiment or self.experiment

    def _tasks(self, arm: Arm, cell: Mapping[str, Any]) -> Iterator[Task]:
        """A run for each seed of a cell."""
        try:
            experiment = self.start_of(arm).with_settings({**arm.settings, **cell})
            experiment.build()
        except ValueError as error:
            raise ValueError(f"plan {self.name!r}, arm {arm.name!r}: {error}") from None
        for seed in range(arm.seeds):
            yield Task(
                arm.kind,
                experiment.with_settings({"run.seed": seed}).to_toml(),
                arm.options,
                arm.name,
                arm.role,
                cell,
                seed,
                arm.is_timed,
                is_cold=arm.is_timed
                and arm.kind == "evolve"
                and (self.is_cold or (seed == 0 and arm.seeds > 1)),
            )


def _cells(grid: Mapping[str, tuple[Any, ...]]) -> list[dict[str, Any]]:
    values = itertools.product(*grid.values())
    return [dict(zip(grid, row, strict=True)) for row in values]


def builtin_plans() -> dict[str, str]:
    """The text of each plan of the paper, by name."""
    folder = Path(__file__).parent / "plans"
    return {path.stem: path.read_text() for path in sorted(folder.glob("*.toml"))}


def load_plan(
    name: str | os.PathLike[str], *, quick: bool = False, seeds: int | None = None
) -> Plan:
    """A plan of the paper, by name, or one in a TOML file."""
    builtin = builtin_plans()
    text = builtin.get(os.fspath(name))
    if text is None:
        path = Path(name)
        if path.suffix != ".toml":
            raise ValueError(
                f"there is nothing to reproduce called {os.fspath(name)!r}"
                f"{suggest(os.fspath(name), builtin)}. Known are "
                f"{', '.join(builtin)}; or give a TOML file."
            )
        try:
            text = path.read_text()
        except OSError as error:
            raise ValueError(f"cannot read {path}: {error.strerror}.") from error
    return plan_from_toml(text, Path(name).stem, quick=quick, seeds=seeds)


def _quick_grid(
    quick: Mapping[str, Any], entry: Mapping[str, Any], arms: list[Mapping[str, Any]]
) -> dict[str, Any]:
    """Of the quick grid, what an arm with a grid of its own has, too; if that is
    nothing, all of it, unless another arm of the same name is there for it."""
    kinds = [(arm.get("name"), arm.get("role")) for arm in arms]
    is_alone = kinds.count((entry["name"], entry.get("role"))) == 1
    own = entry.get("grid", {})
    grid = {}
    for key, values in quick.items():
        both = [value for value in values if value in own.get(key, values)]
        grid[key] = both if both or not is_alone else values
    return grid


def plan_from_toml(
    text: str, name: str, *, quick: bool = False, seeds: int | None = None
) -> Plan:
    """Reads and checks a plan; `seeds` counts for every arm."""
    table = read_toml(text, name)
    check_keys(f"plan {name!r}", table, _PLAN_KEYS, {"title", "page", "arm"})
    if table["page"] not in PAGES:
        raise ValueError(
            f"plan {name!r}: there is no page {table['page']!r}"
            f"{suggest(table['page'], PAGES)}. Choose one of {', '.join(PAGES)}."
        )
    if seeds is not None and seeds < 1:
        raise ValueError(f"seeds is {seeds}. Choose at least 1.")
    instead = table.get("quick", {}) if quick else {}
    check_keys(f"plan {name!r}, quick", instead, _QUICK_KEYS, set())
    settings = {**table.get("settings", {}), **instead.get("settings", {})}
    experiment = load_experiment(table.get("experiment", "xor"))
    arms = []
    for entry in table["arm"]:
        check_keys(f"plan {name!r}, arm", entry, _ARM_KEYS, {"name"})
        own = instead.get("arm", {}).get(entry["name"], {})
        kind = entry.get("kind", "evolve")
        if kind not in KINDS:
            raise ValueError(
                f"plan {name!r}: there is no kind {kind!r} of run. Choose one of "
                f"{', '.join(KINDS)}."
            )
        grid = {
            **table.get("grid", {}),
            **entry.get("grid", {}),
            **_quick_grid(instead.get("grid", {}), entry, table["arm"]),
            **own.get("grid", {}),
        }
        usual = own.get("seeds", instead.get("seeds", entry.get("seeds")))
        arms.append(
            Arm(
                name=entry["name"],
                kind=kind,
                settings={**entry.get("settings", {}), **own.get("settings", {})},
                seeds=seeds or usual or table.get("seeds", 1),
                grid={key: tuple(values) for key, values in grid.items()},
                options={
                    **entry.get("options", {}),
                    **instead.get("options", {}),
                    **own.get("options", {}),
                }
                if kind != "evolve"
                else {},
                role=entry.get("role", "all"),
                is_timed=entry.get("is_timed", table.get("is_timed", False)),
                experiment=(
                    load_experiment(entry["experiment"]).with_settings(settings)
                    if "experiment" in entry
                    else None
                ),
            )
        )
    return Plan(
        name=name,
        title=table["title"],
        paper=table.get("paper", ""),
        page=table["page"],
        note=table.get("note", ""),
        why=table.get("why", ""),
        is_quick=quick,
        within=table.get("within"),
        within_of=table.get("within_of", {}),
        is_cold=table.get("is_cold", False),
        experiment=experiment.with_settings(settings),
        arms=tuple(arms),
    )
