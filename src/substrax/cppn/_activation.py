"""Activations by name and by number.

An activation is stored in genomes as its index in `ACTIVATION_NAMES`. The order is part
of the file format (see `_activation_table`, where they are defined).
"""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from .._suggest import suggest
from .._types import shown
from ._activation_table import ACTIVATIONS, DIALECTS, Dialect, Form, Function
from ._interval import Interval, Precision

ACTIVATION_NAMES: tuple[str, ...] = tuple(a.name for a in ACTIVATIONS)
"""All activation functions. Their place in this list is their id in genomes."""
NO_ACTIVATION = -1
"""What inputs have in the place of an activation."""

_ALIASES = {a.alias: a.name for a in ACTIVATIONS if a.alias is not None}


def activation_id(name: str) -> int:
    """The index of an activation in `ACTIVATION_NAMES`; aliases are understood."""
    text = name if isinstance(name, str) else ""
    canonical = _ALIASES.get(text, text)
    if canonical in ACTIVATION_NAMES:
        return ACTIVATION_NAMES.index(canonical)
    known = (*ACTIVATION_NAMES, *_ALIASES)
    raise ValueError(
        f"unknown activation {shown(name)}{suggest(text, known)}. Known are "
        f"{', '.join(sorted(known))}."
    )


def activation_ids_of(ids: Sequence[int]) -> Int[np.ndarray, " ids"]:
    """Activation ids as an array; refuses what is none."""
    array = np.asarray(ids)
    known = len(ACTIVATION_NAMES)
    is_whole = array.dtype.kind in "iu" or not array.size
    if array.ndim != 1 or not is_whole or ((array < 0) | (array >= known)).any():
        raise ValueError(
            f"activation_ids are {shown(ids)}; ids are positions in ACTIVATION_NAMES, "
            f"0 to {known - 1}."
        )
    return array.astype(np.int32)


def check_dialect(dialect: str) -> None:
    """Raises a `ValueError` for a name that is not in `DIALECTS`."""
    if dialect not in DIALECTS:
        raise ValueError(
            f"unknown dialect {shown(dialect)}: use one of "
            f"{', '.join(map(repr, DIALECTS))}."
        )


def activation_form(name: str, dialect: Dialect) -> Form:
    """All that is known of a name in a dialect: its function, the derivative of that,
    bounds over intervals, and the operators of ONNX that compute it."""
    check_dialect(dialect)
    return ACTIVATIONS[activation_id(name)].form(dialect)


def activation_function(name: str, dialect: Dialect) -> Function:
    """The elementwise function of a name in a dialect, for float32 and float64."""
    return activation_form(name, dialect).function


def activation_functions(ids: tuple[int, ...], dialect: Dialect) -> list[Function]:
    """The functions of several activation ids, in that order; they can be derived."""
    check_dialect(dialect)
    return [_with_derivative(ACTIVATIONS[i].form(dialect)) for i in ids]


@functools.cache
def _with_derivative(form: Form) -> Function:
    """A function with the derivative of the table, made finite.

    What JAX derives by itself is NaN where an exponential overflows. One function in a
    selection would be enough: what is NaN is still NaN when it is multiplied by 0.
    """
    function = jax.custom_jvp(form.function)

    @function.defjvp
    def _(primals, tangents):
        (z,), (dz,) = primals, tangents
        return function(z), jnp.nan_to_num(form.derivative(z)) * dz

    return function


def bound_activation(
    activation: int, dialect: Dialect, z: Interval, precision: Precision
) -> Interval:
    """What the kernel may answer for arguments of an interval.

    **Arguments:** the activation as an index in `ACTIVATION_NAMES`, the dialect, the
    arguments, the precision of the kernel.
    """
    check_dialect(dialect)
    with np.errstate(all="ignore"):
        result = ACTIVATIONS[activation].form(dialect).bound(z, precision)
        # A function may hide in a finite range that its argument was unknown.
        is_unknown = np.isnan(z.low) | np.isnan(z.high)
        if is_unknown.any():
            result = Interval(*(np.where(is_unknown, np.nan, end) for end in result))
        return precision.known(result)
