"""Discovery: which nodes and links the CPPNs of a population ask for.

A clean-up keeps what lies on a path from an input to an output. The result for a genome
is a function of that genome and the settings alone, so genomes are taken together as
far as memory allows: all of them, or else runs of them, on a core each under rule `es`.
One genome that is too large by itself is worked off in pieces; see `_large`.
"""

import dataclasses
import functools
import itertools
import logging
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from .._memory import Store
from .._threads import map_in_order, num_workers
from ..cppn import QueryEngine
from ._cells import num_cells
from ._emr import EMRRule
from ._es import ESRule
from ._exploration import Exploration
from ._fields import Queries
from ._large import discover_large
from ._layout import Layout
from ._phases import Held, Phases, TooLargeError, number_ends
from ._positions import Keys
from ._progress import Estimate, Meter
from ._weights import WeightMap
from ._wiring import Counts, Links, Part, Wiring, on_paths, renumbered

_logger = logging.getLogger(__name__)

_WORK_BYTES = 160
"""What a link takes while it is found and sorted."""

_LEAST_LINKS = 1 << 16
"""Links that are taken together whatever the budget."""

_TOGETHER = 1 << 21
"""Links of several genomes that are taken together: memory that is used again and again
is several times faster than fresh memory."""

_MANY = 1 << 26
"""Links that take so long that it is worth saying how long."""


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
    """What became of a run: its part of the result, or, as it is too large, how many
    links its genomes have, where that is known."""

    run: _Run
    phases: Phases
    part: Part | None
    sizes: Int[np.ndarray, " genomes"] | None


class _Discovery:
    """One discovery: what is found goes to `kept`, genome by genome, in their order."""

    def __init__(
        self, queries: Queries, layout: Layout, exploration: Exploration
    ) -> None:
        assert queries.meter is not None
        self.queries, self.meter, self.layout = queries, queries.meter, layout
        self.budget = budget = int(exploration.memory_budget)
        self.max_links = max(_LEAST_LINKS, budget // 2 // _WORK_BYTES)
        self.together = min(self.max_links, _TOGETHER)
        self.workers = self._workers(exploration)
        share = dataclasses.replace(
            exploration, max_quads=max(1, exploration.max_quads // self.workers)
        )
        self.explorations = {False: exploration, True: share}
        weight_type = queries.engine.dtype
        links = {"source": np.int32, "target": np.int32, "weight": weight_type}
        self.kept = Store(links, budget // 4)
        self.points = Store({"point": (np.float64, (2,))}, budget // 16)
        self.counts: list[Counts] = []

    def _workers(self, exploration: Exploration) -> int:
        """Runs of several genomes that are worked on at a time, as memory allows; the
        pairs of rule `emr` are asked for on all cores anyway."""
        full = num_cells(exploration.rule.depth) // 4
        workers = num_workers()
        is_worth = (
            isinstance(exploration.rule, ESRule)
            and self.queries.engine.has_threads
            and workers * self.together <= self.max_links
            and workers * full <= exploration.max_quads
        )
        return workers if is_worth else 1

    def wiring(self) -> Wiring:
        num_genomes = self.meter.num_genomes
        if num_genomes:
            self._work([_Run(0, num_genomes, 0)], 1)
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

    def _work(self, runs: list[_Run], workers: int) -> None:
        """Runs in their order, and what they fall into if they are too large."""
        for attempt in self._attempts(runs, workers):
            self._finish(attempt, workers)
            del attempt  # its memory serves the next one

    def _finish(self, attempt: _Attempt, workers: int) -> None:
        run, phases, part, sizes = attempt
        if part is None and run.num == 1:
            phases = self._phases(run, is_thread=False)
            part = discover_large(phases, self.budget)
        if part is not None:
            self._take(part, run.size)
            self.queries.absorb(phases.queries)
            return
        if sizes is not None and sizes.sum() > min(self.max_links, _MANY):
            _announce(self.meter, phases, sizes, self.budget)
        parts = _runs(run.begin, run.stop, sizes, self.together)
        # Beside others that are under way there is one at a time.
        self._work(parts, self.workers if workers == 1 else 1)

    def _attempts(self, runs: list[_Run], workers: int) -> Iterator[_Attempt]:
        """Several runs at a time, on a core each; a genome that is a run by itself has
        all cores."""
        for is_one, some in itertools.groupby(runs, lambda run: run.num == 1):
            is_thread = workers > 1 and not is_one
            attempt = functools.partial(self._attempt, is_thread=is_thread)
            yield from map_in_order(attempt, some, workers if is_thread else 1)

    def _attempt(self, run: _Run, *, is_thread: bool) -> _Attempt:
        """Genomes together, if their links are few enough."""
        phases = self._phases(run, is_thread=is_thread)
        if run.size > self.together:
            return _Attempt(run, phases, None, None)
        max_links = self.max_links // (self.workers if is_thread else 1)
        try:
            part = _discover_together(phases, max_links, self.together)
        except TooLargeError as error:
            # Not the error itself: it would keep all that was found so far.
            return _Attempt(run, phases, None, error.sizes)
        return _Attempt(run, phases, part, None)

    def _phases(self, run: _Run, *, is_thread: bool) -> Phases:
        queries = self.queries.apart(is_thread=is_thread)
        queries.first_genome = run.begin
        exploration = self.explorations[is_thread]
        limit = self.budget // 32 // (self.workers if is_thread else 1)
        keys = Keys(self.layout, exploration.rule.depth, run.num, limit)
        return Phases(queries, exploration, keys)

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


def _announce(meter: Meter, phases: Phases, sizes: np.ndarray, budget: int) -> None:
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
        asked = round((links + phases.queries.count) * rest)
        links += positions * len(layout.inputs)
    estimate = Estimate(
        num_genomes=meter.num_genomes,
        positions=round(positions * rest) if is_emr else None,
        queries=asked,
        links=round(links * rest),
        memory_budget=budget,
        num_known=sizes.size,
    )
    meter.expect(estimate)
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
