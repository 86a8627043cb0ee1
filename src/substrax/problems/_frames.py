"""Data frames of whatever library: their columns by name, and what is missing in them.

Nothing is imported for them. A data frame is what has `columns` with names (pandas,
polars) or `column_names` (Arrow), and gives a column for a name.
"""

import collections
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._types import shown

OF_TRAINING = "X_test[list(X.columns)], for example"
"""How to take those columns of a test that are learnt from."""


def column_names(X: Any) -> tuple[str, ...] | None:
    """The names of a data frame's columns; None for everything else, and if they are
    not all texts: pandas numbers columns that have no names."""
    # Asked of the class: a frame may have a column of that name.
    attribute = "column_names" if hasattr(type(X), "column_names") else "columns"
    names = getattr(X, attribute, None)
    try:
        names = () if names is None else tuple(names)
    except TypeError:
        return None
    is_named = bool(names) and all(isinstance(name, str) for name in names)
    return tuple(map(str, names)) if is_named else None


def answer_names(y: Any) -> tuple[str, ...] | None:
    """The names of columns of answers: of a data frame, or of a series."""
    name = getattr(y, "name", None)
    return (name,) if isinstance(name, str) else column_names(y)


def as_table(X: Any) -> Any:
    """A data frame as an array, other data as they are."""
    names = column_names(X)
    return X if names is None else _table(X, names)


def by_name(
    what: str, X: Any, names: Sequence[str] | None, selection: str
) -> np.ndarray | Any:
    """A data frame as an array whose columns are those of these names, in their order.

    What is no data frame stays as it is, and so does one if there are no names: there
    columns go by their position. `what` and `selection` are for sentences: what X is
    called, and how to take the right columns of it.
    """
    has = column_names(X)
    if has is None or names is None:
        return X
    wanted, present = set(names), set(has)
    missing = [name for name in names if name not in present]
    surplus = [name for name in has if name not in wanted]
    if missing:
        instead = f"; it has {_quoted(surplus)} instead" if surplus else ""
        raise ValueError(
            f"{what} has no {_listed(missing)}{instead}. Its columns must be "
            f"{_quoted(names)}, in any order."
        )
    if surplus:
        raise ValueError(
            f"{what} has the {_listed(surplus)} besides those that are learnt from. "
            f"Leave {'it' if len(surplus) == 1 else 'them'} out: {selection}."
        )
    return _table(X, tuple(names))


def _quoted(names: Sequence[str], most: int = 12) -> str:
    listed = ", ".join(map(shown, names[:most]))
    return listed if len(names) <= most else f"{listed}, ... ({len(names)} in all)"


def _listed(names: Sequence[str]) -> str:
    return f"{'column' if len(names) == 1 else 'columns'} {_quoted(names)}"


def _table(frame: Any, names: tuple[str, ...]) -> np.ndarray:
    """Columns of a data frame side by side: numbers if all of them are."""
    check_distinct("the data frame", names)
    columns = [np.asarray(frame[name]) for name in names]
    for name, column in zip(names, columns, strict=True):
        if column.dtype.kind in "mM":
            raise ValueError(
                f"the column {shown(name)} holds times ({column.dtype}), which are "
                "neither numbers nor labels. Turn it into numbers, such as days since "
                "a date, or leave it out."
            )
    if all(column.dtype.kind in "biuf" for column in columns):
        return np.column_stack([column.astype(np.float64) for column in columns])
    table = np.empty((len(columns[0]), len(columns)), object)
    for number, column in enumerate(columns):
        table[:, number] = column
    return table


def check_distinct(what: str, names: Sequence[str]) -> None:
    for name, count in collections.Counter(names).items():
        if count > 1:
            raise ValueError(f"{what} has two columns named {shown(name)}; rename one.")


def first_missing(values: np.ndarray) -> int | None:
    """Where the first value is that stands for none, of objects of any kind."""
    for number, value in enumerate(values.tolist()):
        if _is_missing(value):
            return number
    return None


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas' NA is neither equal to itself nor different
        return True
    except ValueError:  # an array
        return False
