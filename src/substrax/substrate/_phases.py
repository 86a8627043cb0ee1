"""The phases of discovery, for some genomes of a population together.

Phase 1 explores from the inputs, phase 2 finds hidden-to-hidden links, phase 3 links to
the outputs. How a rule takes them it says itself; see `AbstractRule`.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from ._connections import UPWARDS
from ._fields import EagerValues, Fields, FrontierValues, Queries, TooLargeError
from ._pairs import Positions, Ranges, allowed_pairs, output_links, pair_links
from ._positions import Found, Keys, Numbering
from ._rule import AbstractRule
from ._wiring import Links


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


@dataclasses.dataclass
class Phases:
    """The phases for the genomes that `keys` is about.

    More than `max_quads` quads at a time, or more than `max_links` links, are a
    `TooLargeError`.
    """

    queries: Queries
    rule: AbstractRule
    is_eager: bool
    keys: Keys
    max_quads: int
    max_links: int

    def __post_init__(self) -> None:
        self._found = Found.none(self.keys)
        self._ends: list[Ends] = []
        layout = self.keys.layout
        self._num_inputs, self._num_outputs = len(layout.inputs), len(layout.outputs)

    def run(self) -> tuple[Numbering, Links]:
        """All links, before the clean-up."""
        new = self._from_inputs()
        self._rounds(new)
        numbering = Numbering(self._found)
        if self.rule.explores_outputs:
            self._explore_outputs()
        parts = [number_ends(numbering, ends) for ends in self._ends]
        if not self.rule.explores_outputs:
            parts += self._pairs(numbering)
        return numbering, Links.concatenate(parts)

    def _from_inputs(self) -> Int[np.ndarray, " positions"]:
        fields = self._terminal_fields(0, self._num_inputs, outgoing=True)
        terminal = np.arange(fields.num) % self._num_inputs
        origin = self.keys.of_terminals(fields.genome, terminal)
        ends = self._outgoing(fields, origin, UPWARDS)
        self._keep(ends)
        return self._found.add(ends.target)

    def _rounds(self, new: Int[np.ndarray, " positions"]) -> None:
        """Explores from new positions. Links that are asked for by pairs as well are
        not kept, only what they lead to."""
        keys = self.keys
        for _ in range(self.rule.num_rounds):
            # A found position that is an input was explored in phase 1.
            new = new[new % keys.stride >= self._num_inputs]
            if not new.size:
                break
            is_terminal = keys.is_terminal(new)
            targets = []
            # From a terminal, links run upwards whatever the configuration says.
            for which, classes in (
                (~is_terminal, self.rule.explored_classes),
                (is_terminal, UPWARDS),
            ):
                origin = new[which]
                fields = Fields(keys.genomes(origin), keys.points(origin), True)
                ends = self._outgoing(fields, origin, classes)
                if not self.rule.pair_classes:
                    self._keep(ends)
                targets.append(ends.target)
            new = self._found.add(*targets)

    def _pairs(self, numbering: Numbering) -> list[Links]:
        """Phases 2 and 3, one query for each pair of positions."""
        classes = self.rule.pair_classes
        threshold = self.rule.pair_threshold
        position = Positions(numbering, self.queries.engine.dtype)
        pairs: list[Ranges] = allowed_pairs(position, classes)
        if sum(int(p.length.sum()) for p in pairs) > self.max_links:
            raise TooLargeError
        found = pair_links(self.queries, position, classes, threshold, pairs)
        to_outputs = output_links(self.queries, position, numbering, threshold)
        return [*found, *to_outputs]

    def _explore_outputs(self) -> None:
        """Phase 3 of a rule that explores towards each output."""
        keys = self.keys
        fields = self._terminal_fields(self._num_inputs, self._num_outputs, False)
        place = self._num_inputs + np.arange(fields.num) % self._num_outputs
        output = keys.of_terminals(fields.genome, place)
        expressed = self.rule.explore(
            self.queries, fields, self._values(fields), UPWARDS
        )
        self._keep(
            Ends(
                keys.of_cells(fields.genome.take(expressed.field), expressed.cell),
                output.take(expressed.field),
                expressed.weight,
                expressed.field,
                fields.genome,
            )
        )

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
    ) -> Ends:
        """Links from the fields' points, whose keys are given, to cells."""
        keys = self.keys
        expressed = self.rule.explore(
            self.queries, fields, self._values(fields), classes
        )
        ends = Ends(
            origin.take(expressed.field),
            keys.of_cells(fields.genome.take(expressed.field), expressed.cell),
            expressed.weight,
            expressed.field,
            fields.genome,
        )
        if keys.terminal_of_cell and classes != UPWARDS:
            # Links into a terminal run upwards whatever the configuration says.
            y = [keys.points(k)[:, 1] for k in (ends.source, ends.target)]
            ends = ends.keep(~keys.is_terminal(ends.target) | (y[0] < y[1]))
        return ends

    def _values(self, fields: Fields) -> EagerValues | FrontierValues:
        if self.is_eager and self.rule.explores_outputs:
            return EagerValues(self.queries, fields, self.rule.depth)
        return FrontierValues(self.queries, fields, self.is_eager, self.max_quads)

    def _keep(self, ends: Ends) -> None:
        self._ends.append(ends)
        if sum(part.weight.size for part in self._ends) > self.max_links:
            raise TooLargeError


def number_ends(numbering: Numbering, ends: Ends) -> Links:
    """Links between nodes; a source of phase 3 that nobody found is none."""
    source, target = numbering.of(ends.source), numbering.of(ends.target)
    links = Links(source, target, ends.weight, ends.field, ends.field_genome)
    return links.keep(source >= 0) if (source < 0).any() else links
