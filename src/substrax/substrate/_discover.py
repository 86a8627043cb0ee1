"""Discovery: which nodes and links the CPPNs of a population ask for.

A clean-up keeps what lies on a path from an input to an output. The result for a genome
is a function of that genome and the settings alone, so genomes are taken together as
far as memory allows: all of them, or else runs of them, or one after the other. One
that is too large by itself is worked off in pieces; see `_large`.
"""

import dataclasses
import functools
import itertools
import logging
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .._memory import Store, read_budget
from .._threads import map_in_order, num_workers
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

_LEAST_FIELDS = 128
"""Fields that are explored together, rather than on several cores."""

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
        most = max(1 << 12, budget // 4 // _QUAD_BYTES // num_workers())
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
        """Runs of fields with their links, in batches that keep to `max_quads`.

        Those of a single genome are explored on all cores, unless one field alone might
        exceed `max_quads`; runs of several genomes have a core each, see `discover`.
        How large a batch is follows from those before it, by number and not by time.
        """
        full = num_cells(self.rule.depth) // 4
        is_single = fields.num > 0 and fields.genome[0] == fields.genome[-1]
        workers = num_workers() if is_single and full <= self.max_quads else 1
        is_es = isinstance(self.rule, ESRule)
        # Eager fields are as large as can be; others are usually no larger than this.
        expected = full if self.strategy == "eager" else min(full, 341)
        most = max(1, self.max_quads // expected)
        if workers > 1:
            most = min(most, max(_LEAST_FIELDS, -(-fields.num // workers)))
        size = min(most, max(1, _BATCH_QUADS // min(full, 2048))) if is_es else most

        def cuts() -> Iterator[tuple[int, int]]:
            stop = 0
            while stop < fields.num:
                begin, stop = stop, min(fields.num, stop + size)
                yield begin, stop

        def explore(cut: tuple[int, int]) -> tuple[int, int, Queries, Expressed | None]:
            own = queries.apart() if workers > 1 else queries
            return *cut, own, self._explore(own, fields.part(*cut), classes)

        asked = 0
        for begin, stop, own, found in map_in_order(explore, cuts(), workers):
            if own is not queries:
                queries.note(own.count, own.seconds)
            quads = max(1, (queries.count - asked) // 4)
            if is_es:
                size = min(most, max(1, (stop - begin) * _BATCH_QUADS // quads))
            if found is not None:
                yield begin, stop, found
            else:
                if not is_es:
                    size = max(1, (stop - begin) // 2)
                yield from self._halves(queries, fields, begin, stop, classes)
            asked = queries.count

    def _halves(
        self,
        queries: Queries,
        fields: Fields,
        begin: int,
        stop: int,
        classes: frozenset[int],
    ) -> Iterator[tuple[int, int, Expressed]]:
        """Fields that are too many together."""
        middle = (begin + stop) // 2
        for cut in ((begin, middle), (middle, stop)):
            found = self._explore(queries, fields.part(*cut), classes)
            if found is not None:
                yield *cut, found
            else:
                yield from self._halves(queries, fields, *cut, classes)

    def _explore(
        self, queries: Queries, fields: Fields, classes: frozenset[int]
    ) -> Expressed | None:
        values = self._values(queries, fields)
        return self.rule.explore(queries, fields, values, classes, self.max_quads)

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
    queries = Queries(engine, weight_map, Meter(engine.programs.num_genomes))
    return _Discovery(queries, layout, exploration.with_budget()).wiring()


class _Run(NamedTuple):
    """Genomes that are taken together, and how many links they have, if known."""

    begin: int
    stop: int
    size: int

    @property
    def num(self) -> int:
        return self.stop - self.begin


class _Attempt(NamedTuple):
    """What became of a run: its part of the result, or that it is too large."""

    run: _Run
    phases: Phases
    part: Part | None
    error: TooLargeError | None


class _Discovery:
    """One discovery: what is found goes to `kept`, genome by genome, in their order."""

    def __init__(
        self, queries: Queries, layout: Layout, exploration: Exploration
    ) -> None:
        self.queries, self.layout, self.exploration = queries, layout, exploration
        assert queries.meter is not None
        self.meter = queries.meter
        self.budget = budget = int(exploration.memory_budget)
        self.max_links = max(_LEAST_LINKS, budget // 2 // _WORK_BYTES)
        self.together = min(self.max_links, _TOGETHER)
        self.workers = min(num_workers(), self.max_links // self.together)
        weight_type = queries.engine.dtype
        links = {"source": np.int32, "target": np.int32, "weight": weight_type}
        self.kept = Store(links, budget // 4)
        self.points = Store({"point": (np.float64, (2,))}, budget // 16)
        self.counts: list[Counts] = []

    def wiring(self) -> Wiring:
        num_genomes = self.meter.num_genomes
        if num_genomes:
            self._work([_Run(0, num_genomes, 0)])
        total = Counts.concatenate(self.counts)
        columns = self.kept.arrays()
        return Wiring(
            layout=self.layout,
            hidden_bounds=np.concatenate([[0], np.cumsum(total.num_hidden)]),
            hidden_point=self.points.arrays()["point"],
            link_bounds=np.concatenate([[0], np.cumsum(total.num_links)]),
            link_source=columns["source"],
            link_target=columns["target"],
            link_weight=columns["weight"],
            num_found=total.num_found,
            num_queries=self.queries.count,
            query_seconds=self.queries.seconds,
        )

    def _work(self, runs: list[_Run]) -> None:
        """Runs in their order, and what they fall into if they are too large."""
        for run, phases, part, error in self._attempts(runs):
            if part is not None:
                self._take(part, run.size)
            elif run.num == 1:
                phases = self._phases(run, self.queries)
                self._take(discover_large(phases, self.budget), run.size)
            else:
                sizes = None if error is None else error.sizes
                if sizes is not None and sizes.sum() > min(self.max_links, _MANY):
                    _announce(self.meter, self.queries, phases, sizes, self.budget)
                self._work(_runs(run.begin, run.stop, sizes, self.together))

    def _attempts(self, runs: list[_Run]) -> Iterator[_Attempt]:
        """Several runs at a time, on a core each; a genome that is a run by itself has
        all cores, as does the first run."""
        for has_all, some in itertools.groupby(runs, lambda r: r.num == 1):
            workers = 1 if has_all or len(runs) == 1 else self.workers
            if workers == 1:
                yield from (self._attempt(run, self.queries) for run in some)
                continue
            apart = functools.partial(self._attempt, queries=None)
            for attempt in map_in_order(apart, some, workers):
                own = attempt.phases.queries
                self.queries.note(own.count, own.seconds)
                yield attempt

    def _attempt(self, run: _Run, queries: Queries | None) -> _Attempt:
        """Genomes together, if their links are few enough. Without `queries` what they
        ask is counted apart."""
        phases = self._phases(run, queries or self.queries.apart())
        if run.size > self.together:
            return _Attempt(run, phases, None, None)
        try:
            part = _discover_together(phases, self.max_links, self.together)
            return _Attempt(run, phases, part, None)
        except TooLargeError as error:
            return _Attempt(run, phases, None, error)

    def _phases(self, run: _Run, queries: Queries) -> Phases:
        queries.first_genome = run.begin
        depth = self.exploration.rule.depth
        keys = Keys(self.layout, depth, run.num, self.budget // 32)
        return Phases(queries, self.exploration, keys)

    def _take(self, part: Part, size: int) -> None:
        for chunk in part.links:
            self.kept.append(
                source=chunk.source, target=chunk.target, weight=chunk.weight
            )
        self.points.append(point=part.hidden_point)
        self.counts.append(part.counts())
        self.meter.genomes_done += self.counts[-1].num_found.size
        self.meter.links += int(self.counts[-1].num_links.sum())
        self.meter.expected_done += size


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
