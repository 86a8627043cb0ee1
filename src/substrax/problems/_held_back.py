"""Which rows of data are held back from evolution, as a test."""

import numpy as np

from .._types import check_finite
from ._preparation import Label

_TEST_SHARE, _MIN_ROWS = 0.2, 20
"""What is held back as a test if nothing is said, and of how many rows. Fewer are the
table of a logic function, say, of which every row is needed."""


def check_test_share(test_share: float | int | None) -> None:
    if test_share is None:
        return
    check_finite(test_share=test_share)
    if not 0 <= test_share < 1:
        raise ValueError(f"test_share must be in [0, 1), not {test_share}.")


def num_held_back(
    test_share: float | int | None, num_rows: int, classes: tuple[Label, ...] | None
) -> int:
    """How many of so many rows are held back; a sentence if too few would be left."""
    check_test_share(test_share)
    if test_share is None:
        test_share = _TEST_SHARE if num_rows >= _MIN_ROWS else 0.0
    num_test = round(test_share * num_rows)
    needed = 1 if classes is None else len(classes)
    if num_test and num_rows - num_test < needed:
        each = "" if classes is None else f" of each of the {needed} labels"
        raise ValueError(
            f"if {num_test} of {num_rows} rows are held back as a test, there is not "
            f"one{each} to learn from. Set test_share to less, or to 0."
        )
    return num_test


def held_back(
    answers: np.ndarray, num_test: int, seed: int, *, by_label: bool
) -> np.ndarray:
    """Which rows are the test: drawn by the seed, of each label about the same share.

    One row of each label is never drawn, so that all of them can be learnt.
    """
    order = np.random.default_rng(seed).permutation(len(answers))
    if by_label:
        # The k-th of n rows of a label stands at (k + 1/2) / n of a common scale, and
        # the lowest are taken: shares of labels differ by less than a row.
        label = np.unique(answers[order], return_inverse=True)[1]
        grouped = np.argsort(label, kind="stable")
        size = np.bincount(label)
        number = np.empty(len(order), np.int64)
        number[grouped] = (
            np.arange(len(order)) - (np.cumsum(size) - size)[label[grouped]]
        )
        place = (number + 0.5) / size[label]
        place[number == size[label] - 1] = np.inf
        order = order[np.argsort(place, kind="stable")]
    is_test = np.zeros(len(answers), bool)
    is_test[order[:num_test]] = True
    return is_test
