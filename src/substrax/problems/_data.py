"""Data as people have them, as a problem: columns are scaled, labels become outputs."""

from typing import Any

import numpy as np

from .._types import ArrayLike, brief, shown
from ._arrays import ArrayProblem, check_all_finite
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
    is_classification: bool | None = None,
    **options: Any,
) -> ArrayProblem:
    """A problem of samples: `X` has a row for each, `y` what to answer.

    Columns of numbers are brought to mean 0 and deviation 1, columns of texts become a
    column of 0 and 1 for each label, and there is a bias. As answers, texts, booleans,
    and whole numbers of which there are few are labels: networks have an output for
    each of them (one output for two), and are judged by their mean squared error. Other
    numbers are brought to mean 0 and deviation 1 as well, and outputs are not limited.
    What is done is part of the models that come of it.

    **Arguments:**

    - `X`, `y`: arrays, lists, or tables that NumPy understands, such as pandas'.
    - `X_test`, `y_test`: the same, held back from evolution, for `measures`.
    - `is_classification`: whether `y` are labels, if that is not plain to see.
    - `options`: of `ArrayProblem`, such as `target` or `samples_per_generation`.
    """
    table = np.asarray(X)
    if table.ndim == 1:
        table = table[:, None]
    categories = _categories(table)
    rows = _numbers("X", table, categories)
    answers = _answers(y)
    if is_classification is None:
        is_classification = _has_labels(answers)
    shift, scale = _moments(rows)
    if categories is not None:
        _leave_labels(categories, shift, scale)
    if is_classification:
        classes = _classes(answers)
        preparation = Preparation(
            True, shift, scale, classes=classes, categories=categories
        )
        suggested: dict[str, object] = {"output_activation": "sigmoid"}
    else:
        values = _values("y", answers)
        preparation = Preparation(
            True, shift, scale, *_moments(values), categories=categories
        )
        suggested = {"output_activation": "identity"}
    if X_test is not None and y_test is not None:
        X_test = _numbers("X_test", np.asarray(X_test), categories)
        y_test = _targets("y_test", _answers(y_test), preparation)
    defaults = {"suggested": suggested, "name": "data", "target": float("inf")}
    return ArrayProblem(
        rows,
        _targets("y", answers, preparation),
        X_test=X_test,
        y_test=y_test,
        preparation=preparation,
        **(defaults | options),
    )


def _answers(y: ArrayLike) -> np.ndarray:
    answers = np.asarray(y)
    is_column = answers.ndim == 2 and answers.shape[1] == 1
    return answers[:, 0] if is_column else answers


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
    classes = np.unique(answers)
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
    is_class = answers[:, None] == np.asarray(classes, answers.dtype)
    if not is_class.any(axis=1).all():
        row = int(np.flatnonzero(~is_class.any(axis=1))[0])
        raise ValueError(
            f"{name}[{row}] is {shown(answers[row].item())}, a label that y does not "
            "have."
        )
    return (is_class[:, 1] if len(classes) == 2 else is_class).astype(np.float64)


def _values(name: str, answers: np.ndarray) -> np.ndarray:
    values = answers[:, None] if answers.ndim == 1 else answers
    return _numbers(name, values, None)


def _categories(table: np.ndarray) -> tuple[tuple[str, ...], ...] | None:
    """Of each column the labels in it, none of a column of numbers; None if all are."""
    if table.ndim != 2 or table.dtype.kind not in "OUST":
        return None
    found = []
    for number, column in enumerate(table.T):
        try:
            column.astype(np.float64)
            found.append(())
        except (TypeError, ValueError):
            labels = np.unique(column.astype(str))
            if len(labels) > _MAX_LABELS:
                raise ValueError(
                    f"column {number} of X holds {len(labels)} different texts, such "
                    f"as {shown(str(labels[0]))}; a column of labels has at most "
                    f"{_MAX_LABELS}. Leave it out, or turn it into numbers."
                ) from None
            found.append(tuple(labels.tolist()))
    return tuple(found) if any(found) else None


def _numbers(
    name: str, table: np.ndarray, categories: tuple[tuple[str, ...], ...] | None
) -> np.ndarray:
    try:
        numbers = Preparation(categories=categories).numbers(table)
    except ValueError as error:
        raise ValueError(f"{name} must be numbers ({brief(error)}).") from None
    check_all_finite(name, numbers)
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
