"""The multi-resolution grid (EMR paper, eq. 1), as integers.

Level d = 0..D of the plane [-1, 1]^2 has cells (i, j), 0 <= i, j < 2^(d+1), with centre
`((2i+1)/2^(d+1) - 1, (2j+1)/2^(d+1) - 1)` and side `2^-d`. Positions follow from
indices, so no grid is ever stored. Every centre is a dyadic rational with an odd
numerator at its own level: exact in float32, different for different cells, and never
0, 1 or -1. Equality of positions therefore means something, and the class of a link is
decided exactly.

A cell is kept as one integer, its *id*: levels behind each other, rows of j within rows
of i.
"""

import numpy as np
from jaxtyping import Float, Int

MAX_DEPTH = 20
"""Deeper, ids of cells in a large population would leave 64 bits."""

_MAX_SHORT = 14
"""The deepest level whose ids fit into 32 bits."""


def num_cells(depth: int) -> int:
    """Cells of all levels 0..depth: N(D) = (4^(D+2) - 4) / 3."""
    return (4 ** (depth + 2) - 4) // 3


def first_id(level: int) -> int:
    """The id of the first cell of a level."""
    return num_cells(level - 1) if level else 0


_FIRST_IDS = np.array([first_id(level) for level in range(MAX_DEPTH + 1)])


def cell_ids(
    level: int, i: Int[np.ndarray, " n"], j: Int[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """The ids of cells (i, j) of a level; of 32 bits where that is enough."""
    result = i.astype(np.int32 if level <= _MAX_SHORT else np.int64)
    result <<= level + 1
    result += j.astype(result.dtype, copy=False)
    result += first_id(level)
    return result


def levels_of(ids: Int[np.ndarray, " n"], depth: int) -> Int[np.ndarray, " n"]:
    """The level of each id."""
    return np.searchsorted(_FIRST_IDS[: depth + 1], ids, side="right") - 1


def centres(ids: Int[np.ndarray, " n"], depth: int) -> Float[np.ndarray, "n 2"]:
    """Positions of cells, exact."""
    level = levels_of(ids, depth)
    within = ids - _FIRST_IDS[level]
    i = within >> (level + 1)
    j = within - (i << (level + 1))
    step = np.ldexp(1.0, -(level + 1))
    return np.column_stack([(2 * i + 1) * step - 1, (2 * j + 1) * step - 1])


def find_cells(points: Float[np.ndarray, "n 2"], depth: int) -> Int[np.ndarray, " n"]:
    """The id of the cell whose centre a point is, or -1 where there is none."""
    ids = np.full(len(points), -1, np.int64)
    for level in range(depth + 1):
        # The centre is (2i+1)/2^(d+1) - 1, so this is an odd integer in range iff the
        # point is a centre of this level; all steps are exact for such points. Adding 1
        # may round a neighbour of a centre onto it, hence the way back.
        scale = 2.0 ** (level + 1)
        whole = np.floor((points + 1.0) * scale)
        odd = (whole / scale - 1.0 == points) & (whole % 2 == 1)
        inside = (whole > 0) & (whole < 2 * scale)
        hit = (odd & inside).all(axis=1)
        i, j = ((whole[hit] - 1) // 2).astype(np.int64).T
        ids[hit] = cell_ids(level, i, j)
    return ids
