"""Functions of JAX that activations are made of, for float32 and float64.

What decides their bits (the order of operations, where a constant is rounded) is part
of the results: golden tests compare them with the native engine.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

SELU_SCALE = 1.0507009873554804934193349852946
SELU_ALPHA = 1.6732632423543772848170429916717
LELU_SLOPE = 0.005


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


def sine(z: Float[Array, "..."], scale: float, quarter: bool) -> Float[Array, "..."]:
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


def constant(z: Float[Array, "..."], value: float) -> Float[Array, "..."]:
    return jnp.asarray(value, z.dtype)


def logistic(z: Float[Array, "..."]) -> Float[Array, "..."]:
    return constant(z, 1.0) / (constant(z, 1.0) + jnp.exp(-z))


def logistic_slope(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """The derivative of `logistic`; by both sides, or 1 - 1 would be 0 for large z."""
    return logistic(z) * logistic(-z)


def tanh(z: Float[Array, "..."]) -> Float[Array, "..."]:
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


def where_positive(
    z: Float[Array, "..."], otherwise: Float[Array, "..."]
) -> Float[Array, "..."]:
    return jnp.where(z > 0, z, otherwise)


def clip(z: Float[Array, "..."], bound: float) -> Float[Array, "..."]:
    return jnp.clip(z, constant(z, -bound), constant(z, bound))


def inside(
    z: Float[Array, "..."], bound: float, value: Float[Array, "..."]
) -> Float[Array, "..."]:
    """The value where |z| < bound, else 0: a derivative of what is clipped."""
    return jnp.where(jnp.abs(z) < bound, value, constant(z, 0.0))


def where_above(
    z: Float[Array, "..."], bound: float, above: float, otherwise: float
) -> Float[Array, "..."]:
    """One of two constants: `above` where z > bound."""
    return jnp.where(z > bound, constant(z, above), constant(z, otherwise))


def exponential_linear(z: Float[Array, "..."]) -> Float[Array, "..."]:
    return where_positive(z, jnp.expm1(jnp.minimum(z, 0.0)))


def scaled_exponential_linear(z: Float[Array, "..."]) -> Float[Array, "..."]:
    negative = constant(z, SELU_ALPHA) * jnp.expm1(jnp.minimum(z, 0.0))
    return constant(z, SELU_SCALE) * where_positive(z, negative)


def inverse(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """1/z, and 0 where that does not exist or is not finite, as in neat-python."""
    quotient = constant(z, 1.0) / jnp.where(z == 0, constant(z, 1.0), z)
    exists = jnp.abs(z) > jnp.finfo(z.dtype).tiny
    return jnp.where(exists, quotient, constant(z, 0.0))
