"""Discovery: the phases of both rules, for whole populations.

Phase 1 explores from the inputs, phase 2 finds hidden-to-hidden links, phase 3 links to
the outputs; a clean-up keeps what lies on a path from an input to an output. The result
for a genome is a function of that genome and the settings alone.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from ..cppn import QueryEngine
from ._cells import num_cells
from ._connections import UPWARDS, configuration
from ._emr import EMRRule
from ._es import ESRule
from ._fields import STRATEGIES, EagerValues, Fields, FrontierValues, Queries
from ._layout import Layout
from ._pairs import Positions, output_links, pair_links
from ._positions import Found, Keys, Numbering
from ._recover import check_brute_force
from ._rules import Expressed
from ._weights import WeightMap
from ._wiring import Links, Wiring, on_paths


@dataclasses.dataclass(frozen=True)
class Exploration:
    """How fields are explored: by which rule and strategy, how many at a time."""

    rule: ESRule | EMRRule
    strategy: str = "auto"
    max_quads: int = 1 << 20

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ValueError(
                f"unknown strategy {self.strategy!r}: use one of {STRATEGIES}."
            )
        if self.max_quads < 1:
            raise ValueError(f"max_quads must be positive, not {self.max_quads}.")
        if self.strategy == "eager" and isinstance(self.rule, EMRRule):
            check_brute_force(self.rule)

    def explore(
        self, queries: Queries, fields: Fields, classes: frozenset[int] = UPWARDS
    ) -> Expressed:
        """The expressed links of fields, in batches that keep to `max_quads`."""
        # Eager fields are as large as can be; others are usually no larger than this.
        expected = num_cells(self.rule.depth) // 4
        if self.strategy != "eager":
            expected = min(expected, 341)
        batch = max(1, self.max_quads // expected)
        parts = []
        begin = 0
        while begin < fields.num:
            stop = min(fields.num, begin + batch)
            part = fields.part(begin, stop)
            is_eager = self.strategy == "eager"  # `auto`: the frontier never asks more
            if is_eager and isinstance(self.rule, ESRule):
                values = EagerValues(queries, part, self.rule.depth)
            else:
                values = FrontierValues(queries, part, is_eager)
            found = self.rule.explore(queries, part, values, classes, self.max_quads)
            if found is None:
                batch = max(1, (stop - begin) // 2)
                continue
            parts.append(dataclasses.replace(found, field=found.field + begin))
            begin = stop
        return Expressed.concatenate(parts, queries.engine.dtype)


@dataclasses.dataclass
class _Ends:
    """Links by the keys of their ends, before nodes are numbered."""

    source: Int[np.ndarray, " links"]
    target: Int[np.ndarray, " links"]
    weight: Float[np.ndarray, " links"]
    field: Int[np.ndarray, " links"]
    field_genome: Int[np.ndarray, " fields"]

    def keep(self, which: Bool[np.ndarray, " links"]) -> "_Ends":
        return _Ends(
            self.source[which],
            self.target[which],
            self.weight[which],
            self.field[which],
            self.field_genome,
        )


def _terminal_fields(keys: Keys, first: int, num: int, outgoing: bool) -> Fields:
    genome = np.repeat(np.arange(keys.num_genomes), num)
    point = np.tile(keys.layout.points[first : first + num], (keys.num_genomes, 1))
    return Fields(genome, point, outgoing)


def discover(
    engine: QueryEngine,
    weight_map: WeightMap,
    layout: Layout,
    exploration: Exploration,
) -> Wiring:
    """The wiring of every CPPN of an engine."""
    queries = Queries(engine, weight_map)
    keys = Keys(layout, exploration.rule.depth, engine.programs.num_genomes)
    found = Found.none(keys)
    num_inputs, num_outputs = len(layout.inputs), len(layout.outputs)

    # Phase 1: from each input.
    fields = _terminal_fields(keys, 0, num_inputs, outgoing=True)
    expressed = exploration.explore(queries, fields)
    origin = keys.of_terminals(fields.genome, np.arange(fields.num) % num_inputs)
    ends = [_outgoing(keys, fields, origin, expressed)]
    new = found.add(ends[0].target)
    rule = exploration.rule
    if isinstance(rule, ESRule):
        _explore_hidden(
            queries, exploration, found, new, rule.iteration_level, UPWARDS, ends
        )
        numbering = Numbering(found)
        _explore_outputs(queries, exploration, keys, num_inputs, num_outputs, ends)
        links = _number(numbering, ends)
    else:
        classes = configuration(rule.connections)
        if classes:
            ignored: list[_Ends] = []
            _explore_hidden(
                queries, exploration, found, new, rule.rounds, classes, ignored
            )
        numbering = Numbering(found)
        position = Positions(numbering, found, engine.dtype)
        links = Links.concatenate(
            [
                _number(numbering, ends),
                *pair_links(queries, position, rule),
                *output_links(queries, position, numbering, rule),
            ]
        )
    return _finish(links, numbering, layout, queries)


def _outgoing(
    keys: Keys, fields: Fields, origin: Int[np.ndarray, " fields"], expressed: Expressed
) -> _Ends:
    """Links from the fields' points, whose keys are given, to cells."""
    return _Ends(
        origin.take(expressed.field),
        keys.of_cells(fields.genome.take(expressed.field), expressed.cell),
        expressed.weight,
        expressed.field,
        fields.genome,
    )


def _explore_hidden(
    queries: Queries,
    exploration: Exploration,
    found: Found,
    new: Int[np.ndarray, " positions"],
    rounds: int,
    classes: frozenset[int],
    ends: list[_Ends],
) -> None:
    """Phase 2 of `es`, and the optional rounds of `emr`: explore from new positions."""
    keys = found.keys
    num_inputs = len(keys.layout.inputs)
    for _ in range(rounds):
        # A found position that is an input was explored in phase 1.
        new = new[new % keys.stride >= num_inputs]
        if not new.size:
            break
        is_terminal = keys.is_terminal(new)
        parts = []
        # From a terminal, links run upwards whatever the configuration says.
        for which, allowed in ((~is_terminal, classes), (is_terminal, UPWARDS)):
            origin = new[which]
            fields = Fields(keys.genomes(origin), keys.points(origin), outgoing=True)
            expressed = exploration.explore(queries, fields, allowed)
            part = _outgoing(keys, fields, origin, expressed)
            if keys.terminal_of_cell and allowed != UPWARDS:  # so do links into one
                y = [keys.points(k)[:, 1] for k in (part.source, part.target)]
                part = part.keep(~keys.is_terminal(part.target) | (y[0] < y[1]))
            parts.append(part)
        ends.extend(parts)
        new = found.add(*(p.target for p in parts))


def _explore_outputs(
    queries: Queries,
    exploration: Exploration,
    keys: Keys,
    num_inputs: int,
    num_outputs: int,
    ends: list[_Ends],
) -> None:
    """Phase 3 of `es`: towards each output."""
    fields = _terminal_fields(keys, num_inputs, num_outputs, outgoing=False)
    expressed = exploration.explore(queries, fields)
    place = num_inputs + np.arange(fields.num) % num_outputs
    output = keys.of_terminals(fields.genome, place)
    ends.append(
        _Ends(
            keys.of_cells(fields.genome.take(expressed.field), expressed.cell),
            output.take(expressed.field),
            expressed.weight,
            expressed.field,
            fields.genome,
        )
    )


def _number(numbering: Numbering, ends: list[_Ends]) -> Links:
    """Links between nodes; a source of phase 3 that nobody found is none."""
    parts = []
    for part in ends:
        source, target = numbering.of(part.source), numbering.of(part.target)
        links = Links(source, target, part.weight, part.field, part.field_genome)
        parts.append(links.keep(source >= 0) if (source < 0).any() else links)
    return Links.concatenate(parts)


def _finish(
    links: Links, numbering: Numbering, layout: Layout, queries: Queries
) -> Wiring:
    """The clean-up, the order of links, and node numbers within each genome."""
    num_inputs, num_outputs = len(layout.inputs), len(layout.outputs)
    num_genomes = numbering.keys.num_genomes
    is_input = np.zeros(numbering.num_nodes, bool)
    is_output = np.zeros(numbering.num_nodes, bool)
    for k in range(num_inputs):
        is_input[numbering.bounds[:-1] + k] = True
    for k in range(num_inputs, num_inputs + num_outputs):
        is_output[numbering.bounds[:-1] + k] = True
    alive = on_paths(links, is_output)
    links = links.sort(alive.take(links.source) & alive.take(links.target))
    if numbering.keys.terminal_of_cell:
        links = links.without_repeats()

    node_alive = alive | is_input | is_output
    kept_before = (np.cumsum(node_alive) - node_alive).astype(np.int32)
    number = kept_before - np.repeat(
        kept_before[numbering.bounds[:-1]], np.diff(numbering.bounds)
    )
    hidden = node_alive[numbering.number]
    hidden_counts = np.bincount(numbering.genome[hidden], minlength=num_genomes)
    return Wiring(
        layout=layout,
        hidden_bounds=np.concatenate([[0], np.cumsum(hidden_counts)]),
        hidden_point=numbering.point[hidden],
        link_bounds=np.concatenate([[0], np.cumsum(links.counts(num_genomes))]),
        link_source=number.take(links.source),
        link_target=number.take(links.target),
        link_weight=links.weight,
        num_found=np.bincount(numbering.genome, minlength=num_genomes),
        num_queries=queries.count,
        query_seconds=queries.seconds,
    )
