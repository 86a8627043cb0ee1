"""Phases 2 and 3 of rule `emr`: links between found positions, one query each."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from ._connections import BACKWARD, LATERAL, SELF
from ._fields import Queries
from ._positions import Numbering
from ._wiring import Links

_MAX_PAIRS = 1 << 20
"""Pairs of hidden positions that are queried at a time."""


class Positions:
    """Found positions, terminals among them, sorted by genome, y, x."""

    def __init__(self, numbering: Numbering, dtype: np.dtype) -> None:
        self.genome = numbering.genome.astype(np.int32)
        self.all_genomes = np.arange(numbering.keys.num_genomes, dtype=np.int32)
        self.y = numbering.point[:, 1]
        self.point = numbering.point.astype(dtype)
        self.is_terminal = numbering.is_terminal
        self.number = numbering.of_found()


class Ranges(NamedTuple):
    """Sources, and where the range of targets of each begins, and how many."""

    source: Int[np.ndarray, " ranges"]
    begin: Int[np.ndarray, " ranges"]
    length: Int[np.ndarray, " ranges"]


def pair_links(
    queries: Queries,
    position: Positions,
    classes: frozenset[int],
    weight_threshold: float,
    pairs: list[Ranges],
) -> Iterator[Links]:
    """Phase 2 of `emr`: one query for every ordered pair that the classes allow."""
    for first, begin, count in pairs:
        for piece in _pieces(count, _MAX_PAIRS):
            ranges = Ranges(first[piece], begin[piece], count[piece])
            yield _strong(queries, position, classes, weight_threshold, ranges)


def _strong(
    queries: Queries,
    position: Positions,
    classes: frozenset[int],
    weight_threshold: float,
    ranges: Ranges,
) -> Links:
    """Links from positions to ranges of positions, where the weight is large enough."""
    source = np.repeat(ranges.source, ranges.length)
    # Targets are numbers in a row, which begin anew with each range.
    jump = ranges.begin - (np.cumsum(ranges.length) - ranges.length)
    target = np.repeat(jump.astype(np.int32), ranges.length)
    target += np.arange(target.size, dtype=np.int32)
    outputs = queries.of_points(
        position.genome.take(source), position.point[source], position.point[target]
    )
    weight = queries.weight_map(outputs[0])
    strong = np.abs(weight) > weight_threshold
    if queries.has_leo:
        strong &= outputs[1] > 0
    if not strong.all():
        found = np.flatnonzero(strong)
        source, target = source.take(found), target.take(found)
        weight = weight.take(found)
    links = Links(
        position.number.take(source),
        position.number.take(target),
        weight,
        position.genome.take(source),
        position.all_genomes,
    )
    drops_self = LATERAL in classes and SELF not in classes
    if drops_self or position.is_terminal.any():
        keep = source != target if drops_self else np.ones(source.size, bool)
        terminal = position.is_terminal[source] | position.is_terminal[target]
        keep &= ~terminal | (position.y[source] < position.y[target])
        links = links.keep(keep)
    return links


def allowed_pairs(position: Positions, classes: frozenset[int]) -> list[Ranges]:
    """All ordered pairs that the classes allow: for each source, targets in a row."""
    num = position.genome.size
    if not (num and classes):
        return []
    index = np.arange(num, dtype=np.int32)
    starts_row = np.ones(num, bool)
    starts_row[1:] = (position.genome[1:] != position.genome[:-1]) | (
        position.y[1:] != position.y[:-1]
    )
    row_first = np.flatnonzero(starts_row)
    row = np.cumsum(starts_row) - 1
    lower = row_first[row]
    upper = np.append(row_first[1:], num)[row]
    starts_genome = np.ones(num, bool)
    starts_genome[1:] = position.genome[1:] != position.genome[:-1]
    genome_first = np.flatnonzero(starts_genome)
    which = np.cumsum(starts_genome) - 1
    low, high = genome_first[which], np.append(genome_first[1:], num)[which]
    if BACKWARD in classes and LATERAL in classes:
        return [Ranges(index, low, high - low)]
    pairs = []
    if BACKWARD in classes:
        pairs.append(Ranges(index, low, lower - low))
    if LATERAL in classes:
        pairs.append(Ranges(index, lower, upper - lower))
    elif SELF in classes:
        pairs.append(Ranges(index, index, np.ones(num, np.int64)))
    return [*pairs, Ranges(index, upper, high - upper)]


def _pieces(counts: Int[np.ndarray, " n"], limit: int):
    """Slices of ranges that together hold about `limit` pairs, at least one each."""
    ends = np.cumsum(counts)
    begin = 0
    while begin < counts.size:
        done = ends[begin - 1] if begin else 0
        stop = int(np.searchsorted(ends, done + limit, side="right"))
        stop = max(stop, begin + 1)
        if ends[stop - 1] > done:
            yield slice(begin, stop)
        begin = stop


def output_links(
    queries: Queries, position: Positions, numbering: Numbering, weight_threshold: float
) -> Iterator[Links]:
    """Phase 3 of `emr`: one query for every (hidden position, output) above it."""
    layout = numbering.keys.layout
    num_inputs = len(layout.inputs)
    for o, point in enumerate(layout.outputs):
        source = np.flatnonzero(position.y < point[1])
        genome = position.genome[source]
        target = np.broadcast_to(point.astype(queries.engine.dtype), (source.size, 2))
        outputs = queries.of_points(genome, position.point[source], target)
        weight = queries.weight_map(outputs[0])
        strong = np.abs(weight) > weight_threshold
        if queries.has_leo:
            strong &= outputs[1] > 0
        yield Links(
            position.number[source[strong]],
            (numbering.bounds[genome[strong]] + num_inputs + o).astype(np.int32),
            weight[strong],
            genome[strong],
            position.all_genomes,
        )
