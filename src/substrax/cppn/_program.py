"""CPPNs compiled into straight-line programs.

A graph is read once on the host and becomes a list of *rows*, in topological order. A
row computes `activation(bias + sum of FAN_IN weighted values)`; a node with more
incoming links is a chain of rows, each adding to the one before. Only nodes on a path
to an output are compiled, so a row is never wasted, and the programs of a population
lie behind each other without padding.

The order of additions within a node is fixed (bias first, then links by the position of
their source in the program), so the value of a CPPN does not depend on how its genes
happen to be stored, nor on the rest of the population.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from .._types import ArrayLike
from ._activation import ACTIVATION_NAMES, activation_id, check_dialect
from ._activation_table import Dialect
from ._graph import Graphs, evaluation_depths, reaches_output, read_graphs

FAN_IN = 4
"""Weighted values that one row adds up."""


@dataclasses.dataclass(frozen=True)
class Programs:
    """The compiled CPPNs of a population.

    Rows of genome g are `first_row[g] : first_row[g] + num_rows[g]`. Values live in
    slots: inputs first, then one slot per row; `source` holds slots. `activation` is an
    index into `activation_ids`, the functions that these programs may use.
    """

    activation: Int[np.ndarray, " rows"]
    bias: Float[np.ndarray, " rows"]
    source: Int[np.ndarray, "rows fan_in"]
    weight: Float[np.ndarray, "rows fan_in"]
    first_row: Int[np.ndarray, " genomes"]
    num_rows: Int[np.ndarray, " genomes"]
    output_slot: Int[np.ndarray, "genomes outputs"]
    num_inputs: int
    activation_ids: tuple[int, ...]
    dialect: Dialect

    @property
    def num_genomes(self) -> int:
        return self.first_row.shape[0]

    @property
    def num_outputs(self) -> int:
        return self.output_slot.shape[1]

    @property
    def max_slots(self) -> int:
        """Values that the largest program keeps."""
        return self.num_inputs + int(self.num_rows.max(initial=0))

    def with_outputs(self, which: Sequence[int]) -> "Programs":
        """The same programs with some of their outputs, in that order.

        Rows that only the others need stay, and are left out where queries are run.
        """
        return dataclasses.replace(self, output_slot=self.output_slot[:, list(which)])

    def select(self, genomes: Int[np.ndarray, " n"]) -> "Programs":
        """The programs of some genomes, in that order; rows are shared."""
        return dataclasses.replace(
            self,
            first_row=self.first_row[genomes],
            num_rows=self.num_rows[genomes],
            output_slot=self.output_slot[genomes],
        )


def _starts(sorted_keys: np.ndarray, num_groups: int) -> np.ndarray:
    return np.searchsorted(sorted_keys, np.arange(num_groups + 1))


def compile_programs(
    node_id: ArrayLike,
    node_activation: ArrayLike,
    node_bias: ArrayLike,
    link_source: ArrayLike,
    link_target: ArrayLike,
    link_weight: ArrayLike,
    link_enabled: ArrayLike,
    *,
    num_inputs: int,
    num_outputs: int,
    dialect: Dialect,
    activations: Sequence[str] | None = None,
    dtype: type[np.floating] = np.float32,
) -> Programs:
    """Compiles a population of feed-forward graphs.

    **Arguments:**

    All arrays have a leading population axis and are padded behind the existing
    entries. `node_id` is negative for no node; inputs have ids `0 .. num_inputs - 1`
    and outputs the next `num_outputs`. `node_activation` indexes `ACTIVATION_NAMES`.
    `link_source` and `link_target` are node ids; links with `link_enabled` false do not
    exist. `activations` names the functions the query kernel is built for; leave it out
    to take those that occur, give it when a population changes over time, so that the
    kernel is compiled once.

    **Returns:**

    The `Programs`. Raises `ValueError` for a cycle, a weight that is not finite, a link
    to nowhere, an unknown activation.
    """
    check_dialect(dialect)
    graphs = read_graphs(
        node_id, node_activation, node_bias,
        link_source, link_target, link_weight, link_enabled,
        num_inputs=num_inputs, num_outputs=num_outputs, dtype=dtype,
    )  # fmt: skip
    return _assemble(graphs, dialect, activations)


def _assemble(
    graphs: Graphs, dialect: Dialect, activations: Sequence[str] | None
) -> Programs:
    node_genome, ids, bias = graphs.genome, graphs.node_id, graphs.bias
    num_genomes, num_inputs = graphs.num_genomes, graphs.num_inputs
    is_input, is_output = graphs.is_input, graphs.is_output
    needed = reaches_output(graphs.links, is_output)
    links = graphs.links.keep(needed[graphs.links.target])
    depth = evaluation_depths(links, ids.size)

    evaluated = np.flatnonzero(needed & ~is_input)
    # Sorted by genome, then depth, then id: evaluation order. (Nodes come by genome and
    # id.)
    level = node_genome.take(evaluated) * (int(depth.max(initial=0)) + 1)
    level += depth.take(evaluated)
    evaluated = evaluated.take(np.argsort(level, kind="stable"))
    genome = node_genome.take(evaluated)
    rank = np.full(ids.size, -1, np.int64)
    rank[evaluated] = np.arange(evaluated.size)
    target_rank = rank.take(links.target)
    fan_in = np.bincount(target_rank, minlength=evaluated.size)
    # A chain of rows: FAN_IN links in the first, one less in each that follows.
    chain = 1 + np.maximum(0, -(-(fan_in - FAN_IN) // (FAN_IN - 1)))
    row_end = np.cumsum(chain)
    row_begin = row_end - chain
    node_bounds = _starts(genome, num_genomes)
    row_bounds = np.concatenate([[0], row_end])[node_bounds]
    first_row, num_rows = row_bounds[:-1], np.diff(row_bounds)

    # The slot in which a node's value is found: inputs by id, others by last row.
    slot = np.where(is_input, ids, -1)
    slot[evaluated] = num_inputs + row_end - 1 - first_row.take(genome)

    total = int(row_end[-1]) if row_end.size else 0
    row_bias = np.zeros(total, bias.dtype)
    row_source = np.zeros((total, FAN_IN), np.int32)
    row_weight = np.zeros((total, FAN_IN), bias.dtype)
    row_bias[row_begin] = bias.take(evaluated)
    used, row_activation = _activation_table(
        graphs.activation.take(evaluated), row_end - 1, total, activations
    )
    is_continued = np.ones(total, bool)
    is_continued[row_begin] = False
    continued = np.flatnonzero(is_continued)
    genome_of_row = np.repeat(genome, chain).take(continued)
    row_source[continued, 0] = num_inputs + continued - 1 - first_row[genome_of_row]
    row_weight[continued, 0] = 1

    source_slot = slot.take(links.source)
    by_target = np.argsort(
        target_rank * (int(source_slot.max(initial=0)) + 1) + source_slot, kind="stable"
    )
    target_rank = target_rank.take(by_target)
    nth = np.arange(by_target.size) - (np.cumsum(fan_in) - fan_in).take(target_rank)
    # Row and place as one index; beyond the first row, place 0 holds the sum so far.
    cell = row_begin.take(target_rank) * FAN_IN + nth
    further = np.flatnonzero(nth >= FAN_IN)
    beyond = nth.take(further) - FAN_IN
    cell[further] += (1 + beyond // (FAN_IN - 1)) * FAN_IN
    cell[further] += 1 + beyond % (FAN_IN - 1) - nth.take(further)
    row_source.ravel()[cell] = source_slot.take(by_target)
    row_weight.ravel()[cell] = links.weight.take(by_target)

    outputs = slot[is_output].reshape(num_genomes, graphs.num_outputs)
    return Programs(
        activation=row_activation,
        bias=row_bias,
        source=row_source,
        weight=row_weight,
        first_row=first_row.astype(np.int32),
        num_rows=num_rows.astype(np.int32),
        output_slot=outputs.astype(np.int32),
        num_inputs=num_inputs,
        activation_ids=used,
        dialect=dialect,
    )


def _activation_table(
    activation: np.ndarray,
    last_row: np.ndarray,
    total: int,
    activations: Sequence[str] | None,
) -> tuple[tuple[int, ...], np.ndarray]:
    """The functions used, and each row's index among them; chains pass on unchanged."""
    known = len(ACTIVATION_NAMES)
    occurring = set(np.flatnonzero(np.bincount(activation, minlength=known)).tolist())
    identity = activation_id("identity")
    if activations is None:
        used = tuple(sorted(occurring | {identity}))
    else:
        allowed = {activation_id(name) for name in activations}
        if extra := occurring - allowed:
            names = ", ".join(sorted(ACTIVATION_NAMES[i] for i in extra))
            raise ValueError(
                f"genomes use {names}, which `activations` does not list; add it there."
            )
        used = tuple(sorted(allowed | {identity}))
    place = np.zeros(known, np.int32)
    place[list(used)] = np.arange(len(used), dtype=np.int32)
    rows = np.full(total, place[identity], np.int32)
    rows[last_row] = place[activation]
    return used, rows
