"""Types that everybody shares, and the checks of whole numbers and of arrays."""

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

ArrayLike = Any
"""Anything that `numpy.asarray` understands: arrays, nested lists, single numbers.

NumPy's own alias is not used because run-time checks of it refuse a plain `int`.
"""


def check_whole(**settings: object) -> None:
    """Refuses settings that are no whole numbers, or none of 32 bits."""
    for name, value in settings.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ValueError(f"{name} must be a whole number, not {value!r}.")
        if not -(2**31) <= value < 2**31:
            raise ValueError(f"{name} must lie between -2^31 and 2^31, not {value}.")


def check_counts(**counts: int) -> None:
    """Refuses what is no number of things."""
    check_whole(**counts)
    for name, value in counts.items():
        if value < 0:
            raise ValueError(f"{name} must not be negative, not {value}.")


def as_number(value: Any) -> float:
    """A setting as a float; NaN for what is no number."""
    try:
        return math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def check_threshold(name: str, value: Any) -> None:
    """Refuses what is no finite number of at least 0."""
    if not 0 <= as_number(value) < math.inf:
        raise ValueError(f"{name} must be a number of at least 0, not {value!r}.")


def as_numbers(rule: str, values: ArrayLike, dtype: DTypeLike) -> np.ndarray:
    """Numbers as an array of a dtype; `rule` begins the sentence if they are none."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "cSUMm":
            raise TypeError(f"these are {array.dtype}")
        # What does not fit becomes infinite, which is told apart from numbers later.
        with np.errstate(over="ignore"):
            return array.astype(dtype, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{rule}: {str(error).removesuffix('.')}.") from error


def check_arrays(
    holder: object,
    axes: Mapping[str, tuple[str, ...]],
    whole: Collection[str],
    sizes: Mapping[str, int],
    prefix: str = "",
) -> None:
    """Refuses fields that are no arrays, or whose shapes do not fit each other.

    `axes` names the axes of each; axes of one name are as long as in the first array
    that has it, or as `sizes` says. Those in `whole` hold whole numbers, others floats.
    """
    for name, own in axes.items():
        array = getattr(holder, name)
        # What a masked array hides is not compared, and would be read all the same.
        if type(array) not in (np.ndarray, np.memmap):
            raise ValueError(
                f"{prefix}{name} must be a NumPy array, not a {type(array).__name__}."
            )
        is_whole = name in whole
        if array.dtype.kind not in ("iu" if is_whole else "f"):
            kind = "whole" if is_whole else "floating-point"
            raise ValueError(
                f"{prefix}{name} must hold {kind} numbers, not {array.dtype}."
            )
        if array.ndim == len(own):
            sizes = {**dict(zip(own, array.shape, strict=True)), **sizes}
        wanted = tuple(sizes.get(axis, axis) for axis in own)
        if array.shape != wanted:
            raise ValueError(
                f"{prefix}{name} has shape {array.shape}, expected {wanted}."
            )
