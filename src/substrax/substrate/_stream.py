"""Walks through quads level by level, and piece by piece where there are many.

A subtree needs nothing but itself: which of its cells are active follows from its own
four-blocks and from whether its root is. So where a level has more quads than may be
looked at together, it is cut into runs in Z-order, and each run is followed to the
bottom before the next begins. What waits meanwhile is one level of parents for each
level above; no grid is stored.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from ._fields import Fields, Quads, Queries
from ._rules import Candidates, Expressed, in_band, permitted


class _Waiting(NamedTuple):
    """Quads whose members are to be opened, and which of them are active."""

    parents: Quads
    is_active: Bool[np.ndarray, " quads"] | None


Visit = Callable[[Quads, Bool[np.ndarray, " quads"] | None], np.ndarray | None]
"""Looks at quads, of which some are below active cells (None: all); says which are
active themselves."""


def walk(
    num_fields: int, depth: int, max_quads: int, everything: bool, visit: Visit
) -> None:
    """Visits the quads below active quads; or all there are, if `everything`.

    At most `max_quads` at a time (four at least), those of a level in Z-order.
    """
    pending: list[_Waiting] = []
    quads, below_active = Quads.roots(num_fields), None
    while True:
        is_active = visit(quads, below_active)
        if quads.level < depth:
            if not everything and is_active is not None:
                quads, is_active = quads.select(is_active), None
            pieces = _pieces(_Waiting(quads, is_active), max(1, max_quads // 4))
            pending.extend(reversed(pieces))
        if not pending:
            return
        waiting = pending.pop()
        quads, below_active = waiting.parents.children(), None
        if waiting.is_active is not None:
            below_active = np.repeat(waiting.is_active, 4)


def _pieces(waiting: _Waiting, size: int) -> list[_Waiting]:
    parents, is_active = waiting
    if parents.num <= size:
        return [waiting] if parents.num else []
    pieces = []
    for begin in range(0, parents.num, size):
        which = np.arange(begin, min(begin + size, parents.num))
        active = None if is_active is None else is_active.take(which)
        pieces.append(_Waiting(parents.select(which), active))
    return pieces


class Sieve:
    """Collects the candidates of a walk and lets those through that are expressed.

    The tests that take queries of their own (band, LEO) are made for many candidates
    together, but for no more than about `max_quads` quads. The order of the result does
    not depend on when: by level, and within a level as they came.
    """

    def __init__(
        self, queries: Queries, fields: Fields, band_threshold: float, max_quads: int
    ) -> None:
        self._queries, self._fields = queries, fields
        self._band_threshold, self._max_quads = band_threshold, max_quads
        self._waiting: list[Candidates] = []
        self._num_waiting = 0
        self._passed: dict[int, list[Expressed]] = {}

    def add(self, candidates: Candidates) -> None:
        self._waiting.append(candidates)
        self._num_waiting += candidates.quads.num
        if self._num_waiting > self._max_quads:
            self._test()

    def _test(self) -> None:
        if not self._waiting:
            return
        levels, self._waiting, self._num_waiting = self._waiting, [], 0
        if self._band_threshold > 0:
            levels = in_band(self._queries, self._fields, levels, self._band_threshold)
        for part in permitted(self._queries, self._fields, levels):
            self._passed.setdefault(part.quads.level, []).append(part.expressed())

    def expressed(self) -> Expressed:
        """All links that were let through."""
        self._test()
        parts = [part for level in sorted(self._passed) for part in self._passed[level]]
        return Expressed.concatenate(parts, self._queries.engine.dtype)
