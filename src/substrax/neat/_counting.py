"""Counts, sums and ranks, written so that there is little to compile.

What takes XLA its time is the number of loops that it compiles, each by itself. On CPUs
it makes three of a reduction over more than 32 numbers, so that sums of floats become
more exact (what is summed, sums of 32, and their sum), but leaves reductions of several
arrays at once as they are. Here only integers, flags and extremes are reduced, for
which the order does not matter. `jnp.cumsum` becomes several loops as well, and so
does a sort with a scatter: counts of at most 32 flags are bits of a word instead, and
short rows are ranked by comparing everything with everything.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

_WORD = 32
"""Flags in a word; also the length up to which XLA makes one loop of a reduction."""

# Up to this length comparing all pairs is faster than sorting, too.
_LONGEST_COMPARED = 256


# Jitted: outside of a jitted function a reduction would be compiled at each call.
@partial(jax.jit, static_argnums=(1, 2))
def _reduce(
    x: Array, start: np.generic, combine: Callable[[Array, Array], Array]
) -> Array:
    """Reduction over the last axis."""
    if x.shape[-1] <= _WORD:
        return lax.reduce(x, start, combine, (x.ndim - 1,))
    # The same twice, and nobody sees that one of them is not needed.
    twice = lax.reduce(
        (x, x),
        (start, start),
        lambda a, b: (combine(a[0], b[0]), combine(a[1], b[1])),
        (x.ndim - 1,),
    )
    return lax.optimization_barrier(twice)[0]


def count(mask: Bool[Array, "*batch n"]) -> Int[Array, "*batch"]:
    """How many entries of a row are true."""
    return _reduce(mask.astype(jnp.int32), np.int32(0), lax.add)


def total(x: Int[Array, "*batch n"]) -> Int[Array, "*batch"]:
    """Sum of each row."""
    return _reduce(x, np.int32(0), lax.add)


def any_true(mask: Bool[Array, "*batch n"]) -> Bool[Array, "*batch"]:
    """Whether some entry of a row is true."""
    return _reduce(mask, np.bool_(False), lax.bitwise_or)


def least(x: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
    """The smallest number of each row."""
    return _reduce(x, np.float32(np.inf), lax.min)


def most(x: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
    """The largest number of each row."""
    return _reduce(x, np.float32(-np.inf), lax.max)


@jax.jit
def picked(chosen: Bool[Array, "*batch n"], *rows: Array) -> tuple[Array, ...]:
    """The one entry of each row that is chosen; 0 where none is."""
    values = tuple(jnp.where(chosen, row, jnp.zeros_like(row)) for row in rows)
    return lax.reduce(
        values,
        tuple(np.zeros((), row.dtype) for row in rows),
        lambda a, b: tuple(lax.add(x, y) for x, y in zip(a, b, strict=True)),
        (chosen.ndim - 1,),
    )


def running_count(mask: Bool[Array, "*batch n"]) -> Int[Array, "*batch n"]:
    """How many entries are true up to each one, itself included."""
    *batch, length = mask.shape
    num_words = -(-length // _WORD)
    widths = [(0, 0)] * len(batch) + [(0, num_words * _WORD - length)]
    flags = jnp.pad(mask, widths).reshape(*batch, num_words, _WORD)
    bit = np.uint32(1) << np.arange(_WORD, dtype=np.uint32)
    bits = jnp.where(flags, _spread(bit, flags.ndim), np.uint32(0))
    word = lax.reduce(bits, np.uint32(0), lax.bitwise_or, (flags.ndim - 1,))[..., None]
    # All bits up to each one. `2 * bit - 1` would overflow for the last of them.
    up_to = _spread(bit + (bit - np.uint32(1)), flags.ndim)
    number = lax.population_count(word & up_to).astype(jnp.int32)
    if num_words > 1:
        in_word = lax.population_count(word).astype(jnp.int32)
        is_before = np.tri(num_words, k=-1, dtype=bool)
        row = in_word.reshape(*batch, 1, num_words)
        earlier = jnp.where(_spread(is_before, flags.ndim), row, 0)
        number += total(earlier)[..., None]
    return number.reshape(*batch, num_words * _WORD)[..., :length]


def _spread(x: np.ndarray, ndim: int) -> np.ndarray:
    return x.reshape((1,) * (ndim - x.ndim) + x.shape)


def true_first(mask: Bool[Array, " n"]) -> Int[Array, " n"]:
    """Where the true entries are, in order; what follows them has no meaning."""
    length = mask.shape[0]
    if length > _LONGEST_COMPARED:
        return jnp.argsort(~mask, stable=True).astype(jnp.int32)
    place = np.arange(length, dtype=np.int32)
    # As many places lie before the k-th true one as have counted at most k. Behind the
    # last it stays in bounds, as those who gather promise.
    is_before = running_count(mask)[None, :] <= place[:, None]
    return jnp.minimum(count(is_before), length - 1)


def rank_descending(
    values: Float[Array, " n"] | Int[Array, " n"], mask: Bool[Array, " n"]
) -> Int[Array, " n"]:
    """Rank of each value, 0 the largest; entries outside the mask come last.

    Among equals the earlier entry leads, and what is not a number comes last.
    """
    length = values.shape[0]
    index = np.arange(length, dtype=np.int32)
    if length > _LONGEST_COMPARED:
        # The index is a key, too: equals keep their order, whichever sort this is.
        *_, order = lax.sort((~mask, -values, jnp.asarray(index)), num_keys=3)
        return jnp.zeros(length, jnp.int32).at[order].set(index, unique_indices=True)
    other, own = values[None, :], values[:, None]
    is_before = other > own
    is_equal = other == own
    if jnp.issubdtype(values.dtype, jnp.floating):
        other_is_nan, own_is_nan = jnp.isnan(other), jnp.isnan(own)
        is_before |= ~other_is_nan & own_is_nan
        is_equal |= other_is_nan & own_is_nan
    is_before |= is_equal & (index[None, :] < index[:, None])
    other_is_in, own_is_in = mask[None, :], mask[:, None]
    leads = (other_is_in & ~own_is_in) | ((other_is_in == own_is_in) & is_before)
    return count(leads)
