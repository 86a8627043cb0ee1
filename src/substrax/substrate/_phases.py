"""The phases of both rules, for some genomes of a population.

Phase 1 explores from the inputs, phase 2 finds hidden-to-hidden links, phase 3 links to
the outputs.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from ._connections import UPWARDS, configuration
from ._emr import EMRRule
from ._es import ESRule
from ._fields import Fields, Queries
from ._pairs import (
    Positions,
    allowed_pairs,
    output_links,
    pair_counts,
    pair_links,
)
from ._positions import Found, Keys, Numbering
from ._rules import Expressed
from ._wiring import Links


class TooLargeError(Exception):
    """Genomes have too many links together; `sizes` is how many each, where known."""

    def __init__(self, sizes: Int[np.ndarray, " genomes"] | None = None) -> None:
        super().__init__("too large")
        self.sizes = sizes


@dataclasses.dataclass
class Ends:
    """Links by the keys of their ends, before nodes are numbered."""

    source: Int[np.ndarray, " links"]
    target: Int[np.ndarray, " links"]
    weight: Float[np.ndarray, " links"]
    field: Int[np.ndarray, " links"]
    field_genome: Int[np.ndarray, " fields"]

    def keep(self, which: Bool[np.ndarray, " links"]) -> "Ends":
        return Ends(
            self.source[which],
            self.target[which],
            self.weight[which],
            self.field[which],
            self.field_genome,
        )


@runtime_checkable
class Sink(Protocol):
    """Where links go as they are found."""

    def add(self, ends: Ends) -> None: ...

    def foresee(self, num_fields: Int[np.ndarray, " genomes"]) -> None:
        """So many fields of each genome will be explored next."""
        ...

    def targets(self, ends: Ends) -> Int[np.ndarray, " positions"]:
        """What is found by them; in any order, with or without repeats."""
        ...


@runtime_checkable
class Explorer(Protocol):
    """How fields are explored; see `Exploration`."""

    @property
    def rule(self) -> ESRule | EMRRule: ...

    def batches(
        self, queries: Queries, fields: Fields, classes: frozenset[int] = UPWARDS
    ) -> Iterator[tuple[int, int, Expressed]]: ...


@dataclasses.dataclass
class Phases:
    """The phases for the genomes that `keys` is about."""

    queries: Queries
    exploration: Explorer
    keys: Keys

    def __post_init__(self) -> None:
        self.found = Found.none(self.keys)
        layout = self.keys.layout
        self._num_inputs, self._num_outputs = len(layout.inputs), len(layout.outputs)

    def explore(self, sink: Sink) -> Numbering:
        """All that fields are explored for; phases 2 and 3 of `emr` are pairs."""
        rule = self.exploration.rule
        fields = self._terminal_fields(0, self._num_inputs, outgoing=True)
        terminal = np.arange(fields.num) % self._num_inputs
        origin = self.keys.of_terminals(fields.genome, terminal)
        parts = self._outgoing(fields, origin, UPWARDS)
        new = self.found.add(*_collect(sink, parts))
        if isinstance(rule, ESRule):
            self._explore_hidden(new, rule.iteration_level, UPWARDS, sink)
            numbering = Numbering(self.found)
            self._explore_outputs(sink)
            return numbering
        classes = configuration(rule.connections)
        if classes:
            self._explore_hidden(new, rule.rounds, classes, _Nowhere(self.keys))
        return Numbering(self.found)

    def pairs(self, numbering: Numbering, limit: int | None) -> Iterator[Links]:
        """Links that are found pair by pair; before the first of them it raises if
        there are more pairs than the limit."""
        rule = self.exploration.rule
        if isinstance(rule, ESRule):
            return
        position = Positions(numbering, self.queries.engine.dtype)
        pairs = allowed_pairs(position, rule)
        if limit is not None and sum(int(p.length.sum()) for p in pairs) > limit:
            raise TooLargeError(pair_counts(position, pairs))
        yield from pair_links(self.queries, position, rule, pairs)
        yield from output_links(self.queries, position, numbering, rule)

    def _terminal_fields(self, first: int, num: int, outgoing: bool) -> Fields:
        num_genomes = self.keys.num_genomes
        genome = np.repeat(np.arange(num_genomes), num)
        points = self.keys.layout.points[first : first + num]
        return Fields(genome, np.tile(points, (num_genomes, 1)), outgoing)

    def _outgoing(
        self,
        fields: Fields,
        origin: Int[np.ndarray, " fields"],
        classes: frozenset[int],
    ) -> Iterator[Ends]:
        """Links from the fields' points, whose keys are given, to cells."""
        keys = self.keys
        batches = self.exploration.batches(self.queries, fields, classes)
        for begin, stop, expressed in batches:
            genome = fields.genome[begin:stop]
            part = Ends(
                origin[begin:stop].take(expressed.field),
                keys.of_cells(genome.take(expressed.field), expressed.cell),
                expressed.weight,
                expressed.field,
                genome,
            )
            if keys.terminal_of_cell and classes != UPWARDS:
                # Links into a terminal run upwards whatever the configuration says.
                y = [keys.points(k)[:, 1] for k in (part.source, part.target)]
                part = part.keep(~keys.is_terminal(part.target) | (y[0] < y[1]))
            yield part

    def _explore_hidden(
        self,
        new: Int[np.ndarray, " positions"],
        rounds: int,
        classes: frozenset[int],
        sink: Sink,
    ) -> None:
        """Phase 2 of `es`, and the optional rounds of `emr`: from new positions."""
        keys = self.keys
        for _ in range(rounds):
            # A found position that is an input was explored in phase 1.
            new = new[new % keys.stride >= self._num_inputs]
            if not new.size:
                break
            genomes = keys.genomes(new)
            sink.foresee(np.bincount(genomes, minlength=keys.num_genomes))
            is_terminal = keys.is_terminal(new)
            targets = []
            # From a terminal, links run upwards whatever the configuration says.
            for which, allowed in ((~is_terminal, classes), (is_terminal, UPWARDS)):
                origin = new[which]
                fields = Fields(keys.genomes(origin), keys.points(origin), True)
                parts = self._outgoing(fields, origin, allowed)
                targets.extend(_collect(sink, parts))
            new = self.found.add(*targets)

    def _explore_outputs(self, sink: Sink) -> None:
        """Phase 3 of `es`: towards each output."""
        keys = self.keys
        fields = self._terminal_fields(self._num_inputs, self._num_outputs, False)
        place = self._num_inputs + np.arange(fields.num) % self._num_outputs
        output = keys.of_terminals(fields.genome, place)
        batches = self.exploration.batches(self.queries, fields)
        for begin, stop, expressed in batches:
            genome = fields.genome[begin:stop]
            sink.add(
                Ends(
                    keys.of_cells(genome.take(expressed.field), expressed.cell),
                    output[begin:stop].take(expressed.field),
                    expressed.weight,
                    expressed.field,
                    genome,
                )
            )


def _collect(sink: Sink, parts: Iterable[Ends]) -> list[np.ndarray]:
    targets = []
    for part in parts:
        sink.add(part)
        targets.append(sink.targets(part))
    return targets


class Held:
    """Keeps links in memory, for several genomes together: up to a limit.

    If more than `together` are to be expected, it says so before they are found, so
    that what was done for nothing is little.
    """

    def __init__(self, max_links: int, together: int) -> None:
        self.parts: list[Ends] = []
        self._max_links, self._together = max_links, together
        self._num = 0

    def add(self, ends: Ends) -> None:
        self.parts.append(ends)
        self._num += ends.weight.size
        if self._num > self._max_links:
            raise TooLargeError

    def foresee(self, num_fields: Int[np.ndarray, " genomes"]) -> None:
        if self._num / self._together * num_fields.sum() < 1:
            return
        num_links, explored = np.zeros((2, num_fields.size), np.int64)
        for part in self.parts:
            np.add.at(explored, part.field_genome, 1)
            in_field = np.bincount(part.field, minlength=part.field_genome.size)
            np.add.at(num_links, part.field_genome, in_field)
        # A position is supposed to have as many links as those before it have.
        sizes = num_links + num_links * num_fields // np.maximum(explored, 1)
        if sizes.sum() > self._together:
            raise TooLargeError(sizes)

    def targets(self, ends: Ends) -> Int[np.ndarray, " positions"]:
        return ends.target


class _Nowhere:
    """For links whose ends alone are of interest."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def add(self, ends: Ends) -> None:
        return None

    def foresee(self, num_fields: Int[np.ndarray, " genomes"]) -> None:
        return None

    def targets(self, ends: Ends) -> Int[np.ndarray, " positions"]:
        return self._keys.distinct(ends.target)


def number_ends(numbering: Numbering, ends: Ends) -> Links:
    """Links between nodes; a source of phase 3 that nobody found is none."""
    source, target = numbering.of(ends.source), numbering.of(ends.target)
    links = Links(source, target, ends.weight, ends.field, ends.field_genome)
    return links.keep(source >= 0) if (source < 0).any() else links
