"""TOML, to read and to write: tables of plain values, which is all that is needed."""

import json
import math
from collections.abc import Mapping
from typing import Any

from .._types import shown

_MAX_DEPTH = 8
"""Deeper than any setting lies."""


def flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as one, under dotted keys."""
    if prefix.count(".") > _MAX_DEPTH:
        raise ValueError(f"there is no setting {shown(prefix)}: no table lies so deep.")
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def dump_toml(flat: Mapping[str, Any]) -> str:
    """Dotted keys as a document; a table for each prefix, in order of appearance."""
    # Keys without a table first: behind the head of a table they would belong to it.
    tables: dict[str, list[str]] = {"": []}
    for key, value in flat.items():
        table, _, name = key.rpartition(".")
        tables.setdefault(table, []).append(f"{name} = {dump_value(value)}")
    blocks = [
        "\n".join(([f"[{table}]"] if table else []) + lines)
        for table, lines in tables.items()
        if lines
    ]
    return "\n\n".join(blocks) + "\n"


def dump_value(value: Any) -> str:
    """One value."""
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, str):
        # Texts of JSON are texts of TOML, but for this sign, which is escaped there.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(dump_value, value)) + "]"
    raise TypeError(f"TOML has no {type(value).__name__}.")
