"""Random words for a whole population at once, independent of capacities.

`jax.random` draws arrays of a shape; here a word belongs to (genome, slot, column), and
growing a capacity must not change it. Threefry-2x32 (Salmon et al., "Parallel random
numbers: as easy as 1, 2, 3", 2011), the generator behind JAX's default keys, is made
for that: it maps a key and a counter to two words. Written out in elementwise
operations it also fuses with its consumers, which JAX's rolled loop on CPUs does not.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, UInt32

from ._genome import materialise

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


def threefry(
    key: tuple[UInt32[Array, "..."], UInt32[Array, "..."]],
    first: UInt32[Array, "..."],
    second: UInt32[Array, "..."],
) -> tuple[UInt32[Array, "..."], UInt32[Array, "..."]]:
    """Threefry-2x32 with 20 rounds: two words for a key and a counter of two words."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ _PARITY)
    first, second = first + schedule[0], second + schedule[1]
    # Five groups of four rounds, the key mixed in after each, as the paper has it. The
    # loops are Python's: written out, XLA fuses all of it with whoever uses the words.
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            first = first + second
            second = (second << rotation) | (second >> (32 - rotation))
            second = first ^ second
        first = first + schedule[(group + 1) % 3]
        second = second + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return first, second


# A JAX key, or the two words that it consists of. Words are as good a key and are not
# put into one array between two draws, which XLA compiles for a long time.
AnyKey = Key[Array, "..."] | tuple[UInt32[Array, "..."], UInt32[Array, "..."]]


def _words_of(key: AnyKey) -> tuple[Array, Array] | None:
    """The two words of a key from which `threefry` makes what `jax.random` makes."""
    if isinstance(key, tuple):
        return key
    if (
        not jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
        or str(jax.random.key_impl(key)) != "threefry2x32"
        # Without it JAX counts in another way, and gives other words.
        or not jax.config.values.get("jax_threefry_partitionable", False)
    ):
        return None
    data = jax.random.key_data(key)
    return data[..., 0], data[..., 1]


def _draw(words: tuple[Array, Array], count: int) -> tuple[Array, Array]:
    counter = jnp.arange(count, dtype=jnp.uint32)
    return threefry(words, jnp.zeros_like(counter), counter)


def split_population(key: AnyKey, count: int) -> AnyKey:
    """`jax.random.split`, to the bit, but with less to compile."""
    words = _words_of(key)
    if words is None:
        return jax.random.split(key, count)  # pyright: ignore[reportArgumentType]
    return _draw(words, count)


def split(key: AnyKey, count: int = 2) -> tuple[AnyKey, ...]:
    """The keys of `jax.random.split`, one by one."""
    keys = split_population(key, count)
    return tuple(jax.tree.map(lambda k, i=i: k[i], keys) for i in range(count))


def bits(key: AnyKey, shape: tuple[int, ...]) -> UInt32[Array, "..."]:
    """`jax.random.bits`, to the bit, but with less to compile."""
    words = _words_of(key)
    if words is None:
        return jax.random.bits(key, shape)  # pyright: ignore[reportArgumentType]
    first, second = _draw(words, math.prod(shape))
    return (first ^ second).reshape(shape)


def as_jax_key(key: AnyKey) -> Key[Array, "..."]:
    """The key for functions of `jax.random`."""
    if not isinstance(key, tuple):
        return key
    return jax.random.wrap_key_data(jnp.stack(key, axis=-1), impl="threefry2x32")


def population_words(
    key: AnyKey,
    population: int,
    sizes: tuple[tuple[int, int], ...],
    is_sane: Bool[Array, ""],
) -> tuple[UInt32[Array, "population _ _"], ...]:
    """Random words for every genome, in several arrays.

    **Arguments:** a key, consumed; the number of genomes; for each array the number of
    slots and of columns; `is_sane`, as `materialise` wants it.

    **Returns:** arrays of shape (population, columns, slots). A word depends on the
    key, the array's position in the list, the genome, the slot, the column, and the
    number of columns; never on the number of slots. `_draws` names the columns.
    """
    # Stored, or the generator would run for the genome again for each of its words.
    genome_keys = materialise(is_sane, bits(key, (population, 2)))
    # All counters in one row: the generator is then compiled, and run, once.
    slot, column = [], []
    for domain, (slots, columns) in enumerate(sizes):
        pairs = -(-columns // 2)
        slot.append(np.tile(np.arange(slots, dtype=np.uint32), pairs))
        column.append(np.repeat(np.arange(pairs, dtype=np.uint32), slots))
        # The upper half says which array it is, so that no two share a counter.
        column[-1] += np.uint32(domain << 16)
    full = (population, sum(map(len, slot)))
    words = threefry(
        (genome_keys[:, :1], genome_keys[:, 1:]),
        jnp.broadcast_to(jnp.asarray(np.concatenate(slot)), full),
        jnp.broadcast_to(jnp.asarray(np.concatenate(column)), full),
    )
    words = materialise(is_sane, words)
    arrays = []
    begin = 0
    for (slots, columns), own in zip(sizes, slot, strict=True):
        stop = begin + len(own)
        # A counter gives two words: the first of all pairs are the first columns, the
        # second ones follow. An odd number of columns leaves one word unused.
        halves = [w[:, begin:stop].reshape(population, -1, slots) for w in words]
        arrays.append(jnp.concatenate(halves, axis=1)[:, :columns])
        begin = stop
    return tuple(arrays)


def uniform(words: UInt32[Array, "*n"]) -> Float[Array, "*n"]:
    """Uniform numbers in [0, 1) from random words (the upper 24 bits of each)."""
    # 24 bits are exact in float32, and at most 1 - 2^-24: times a whole number n this
    # never rounds up to n, so that cutting the product off gives an index below n.
    return (words >> 8).astype(jnp.float32) * jnp.float32(2.0**-24)


def normal(words: UInt32[Array, "*n"]) -> Float[Array, "*n"]:
    """Standard normal numbers from random words (the upper 23 bits of each)."""
    # An odd multiple of 2^-24 inside (0, 1): exact in float32, never 0 or 1.
    fraction = ((words >> 9).astype(jnp.float32) * 2.0 + 1.0) * jnp.float32(2.0**-24)
    root_two = jnp.float32(np.sqrt(2.0))
    return root_two * jax.scipy.special.erfinv(2.0 * fraction - 1.0)
