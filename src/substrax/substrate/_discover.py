"""Discovery: which nodes and links the CPPNs of a population ask for.

A clean-up keeps what lies on a path from an input to an output. The result for a genome
is a function of that genome and the settings alone, so genomes are taken together as
far as memory allows: all of them, or else runs of them, or one after the other. One
that is too large by itself is worked off in pieces; see `_large`.
"""

import dataclasses
import logging
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .._memory import Store, read_budget
from ..cppn import QueryEngine
from ._cells import num_cells
from ._connections import UPWARDS
from ._emr import EMRRule
from ._es import ESRule
from ._fields import STRATEGIES, EagerValues, Fields, FrontierValues, Queries
from ._large import discover_large
from ._layout import Layout
from ._phases import Held, Phases, TooLargeError, number_ends
from ._positions import Keys
from ._progress import Estimate, Meter
from ._recover import check_brute_force
from ._rules import Expressed
from ._weights import WeightMap
from ._wiring import Counts, Links, Part, Wiring, on_paths, renumbered

_logger = logging.getLogger(__name__)

_QUAD_BYTES, _WORK_BYTES = 320, 160
"""What a quad takes while it is explored, and a link while it is found and sorted."""

_BATCH_QUADS = 1 << 19
"""Quads of trees that are explored together under rule `es`: more is no faster, as they
do not stay in the cache."""

_LEAST_LINKS = 1 << 16
"""Links that are taken together whatever the budget."""

_TOGETHER = 1 << 21
"""Links of several genomes that are taken together: memory that is used again and again
is several times faster than fresh memory."""

_MANY = 1 << 26
"""Links that take so long that it is worth saying how long."""


@dataclasses.dataclass(frozen=True)
class Exploration:
    """How fields are explored: by which rule and strategy, how many at a time.

    `memory_budget` is in bytes, or a text such as `2GiB`; `auto` is half of the memory
    that is free. It changes how the work is cut and what goes to the disk, and not
    a bit of the result.
    """

    rule: ESRule | EMRRule
    strategy: str = "auto"
    max_quads: int = 1 << 20
    memory_budget: str | int = "auto"

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ValueError(
                f"unknown strategy {self.strategy!r}: use one of {STRATEGIES}."
            )
        if self.max_quads < 1:
            raise ValueError(f"max_quads must be positive, not {self.max_quads}.")
        if self.strategy == "eager" and isinstance(self.rule, EMRRule):
            check_brute_force(self.rule)
        read_budget(self.memory_budget)

    def with_budget(self) -> "Exploration":
        """The same with a budget in bytes, and no more quads than that allows."""
        budget = read_budget(self.memory_budget)
        most = max(1 << 12, budget // 4 // _QUAD_BYTES)
        return dataclasses.replace(
            self, max_quads=min(self.max_quads, most), memory_budget=budget
        )

    def explore(
        self, queries: Queries, fields: Fields, classes: frozenset[int] = UPWARDS
    ) -> Expressed:
        """The expressed links of fields."""
        parts = [
            dataclasses.replace(found, field=found.field + begin)
            for begin, _, found in self.batches(queries, fields, classes)
        ]
        return Expressed.concatenate(parts, queries.engine.dtype)

    def batches(
        self, queries: Queries, fields: Fields, classes: frozenset[int] = UPWARDS
    ) -> Iterator[tuple[int, int, Expressed]]:
        """Runs of fields with their links, in batches that keep to `max_quads`."""
        # Eager fields are as large as can be; others are usually no larger than this.
        expected = num_cells(self.rule.depth) // 4
        if self.strategy != "eager":
            expected = min(expected, 341)
        batch = most = max(1, self.max_quads // expected)
        begin = 0
        while begin < fields.num:
            stop = min(fields.num, begin + batch)
            part = fields.part(begin, stop)
            asked_before = queries.count
            found = self.rule.explore(
                queries, part, self._values(queries, part), classes, self.max_quads
            )
            if found is None:
                batch = max(1, (stop - begin) // 2)
                continue
            num, quads = stop - begin, max(1, (queries.count - asked_before) // 4)
            yield begin, stop, found
            begin = stop
            if isinstance(self.rule, ESRule):
                batch = min(most, max(1, num * _BATCH_QUADS // quads))

    def _values(self, queries: Queries, part: Fields) -> EagerValues | FrontierValues:
        # `auto` is the frontier, which never asks more.
        is_eager = self.strategy == "eager"
        if isinstance(self.rule, EMRRule):
            return FrontierValues(queries, part, is_eager)
        most = self._most_of_a_field()
        if is_eager:
            if part.num * num_cells(self.rule.depth) // 4 > most:
                raise ValueError(
                    f"rule es at depth {self.rule.depth} with strategy eager keeps "
                    f"{num_cells(self.rule.depth):,} cells for each field, more than "
                    f"memory_budget allows. Use strategy frontier, raise "
                    "memory_budget, or lower depth."
                )
            return EagerValues(queries, part, self.rule.depth)
        return FrontierValues(queries, part, max_quads=most)

    def _most_of_a_field(self) -> int:
        """Quads of one level up to which a quadtree is kept whole."""
        if isinstance(self.memory_budget, str):
            return 1 << 62
        return max(1 << 20, self.memory_budget // 2 // _QUAD_BYTES)


def discover(
    engine: QueryEngine,
    weight_map: WeightMap,
    layout: Layout,
    exploration: Exploration,
) -> Wiring:
    """The wiring of every CPPN of an engine."""
    exploration = exploration.with_budget()
    budget = int(exploration.memory_budget)
    num_genomes = engine.programs.num_genomes
    meter = Meter(num_genomes)
    queries = Queries(engine, weight_map, meter)
    links = {"source": np.int32, "target": np.int32, "weight": engine.dtype}
    kept = Store(links, budget // 4)
    points = Store({"point": (np.float64, (2,))}, budget // 16)
    counts: list[Counts] = []
    max_links = max(_LEAST_LINKS, budget // 2 // _WORK_BYTES)
    together = min(max_links, _TOGETHER)

    def take(part: Part, size: int) -> None:
        for chunk in part.links:
            kept.append(source=chunk.source, target=chunk.target, weight=chunk.weight)
        points.append(point=part.hidden_point)
        counts.append(part.counts())
        meter.genomes_done += counts[-1].num_found.size
        meter.links += int(counts[-1].num_links.sum())
        meter.expected_done += size

    pending = [_Run(0, num_genomes, 0)] if num_genomes else []
    while pending:
        begin, stop, size = pending.pop()
        queries.first_genome = begin
        keys = Keys(layout, exploration.rule.depth, stop - begin, budget // 32)
        phases = Phases(queries, exploration, keys)
        if size > together:
            take(discover_large(phases, budget), size)
            continue
        try:
            take(_discover_together(phases, max_links, together), size)
        except TooLargeError as error:
            if stop - begin == 1:
                pending.append(_Run(begin, stop, together + 1))
                continue
            if error.sizes is not None and error.sizes.sum() > min(max_links, _MANY):
                _announce(meter, queries, phases, error.sizes, budget)
            pending.extend(reversed(_runs(begin, stop, error.sizes, together)))
    total = Counts.concatenate(counts)
    columns = kept.arrays()
    return Wiring(
        layout=layout,
        hidden_bounds=np.concatenate([[0], np.cumsum(total.num_hidden)]),
        hidden_point=points.arrays()["point"],
        link_bounds=np.concatenate([[0], np.cumsum(total.num_links)]),
        link_source=columns["source"],
        link_target=columns["target"],
        link_weight=columns["weight"],
        num_found=total.num_found,
        num_queries=queries.count,
        query_seconds=queries.seconds,
    )


def _announce(
    meter: Meter, queries: Queries, phases: Phases, sizes: np.ndarray, budget: int
) -> None:
    """Says what a population needs, if that is much or more than memory.

    `sizes` are pairs under rule `emr`, and links, as they are expected, under `es`.
    """
    if meter.estimate is not None:
        return
    positions, layout = phases.found.sorted.size, phases.keys.layout
    is_emr = isinstance(phases.exploration.rule, EMRRule)
    links, asked = int(sizes.sum()), None
    rest = meter.num_genomes / sizes.size
    if is_emr:
        links += positions * len(layout.outputs)
        # What was asked up to here will be asked again, by fewer genomes at a time.
        asked = round((links + queries.count) * rest)
        links += positions * len(layout.inputs)
    estimate = Estimate(
        num_genomes=meter.num_genomes,
        positions=round(positions * rest) if is_emr else None,
        queries=asked,
        links=round(links * rest),
        memory_budget=budget,
        num_known=sizes.size,
    )
    meter.expect(estimate, queries.count)
    _logger.info("%s", estimate)


class _Run(NamedTuple):
    """Genomes that are taken together, and how many links they have, if known."""

    begin: int
    stop: int
    size: int


def _runs(begin: int, stop: int, sizes: np.ndarray | None, limit: int) -> list[_Run]:
    """Genomes that are taken together: by their sizes, or else halves."""
    if sizes is None:
        middle = (begin + stop) // 2
        return [_Run(begin, middle, 0), _Run(middle, stop, 0)]
    runs = []
    first, total = begin, 0
    for genome, size in enumerate(sizes.tolist(), begin):
        if genome > first and total + size > limit:
            runs.append(_Run(first, genome, total))
            first, total = genome, 0
        total += size
    return [*runs, _Run(first, stop, total)]


def _discover_together(phases: Phases, max_links: int, together: int) -> Part:
    """Some genomes at once, in memory: the clean-up and the order of their links."""
    held = Held(max_links, together)
    numbering = phases.explore(held)
    parts = [number_ends(numbering, ends) for ends in held.parts]
    links = Links.concatenate([*parts, *phases.pairs(numbering, together)])
    alive = on_paths(links, numbering.is_output)
    links = links.sort(alive.take(links.source) & alive.take(links.target))
    if phases.keys.terminal_of_cell:
        links = links.without_repeats()
    return renumbered(numbering, alive, [links])
