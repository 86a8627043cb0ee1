"""The paper's own numbers, with where they stand and where they cannot be right."""

import functools
import tomllib
from pathlib import Path
from typing import Any


@functools.cache
def paper_numbers() -> dict[str, Any]:
    """The content of `published.toml`: a table for each table of the paper."""
    path = Path(__file__).with_name("published.toml")
    return tomllib.loads(path.read_text())


def paper_row(table: str, **where: Any) -> dict[str, Any]:
    """The row of a table for a depth (and a population); a range serves all its depths.

    Empty where the paper has none. Of a range, each value is a pair.
    """
    numbers = paper_numbers()[table]
    for row in numbers.get("rows", ()):
        if all(row.get(key) == value for key, value in where.items()):
            return dict(row)
    ranges = numbers.get("ranges")
    if ranges and set(where) == {"depth"}:
        low, high = ranges["depths"]
        if low <= where["depth"] <= high:
            return {key: value for key, value in ranges.items() if key != "depths"}
    return {}
