"""Lists of a fixed length within a jit: some entries, then nothing."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from ._grid import NO_PLACE


def first_of(
    mask: Bool[Array, " n"], room: int
) -> tuple[Int[Array, " room"], Bool[Array, " room"]]:
    """Where a mask is true, in order, as far as there is room; and which entries are
    such places."""
    index = jnp.nonzero(mask, size=room, fill_value=0)[0].astype(jnp.int32)
    return index, jnp.arange(room, dtype=jnp.int32) < mask.sum(dtype=jnp.int32)


def distinct(
    places: Int[Array, " n"], room: int
) -> tuple[Int[Array, " room"], Int[Array, ""]]:
    """Each place once, ascending; and how many there are."""
    ordered = jnp.sort(places)
    is_new = jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]])
    is_new &= ordered != NO_PLACE
    index, is_one = first_of(is_new, room)
    return jnp.where(is_one, ordered[index], NO_PLACE), is_new.sum(dtype=jnp.int32)


def is_among(
    wanted: Int[Array, " n"], ascending: Int[Array, " room"]
) -> Bool[Array, " n"]:
    """Which places stand in a list."""
    at = jnp.searchsorted(ascending, wanted)
    found = ascending[jnp.minimum(at, ascending.shape[0] - 1)]
    return (found == wanted) & (wanted != NO_PLACE)


def index_in(
    wanted: Int[Array, " n"], ascending: Int[Array, " room"]
) -> Int[Array, " n"]:
    """Where places stand in a list; its length for those that do not."""
    at = jnp.searchsorted(ascending, wanted).astype(jnp.int32)
    return jnp.where(is_among(wanted, ascending), at, ascending.shape[0])
