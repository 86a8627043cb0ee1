"""Discovery: the phases of both rules, for whole populations.

Phase 1 explores from the inputs, phase 2 finds hidden-to-hidden links, phase 3 links to
the outputs; a clean-up keeps what lies on a path from an input to an output. The result
for a genome is a function of that genome and the settings alone.
"""

import dataclasses

import numpy as np
from jaxtyping import Int

from ..cppn import QueryEngine
from ._cells import num_cells
from ._connections import BACKWARD, LATERAL, SELF, UPWARDS, configuration
from ._emr import EMRRule
from ._es import ESRule
from ._fields import STRATEGIES, EagerValues, Fields, FrontierValues, Queries
from ._layout import Layout
from ._positions import Found, Keys, Numbering
from ._rules import Expressed
from ._weights import WeightMap
from ._wiring import Links, Wiring, clean_up


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
            if self.strategy == "eager":
                values = EagerValues(queries, part, self.rule.depth)
            else:  # `auto` as well: the frontier never asks more
                values = FrontierValues(queries, part)
            limit = self.max_quads if stop - begin > 1 else 1 << 62
            found = self.rule.explore(queries, part, values, classes, limit)
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
    weight: np.ndarray


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
    genome = fields.genome[expressed.field]
    ends = [
        _Ends(
            keys.of_terminals(genome, expressed.field % num_inputs),
            keys.of_cells(genome, expressed.cell),
            expressed.weight,
        )
    ]
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
        links = Links.concatenate(
            [
                _number(numbering, ends),
                *_pair_links(queries, numbering, found, rule, classes),
                *_output_links(queries, numbering, found, rule, layout),
            ]
        )
    if keys.terminal_of_cell:
        links = links.without_repeats()
    return _finish(links, numbering, layout, queries)


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
            source = origin[expressed.field]
            target = keys.of_cells(fields.genome[expressed.field], expressed.cell)
            keep = np.ones(target.size, bool)
            if keys.terminal_of_cell and allowed != UPWARDS:  # so do links into one
                source_y, target_y = (keys.points(k)[:, 1] for k in (source, target))
                keep = ~keys.is_terminal(target) | (source_y < target_y)
            parts.append(_Ends(source[keep], target[keep], expressed.weight[keep]))
        ends.extend(parts)
        new = found.add(np.concatenate([p.target for p in parts]))


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
    genome = fields.genome[expressed.field]
    ends.append(
        _Ends(
            keys.of_cells(genome, expressed.cell),
            keys.of_terminals(genome, num_inputs + expressed.field % num_outputs),
            expressed.weight,
        )
    )


def _number(numbering: Numbering, ends: list[_Ends]) -> Links:
    """Links between nodes; a source of phase 3 that nobody found is none."""
    parts = []
    for part in ends:
        source, target = numbering.of(part.source), numbering.of(part.target)
        links = Links(source, target, part.weight)
        parts.append(links.keep(source >= 0) if (source < 0).any() else links)
    return Links.concatenate(parts)


_MAX_PAIRS = 1 << 20
"""Pairs of hidden positions that are queried at a time."""


def _pair_links(
    queries: Queries,
    numbering: Numbering,
    found: Found,
    rule: EMRRule,
    classes: frozenset[int],
):
    """Phase 2 of `emr`: one query for every ordered pair that the classes allow."""
    if not classes:
        return
    position = _Positions(numbering, found, queries.engine.dtype)
    for first, begin, count in _ranges(position, classes):
        for piece in _pieces(count, _MAX_PAIRS):
            yield _query_pairs(
                queries,
                position,
                rule,
                classes,
                first[piece],
                begin[piece],
                count[piece],
            )


def _query_pairs(
    queries: Queries,
    position: "_Positions",
    rule: EMRRule,
    classes: frozenset[int],
    first: Int[np.ndarray, " ranges"],
    begin: Int[np.ndarray, " ranges"],
    count: Int[np.ndarray, " ranges"],
) -> Links:
    """Links from positions to ranges of positions, where the weight is large enough."""
    outputs = queries.of_ranges(
        position.genome[first], count, position.point[first], begin, position.point
    )
    weight = queries.weight_map(outputs[0])
    strong = np.abs(weight) > rule.weight_threshold
    if queries.has_leo:
        strong &= outputs[1] > 0
    found = np.flatnonzero(strong)
    ranges = np.repeat(np.arange(first.size, dtype=np.int32), count)[found]
    source = first[ranges]
    target = found + (begin - (np.cumsum(count) - count))[ranges]
    links = Links(position.number[source], position.number[target], weight[found])
    drops_self = LATERAL in classes and SELF not in classes
    if drops_self or position.is_terminal.any():
        keep = source != target if drops_self else np.ones(source.size, bool)
        terminal = position.is_terminal[source] | position.is_terminal[target]
        keep &= ~terminal | (position.y[source] < position.y[target])
        links = links.keep(keep)
    return links


class _Positions:
    """Found positions, terminals among them, sorted by genome, y, x."""

    def __init__(self, numbering: Numbering, found: Found, dtype: np.dtype) -> None:
        keys = found.keys
        genome, point = keys.genomes(found.sorted), keys.points(found.sorted)
        order = np.lexsort((point[:, 0], point[:, 1], genome))
        key = found.sorted[order]
        self.genome = genome[order].astype(np.int32)
        self.y = point[order, 1]
        self.point = point[order].astype(dtype)
        self.number = numbering.of(key)
        self.is_terminal = keys.is_terminal(key)


def _ranges(position: _Positions, classes: frozenset[int]):
    """Targets of each source as ranges in sorted order: (sources, begins, counts)."""
    num = position.genome.size
    if not num:
        return
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
        yield index, low, high - low
        return
    if BACKWARD in classes:
        yield index, low, lower - low
    if LATERAL in classes:
        yield index, lower, upper - lower
    elif SELF in classes:
        yield index, index, np.ones(num, np.int64)
    yield index, upper, high - upper


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


def _output_links(
    queries: Queries,
    numbering: Numbering,
    found: Found,
    rule: EMRRule,
    layout: Layout,
):
    """Phase 3 of `emr`: one query for every (hidden position, output) above it."""
    position = _Positions(numbering, found, queries.engine.dtype)
    num_inputs = len(layout.inputs)
    for o, point in enumerate(layout.outputs):
        source = np.flatnonzero(position.y < point[1])
        genome = position.genome[source]
        target = np.broadcast_to(point.astype(queries.engine.dtype), (source.size, 2))
        outputs = queries.of_points(genome, position.point[source], target)
        weight = queries.weight_map(outputs[0])
        strong = np.abs(weight) > rule.weight_threshold
        if queries.has_leo:
            strong &= outputs[1] > 0
        yield Links(
            position.number[source[strong]],
            numbering.bounds[genome[strong]] + num_inputs + o,
            weight[strong],
        )


def _finish(
    links: Links, numbering: Numbering, layout: Layout, queries: Queries
) -> Wiring:
    """The clean-up, and node numbers within each genome."""
    num_inputs, num_outputs = len(layout.inputs), len(layout.outputs)
    is_input = np.zeros(numbering.num_nodes, bool)
    is_output = np.zeros(numbering.num_nodes, bool)
    for k in range(num_inputs):
        is_input[numbering.bounds[:-1] + k] = True
    for k in range(num_inputs, num_inputs + num_outputs):
        is_output[numbering.bounds[:-1] + k] = True
    # Found positions were found from an input, or from another found position; and
    # the walk from the outputs may begin one step away from them.
    leads_out = is_output.copy()
    leads_out[links.source[is_output[links.target]]] = True
    links, alive = clean_up(links, ~is_output, leads_out)

    node_alive = alive | is_input | is_output
    kept_before = np.cumsum(node_alive) - node_alive
    num_genomes = numbering.keys.num_genomes
    # NumPy sorts 16-bit integers by radix, many times faster than wider ones.
    dtype = np.uint16 if num_genomes < 1 << 16 else np.int64
    genome_of_node = np.repeat(
        np.arange(num_genomes, dtype=dtype), np.diff(numbering.bounds)
    )
    genome_of_link = genome_of_node[links.source]
    order = np.argsort(genome_of_link, kind="stable")
    genome = genome_of_link[order]
    first = kept_before[numbering.bounds[:-1]][genome]
    hidden = node_alive[numbering.number]
    hidden_counts = np.bincount(numbering.genome[hidden], minlength=num_genomes)
    link_counts = np.bincount(genome, minlength=num_genomes)
    return Wiring(
        layout=layout,
        hidden_bounds=np.concatenate([[0], np.cumsum(hidden_counts)]),
        hidden_point=numbering.point[hidden],
        link_bounds=np.concatenate([[0], np.cumsum(link_counts)]),
        link_source=(kept_before[links.source[order]] - first).astype(np.int32),
        link_target=(kept_before[links.target[order]] - first).astype(np.int32),
        link_weight=links.weight[order],
        num_found=np.bincount(numbering.genome, minlength=num_genomes),
        num_queries=queries.count,
        query_seconds=queries.seconds,
    )
