"""The grid within a jit: cells of all levels as integers, in Z-order.

A *quad* is the four children of one cell, or of the root. Its *code* interleaves the
bits of that cell's (i, j); the codes of its members are 4 * code + 0..3, where bit 1 is
that of i and bit 0 that of j. The *place* of a cell counts all levels behind each
other: one integer for every position there is, 31 bits down to depth 13.

Heights are integers as well, so that the class of a link is never a matter of rounding.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..substrate import Layout, find_cells, first_id, levels_of

MAX_DEPTH = 13
"""The deepest grid of this engine: below it, places would leave 32 bits."""

NOWHERE = -1
"""The place of a node that lies on no cell."""

NO_PLACE = int(np.iinfo(np.int32).max)
"""Behind the last place of a list: larger than all of them."""


def split_code(
    code: Int[Array, "*shape"],
) -> tuple[Int[Array, "*shape"], Int[Array, "*shape"]]:
    """The two numbers whose bits a code interleaves."""

    def every_second_bit(x):
        x = x & 0x55555555
        for shift, mask in (
            (1, 0x33333333), (2, 0x0F0F0F0F), (4, 0x00FF00FF), (8, 0x0000FFFF),
        ):  # fmt: skip
            x = (x | (x >> shift)) & mask
        return x

    return every_second_bit(code >> 1), every_second_bit(code)


class Cells(NamedTuple):
    """Cells of one level, with the quad as the first axis and its members as the
    second."""

    place: Int[Array, "quads 4"]
    height: Int[Array, "quads 4"]
    centre: Float[Array, "quads 4 2"]


def members(code: Int[Array, " quads"], level: int, depth: int, dtype) -> Cells:
    """The members of quads of a level (eq. 1)."""
    code = 4 * code[:, None] + jnp.arange(4, dtype=jnp.int32)[None]
    i, j = split_code(code)
    step = 2.0 ** -(level + 1)
    centre = [(2 * k + 1).astype(dtype) * step - 1.0 for k in (i, j)]
    return Cells(
        place=first_id(level) + code,
        height=2 * (2 * j + 1) * 2 ** (depth - level),
        centre=jnp.stack(centre, axis=-1),
    )


def centres_of(
    place: Int[Array, " places"], depth: int, dtype
) -> tuple[Float[Array, "places 2"], Int[Array, " places"]]:
    """Positions and heights of cells; what is no place lies anywhere."""
    firsts = np.array([first_id(level) for level in range(depth + 1)], np.int32)
    level = (place[:, None] >= firsts[None]).sum(axis=1, dtype=jnp.int32) - 1
    level = jnp.maximum(level, 0)
    i, j = split_code(place - jnp.asarray(firsts)[level])
    step = jnp.ldexp(jnp.ones((), dtype), -(level + 1))
    point = [(2 * k + 1).astype(dtype) * step - 1.0 for k in (i, j)]
    return jnp.stack(point, axis=-1), 2 * (2 * j + 1) << (depth - level)


def terminal_places(layout: Layout, depth: int) -> Int[np.ndarray, " terminals"]:
    """The place of the cell that each input and output lies on, or `NOWHERE`."""
    ids = find_cells(layout.points, depth)
    places = np.full(len(ids), NOWHERE, np.int32)
    on_cell = np.flatnonzero(ids >= 0)
    if on_cell.size:
        level = levels_of(ids[on_cell], depth)
        first = np.array([first_id(int(d)) for d in level])
        # Ids and places differ in the order of cells within their level alone.
        i, j = np.divmod(ids[on_cell] - first, 2 ** (level + 1))
        code = np.zeros(on_cell.size, np.int64)
        for bit in range(depth + 1):
            code |= (i >> bit & 1) << (2 * bit + 1) | (j >> bit & 1) << (2 * bit)
        places[on_cell] = first + code
    return places


def terminal_heights(layout: Layout, depth: int) -> Int[np.ndarray, " terminals"]:
    """Heights of inputs and outputs: even where cells have it, odd in between."""
    scaled = (layout.points[:, 1] + 1.0) * 2.0 ** (depth + 1)
    whole = np.floor(scaled)
    # Adding 1 may round; the way back tells whether it did.
    is_exact = (whole / 2.0 ** (depth + 1) - 1.0) == layout.points[:, 1]
    return (2 * whole + ~is_exact).astype(np.int32)
