"""Tables from CSV and Parquet files, as NumPy columns."""

import collections
import csv
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from .._extra import require_extra
from .._suggest import suggest
from .._types import brief, counted, shown

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
"""What may stand between the fields of a CSV file, and what it is called."""

_NOTHING = {"", "na", "n/a", "nan", "null", "none", "."}
"""What stands for a missing value in a CSV file, in any case."""


def read_table(
    path: str | Path,
    *,
    text: Collection[str],
    wanted: Collection[str],
    has_others: bool = True,
) -> dict[str, np.ndarray]:
    """The columns of a file by name, as 64-bit floats.

    Columns in `text` stay text, "" where a value is missing; elsewhere that is NaN. A
    column of `wanted` that is not there is an error. Without `has_others`, only these
    are read: the others may hold anything.
    """
    path = _checked(path)
    is_csv = path.suffix.lower() == ".csv"
    read = _read_csv if is_csv else _read_parquet
    table = read(path, text, wanted, has_others)
    if not len(next(iter(table.values()))):
        raise ValueError(f"{path} has a header but no rows.")
    for name, column in table.items():
        if name not in text and np.isinf(column).any():
            row = int(np.flatnonzero(np.isinf(column))[0]) + 1
            raise ValueError(
                f"row {row} of {path} has an infinite {shown(name)}; repair it, or "
                "leave it empty."
            )
    return table


def read_columns(
    path: str | Path, separator: str | None = None
) -> dict[str, np.ndarray]:
    """All columns of a file by name: 64-bit floats, NaN where a value is missing, or
    texts where they are not numbers, "" where a value is missing.

    `separator` is what stands between the fields of a CSV file; left out, it is told
    from the first line.
    """
    path = _checked(path)
    if path.suffix.lower() == ".csv":
        names, rows = _csv(path, (), separator)
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        found = dict(zip(names, columns, strict=True))
        for name, column in found.items():
            _check_decimals(path, name, column)
    else:
        table = _parquet(path, ())
        found = {
            name: ["" if v is None else v for v in table.column(name).to_pylist()]
            for name in table.column_names
        }
    if not len(next(iter(found.values()))):
        raise ValueError(f"{path} has a header but no rows.")
    return {name: _numbers_or_texts(path, name, c) for name, c in found.items()}


def _check_decimals(path: Path, name: str, column: Collection[str]) -> None:
    """Refuses numbers with a decimal comma, which would become labels, unasked."""
    values = {value.strip() for value in column}
    values = {value for value in values if value.lower() not in _NOTHING}
    with_comma = [value for value in values if value.count(",") == 1]
    if with_comma and all(_is_number(v.replace(",", ".")) for v in values):
        raise ValueError(
            f"column {shown(name)} of {path} holds numbers with a comma, such as "
            f"{min(with_comma)}. Write them without, and decimals with a point."
        )


def _numbers_or_texts(path: Path, name: str, column: Collection[Any]) -> np.ndarray:
    # `repr` writes a number so that the same one is read again.
    texts = [v if isinstance(v, str) else repr(v) for v in column]
    try:
        return _numbers(path, name, texts)
    except ValueError:
        return _text([v if isinstance(v, str) else str(v) for v in column])


def _checked(path: str | Path) -> Path:
    path = Path(path)
    # (pathlib's own would raise for a name that is too long)
    if not os.path.isfile(path):
        raise ValueError(f"there is no file {brief(path)}.")
    if path.suffix.lower() not in (".csv", ".parquet", ".pq"):
        raise ValueError(
            f"{path.name} is neither a .csv nor a .parquet file, by its name. Save it "
            "as one of them."
        )
    return path


def _check_names(path: Path, names: list[str], wanted: Collection[str]) -> None:
    count = collections.Counter(names)
    twice = [name for name in names if count[name] > 1]
    if twice:
        raise ValueError(f"{path} has two columns named {shown(twice[0])}; rename one.")
    for name in wanted:
        if name not in names:
            raise ValueError(no_column(path, name, names))


def no_column(path: str | Path, name: str, names: list[str]) -> str:
    """The sentence about a column that is not among those of a file."""
    hint = suggest(name, names)
    listed = ", ".join(brief(name, 60) for name in names[:12])
    listed += ", ..." if len(names) > 12 else ""
    if len(names) == 1 and Path(path).suffix.lower() == ".csv":
        marks = ", ".join(SEPARATORS.values())
        hint = f" (nothing in its first line separates fields: {marks})"
    elif not hint and any(_is_number(name) for name in names):
        hint = " (the first line of a CSV file must name its columns)"
    return f"{path} has no column {shown(name)}{hint}. It has: {listed}."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_csv(
    path: Path, text: Collection[str], wanted: Collection[str], has_others: bool
) -> dict[str, np.ndarray]:
    names, rows = _csv(path, wanted)
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return {
        name: _text(column) if name in text else _numbers(path, name, column)
        for name, column in zip(names, columns, strict=True)
        if has_others or name in wanted
    }


def _csv(
    path: Path, wanted: Collection[str], separator: str | None = None
) -> tuple[list[str], list[list[str]]]:
    """`_csv_rows`, with what may be wrong in words."""
    try:
        return _csv_rows(path, wanted, separator)
    except csv.Error as error:  # a field of 131,072 characters, for example
        raise ValueError(f"{path} cannot be read as CSV: {brief(error)}.") from error
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} cannot be read as CSV: byte {error.start} is not UTF-8. Save it "
            "as UTF-8."
        ) from error


def _separator_of(file: TextIO) -> str:
    """What separates the names in the first line: commas if there are any, or else
    what makes the most of them."""
    num_names = {}
    for mark in SEPARATORS:
        file.seek(0)
        num_names[mark] = len(next(csv.reader(file, delimiter=mark), []))
    file.seek(0)
    return "," if num_names[","] > 1 else max(num_names, key=lambda m: num_names[m])


def _csv_rows(
    path: Path, wanted: Collection[str], separator: str | None
) -> tuple[list[str], list[list[str]]]:
    """The names of columns, and the fields of each row."""
    # Spreadsheets begin a file with a mark, which would be part of the first name.
    with path.open(newline="", encoding="utf-8-sig") as file:
        separator = separator or _separator_of(file)
        reader = csv.reader(file, delimiter=separator)
        names = [name.strip() for name in next(reader, [])]
        if not names:
            raise ValueError(f"{path} is empty; its first line must name the columns.")
        if "" in names and len(names) > 1:
            raise ValueError(
                f"column {names.index('') + 1} of {path} has no name. Name it in the "
                "first line, or leave it out (pandas: to_csv(..., index=False))."
            )
        _check_names(path, names, wanted)
        rows = []
        for row in reader:
            if not row:
                continue  # a blank line
            if len(row) != len(names):
                raise ValueError(
                    f"line {reader.line_num} of {path} has "
                    f"{counted(len(row), 'field')}, but the header names "
                    f"{counted(len(names), 'column')}, separated by "
                    f"{SEPARATORS.get(separator, shown(separator))}. Name every column "
                    "in the first line, and quote fields that hold a separator."
                )
            rows.append(row)
    return names, rows


def _text(column: Collection[str]) -> np.ndarray:
    stripped = [value.strip() for value in column]
    return np.array(["" if v.lower() in _NOTHING else v for v in stripped], str)


def _numbers(path: Path, name: str, column: Collection[str]) -> np.ndarray:
    try:
        return np.array(column, np.float64)
    except ValueError:
        pass  # something is missing, or is no number
    result = np.empty(len(column))
    for k, value in enumerate(column):
        if value.strip().lower() in _NOTHING:
            result[k] = np.nan
            continue
        try:
            result[k] = float(value)
        except ValueError:
            raise ValueError(
                f"row {k + 1} of {path} has {shown(value)} as {shown(name)}, which is "
                "not a number. Make it one, or name the columns to learn from without "
                "it."
            ) from None
    return result


def _parquet(path: Path, wanted: Collection[str]) -> Any:
    require_extra("pyarrow", "parquet")
    from pyarrow import ArrowException, parquet

    try:
        table: Any = parquet.read_table(path)
    except (ArrowException, OSError) as error:
        raise ValueError(
            f"{path} cannot be read as Parquet: {brief(error)}."
        ) from error
    _check_names(path, table.column_names, wanted)
    return table


def _read_parquet(
    path: Path, text: Collection[str], wanted: Collection[str], has_others: bool
) -> dict[str, np.ndarray]:
    table = _parquet(path, wanted)
    result = {}
    for name in table.column_names:
        if not has_others and name not in wanted:
            continue
        values = table.column(name).to_pylist()
        if name in text:
            result[name] = _text(["" if v is None else str(v) for v in values])
            continue
        try:
            result[name] = np.array(
                [np.nan if v is None else v for v in values], np.float64
            )
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"column {shown(name)} of {path} does not hold numbers. Make them "
                "numbers, or name the columns to learn from without it."
            ) from None
    return result
