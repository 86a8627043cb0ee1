"""Programs as the native engine takes them: checked, in the dtypes that it reads."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._native import Engine, native_array
from .._types import check_arrays, shown
from ._activation import activation_ids_of, check_dialect
from ._coordinates import COORDINATES
from ._program import FAN_IN, Programs

_AXES = {
    "bias": ("rows",),
    "activation": ("rows",),
    "source": ("rows", "fan_in"),
    "weight": ("rows", "fan_in"),
    "first_row": ("genomes",),
    "num_rows": ("genomes",),
    "output_slot": ("genomes", "outputs"),
}
_WHOLE = ("activation", "source", "first_row", "num_rows", "output_slot")


def hold_programs(
    native: Engine, programs: Programs, coordinates: tuple[str, ...]
) -> Any:
    """The programs, for functions of the native engine."""
    check_coordinates(programs, coordinates)
    _check(programs)
    # Indices into the functions of this population become ids.
    ids = activation_ids_of(programs.activation_ids)
    kind = "Float" if programs.bias.dtype == np.float32 else "Double"
    return getattr(native.module, f"Programs{kind}").hold(
        native_array(ids[programs.activation], np.int32),
        native_array(programs.bias, programs.bias.dtype),
        native_array(programs.source, np.int32),
        native_array(programs.weight, programs.bias.dtype),
        native_array(programs.first_row, np.int32),
        native_array(programs.num_rows, np.int32),
        native_array(programs.output_slot, np.int32),
        np.array([COORDINATES.index(name) for name in coordinates], np.int32),
        bool(programs.dialect == "neat-python"),
    )


def check_coordinates(programs: Programs, coordinates: tuple[str, ...]) -> None:
    """Refuses names of inputs that are not those of these programs."""
    check_coordinate_names(coordinates)
    if len(coordinates) != programs.num_inputs:
        raise ValueError(
            f"the CPPNs have {programs.num_inputs} inputs, but `coordinates` names "
            f"{len(coordinates)}: {', '.join(coordinates)}. Make them agree."
        )


def check_coordinate_names(coordinates: tuple[str, ...]) -> None:
    """Raises a `ValueError` for inputs that CPPNs do not have, or have twice."""
    check_names("CPPN input", "coordinates", coordinates, COORDINATES)


def check_names(
    kind: str, setting: str, names: tuple[str, ...], known: Iterable[str]
) -> None:
    """Refuses names that are unknown, or that stand twice."""
    for name in names:
        if name not in known:
            raise ValueError(
                f"unknown {kind} {shown(name)}: use some of {', '.join(known)}."
            )
        if names.count(name) > 1:
            raise ValueError(
                f"`{setting}` names {name} more than once; name each {kind} once."
            )


def check_types(p: Programs) -> None:
    """Refuses programs that are not arrays of the right shapes and dtypes."""
    check_dialect(p.dialect)
    check_arrays(p, _AXES, _WHOLE, {"fan_in": FAN_IN}, "programs: ")
    if not p.num_outputs:
        raise ValueError(
            "these programs have no output; compile genomes with num_outputs of at "
            "least 1."
        )
    if p.bias.dtype not in (np.float32, np.float64) or p.weight.dtype != p.bias.dtype:
        raise ValueError(
            f"programs have biases of {p.bias.dtype} and weights of {p.weight.dtype}; "
            "both must be float32, or both float64."
        )


def _check(p: Programs) -> None:
    """Refuses programs that nobody compiled: a wrong index would be read as memory."""
    check_types(p)
    if not (np.isfinite(p.bias).all() and np.isfinite(p.weight).all()):
        raise ValueError(
            "a weight or bias of these programs is NaN or infinite; repair it before "
            "they are compiled."
        )
    ids = activation_ids_of(p.activation_ids)
    if not (_is_within(p.activation, ids.size) and _reads_what_exists(p)):
        raise ValueError(
            "these programs read a value that does not exist; compile genomes with "
            "compile_programs instead of making programs by hand."
        )


def _reads_what_exists(p: Programs) -> bool:
    """Whether rows read inputs, and rows of their own program that come before them.

    Rows that belong to nobody are not read at all.
    """
    total, num_inputs = p.bias.size, p.num_inputs
    first, num = p.first_row.astype(np.int64), p.num_rows.astype(np.int64)
    if not (_is_within(first, total + 1) and _is_within(num, total - first + 1)):
        return False
    nth = np.arange(int(num.sum())) - np.repeat(np.cumsum(num) - num, num)
    row, slot = np.repeat(first, num) + nth, num_inputs + nth
    slot_of = np.full(total, np.iinfo(np.int64).max)
    slot_of[row] = slot
    return (
        # Programs may share rows, but then each is in the same place of all.
        bool((slot_of[row] == slot).all())
        and _is_within(p.source, slot_of[:, None])
        and _is_within(p.output_slot, (num_inputs + num)[:, None])
    )


def _is_within(index: np.ndarray, stop: np.ndarray | int) -> bool:
    return bool(((index >= 0) & (index < stop)).all())
