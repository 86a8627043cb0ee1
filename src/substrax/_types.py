"""Types that everybody shares, and the checks of settings and of arrays."""

import dataclasses
import functools
import inspect
import math
import reprlib
import sys
import types
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

ArrayLike = Any
"""Anything that `numpy.asarray` understands: arrays, nested lists, single numbers.

NumPy's own alias is not used because run-time checks of it refuse a plain `int`.
"""


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60

_LARGEST_FLOAT = float(np.finfo(np.float32).max)
_LARGEST_SETTING = 1e37
"""Computing is done in 32 bits, where what exceeds 3.4e38 is infinite: a setting may be
doubled, or multiplied with a random number, and stays finite."""


def shown(value: object) -> str:
    """A value for a sentence: how Python writes it, but not all of it if it is long."""
    try:
        text = _SHORT.repr(value)
    except ValueError:  # Python does not write whole numbers of so many digits
        return f"a number of more than {sys.get_int_max_str_digits()} digits"
    return text if len(text) <= 200 else f"{text[:197]}..."


def brief(text: object, most: int = 200) -> str:
    """A text, or what an error says, for a sentence: one line, and not all of it."""
    line = " ".join(str(text).split()).removesuffix(".")
    return line if len(line) <= most else f"{line[: most - 3]}..."


TRUE_WORDS, FALSE_WORDS = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
"""How people write a switch, in settings as in the files of neat-python."""


POSITIONAL = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)
"""Parameters that can be given by their position."""


def num_required(fn: Callable[..., Any]) -> int:
    """How many arguments a function cannot do without; 1 where it does not say."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return 1
    return sum(p.kind in POSITIONAL and p.default is p.empty for p in parameters)


def counted(num: int, what: str) -> str:
    """`1 link`, `2 links`."""
    return f"{num:,} {what}{'' if num == 1 else 's'}"


def round_up(number: int, least: int) -> int:
    """The next power of two: sizes that are few, so that little is compiled."""
    return max(least, 1 << max(0, number - 1).bit_length())


def check_whole(**settings: object) -> None:
    """Refuses settings that are no whole numbers, or none of 32 bits."""
    for name, value in settings.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ValueError(f"{name} must be a whole number, not {shown(value)}.")
        if not -(2**31) <= value < 2**31:
            raise ValueError(
                f"{name} must lie between -2^31 and 2^31 - 1, not {shown(value)}."
            )


def check_counts(**counts: int) -> None:
    """Refuses what is no number of things."""
    check_whole(**counts)
    for name, value in counts.items():
        if value < 0:
            raise ValueError(f"{name} must not be negative, not {value}.")


def check_finite(**settings: object) -> None:
    """Refuses settings that are no numbers, or none that 32 bits can hold."""
    for name, value in settings.items():
        if not isinstance(value, bool) and (abs(as_number(value)) <= _LARGEST_SETTING):
            continue
        raise ValueError(
            f"{name} must be a number between -1e37 and 1e37, not {shown(value)}."
        )


def as_number(value: Any) -> float:
    """A setting as a float; NaN for what is no number."""
    try:
        return math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def check_threshold(name: str, value: Any) -> None:
    """Refuses what is no number of at least 0, or none that 32 bits can hold."""
    if isinstance(value, bool) or not 0 <= as_number(value) <= _LARGEST_FLOAT:
        raise ValueError(
            f"{name} must be a number of at least 0 and at most 3.4e38, not "
            f"{shown(value)}."
        )


def chosen(default: Any, choices: Collection[str]) -> Any:
    """A field of a dataclass whose value is one of some words, or several of them."""
    return dataclasses.field(default=default, metadata={CHOICES: tuple(choices)})


CHOICES = "choices"
"""Where the metadata of a field hold the words."""


def check_settings(holder: Any) -> None:
    """Refuses fields of a dataclass that are not what their annotations say.

    Looked at are whole numbers, numbers, switches and texts, tuples of these, and where
    None may stand for them. Everything else has a check of its own.
    """
    for name, (kind, is_tuple, is_optional) in _plain_fields(type(holder)).items():
        value = getattr(holder, name)
        if value is None and is_optional:
            continue
        if not is_tuple:
            _check_kind(name, kind, value)
            continue
        if not isinstance(value, tuple | list):
            raise ValueError(f"{name} must be a tuple, not {shown(value)}.")
        for one in value:
            _check_kind(name, kind, one)


def _check_kind(name: str, kind: type, value: object) -> None:
    if kind is int:
        check_whole(**{name: value})
    elif kind is float:
        check_finite(**{name: value})
    elif kind is bool and not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be true or false, not {shown(value)}.")
    elif kind is str and not isinstance(value, str):
        raise ValueError(f"{name} must be a text, not {shown(value)}.")


@functools.cache
def _plain_fields(cls: type) -> dict[str, tuple[type, bool, bool]]:
    """Of fields of plain values: their type, whether it is a tuple of them, and whether
    it may be None."""
    hints = typing.get_type_hints(cls)
    found = {}
    for field in dataclasses.fields(cls):
        annotation, is_optional = hints[field.name], False
        if typing.get_origin(annotation) in (typing.Union, types.UnionType):
            parts = typing.get_args(annotation)
            is_optional = types.NoneType in parts
            parts = [part for part in parts if part is not types.NoneType]
            annotation = parts[0] if len(parts) == 1 else None
        is_tuple = typing.get_origin(annotation) is tuple
        if is_tuple:
            annotation = typing.get_args(annotation)[0]
        if annotation in (int, float, bool, str):
            found[field.name] = (annotation, is_tuple, is_optional)
    return found


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
