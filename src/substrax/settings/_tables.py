"""What the package has to set: its problems, methods and presets, as data.

`tables.json` follows from the classes themselves, which need JAX; it is written by
`make settings`, and a test compares both.
"""

import dataclasses
import functools
import importlib.resources
import json
from collections.abc import Callable, Mapping
from typing import Any

from .._suggest import suggest
from .._types import shown
from ..experiments import is_own
from ._setting import Setting

FILE = "tables.json"
"""Where all settings are written down, beside this module."""

IN_PYTHON = "python"
"""The name of a problem that cannot be named: it exists in one program only."""

Settings = dict[str, Setting]

FindOwn = Callable[[str], tuple[Mapping[str, Setting], Mapping[str, object]]]
"""The settings of somebody's own problem, and what it suggests for a method."""


@dataclasses.dataclass(frozen=True)
class Tables:
    """All settings by their dotted keys, and what there is to choose from."""

    run: Settings
    start: Settings
    problems: Mapping[str, Settings]
    methods: Mapping[str, Settings]
    presets: Mapping[str, Settings]
    """NEAT's settings; their defaults are those of the preset."""
    suggested: Mapping[str, Mapping[str, Any]]
    """Settings of a method that fit a problem, by its name."""
    descriptions: Mapping[str, Mapping[str, str]]
    """A line for each problem and each preset."""
    seeds: tuple[str, ...]
    connections: tuple[str, ...]
    default_method: str
    default_preset: str

    def to_document(self) -> dict[str, Any]:
        """Plain values, for `tables.json`."""
        document = {
            field.name: getattr(self, field.name) for field in dataclasses.fields(self)
        }
        for name in ("run", "start"):
            document[name] = _to_plain(document[name])
        for name in ("problems", "methods", "presets"):
            document[name] = {k: _to_plain(v) for k, v in document[name].items()}
        # Lists for tuples, as in the file, with which the tests compare it.
        return json.loads(json.dumps(document))

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> "Tables":
        values = dict(document)
        for name in ("run", "start"):
            values[name] = _from_plain(values[name])
        for name in ("problems", "methods", "presets"):
            values[name] = {k: _from_plain(v) for k, v in values[name].items()}
        for name in ("seeds", "connections"):
            values[name] = tuple(values[name])
        values["suggested"] = {
            problem: {key: _as_tuple(value) for key, value in entries.items()}
            for problem, entries in values["suggested"].items()
        }
        return Tables(**values)

    def of_problem(self, name: str, find_own: FindOwn | None) -> Mapping[str, Setting]:
        """The section `problem`."""
        if name == IN_PYTHON:
            return {}
        if is_own(name):
            assert find_own is not None
            return find_own(name)[0]
        return _chosen(
            self.problems,
            name,
            f"there is no problem {shown(name)}{suggest(name, self.problems)}. Known "
            f"are {', '.join(self.problems)}; `substrax list` explains them.",
        )

    def suggested_by(self, name: str, find_own: FindOwn | None) -> Mapping[str, Any]:
        """Settings of a method that fit a problem."""
        if name == IN_PYTHON:
            return {}
        if is_own(name):
            assert find_own is not None
            return find_own(name)[1]
        return self.suggested[name]

    def of_method(self, name: str) -> Settings:
        """The section `method`."""
        return _chosen(
            self.methods,
            name,
            f"there is no method {shown(name)}{suggest(name, self.methods)}. Choose "
            f"one of {', '.join(self.methods)}.",
        )

    def of_preset(self, name: str) -> Settings:
        """The section `neat`."""
        return _chosen(
            self.presets,
            name,
            f"there is no preset {shown(name)}{suggest(name, self.presets)}. Choose "
            f"one of {', '.join(self.presets)}.",
        )


@functools.cache
def tables() -> Tables:
    """Those of this package."""
    path = importlib.resources.files("substrax") / "settings" / FILE
    return Tables.from_document(json.loads(path.read_text(encoding="utf-8")))


def _chosen(every: Mapping[str, Settings], name: str, sentence: str) -> Settings:
    if name not in every:
        raise ValueError(sentence)
    return every[name]


_KINDS: dict[str, type] = {kind.__name__: kind for kind in (int, float, bool, str)}


def _to_plain(settings: Settings) -> dict[str, Any]:
    """What is as usual is left out."""
    return {
        key: {
            "kind": setting.kind.__name__,
            "default": setting.default,
            **({"choices": setting.choices} if setting.choices else {}),
            **({"is_list": True} if setting.is_list else {}),
            **({"is_optional": True} if setting.is_optional else {}),
        }
        for key, setting in settings.items()
    }


def _from_plain(document: Mapping[str, Any]) -> Settings:
    return {
        key: Setting(
            key,
            _KINDS[entry["kind"]],
            _as_tuple(entry["default"]),
            tuple(entry.get("choices", ())),
            entry.get("is_list", False),
            entry.get("is_optional", False),
        )
        for key, entry in document.items()
    }


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
