"""One genome whose links exceed the memory, worked off in chunks.

The links of one genome need no sorting: they come field by field, pair by pair, in the
order that they end up in. So they are written down as they are found, and what the
clean-up asks is answered by reading them again.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int

from .._memory import Store, show_bytes
from ._phases import Ends, Phases, number_ends
from ._positions import Keys
from ._wiring import Links, Part, on_paths_in_chunks, renumbered

_NODE_BYTES = 256
"""What a position takes while it is numbered and sorted."""

_LEAST_CHUNK = 1 << 16

_ONE_GENOME = np.zeros(1, np.int32)


class _Stored:
    """Writes links down, in the order of their fields."""

    def __init__(self, keys: Keys, dtype: np.dtype, budget: int) -> None:
        ends = {"source": keys.dtype, "target": keys.dtype, "weight": dtype}
        self.store = Store(ends, budget // 8)
        self._keys, self._budget, self._num_found = keys, budget, 0

    def add(self, ends: Ends) -> None:
        order = np.argsort(ends.field, kind="stable")
        self.store.append(
            source=ends.source.take(order),
            target=ends.target.take(order),
            weight=ends.weight.take(order),
        )

    def foresee(self, num_fields: Int[np.ndarray, " genomes"]) -> None:
        return None

    def targets(self, ends: Ends) -> Int[np.ndarray, " positions"]:
        found = self._keys.distinct(ends.target)
        # Fields find the same positions again and again: half of the largest
        # one is no exaggeration.
        self._num_found = max(self._num_found, found.size)
        check_positions(self._num_found, self._budget)
        return found


def check_positions(num: int, budget: int) -> None:
    """Raises if the positions of one genome do not fit into the memory."""
    if num * _NODE_BYTES > max(budget // 2, 1 << 24):
        raise ValueError(
            f"one genome has {num:,} positions, which take about "
            f"{show_bytes(num * _NODE_BYTES)} while its links are found, more than "
            f"half of memory_budget ({show_bytes(budget)}). Raise memory_budget, lower "
            "depth, or raise variance_threshold."
        )


def discover_large(phases: Phases, budget: int) -> Part:
    """The only genome of `phases`, with no more than some chunks in memory."""
    keys, dtype = phases.keys, phases.queries.engine.dtype
    size = max(_LEAST_CHUNK, budget // 512)
    sink = _Stored(keys, dtype, budget)
    numbering = phases.explore(sink)
    check_positions(numbering.num_nodes, budget)
    store = Store(
        {"source": np.int32, "target": np.int32, "weight": dtype}, budget // 8
    )
    for source, target, weight in sink.store.chunks(size):
        group = np.zeros(weight.size, np.int32)
        ends = Ends(source, target, weight, group, _ONE_GENOME)
        _append(store, number_ends(numbering, ends))
    del sink  # and what it holds
    for links in phases.pairs(numbering, None):
        _append(store, links)

    def chunks() -> Iterator[Links]:
        for source, target, weight in store.chunks(size):
            group = np.zeros(weight.size, np.int32)
            yield Links(source, target, weight, group, _ONE_GENOME)

    is_output = numbering.is_output
    alive = on_paths_in_chunks(chunks, is_output)
    is_terminal = is_output | numbering.is_input
    repeats = _Repeats(is_terminal) if keys.terminal_of_cell else None

    def kept() -> Iterator[Links]:
        for links in chunks():
            part = links
            if not alive.all():
                stays = alive.take(links.source) & alive.take(links.target)
                part = links.keep(stays)
            yield part if repeats is None else repeats.without(part)

    return renumbered(numbering, alive, kept())


def _append(store: Store, links: Links) -> None:
    store.append(source=links.source, target=links.target, weight=links.weight)


class _Repeats:
    """Links that were found before. Only those at inputs and outputs can be: any other
    pair of positions is asked about once."""

    def __init__(self, is_terminal: np.ndarray) -> None:
        self._is_terminal = is_terminal
        self._seen = np.zeros(0, np.int64)

    def without(self, links: Links) -> Links:
        at = self._is_terminal
        some = np.flatnonzero(at.take(links.source) | at.take(links.target))
        pair = links.source.take(some).astype(np.int64) * at.size
        pair += links.target.take(some)
        new, first = np.unique(pair, return_index=True)
        is_first = np.zeros(some.size, bool)
        is_first[first] = True
        is_first &= ~np.isin(pair, self._seen)
        self._seen = np.union1d(self._seen, new)
        keep = np.ones(links.weight.size, bool)
        keep[some[~is_first]] = False
        return links.keep(keep)
