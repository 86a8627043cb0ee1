"""From what was said to a value for every setting."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from .._suggest import suggest
from .._types import shown
from ._names import NAMES, chosen_names, key_of, known_settings
from ._setting import Setting
from ._tables import FindOwn, tables
from ._toml import dump_toml


@dataclasses.dataclass(frozen=True)
class Resolved:
    """All settings of an experiment."""

    description: str
    values: Mapping[str, Any]
    """Under their dotted keys."""

    def to_toml(self) -> str:
        """All settings, also those that were left out."""
        first = {"description": self.description} if self.description else {}
        return dump_toml(first | dict(self.values))


def resolve(
    given: Mapping[str, Any],
    *,
    find_own: FindOwn | None = None,
    suggested: Mapping[str, Any] | None = None,
) -> Resolved:
    """Gives every setting its value, from what was said and what the rest implies.

    **Arguments:**

    - `given`: what was said, under dotted keys.
    - `find_own`: needed for problems of somebody's own.
    - `suggested`: what the problem suggests for a method, if it is there as an object.
    """
    names = chosen_names(given)
    known = known_settings(*names, find_own)
    values: dict[str, Any] = dict(zip(NAMES, names, strict=True))
    values |= {key: setting.default for key, setting in known.items()}
    if suggested is None:
        suggested = tables().suggested_by(names[0], find_own)
    for key, value in suggested.items():
        if f"method.{key}" in known:
            values[f"method.{key}"] = value
    special: dict[str, Any] = {}
    for key, value in given.items():
        parts = key.split(".")
        if key in NAMES or key == "description":
            continue
        if parts[0] == "method" and len(parts) == 3 and parts[1] in tables().methods:
            setting = _setting_of_method(key, parts[1], parts[2])
            if parts[1] == names[1]:
                special[setting.key] = setting.understand(value)
        elif key in known:
            values[key] = known[key].understand(value)
        else:
            full = key_of(key, known, names)  # raises, unless it is only too short
            raise ValueError(
                f"there is no setting {shown(key)}; in full it is {shown(full)}."
            )
    values |= special
    description = Setting("description", str, "").understand(
        given.get("description", "")
    )
    return Resolved(description, values)


def _setting_of_method(key: str, method: str, name: str) -> Setting:
    settings = tables().of_method(method)
    if f"method.{name}" not in settings:
        short = [k.removeprefix("method.") for k in settings]
        raise ValueError(
            f"there is no setting {shown(key)}{suggest(name, short)}: the method "
            f"{shown(method)} has {', '.join(short)}."
        )
    return settings[f"method.{name}"]
