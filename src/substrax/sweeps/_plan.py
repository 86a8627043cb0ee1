"""Plans: settings x seeds, in one TOML file or a dictionary.

    experiment = "xor"       a name, a TOML file, or file.py:name
    seeds = 30               how many (0, 1, 2, ...), or which: [3, 5, 8]
    title = "..."            of the page
    baseline = "..."         the arm that others are compared with
    [settings]               of all runs
    [grid]                   lists of values: each combination is an arm
    [[rows]]                 variants by name: settings, and `experiment` or `seeds`

Rows and grid together: each row with each combination.
"""

import dataclasses
import itertools
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._documents import parse_toml, read_text
from .._suggest import suggest
from .._types import brief, shown
from ..settings import dump_value, flatten

_KEYS = ("experiment", "seeds", "title", "baseline", "settings", "grid", "rows")
_ROW_KEYS = ("name", "experiment", "seeds")
MOST_RUNS = 100_000
"""Runs of one sweep, and seeds of one run: more than that is most likely a mistake."""
_LONGEST_LABEL = 120


@dataclasses.dataclass(frozen=True)
class Variant:
    """An arm as the plan says it: what it starts from, and what it changes."""

    label: str
    experiment: Any
    settings: Mapping[str, Any]
    seeds: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Row:
    """A variant that was written down, with a name if it has one."""

    name: str | None
    experiment: Any
    settings: Mapping[str, Any]
    seeds: tuple[int, ...] | None


@dataclasses.dataclass(frozen=True)
class SweepPlan:
    """Settings x seeds over experiments. Made by `SweepPlan.read`, or from keywords.

    **Arguments:**

    - `experiment`: what all runs start from: a name, a TOML file, `file.py:name`, or in
      Python whatever `substrax.evolve` takes that can be found again by its name.
    - `seeds`: how many (0, 1, 2, ...), or which.
    - `settings`: of all runs.
    - `grid`: lists of values by setting; each combination is an arm.
    - `rows`: variants: dictionaries of settings, with `name`, `experiment` and `seeds`
      of their own if they like.
    - `title`: of the page.
    - `baseline`: the label of the arm that others are compared with; left out, all are
      compared with one another if they are few, and with the first if they are many.
    """

    experiment: Any = None
    seeds: Any = 1
    # (whatever a file says: looked at below, and said in sentences)
    settings: Any = dataclasses.field(default_factory=dict)
    grid: Any = dataclasses.field(default_factory=dict)
    rows: Any = ()
    title: Any = ""
    baseline: Any = None

    def __post_init__(self) -> None:
        for name in ("settings", "grid"):
            table = getattr(self, name)
            if not isinstance(table, Mapping):
                raise ValueError(
                    f"{name} is {shown(table)}, but must be a table of settings: "
                    f"`[{name}]`, and below it `depth = "
                    f"{'[2, 3]' if name == 'grid' else '3'}`, for example."
                )
            object.__setattr__(self, name, flatten(table))
        _check_experiment("experiment", self.experiment)
        for name in ("title", "baseline"):
            value = getattr(self, name)
            if not (isinstance(value, str) or (value is None and name == "baseline")):
                raise ValueError(f"{name} is {shown(value)}, but must be a text.")
        object.__setattr__(self, "seeds", checked_seeds("seeds", self.seeds))
        object.__setattr__(self, "grid", _grid(self.grid))
        if not isinstance(self.rows, list | tuple):
            raise ValueError(
                f"rows is {shown(self.rows)}, but must be a list of variants: write "
                "`[[rows]]`, and below it the settings of the first."
            )
        rows = tuple(_row(number, row) for number, row in enumerate(self.rows, 1))
        object.__setattr__(self, "_rows", rows)
        _check_settings("settings", self.settings)
        has_own = bool(rows) and all(row.experiment is not None for row in rows)
        if self.experiment is None and not has_own and "experiment" not in self.grid:
            raise ValueError(
                'a plan needs an experiment: write `experiment = "xor"`, a TOML file, '
                'or a problem of your own, "my_file.py:fitness".'
            )
        num_arms = math.prod(map(len, self.grid.values())) * max(len(rows), 1)
        num_seeds = max([len(self.seeds), *(len(r.seeds or ()) for r in rows)])
        if num_arms * num_seeds > MOST_RUNS:
            raise ValueError(
                f"this plan has {shown(num_arms)} arms and up to {num_seeds:,} seeds "
                f"for each, which is more than {MOST_RUNS:,} runs. Leave out values "
                "of the grid, or make several plans."
            )

    @staticmethod
    def read(source: "SweepPlan | Mapping[str, Any] | str | os.PathLike[str]"):
        """A plan from a TOML file, a dictionary, or as it is."""
        if isinstance(source, SweepPlan):
            return source
        if isinstance(source, Mapping):
            return SweepPlan.from_dict(source)
        if not isinstance(source, str | os.PathLike):
            raise ValueError(
                "a plan is a TOML file, a dictionary or a SweepPlan, not "
                f"{shown(source)}."
            )
        if not os.path.exists(source):
            raise ValueError(
                f"there is no plan {brief(os.fspath(source))}. A plan is a TOML file "
                'such as\n\n    experiment = "xor"\n    seeds = 10\n    [grid]\n'
                '    method = ["neat", "hyperneat", "emr"]\n'
            )
        return SweepPlan.from_toml(read_text(source), os.fspath(source))

    @staticmethod
    def from_toml(text: str, where: str = "plan.toml") -> "SweepPlan":
        """Reads and checks a document; an unknown key is an error."""
        table = parse_toml(text, where)
        try:
            return SweepPlan.from_dict(table)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from error

    @staticmethod
    def from_dict(table: Mapping[str, Any]) -> "SweepPlan":
        """The same of a dictionary."""
        for key in table:
            if key not in _KEYS:
                raise ValueError(_unknown(key))
        return SweepPlan(**table)

    def to_toml(self) -> str:
        """The plan as a document."""
        lines = (
            [] if self.experiment is None else [_line("experiment", self.experiment)]
        )
        is_range = self.seeds == tuple(range(len(self.seeds)))
        lines.append(_line("seeds", len(self.seeds) if is_range else self.seeds))
        lines += [_line("title", self.title)] if self.title else []
        lines += [_line("baseline", self.baseline)] if self.baseline else []
        for name in ("settings", "grid"):
            table = getattr(self, name)
            if table:
                lines += ["", f"[{name}]", *(_line(k, v) for k, v in table.items())]
        for row in self._all_rows():
            lines += ["", "[[rows]]"]
            lines += [_line("name", row.name)] if row.name else []
            if row.experiment is not None:
                lines.append(_line("experiment", row.experiment))
            lines += [_line("seeds", row.seeds)] if row.seeds else []
            lines += [_line(k, v) for k, v in row.settings.items()]
        return "\n".join(lines) + "\n"

    def _all_rows(self) -> tuple[Row, ...]:
        return self.__dict__["_rows"]

    def variants(self) -> list[Variant]:
        """All arms, with labels made of what differs."""
        rows = self._all_rows() or (Row(None, None, {}, None),)
        found = []
        for row in rows:
            for values in itertools.product(*self.grid.values()):
                cell = dict(zip(self.grid, values, strict=True))
                experiment = cell.pop("experiment", row.experiment)
                if experiment is None:
                    experiment = self.experiment
                if experiment is None:
                    raise ValueError(
                        f"row {shown(row.name)} has no experiment, and neither has "
                        "the plan."
                    )
                found.append((row, {**row.settings, **cell}, experiment))
        labels = _labels(found, self.grid)
        variants = [
            Variant(
                label,
                experiment,
                {**self.settings, **settings},
                row.seeds or self.seeds,
            )
            for label, (row, settings, experiment) in zip(labels, found, strict=True)
        ]
        taken: set[str] = set()
        for variant in variants:
            if variant.label in taken:
                raise ValueError(
                    f"two arms of this plan are called {variant.label!r}. Give their "
                    "rows names that differ."
                )
            taken.add(variant.label)
        if self.baseline is not None and self.baseline not in taken:
            raise ValueError(
                f"baseline is {shown(self.baseline)}, and no arm is called so"
                f"{suggest(self.baseline, taken)}. The arms are "
                f"{shown_names([v.label for v in variants])}."
            )
        return variants

    def own_settings(self, variant: Variant) -> dict[str, Any]:
        """What a variant changes besides what all runs have."""
        return {
            key: value
            for key, value in variant.settings.items()
            if key not in self.settings or self.settings[key] != value
        }

    def at(self, folder: Path) -> "SweepPlan":
        """The same with paths that count from a folder."""
        place = lambda name: _placed(name, folder)
        found = dataclasses.replace(
            self,
            experiment=place(self.experiment),
            settings=_paths_placed(self.settings, folder),
            grid={
                key: [_value_placed(key, value, folder) for value in values]
                for key, values in self.grid.items()
            },
            rows=[_paths_placed(row, folder) for row in map(flatten, self.rows)],
        )
        return found


def shown_names(names: Sequence[str], most: int = 8) -> str:
    """Some names, for a sentence."""
    rest = len(names) - most
    return ", ".join(map(repr, names[:most])) + (
        f" and {rest} more" if rest > 0 else ""
    )


_PATHS = ("path", "problem.path", "start_from", "start.genome")


def _placed(name: Any, folder: Path) -> Any:
    """A file's name as one that is found from everywhere."""
    if not isinstance(name, str):
        return name
    file, colon, attribute = name.rpartition(":")
    if colon and file.endswith(".py"):
        return f"{(folder / file).absolute()}:{attribute}"
    if not colon and name.endswith(".toml"):
        return str((folder / name).absolute())
    return name


def _value_placed(key: str, value: Any, folder: Path) -> Any:
    if key in ("experiment", "problem", "problem.name"):
        return _placed(value, folder)
    if key in _PATHS and isinstance(value, str):
        path = folder / value
        # the name of a start is no file
        return str(path.absolute()) if key.endswith("path") or path.exists() else value
    return value


def _paths_placed(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    return {k: _value_placed(k, value, folder) for k, value in settings.items()}


def _unknown(key: Any) -> str:
    known = ", ".join(_KEYS)
    if key in ("row", "arm", "arms", "variants"):
        return f"a plan has no {key!r}; variants are `[[rows]]`."
    if key in ("seed", "run.seed"):
        return "a plan has no 'seed'; write `seeds = 30`, or `seeds = [0, 1, 5]`."
    return (
        f"a plan has no {shown(key)}{suggest(key, _KEYS)}. It has {known}; settings of "
        "the runs stand below `[settings]`."
    )


def _line(key: str, value: Any) -> str:
    name = key if key.replace("_", "").replace("-", "").isalnum() else dump_value(key)
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    try:
        return f"{name} = {dump_value(value)}"
    except TypeError:
        raise ValueError(
            f"{key} is {shown(value)}, which a plan cannot be written down with: give "
            "numbers, texts, switches and lists of them."
        ) from None


def checked_seeds(name: str, given: Any) -> tuple[int, ...]:
    """Seeds, of which there may be said how many; a `ValueError` for what is none."""
    if type(given) is int:
        if not 1 <= given <= MOST_RUNS:
            raise ValueError(
                f"{name} is {given}. Choose at least 1 and at most {MOST_RUNS:,}, or "
                "give a list of seeds."
            )
        return tuple(range(given))
    if isinstance(given, str) or not isinstance(given, Sequence | range):
        raise ValueError(
            f"{name} is {shown(given)}. Say how many (`seeds = 30`), or which "
            "(`seeds = [0, 1, 5]`)."
        )
    for seed in given:
        if type(seed) is not int or not 0 <= seed < 1 << 32:
            raise ValueError(
                f"{name} has {shown(seed)}, which is no seed: seeds are whole numbers "
                "from 0 to 2^32 - 1."
            )
    if not given:
        raise ValueError(f"{name} is an empty list. Give one seed at least.")
    if len(set(given)) < len(given):
        twice = next(seed for k, seed in enumerate(given) if seed in given[:k])
        raise ValueError(f"{name} has {twice} twice. Leave one of them out.")
    return tuple(given)


def _grid(table: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    grid = {}
    for key, values in table.items():
        if isinstance(values, str) or not isinstance(values, list | tuple | range):
            raise ValueError(
                f"grid: {key} is {shown(values)}. Give a list of values, "
                f"`{key} = [{shown(values)}]`, or put it below `[settings]`."
            )
        if not len(values):
            raise ValueError(f"grid: {key} has no values. Give some, or leave it out.")
        for k, value in enumerate(values):
            if value in values[:k]:
                raise ValueError(f"grid: {key} has {shown(value)} twice.")
        grid[key] = tuple(values)
    _check_settings("grid", grid)
    for value in grid.get("experiment", ()):
        _check_experiment("grid: experiment", value)
    return grid


def _row(number: int, table: Any) -> Row:
    where = f"row {number}"
    if not isinstance(table, Mapping):
        raise ValueError(f"{where} is {shown(table)}, but must be a table of settings.")
    name = table.get("name")
    if name is not None:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"{where}: name is {shown(name)}, but must be a text.")
        if len(name) > _LONGEST_LABEL or not name.isprintable():
            raise ValueError(
                f"{where}: name is {shown(name)}. Choose one line of at most "
                f"{_LONGEST_LABEL} letters."
            )
        where = f"row {name!r}"
    seeds = table.get("seeds")
    settings = flatten({k: v for k, v in table.items() if k not in _ROW_KEYS})
    _check_settings(where, settings)
    _check_experiment(f"{where}: experiment", table.get("experiment"))
    return Row(
        name,
        table.get("experiment"),
        settings,
        None if seeds is None else checked_seeds(f"{where}: seeds", seeds),
    )


def _check_experiment(where: str, experiment: Any) -> None:
    """Refuses what no experiment can be in a file; an object has its own check."""
    if isinstance(experiment, bool | int | float | list | Mapping):
        raise ValueError(
            f"{where} is {shown(experiment)}, but must be the name of an experiment, a "
            'TOML file, or a problem of your own, "my_file.py:fitness". Several of '
            'them belong below `[grid]`: `experiment = ["xor", "retina"]`.'
        )


def _check_settings(where: str, settings: Mapping[str, Any]) -> None:
    for key in settings:
        if not isinstance(key, str):
            raise ValueError(f"{where}: {shown(key)} is no name of a setting.")
        if key in ("seed", "run.seed"):
            raise ValueError(
                f"{where} has {key!r}; seeds are said by `seeds`, of the plan or of a "
                "row."
            )


def _labels(
    found: Sequence[tuple[Row, Mapping[str, Any], Any]], grid: Mapping[str, Any]
) -> list[str]:
    """The names of rows, and the values of what differs between arms."""
    keys = dict.fromkeys(key for _, settings, _ in found for key in settings)
    several = lambda values: any(value != values[0] for value in values)
    differing = [
        key
        for key in keys
        if several([settings.get(key, _NOTHING) for _, settings, _ in found])
    ]
    is_other = several([experiment for *_, experiment in found])
    short = _short_names(differing)
    labels = []
    for row, settings, experiment in found:
        words = [row.name] if row.name else []
        # A row with a name says by it what its own settings are.
        told = [k for k in differing if k in settings and (k in grid or not row.name)]
        if is_other and (not row.name or "experiment" in grid):
            words.append(_short_experiment(experiment))
        words += [_told(key, short[key], settings[key]) for key in told]
        labels.append(", ".join(words) or _short_experiment(experiment))
    return labels


_NOTHING = object()

_NAMES = ("problem", "method", "preset", "problem.name", "method.name", "neat.preset")
"""Settings whose values are names, which say enough."""


def _told(key: str, short: str, value: Any) -> str:
    is_name = key in _NAMES and isinstance(value, str)
    return _word(value) if is_name else f"{short} {_word(value)}"


def _short_names(keys: Sequence[str]) -> dict[str, str]:
    """The last parts of keys, where they are enough to tell them apart."""
    last = [key.rpartition(".")[2] for key in keys]
    return {
        key: name if last.count(name) == 1 else key
        for key, name in zip(keys, last, strict=True)
    }


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list | tuple):
        return "+".join(map(_word, value)) or "none"
    if isinstance(value, str) and "/" in value:
        value = Path(value).name
    text = " ".join(str(value).split())
    return text if len(text) <= 40 else f"{text[:37]}..."


def _short_experiment(experiment: Any) -> str:
    """`xor`, `mine` of folder/mine.toml, `fitness` of file.py:fitness."""
    if not isinstance(experiment, str | os.PathLike):
        name = getattr(experiment, "__name__", None) or getattr(experiment, "name", "")
        return str(name) or type(experiment).__name__
    place, _, name = os.fspath(experiment).rpartition(":")
    return name if place else Path(name).stem
