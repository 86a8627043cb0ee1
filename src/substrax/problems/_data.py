"""Data as people have them, as a problem: columns are scaled, labels become outputs."""

from typing import Any

import numpy as np

from .._types import ArrayLike, shown
from ._arrays import ArrayProblem, check_all_finite
from ._preparation import Label, Preparation

_MAX_CLASSES = 20
"""More different whole numbers than this are taken for numbers, not for labels."""


def data_problem(
    X: ArrayLike, y: ArrayLike, *, is_classification: bool | None = None, **options: Any
) -> ArrayProblem:
    """A problem of samples: `X` has a row of numbers for each, `y` what to answer.

    Columns of `X` are brought to mean 0 and deviation 1, and there is a bias. Texts,
    booleans, and whole numbers of which there are few are labels: networks have an
    output for each of them (one output for two), and are judged by their mean squared
    error. Other numbers are brought to mean 0 and deviation 1 as well, and outputs are
    not limited. What is done is part of the models that come of it.

    **Arguments:**

    - `X`, `y`: arrays, lists, or tables that NumPy understands, such as pandas'.
    - `is_classification`: whether `y` are labels, if that is not plain to see.
    - `options`: of `ArrayProblem`, such as `target` or `samples_per_generation`.
    """
    rows = np.asarray(X)
    if rows.ndim == 1:
        rows = rows[:, None]
    rows = _numbers("X", rows)
    answers = np.asarray(y)
    if answers.ndim == 2 and answers.shape[1] == 1:
        answers = answers[:, 0]
    if is_classification is None:
        is_classification = _has_labels(answers)
    shift, scale = _moments(rows)
    if is_classification:
        if answers.ndim != 1:
            raise ValueError(
                f"labels are one for each sample, but y has the shape {answers.shape}."
            )
        classes, number = np.unique(answers, return_inverse=True)
        if len(classes) < 2:
            only = ", ".join(map(shown, classes.tolist())) or "missing"
            raise ValueError(f"all labels are {only}; there is nothing to tell apart.")
        targets = number if len(classes) == 2 else np.eye(len(classes))[number]
        labels: tuple[Label, ...] = tuple(classes.tolist())
        preparation = Preparation(True, shift, scale, classes=labels)
        suggested: dict[str, object] = {"output_activation": "sigmoid"}
    else:
        values = _numbers("y", answers[:, None] if answers.ndim == 1 else answers)
        output_shift, output_scale = _moments(values)
        targets = (values - output_shift) / output_scale
        preparation = Preparation(True, shift, scale, output_shift, output_scale)
        suggested = {"output_activation": "identity"}
    defaults = {"suggested": suggested, "name": "data", "target": float("inf")}
    return ArrayProblem(rows, targets, preparation=preparation, **(defaults | options))


def _has_labels(answers: np.ndarray) -> bool:
    if answers.ndim != 1 or answers.dtype.kind == "f":
        return False
    if answers.dtype.kind in "iu":
        return np.unique(answers).size <= _MAX_CLASSES
    return answers.dtype.kind in "bOUST"


def _numbers(name: str, values: np.ndarray) -> np.ndarray:
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be numbers ({error}). Give columns of texts as numbers, one "
            "for each value (0 or 1)."
        ) from None
    check_all_finite(name, numbers)
    return numbers


def _moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of columns; 1 for those that do not vary."""
    shift, scale = values.mean(axis=0), values.std(axis=0)
    return shift, np.where(scale > 0, scale, 1.0)
