"""Reading a plan's TOML: unknown keys and missing ones are named."""

import tomllib
from collections.abc import Collection, Mapping
from typing import Any

from substrax._suggest import suggest


def read_toml(text: str, name: str) -> dict[str, Any]:
    """A TOML document; `name` stands in the error."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"the plan {name!r} is not valid TOML: {error}.") from error


def check_keys(
    where: str, table: Mapping[str, Any], known: Collection[str], needed: set[str]
) -> None:
    """Raises if a key is unknown, or a needed one is missing."""
    for key in table:
        if key not in known:
            raise ValueError(
                f"{where}: there is no key {key!r}{suggest(key, known)}. Known are "
                f"{', '.join(sorted(known))}."
            )
    for key in sorted(needed - table.keys()):
        raise ValueError(f"{where} has no {key!r}; add it.")
    for key, value in table.items():
        if key.startswith("is_") and not isinstance(value, bool):
            raise ValueError(f"{where}: {key} is {value!r}. Say true or false.")
