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
from jaxtyping import Bool, Float, Int

from .._types import ArrayLike
from ._activation import ACTIVATION_NAMES, Dialect, activation_id, check_dialect

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

    def select(self, genomes: Int[np.ndarray, " n"]) -> "Programs":
        """The programs of some genomes, in that order; rows are shared."""
        return dataclasses.replace(
            self,
            first_row=self.first_row[genomes],
            num_rows=self.num_rows[genomes],
            output_slot=self.output_slot[genomes],
        )


@dataclasses.dataclass(frozen=True)
class _Links:
    """Enabled links of all genomes, flat; ends are flat node indices."""

    genome: Int[np.ndarray, " links"]
    source: Int[np.ndarray, " links"]
    target: Int[np.ndarray, " links"]
    weight: Float[np.ndarray, " links"]

    def keep(self, mask: Bool[np.ndarray, " links"]) -> "_Links":
        return _Links(
            self.genome[mask], self.source[mask], self.target[mask], self.weight[mask]
        )


def _check_finite(name: str, values: np.ndarray, genome: np.ndarray) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        where = int(genome[int(np.flatnonzero(bad)[0])])
        raise ValueError(
            f"genome {where} has a {name} that is {values[bad][0]}; weights and biases "
            "must be finite. Repair or drop this genome before compiling it."
        )


def _flat_nodes(node_id: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Genome of each existing node, its id, and a sorted key to look nodes up."""
    exists = node_id >= 0
    genome = np.nonzero(exists)[0].astype(np.int64)
    ids = node_id[exists].astype(np.int64)
    order = np.argsort(genome << 32 | ids, kind="stable")
    return genome[order], ids[order], order


def _find(key: np.ndarray, genome: np.ndarray, ids: np.ndarray, end: str) -> np.ndarray:
    wanted = genome << 32 | ids
    place = np.minimum(np.searchsorted(key, wanted), key.size - 1)
    missing = key[place] != wanted
    if missing.any():
        at = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"genome {int(genome[at])} has a link whose {end} is node {int(ids[at])}, "
            "which is not among its nodes. Add the node or remove the link."
        )
    return place


def _reaches_output(
    links: _Links, is_output: Bool[np.ndarray, " nodes"]
) -> Bool[np.ndarray, " nodes"]:
    needed = is_output.copy()
    pending = links
    while pending.source.size:
        hit = needed[pending.target]
        new = pending.source[hit]
        pending = pending.keep(~hit)
        if not (~needed[new]).any():
            break
        needed[new] = True
    return needed


def _depths(links: _Links, num_nodes: int, num_inputs: int) -> np.ndarray:
    """Longest path from an unfed node to each node; an error if there is a cycle."""
    depth = np.zeros(num_nodes, np.int64)
    waiting = np.bincount(links.target, minlength=num_nodes)
    pending = links
    while pending.source.size:
        ready = waiting[pending.source] == 0
        if not ready.any():
            raise ValueError(
                f"genome {int(pending.genome[0])} is cyclic, but a feed-forward CPPN "
                "must not be. Evolve it with feed_forward=True, or decode it as a "
                "recurrent network."
            )
        done = pending.keep(ready)
        np.maximum.at(depth, done.target, depth[done.source] + 1)
        waiting -= np.bincount(done.target, minlength=num_nodes)
        pending = pending.keep(~ready)
    return depth


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
    node_id = np.asarray(node_id)
    arrays = {
        "node_activation": (np.asarray(node_activation), node_id.shape),
        "node_bias": (np.asarray(node_bias), node_id.shape),
    }
    link_source = np.asarray(link_source)
    for name, value in (
        ("link_target", link_target),
        ("link_weight", link_weight),
        ("link_enabled", link_enabled),
    ):
        arrays[name] = (np.asarray(value), link_source.shape)
    if node_id.ndim != 2 or link_source.ndim != 2 or len(node_id) != len(link_source):
        raise ValueError(
            "node and link arrays need the shapes (population, nodes) and "
            f"(population, links), not {node_id.shape} and {link_source.shape}."
        )
    for name, (value, shape) in arrays.items():
        if value.shape != shape:
            raise ValueError(f"{name} has shape {value.shape}, expected {shape}.")

    num_genomes = node_id.shape[0]
    node_genome, ids, order = _flat_nodes(node_id)
    exists = node_id >= 0
    bias = arrays["node_bias"][0][exists][order].astype(dtype)
    activation = arrays["node_activation"][0][exists][order]
    _check_finite("bias", bias, node_genome)
    key = node_genome << 32 | ids
    if (key[1:] == key[:-1]).any():
        where = int(node_genome[1:][key[1:] == key[:-1]][0])
        raise ValueError(f"genome {where} has two nodes with the same id.")
    _check_arity(node_genome, ids, num_genomes, num_inputs, num_outputs)

    enabled = arrays["link_enabled"][0].astype(bool)
    link_genome = np.nonzero(enabled)[0].astype(np.int64)
    weight = arrays["link_weight"][0][enabled].astype(dtype)
    _check_finite("link weight", weight, link_genome)
    source_id = link_source[enabled].astype(np.int64)
    target_id = arrays["link_target"][0][enabled].astype(np.int64)
    links = _Links(
        link_genome,
        _find(key, link_genome, source_id, "source"),
        _find(key, link_genome, target_id, "target"),
        weight,
    )
    _check_no_link_into_input(links, target_id, num_inputs)
    return _assemble(
        links, node_genome, ids, bias, activation,
        num_genomes, num_inputs, num_outputs, dialect, activations,
    )  # fmt: skip


def _check_arity(
    node_genome: np.ndarray,
    ids: np.ndarray,
    num_genomes: int,
    num_inputs: int,
    num_outputs: int,
) -> None:
    ends = ids < num_inputs + num_outputs
    counts = np.bincount(node_genome[ends], minlength=num_genomes)
    wrong = np.flatnonzero(counts != num_inputs + num_outputs)
    if wrong.size:
        raise ValueError(
            f"genome {int(wrong[0])} has {int(counts[wrong[0]])} input and output "
            f"nodes, but num_inputs={num_inputs} and num_outputs={num_outputs} ask for "
            f"{num_inputs + num_outputs} (ids 0 to {num_inputs + num_outputs - 1})."
        )


def _check_no_link_into_input(
    links: _Links, target_id: np.ndarray, num_inputs: int
) -> None:
    wrong = target_id < num_inputs
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"genome {int(links.genome[at])} has a link into input node "
            f"{int(target_id[at])}; inputs only send. Remove that link."
        )


def _assemble(
    links: _Links,
    node_genome: np.ndarray,
    ids: np.ndarray,
    bias: np.ndarray,
    activation: np.ndarray,
    num_genomes: int,
    num_inputs: int,
    num_outputs: int,
    dialect: Dialect,
    activations: Sequence[str] | None,
) -> Programs:
    is_input = ids < num_inputs
    is_output = ~is_input & (ids < num_inputs + num_outputs)
    needed = _reaches_output(links, is_output)
    links = links.keep(needed[links.target])
    depth = _depths(links, ids.size, num_inputs)

    evaluated = np.flatnonzero(needed & ~is_input)
    # Sorted by genome, then depth, then id: evaluation order.
    evaluated = evaluated[
        np.lexsort((ids[evaluated], depth[evaluated], node_genome[evaluated]))
    ]
    rank = np.full(ids.size, -1, np.int64)
    rank[evaluated] = np.arange(evaluated.size)
    fan_in = np.bincount(rank[links.target], minlength=evaluated.size)
    # A chain of rows: FAN_IN links in the first, one less in each that follows.
    chain = 1 + np.maximum(0, -(-(fan_in - FAN_IN) // (FAN_IN - 1)))
    row_end = np.cumsum(chain)
    row_begin = row_end - chain
    node_bounds = _starts(node_genome[evaluated], num_genomes)
    row_bounds = np.concatenate([[0], row_end])[node_bounds]
    first_row, num_rows = row_bounds[:-1], np.diff(row_bounds)

    # The slot in which a node's value is found: inputs by id, others by last row.
    slot = np.where(is_input, ids, -1)
    slot[evaluated] = num_inputs + row_end - 1 - first_row[node_genome[evaluated]]

    total = int(row_end[-1]) if row_end.size else 0
    row_bias = np.zeros(total, bias.dtype)
    row_source = np.zeros((total, FAN_IN), np.int32)
    row_weight = np.zeros((total, FAN_IN), bias.dtype)
    row_bias[row_begin] = bias[evaluated]
    used, row_activation = _activation_table(
        activation[evaluated], row_end - 1, total, activations
    )
    continued = np.setdiff1d(np.arange(total), row_begin)
    genome_of_row = np.repeat(node_genome[evaluated], chain)
    row_source[continued, 0] = (
        num_inputs + continued - 1 - first_row[genome_of_row[continued]]
    )
    row_weight[continued, 0] = 1

    by_target = np.lexsort((slot[links.source], rank[links.target]))
    target_rank = rank[links.target][by_target]
    nth = np.arange(by_target.size) - (np.cumsum(fan_in) - fan_in)[target_rank]
    is_first = nth < FAN_IN
    beyond = np.maximum(nth - FAN_IN, 0)
    row = row_begin[target_rank] + np.where(is_first, 0, 1 + beyond // (FAN_IN - 1))
    place = np.where(is_first, nth, 1 + beyond % (FAN_IN - 1))
    row_source[row, place] = slot[links.source][by_target]
    row_weight[row, place] = links.weight[by_target]

    outputs = slot[is_output].reshape(num_genomes, num_outputs)
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
    if ((activation < 0) | (activation >= known)).any():
        wrong = activation[(activation < 0) | (activation >= known)][0]
        raise ValueError(
            f"activation id {int(wrong)} is unknown; ids are positions in "
            f"ACTIVATION_NAMES, 0 to {known - 1}."
        )
    occurring = set(np.unique(activation).tolist())
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
