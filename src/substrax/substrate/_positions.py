"""Sets of positions: which cells were found, genome by genome."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from ._cells import centres, find_cells, num_cells
from ._layout import Layout

_MAX_TABLE = 1 << 26
"""Entries up to which a set is a table over all cells; beyond, it is sorted keys."""


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
        cells = find_cells(layout.points, depth)
        self.terminal_of_cell = {int(c): t for t, c in enumerate(cells) if c >= 0}

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
        total = self.stride * self.num_genomes
        if total > self.max_table:
            return np.unique(np.concatenate([np.zeros(0, self.dtype), *keys]))
        table = np.zeros(total, bool)
        for some in keys:
            table[some] = True
        return np.flatnonzero(table).astype(self.dtype)

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
    """Global node numbers: for each genome inputs, outputs, hidden by y, then x."""

    def __init__(self, found: Found) -> None:
        keys = found.keys
        self.keys = keys
        hidden = found.sorted[~keys.is_terminal(found.sorted)]
        genome = keys.genomes(hidden)
        point = keys.points(hidden)
        order = np.lexsort((point[:, 0], point[:, 1], genome))
        self.hidden, self.genome = hidden[order], genome[order]
        self.point = point[order]
        counts = np.bincount(genome, minlength=keys.num_genomes)
        self.bounds = np.concatenate([[0], np.cumsum(counts + keys.num_terminals)])
        first = np.repeat(np.cumsum(counts) - counts, counts)
        self.number = (
            self.bounds[self.genome]
            + keys.num_terminals
            + np.arange(hidden.size)
            - first
        )
        self._order = np.argsort(self.hidden)
        self._table = self._make_table()

    def _make_table(self) -> np.ndarray | None:
        keys = self.keys
        total = keys.stride * keys.num_genomes
        if total > keys.max_table:
            return None
        # Numbers from 1: memory that is zero at first costs nothing until it is used.
        table = np.zeros(total, np.int32)
        table[self.hidden] = self.number + 1
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

    def of(self, keys: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Node numbers of keys, -1 for positions that are no nodes."""
        if self._table is not None:
            return self._table.take(keys) - 1
        genome, place = keys // self.keys.stride, keys % self.keys.stride
        is_terminal = place < self.keys.num_terminals
        result = np.full(keys.size, -1, np.int32)
        result[is_terminal] = self.bounds[genome[is_terminal]] + place[is_terminal]
        if self.hidden.size:
            ordered = self.hidden[self._order]
            at = np.minimum(np.searchsorted(ordered, keys), ordered.size - 1)
            hit = ~is_terminal & (ordered[at] == keys)
            result[hit] = self.number[self._order[at[hit]]]
        return result
