"""Programs as the native engine takes them: checked, in the dtypes that it reads."""

from typing import Any

import numpy as np

from .._native import Engine
from ._activation import ACTIVATION_NAMES
from ._kernel import COORDINATES
from ._program import FAN_IN, Programs


def hold_programs(
    native: Engine, programs: Programs, coordinates: tuple[str, ...]
) -> Any:
    """The programs, for functions of the native engine."""
    _check(programs, len(coordinates))
    # Indices into the functions of this population become ids.
    activation = np.array(programs.activation_ids, np.int32)[programs.activation]
    kind = "Float" if programs.bias.dtype == np.float32 else "Double"
    return getattr(native.module, f"Programs{kind}").hold(
        np.ascontiguousarray(activation, np.int32),
        np.ascontiguousarray(programs.bias),
        np.ascontiguousarray(programs.source, np.int32),
        np.ascontiguousarray(programs.weight),
        np.ascontiguousarray(programs.first_row, np.int32),
        np.ascontiguousarray(programs.num_rows, np.int32),
        np.ascontiguousarray(programs.output_slot, np.int32),
        np.array([COORDINATES.index(name) for name in coordinates], np.int32),
        programs.dialect == "neat-python",
    )


def _check(p: Programs, num_inputs: int) -> None:
    """Refuses programs that nobody compiled: a wrong index would be read as memory."""
    num_rows, num_genomes = p.bias.shape[0], p.first_row.shape[0]
    shapes = {
        "activation": (p.activation.shape, (num_rows,)),
        "source": (p.source.shape, (num_rows, FAN_IN)),
        "weight": (p.weight.shape, (num_rows, FAN_IN)),
        "num_rows": (p.num_rows.shape, (num_genomes,)),
        "output_slot": (p.output_slot.shape[:1], (num_genomes,)),
    }
    for name, (shape, wanted) in shapes.items():
        if shape != wanted:
            raise ValueError(f"programs: {name} has shape {shape}, expected {wanted}.")
    if p.bias.dtype not in (np.float32, np.float64) or p.weight.dtype != p.bias.dtype:
        raise ValueError(
            f"programs have biases of {p.bias.dtype} and weights of {p.weight.dtype}; "
            "both must be float32, or both float64."
        )
    if not num_genomes:
        return
    first, num = p.first_row.astype(np.int64), p.num_rows.astype(np.int64)
    ids = np.asarray(p.activation_ids)
    # A row reads inputs, and rows of its own program that come before it. Rows that
    # belong to nobody are not read at all.
    row_of = np.full(num_rows, np.iinfo(np.int64).max)
    is_whole = (first >= 0).all() and (num >= 0).all()
    is_whole = is_whole and int((first + num).max(initial=0)) <= num_rows
    if is_whole:
        nth = np.arange(int(num.sum())) - np.repeat(np.cumsum(num) - num, num)
        row_of[np.repeat(first, num) + nth] = num_inputs + nth
    is_good = (
        is_whole
        and _is_within(p.source, row_of[:, None])
        and _is_within(p.output_slot, (num_inputs + num)[:, None])
        and _is_within(p.activation, ids.size)
        and _is_within(ids, len(ACTIVATION_NAMES))
    )
    if not is_good:
        raise ValueError(
            "these programs read a value that does not exist; compile genomes with "
            "compile_programs instead of making programs by hand."
        )


def _is_within(index: np.ndarray, stop: np.ndarray | int) -> bool:
    return bool(((index >= 0) & (index < stop)).all())
