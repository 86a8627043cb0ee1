"""Sets of positions: which cells were found, genome by genome."""

import dataclasses
import functools

import numpy as np
from jaxtyping import Bool, Float, Int

from ._cells import centres, find_cells, num_cells
from ._layout import Layout

_MAX_TABLE = 1 << 26
"""Entries up to which a set may be a table over all cells; else it is sorted keys."""

_ENTRIES_PER_KEY = 32
"""Entries for each key in it up to which a table is faster than sorting."""


class Keys:
    """Positions of all genomes as integers.

    A key is `genome * stride + place`, where places are the terminals (inputs, then
    outputs) followed by all cells. A cell whose centre is the place of a terminal has
    that terminal's key: it *is* that node.
    """

    def __init__(
        self, layout: Layout, depth: int, num_genomes: int, max_table: int = _MAX_TABLE
    ) -> None:
        self.max_table = min(max_table, _MAX_TABLE)
        self.layout = layout
        self.depth = depth
        self.num_genomes = num_genomes
        self.num_terminals = len(layout.points)
        self.stride = self.num_terminals + num_cells(depth)
        is_short = self.stride * num_genomes < 1 << 31
        self.dtype = np.dtype(np.int32 if is_short else np.int64)
        self.terminal_of_cell = _terminals_on_cells(layout, depth)

    def of_terminals(
        self, genome: Int[np.ndarray, " n"], terminal: Int[np.ndarray, " n"]
    ) -> Int[np.ndarray, " n"]:
        return self._key(genome, terminal)

    def of_cells(
        self, genome: Int[np.ndarray, " n"], cell: Int[np.ndarray, " n"]
    ) -> Int[np.ndarray, " n"]:
        place = cell + self.num_terminals
        for coinciding, terminal in self.terminal_of_cell.items():
            place[cell == coinciding] = terminal
        return self._key(genome, place)

    def _key(self, genome: np.ndarray, place: np.ndarray) -> np.ndarray:
        key = genome.astype(self.dtype)
        key *= self.stride
        key += place.astype(self.dtype, copy=False)
        return key

    def distinct(self, *keys: Int[np.ndarray, " _"]) -> Int[np.ndarray, " some"]:
        """The keys that occur, sorted, each once."""
        if not self.is_worth_a_table(sum(some.size for some in keys)):
            return np.unique(np.concatenate([np.zeros(0, self.dtype), *keys]))
        table = np.zeros(self.stride * self.num_genomes, bool)
        for some in keys:
            table[some] = True
        return np.flatnonzero(table).astype(self.dtype)

    def is_worth_a_table(self, num_keys: int) -> bool:
        """Whether so many keys are better kept in a table over all cells."""
        total = self.stride * self.num_genomes
        return total <= min(self.max_table, _ENTRIES_PER_KEY * num_keys)

    def genomes(self, keys: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        return keys // self.stride

    def is_terminal(self, keys: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        return keys % self.stride < self.num_terminals

    def points(self, keys: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 2"]:
        place = keys % self.stride
        is_terminal = place < self.num_terminals
        result = np.empty((keys.size, 2))
        result[is_terminal] = self.layout.points[place[is_terminal]]
        result[~is_terminal] = centres(
            place[~is_terminal] - self.num_terminals, self.depth
        )
        return result


@functools.lru_cache(maxsize=64)
def _terminals_on_cells(layout: Layout, depth: int) -> dict[int, int]:
    """Which terminal each cell is that is one."""
    cells = find_cells(layout.points, depth)
    return {int(c): t for t, c in enumerate(cells) if c >= 0}


@dataclasses.dataclass
class Found:
    """The hidden positions found so far, as sorted keys."""

    keys: Keys
    sorted: Int[np.ndarray, " positions"]

    @staticmethod
    def none(keys: Keys) -> "Found":
        return Found(keys, np.zeros(0, keys.dtype))

    def add(self, *found: Int[np.ndarray, " _"]) -> Int[np.ndarray, " new"]:
        """Adds keys, in any order and with repeats; returns the new ones, sorted."""
        new = self.keys.distinct(*found)
        if self.sorted.size:
            new = np.setdiff1d(new, self.sorted, assume_unique=True)
            self.sorted = np.union1d(self.sorted, new)
        else:
            self.sorted = new
        return new


class Numbering:
    """Global node numbers: for each genome inputs, outputs, hidden by y, then x.

    `key`, `genome` and `point` are those of all found positions in that order, some of
    which may be terminals; `hidden` says which are not, and `number` their numbers.
    """

    def __init__(self, found: Found) -> None:
        keys = found.keys
        self.keys = keys
        genome, point = keys.genomes(found.sorted), keys.points(found.sorted)
        order = np.argsort(_reading_order(genome, point, keys.depth))
        self.key, self.genome = found.sorted[order], genome[order]
        self.point = point[order]
        self.is_terminal = keys.is_terminal(self.key)
        self.hidden = np.flatnonzero(~self.is_terminal)
        genome = self.genome[self.hidden]
        counts = np.bincount(genome, minlength=keys.num_genomes)
        self.bounds = np.concatenate([[0], np.cumsum(counts + keys.num_terminals)])
        self.number = np.arange(genome.size) + (genome + 1) * keys.num_terminals
        self._table = self._make_table()
        if self._table is None:
            hidden = self.key[self.hidden]
            by_key = np.argsort(hidden)
            self._ascending = hidden[by_key], self.number[by_key]

    def _make_table(self) -> np.ndarray | None:
        keys = self.keys
        if not keys.is_worth_a_table(self.hidden.size):
            return None
        # Numbers from 1: memory that is zero at first costs nothing until it is used.
        table = np.zeros(keys.stride * keys.num_genomes, np.int32)
        table[self.key[self.hidden]] = self.number + 1
        base = np.arange(keys.num_genomes) * keys.stride
        for terminal in range(keys.num_terminals):
            table[base + terminal] = self.bounds[:-1] + terminal + 1
        return table

    @property
    def num_nodes(self) -> int:
        return int(self.bounds[-1])

    @property
    def is_input(self) -> Bool[np.ndarray, " nodes"]:
        return self._marked(0, len(self.keys.layout.inputs))

    @property
    def is_output(self) -> Bool[np.ndarray, " nodes"]:
        return self._marked(len(self.keys.layout.inputs), self.keys.num_terminals)

    def _marked(self, first: int, stop: int) -> Bool[np.ndarray, " nodes"]:
        result = np.zeros(self.num_nodes, bool)
        for terminal in range(first, stop):
            result[self.bounds[:-1] + terminal] = True
        return result

    def of_found(self) -> Int[np.ndarray, " found"]:
        """The node numbers of all found positions."""
        result = np.empty(self.key.size, np.int32)
        result[self.hidden] = self.number
        terminal = np.flatnonzero(self.is_terminal)
        place = self.key[terminal] % self.keys.stride
        result[terminal] = self.bounds[self.genome[terminal]] + place
        return result

    def of(self, keys: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Node numbers of keys, -1 for positions that are no nodes."""
        if self._table is not None:
            return self._table.take(keys) - 1
        genome, place = keys // self.keys.stride, keys % self.keys.stride
        is_terminal = place < self.keys.num_terminals
        result = np.full(keys.size, -1, np.int32)
        result[is_terminal] = self.bounds[genome[is_terminal]] + place[is_terminal]
        ascending, number = self._ascending
        if ascending.size:
            at = np.minimum(np.searchsorted(ascending, keys), ascending.size - 1)
            hit = np.flatnonzero(~is_terminal & (ascending.take(at) == keys))
            result[hit] = number.take(at.take(hit))
        return result


def _reading_order(
    genome: Int[np.ndarray, " n"], point: Float[np.ndarray, "n 2"], depth: int
) -> Int[np.ndarray, " n"]:
    """Integers that ascend by genome, then y, then x of centres of cells."""
    bits = depth + 2
    x, y = ((point + 1.0) * 2.0 ** (depth + 1)).astype(np.int64).T
    return (((genome.astype(np.int64) << bits) | y) << bits) | x
