"""How the fields of genomes are explored: by which rule, how many at a time."""

import dataclasses
from collections.abc import Iterator

from .._memory import read_budget
from .._threads import map_in_order, num_workers
from ._cells import num_cells
from ._connections import UPWARDS
from ._emr import EMRRule
from ._es import ESRule
from ._fields import STRATEGIES, EagerValues, Fields, FrontierValues, Queries
from ._recover import check_brute_force
from ._rules import Expressed

_QUAD_BYTES = 320
"""What a quad takes while it is explored."""

_BATCH_QUADS = 1 << 19
"""Quads of trees that are explored together under rule `es`: more is no faster, as they
do not stay in the cache."""

_USUAL_QUADS = 1 << 11
"""Quads that a field of rule `es` is expected to have before others were explored."""

_LEAST_FIELDS = 128
"""Fields that are explored together, rather than on several cores."""


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
        """Runs of fields with their links, in batches that keep to `max_quads`.

        Under rule `es`, those of a single genome are explored on all cores, as far as
        `max_quads` allows. How large a batch is follows from those before it, by number
        and not by time.
        """
        full = num_cells(self.rule.depth) // 4
        is_es = isinstance(self.rule, ESRule)
        # Eager fields are as large as can be; others are usually no larger than this.
        expected = full if self.strategy == "eager" else min(full, 341)
        workers, max_quads = self._workers(queries, fields, full), self.max_quads
        size = most = max(1, max_quads // expected)
        if workers > 1:
            max_quads //= workers
            shares = min(workers, fields.num // _LEAST_FIELDS)
            most = max(1, min(max_quads // expected, -(-fields.num // shares)))
        batch_quads = min(_BATCH_QUADS, max_quads)
        if is_es:
            size = min(most, max(1, batch_quads // min(full, _USUAL_QUADS)))

        def cuts() -> Iterator[tuple[int, int]]:
            stop = 0
            while stop < fields.num:
                begin, stop = stop, min(fields.num, stop + size)
                yield begin, stop

        def explore(cut: tuple[int, int]) -> tuple[int, int, Queries, Expressed | None]:
            own = queries.apart(is_thread=workers > 1)
            return *cut, own, self._explore(own, fields.part(*cut), classes, max_quads)

        for begin, stop, own, found in map_in_order(explore, cuts(), workers):
            if is_es:
                quads = max(1, own.count // 4)
                size = min(most, max(1, (stop - begin) * batch_quads // quads))
            if found is not None:
                queries.absorb(own)
                yield begin, stop, found
            else:
                yield from self._halves(queries, fields, begin, stop, classes)

    def _workers(self, queries: Queries, fields: Fields, full: int) -> int:
        """Threads for the batches of fields; a single thread leaves the other cores to
        the queries of each."""
        is_single = fields.num > 0 and fields.genome[0] == fields.genome[-1]
        workers = num_workers() if queries.engine.has_threads else 1
        is_worth = (
            isinstance(self.rule, ESRule)
            and is_single
            and fields.num >= 2 * _LEAST_FIELDS
            and full <= self.max_quads // workers
        )
        return workers if is_worth else 1

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
            own = queries.apart()
            part = fields.part(*cut)
            found = self._explore(own, part, classes, self.max_quads)
            if found is not None:
                queries.absorb(own)
                yield *cut, found
            else:
                yield from self._halves(queries, fields, *cut, classes)

    def _explore(
        self,
        queries: Queries,
        fields: Fields,
        classes: frozenset[int],
        max_quads: int,
    ) -> Expressed | None:
        values = self._values(queries, fields)
        return self.rule.explore(queries, fields, values, classes, max_quads)

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
