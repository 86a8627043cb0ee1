"""From what was said to a value for every setting."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from .._types import shown
from ._names import (
    NAMES,
    chosen_names,
    key_of,
    known_settings,
    method_in,
    setting_of_method,
)
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
    for name, value in suggested.items():
        method, key = name.split(".", 1) if "." in name else ("", name)
        # Plain NEAT has settings of genomes, which are its networks.
        for full in (f"method.{key}", f"neat.{key}" if method == "neat" else ""):
            if method in ("", names[1]) and full in known:
                values[full] = value
    special: dict[str, Any] = {}
    for key, value in given.items():
        if key in NAMES or key == "description":
            continue
        if (method := method_in(key)) is not None:
            setting = setting_of_method(key)
            if method == names[1]:
                special[setting.key] = setting.understand(value)
        elif key in known:
            values[key] = known[key].understand(value)
        else:
            full = key_of(key, known, names)  # raises, unless it is only too short
            raise ValueError(
                f"there is no setting {shown(key)}; in full it is {shown(full)}."
            )
    # Last: what is said for this method alone counts, wherever it stands in the file.
    values |= special
    description = Setting("description", str, "").understand(
        given.get("description", "")
    )
    return Resolved(description, values)
