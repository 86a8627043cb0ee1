"""Data as people have them, as a problem: columns are scaled, labels become outputs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._types import ArrayLike, brief, shown
from ._arrays import ArrayProblem, check_all_finite, check_lengths
from ._frames import (
    OF_TRAINING,
    answer_names,
    as_table,
    by_name,
    column_names,
    first_missing,
)
from ._held_back import held_back, num_held_back
from ._preparation import Label, Preparation

_MAX_CLASSES = 20
"""More different whole numbers than this are taken for numbers, not for labels."""

_MAX_LABELS = 50
"""Of a column: more would be names or texts, from which nothing is learned."""


def data_problem(
    X: ArrayLike,
    y: ArrayLike,
    *,
    X_test: ArrayLike = None,
    y_test: ArrayLike = None,
    test_share: float | int | None = None,
    split_seed: int = 0,
    is_classification: bool | None = None,
    feature_names: Sequence[str] | None = None,
    target_names: Sequence[str] | None = None,
    **options: Any,
) -> ArrayProblem:
    """A problem of samples: `X` has a row for each, `y` what to answer.

    Columns of numbers are brought to mean 0 and deviation 1, columns of texts become a
    column of 0 and 1 for each label, and there is a bias. As answers, texts, booleans,
    and whole numbers of which there are few are labels: networks have an output for
    each of them (one output for two), and are judged by their mean squared error. Other
    numbers are brought to mean 0 and deviation 1 as well, and outputs are not limited
    (those of plain NEAT are what evolution makes of them). What is done is part of the
    models that come of it, and so are the names of the columns of a data frame.

    **Arguments:**

    - `X`, `y`: arrays, lists, or data frames, such as those of pandas and polars.
    - `X_test`, `y_test`: the same, held back from evolution, for `measures`. The
      columns of a data frame may be in another order.
    - `test_share`: without them, the share of the rows that is held back: 0 for none;
      left out, a fifth, or none of fewer than 20 rows. Each label has its share.
    - `split_seed`: other seeds hold back other rows.
    - `is_classification`: whether `y` are labels, if that is not plain to see.
    - `feature_names`, `target_names`: what the columns of `X` and `y` are called, if
      they are not data frames.
    - `options`: of `ArrayProblem`, such as `target` or `samples_per_generation`.
    """
    features, targets = _names_of(X, y, feature_names, target_names)
    table, answers = _rows(as_table(X)), _answers("y", y)
    if features is not None and len(features) != table.shape[1]:
        raise ValueError(
            f"there are {len(features)} feature_names for {table.shape[1]} columns."
        )
    check_lengths("X", table, "y", answers)
    if not len(table):
        raise ValueError("X and y have no rows, so there is nothing to learn from.")
    categories = _categories(table, features)
    rows = _numbers("X", table, categories, features)
    if is_classification is None:
        is_classification = _has_labels(answers)
    classes = _classes(answers) if is_classification else None
    values = None if is_classification else _values("y", answers)
    has_test = X_test is not None or y_test is not None
    if has_test and test_share is not None:
        raise ValueError("give X_test and y_test, or test_share, not both.")
    num_test = 0 if has_test else num_held_back(test_share, len(rows), classes)
    is_test = held_back(answers, num_test, split_seed, by_label=is_classification)
    # Of the rows that are learnt from alone: a test must not be known before.
    shift, scale = _moments(rows[~is_test])
    if categories is not None:
        _leave_labels(categories, shift, scale)
    preparation = Preparation(
        True,
        shift,
        scale,
        *((None, None) if values is None else _moments(values[~is_test])),
        classes=classes,
        categories=categories,
        feature_names=features,
        target_names=targets,
    )
    wanted = _targets("y", answers, preparation)
    if num_test:
        X_test, y_test = rows[is_test], wanted[is_test]
    elif X_test is not None and y_test is not None:
        test = _rows(by_name("X_test", X_test, features, OF_TRAINING))
        if test.shape[1:] != table.shape[1:]:
            raise ValueError(
                f"X has {table.shape[1]} columns, but X_test has the shape "
                f"{test.shape}."
            )
        X_test = _numbers("X_test", test, categories, features)
        y_test = _targets("y_test", _answers("y_test", y_test), preparation)
    suggested: dict[str, object] = {"output_activation": "sigmoid"}
    if not is_classification:
        # Answers may be any number, so no function may bound them.
        suggested = {
            "output_activation": "identity",
            "neat.output_activation": "identity",
            "neat.mutation.mutate_output_activation": False,
        }
    defaults = {
        "suggested": suggested,
        "name": "data",
        "target": float("inf"),
    }
    return ArrayProblem(
        rows[~is_test],
        wanted[~is_test],
        X_test=X_test,
        y_test=y_test,
        preparation=preparation,
        **(defaults | options),
    )


def _names_of(
    X: ArrayLike,
    y: ArrayLike,
    feature_names: Sequence[str] | None,
    target_names: Sequence[str] | None,
) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """The names of columns of X and y: those of data frames, or those given."""
    features, targets = column_names(X), answer_names(y)
    if feature_names is not None:
        if features is not None and features != tuple(feature_names):
            raise ValueError(
                "X is a data frame, whose columns have names; leave out feature_names, "
                "or rename the columns."
            )
        features = tuple(feature_names)
    return features, targets if target_names is None else tuple(target_names)


def _rows(X: ArrayLike) -> np.ndarray:
    table = np.asarray(X)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2:
        raise ValueError(
            f"rows need the shape (samples, columns), or (samples,) for one column; "
            f"these have {table.shape}."
        )
    return table


def _answers(name: str, y: ArrayLike) -> np.ndarray:
    answers = np.asarray(as_table(y))
    if answers.ndim == 2 and answers.shape[1] == 1:
        answers = answers[:, 0]
    if answers.dtype.kind == "O" and answers.ndim == 1:
        row = first_missing(answers)
        if row is not None:
            raise ValueError(
                f"{name}[{row}] is missing. Fill in or drop missing values first."
            )
    return answers


def _has_labels(answers: np.ndarray) -> bool:
    if answers.ndim != 1 or answers.dtype.kind == "f":
        return False
    if answers.dtype.kind in "iu":
        return np.unique(answers).size <= _MAX_CLASSES
    return answers.dtype.kind in "bOUST"


def _classes(answers: np.ndarray) -> tuple[Label, ...]:
    if answers.ndim != 1:
        raise ValueError(
            f"labels are one for each sample, but y has the shape {answers.shape}."
        )
    try:
        classes = np.unique(answers)
    except TypeError as error:
        raise ValueError(
            f"labels must be all texts or all numbers ({error})."
        ) from None
    if len(classes) < 2:
        only = ", ".join(map(shown, classes.tolist())) or "missing"
        raise ValueError(f"all labels are {only}; there is nothing to tell apart.")
    return tuple(classes.tolist())


def _targets(name: str, answers: np.ndarray, preparation: Preparation) -> np.ndarray:
    """What outputs should be."""
    classes = preparation.classes
    if classes is None:
        values = _values(name, answers)
        return (values - preparation.output_shift) / preparation.output_scale
    # In the dtype that holds both: a shorter text would cut off the classes.
    known = np.asarray(classes)
    if answers.dtype.kind not in "US":
        known = known.astype(answers.dtype)
    is_class = answers[:, None] == known
    if not is_class.any(axis=1).all():
        row = int(np.flatnonzero(~is_class.any(axis=1))[0])
        raise ValueError(
            f"{name}[{row}] is {shown(answers[row].item())}, a label that y does not "
            "have."
        )
    # Of two classes one output is enough: it stands for the second.
    return (is_class[:, 1] if len(classes) == 2 else is_class).astype(np.float64)


def _values(name: str, answers: np.ndarray) -> np.ndarray:
    values = answers[:, None] if answers.ndim == 1 else answers
    return _numbers(name, values, None, None)


class TooManyTextsError(ValueError):
    """A column of texts that can be no labels; `called` and `found` say which column
    it is, and what is in it."""

    def __init__(self, called: object, labels: np.ndarray) -> None:
        self.called = called
        self.found = (
            f"{len(labels)} different texts, such as {shown(str(labels[0]))}; a column "
            f"of labels has at most {_MAX_LABELS}"
        )
        super().__init__(
            f"column {called} of X holds {self.found}. Leave it out, or turn it into "
            "numbers."
        )


def _categories(
    table: np.ndarray, names: tuple[str, ...] | None
) -> tuple[tuple[str, ...], ...] | None:
    """Of each column the labels in it, none of a column of numbers; None if all are."""
    if table.dtype.kind not in "OUST":
        return None
    found = []
    for number, column in enumerate(table.T):
        try:
            # First, so that texts which all are numbers make a column of numbers.
            column.astype(np.float64)
            found.append(())
        except (TypeError, ValueError):
            called = number if names is None else shown(names[number])
            row = first_missing(column)
            if row is not None:
                raise ValueError(
                    f"X[{row}, {called}] is missing. Fill in or drop missing values "
                    "first."
                ) from None
            _check_no_numbers(called, column)
            # Sorted: what an input stands for does not depend on the order of rows.
            labels = np.unique(column.astype(str))
            if len(labels) > _MAX_LABELS:
                raise TooManyTextsError(called, labels) from None
            found.append(tuple(labels.tolist()))
    return tuple(found) if any(found) else None


def _check_no_numbers(called: object, column: np.ndarray) -> None:
    """Refuses numbers among which some are none: they would become labels, unasked."""
    is_number = np.array([_is_number(value) for value in column])
    if 2 * is_number.sum() <= len(column):
        return
    row = int(np.flatnonzero(~is_number)[0])
    raise ValueError(
        f"most values of column {called} are numbers, but that of row {row} (counted "
        f"from 0) is {shown(str(column[row]))}. Correct it; or leave it empty, if it "
        "is missing; or leave out the column."
    )


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def _numbers(
    name: str,
    table: np.ndarray,
    categories: tuple[tuple[str, ...], ...] | None,
    names: tuple[str, ...] | None,
) -> np.ndarray:
    preparation = Preparation(categories=categories, feature_names=names)
    try:
        numbers = preparation.numbers(table)
    except ValueError as error:
        raise ValueError(f"{name} must be numbers ({brief(error)}).") from None
    columns = None if names is None else preparation.input_names(len(names))
    check_all_finite(name, numbers, columns)
    return numbers


def _moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of columns; 1 for those that do not vary."""
    shift, scale = values.mean(axis=0), values.std(axis=0)
    return shift, np.where(scale > 0, scale, 1.0)


def _leave_labels(
    categories: tuple[tuple[str, ...], ...], shift: np.ndarray, scale: np.ndarray
) -> None:
    """Columns of 0 and 1 stay as they are."""
    is_label = np.concatenate([[bool(c)] * max(len(c), 1) for c in categories])
    shift[is_label], scale[is_label] = 0.0, 1.0
