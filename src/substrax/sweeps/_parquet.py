"""Rows as Parquet."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._extra import import_extra
from .._files import refuse_links, replacing


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Rows as columns; None where a row lacks one."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def write_parquet(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Writes rows of plain values, so that a reader finds the old file or the new one.

    Columns of numbers are whole numbers or floats; mixed ones are texts.
    """
    pyarrow: Any = import_extra("pyarrow", "parquet")
    parquet: Any = import_extra("pyarrow.parquet", "parquet")
    refuse_links([path])
    columns = {name: _arrow(pyarrow, v) for name, v in columns_of(rows).items()}
    with replacing(path) as file:
        parquet.write_table(pyarrow.table(columns), file, compression="zstd")


def _arrow(pyarrow: Any, values: Sequence[Any]) -> Any:
    known = [value for value in values if value is not None]
    kinds = {type(value) for value in known}
    if kinds and kinds <= {int, float}:
        kind = pyarrow.int64() if kinds == {int} else pyarrow.float64()
        return pyarrow.array(values, kind)
    if len(kinds) > 1:
        values = [None if v is None else str(v) for v in values]
    return pyarrow.array(values)
