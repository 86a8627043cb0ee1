"""How much room traced discovery has: sizes that are compiled in."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from .._types import check_counts


def num_cells(depth: int) -> int:
    """Of all levels: more hidden nodes there cannot be."""
    return sum(4 ** (level + 1) for level in range(depth + 1))


class Capacity(NamedTuple):
    """Sizes of the arrays that one genome's network is found in.

    `hidden` is the number of hidden nodes. `quads` is the number of quads of each level
    that are looked at, seen from one point; a level that has room for all of them is
    *eager*: it is asked about as a whole, in one query with all others like it.
    """

    hidden: int
    quads: tuple[int, ...]

    @staticmethod
    def eager(depth: int, hidden: int) -> "Capacity":
        """Room for every cell of every level (EMR paper, section 3.1)."""
        check_counts(depth=depth, hidden=hidden)
        return Capacity(hidden, tuple(4**level for level in range(depth + 1)))

    @staticmethod
    def frontier(depth: int, hidden: int, quads: int) -> "Capacity":
        """Room for some quads of each level: those below active cells."""
        check_counts(depth=depth, hidden=hidden, quads=quads)
        quads = max(4, quads // 4 * 4)  # the children of some cells
        return Capacity(
            hidden, tuple(min(4**level, quads) for level in range(depth + 1))
        )

    def is_eager(self, level: int) -> bool:
        return self.quads[level] >= 4**level

    @property
    def num_eager(self) -> int:
        """Levels, from the top, that are asked about as a whole."""
        num = 0
        while num < len(self.quads) and self.is_eager(num):
            num += 1
        return num


class Shortage(NamedTuple):
    """What a genome would have needed, as far as that was seen.

    Of what does not fit, some is missing, so that more room may show that still more is
    needed.
    """

    hidden: Int[Array, ""]
    quads: Int[Array, " levels"]

    def exceeds(self, capacity: Capacity) -> Bool[Array, ""]:
        """Whether something is missing: the network is not the genome's."""
        room = jnp.asarray(capacity.quads, jnp.int32)
        return (self.hidden > capacity.hidden) | (self.quads > room).any()
