"""Activation functions of CPPNs and networks, in the two dialects of the field.

The same name means different functions to different programs: PUREPLES and everything
else that stands on neat-python scales its arguments (`tanh(2.5 z)`, `sin(5 z)`,
`exp(-5 z^2)`, `sigmoid(5 z)`) and clips them, while the EMR-HyperNEAT paper and most
other code uses the plain functions. The choice changes evolved patterns by a lot, so a
dialect is always named.

An activation is stored in genomes as its index in `ACTIVATION_NAMES`. The order is part
of the file format: new names are appended, none is moved.
"""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .._suggest import suggest
from .._types import shown

ACTIVATION_NAMES: tuple[str, ...] = (
    "identity",
    "tanh",
    "sigmoid",
    "sin",
    "gauss",
    "abs",
    "square",
    "cube",
    "step",
    "relu",
    "cos",
    "exp",
    "log",
    "inv",
    "clamped",
    "hat",
    "softplus",
    "elu",
    "selu",
    "lelu",
)
NO_ACTIVATION = -1
"""What inputs have in the place of an activation."""

_ALIASES = {"linear": "identity", "gaussian": "gauss", "sine": "sin"}

DIALECTS: tuple[str, ...] = ("neat-python", "plain")
Dialect = str
"""One of `DIALECTS`; checked where it is given, with a message for people."""

Activation = Callable[[Float[Array, "..."]], Float[Array, "..."]]


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
    if dialect not in DIALECTS:
        raise ValueError(
            f"unknown dialect {shown(dialect)}: use one of "
            f"{', '.join(map(repr, DIALECTS))}."
        )


def _parts_of_pi(scale: float) -> tuple[np.float32, np.float32, np.float32]:
    """pi/scale as a sum of three float32, the first two with few significant bits.

    Products of the first two with a small integer are exact, so that subtracting them
    loses nothing (Cody & Waite's range reduction).
    """
    rest = np.pi / scale
    parts = []
    for _ in range(2):
        bits = np.asarray(rest, np.float32).view(np.uint32) & np.uint32(0xFFFFF000)
        parts.append(bits.view(np.float32)[()])
        rest = rest - float(parts[-1])
    return parts[0], parts[1], np.float32(rest)


def _sine(z: Float[Array, "..."], scale: float, quarter: bool) -> Float[Array, "..."]:
    """sin(scale z), or cos(scale z) if `quarter`, to about 1e-7 in float32.

    XLA's own float32 sine on CPU is scalar code, twenty times slower than `tanh`; this
    one is a range reduction in units of pi/scale, done on z itself so that `scale * z`
    is never rounded, and an odd polynomial. float64 uses the library function.
    """
    if z.dtype != jnp.float32:
        argument = z * scale
        return jnp.cos(argument) if quarter else jnp.sin(argument)
    high, middle, low = _parts_of_pi(scale)
    turns = z * np.float32(scale / np.pi)
    half = np.float32(0.5)
    # cos(t) = sin(t + pi/2): the nearest odd multiple of pi/2 is subtracted instead.
    k = jnp.floor(turns) + half if quarter else jnp.floor(turns + half)
    r = ((z - k * high) - k * middle) - k * low
    r = r * np.float32(scale)
    r2 = r * r
    p = np.float32(2.6083159809786593541503e-06)
    p = p * r2 + np.float32(-0.0001981069071916863322258)
    p = p * r2 + np.float32(0.00833307858556509017944336)
    p = p * r2 + np.float32(-0.166666597127914428710938)
    s = r + r * r2 * p
    m = (k + half if quarter else k) * half
    is_odd = m != jnp.floor(m)
    return jnp.where(is_odd, -s, s)


def _constant(z: Float[Array, "..."], value: float) -> Float[Array, "..."]:
    return jnp.asarray(value, z.dtype)


def _logistic(z: Float[Array, "..."]) -> Float[Array, "..."]:
    return _constant(z, 1.0) / (_constant(z, 1.0) + jnp.exp(-z))


def _tanh(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """tanh; in float64 closer to the correctly rounded value than XLA's own.

    Rule `es` with a band threshold of 0 asks whether two weights are equal, which in
    the flat parts of tanh is decided by its last bit. XLA is off by up to seven there.
    """
    if z.dtype == jnp.float32:
        return jnp.tanh(z)
    size = jnp.abs(z)
    small = jnp.expm1(size * 2.0)
    large = 1.0 - 2.0 / (jnp.exp(size * 2.0) + 1.0)
    return jnp.copysign(jnp.where(size > 0.5, large, small / (small + 2.0)), z)


def _where_positive(
    z: Float[Array, "..."], otherwise: Float[Array, "..."]
) -> Float[Array, "..."]:
    return jnp.where(z > 0, z, otherwise)


def _shared() -> dict[str, Activation]:
    """Functions that both dialects agree on."""
    return {
        "identity": lambda z: z,
        "abs": jnp.abs,
        "square": lambda z: z * z,
        "cube": lambda z: z * z * z,
        "step": lambda z: jnp.where(z > 0, _constant(z, 1.0), _constant(z, 0.0)),
        "relu": lambda z: jnp.maximum(z, _constant(z, 0.0)),
        "clamped": lambda z: jnp.clip(z, _constant(z, -1.0), _constant(z, 1.0)),
        "hat": lambda z: jnp.maximum(_constant(z, 0.0), _constant(z, 1.0) - jnp.abs(z)),
        "elu": lambda z: _where_positive(z, jnp.expm1(jnp.minimum(z, 0.0))),
        "lelu": lambda z: _where_positive(z, z * _constant(z, 0.005)),
        "selu": lambda z: (
            _constant(z, 1.0507009873554804934193349852946)
            * _where_positive(
                z,
                _constant(z, 1.6732632423543772848170429916717)
                * jnp.expm1(jnp.minimum(z, 0.0)),
            )
        ),
        # neat-python: 1/z, and 0 where that does not exist or is not finite.
        "inv": lambda z: jnp.where(
            jnp.abs(z) > jnp.finfo(z.dtype).tiny,
            _constant(z, 1.0) / jnp.where(z == 0, _constant(z, 1.0), z),
            _constant(z, 0.0),
        ),
        "log": lambda z: jnp.log(jnp.maximum(z, _constant(z, 1e-7))),
    }


def _neat_python() -> dict[str, Activation]:
    def clip(z: Float[Array, "..."], bound: float) -> Float[Array, "..."]:
        return jnp.clip(z, _constant(z, -bound), _constant(z, bound))

    return {
        **_shared(),
        "tanh": lambda z: _tanh(clip(z * 2.5, 60.0)),
        "sigmoid": lambda z: _logistic(clip(z * 5.0, 60.0)),
        # The clip to +-60 is on the argument 5 z, hence +-12 on z.
        "sin": lambda z: _sine(clip(z, 12.0), 5.0, quarter=False),
        "cos": lambda z: _sine(clip(z, 12.0), 5.0, quarter=True),
        "gauss": lambda z: jnp.exp(clip(z, 3.4) * clip(z, 3.4) * -5.0),
        "exp": lambda z: jnp.exp(clip(z, 60.0)),
        "softplus": lambda z: jnp.log1p(jnp.exp(clip(z * 5.0, 60.0))) * 0.2,
    }


def _plain() -> dict[str, Activation]:
    return {
        **_shared(),
        "tanh": _tanh,
        "sigmoid": _logistic,
        "sin": lambda z: _sine(z, 1.0, quarter=False),
        "cos": lambda z: _sine(z, 1.0, quarter=True),
        "gauss": lambda z: jnp.exp(-(z * z)),
        # Beyond 60 a float32 exponential of an exponential is all that could follow.
        "exp": lambda z: jnp.exp(jnp.minimum(z, _constant(z, 60.0))),
        "softplus": lambda z: jax.nn.softplus(z),
    }


_TABLES: dict[str, dict[str, Activation]] = {
    "neat-python": _neat_python(),
    "plain": _plain(),
}


def activation_function(name: str, dialect: Dialect) -> Activation:
    """The elementwise function of a name in a dialect, for float32 and float64."""
    check_dialect(dialect)
    return _TABLES[dialect][ACTIVATION_NAMES[activation_id(name)]]


def activation_functions(ids: tuple[int, ...], dialect: Dialect) -> list[Activation]:
    """The functions of several activation ids, in that order."""
    check_dialect(dialect)
    return [_TABLES[dialect][ACTIVATION_NAMES[i]] for i in ids]
