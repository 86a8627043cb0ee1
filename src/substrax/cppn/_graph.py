"""Graphs of a population, read from padded arrays: flat, checked, sorted.

This is where genomes are met by everything that is not NEAT: as arrays of nodes and
links, and nothing else.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from .._types import ArrayLike, as_numbers, check_counts
from ._activation import ACTIVATION_NAMES, NO_ACTIVATION

_MAX_ID = 2**31 - 1
"""Ids of nodes are int32."""


@dataclasses.dataclass(frozen=True)
class GraphLinks:
    """Enabled links of all genomes, flat; ends are flat node indices."""

    genome: Int[np.ndarray, " links"]
    source: Int[np.ndarray, " links"]
    target: Int[np.ndarray, " links"]
    weight: Float[np.ndarray, " links"]

    def keep(self, mask: Bool[np.ndarray, " links"]) -> "GraphLinks":
        if mask.all():
            return self
        kept = np.flatnonzero(mask)
        return GraphLinks(
            self.genome.take(kept),
            self.source.take(kept),
            self.target.take(kept),
            self.weight.take(kept),
        )


def _check_finite(name: str, values: np.ndarray, genome: np.ndarray) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        where = int(genome[int(np.flatnonzero(bad)[0])])
        raise ValueError(
            f"genome {where} has a {name} that is {values[bad][0]}; weights and biases "
            "must be finite. Repair or drop this genome before compiling it."
        )


def _find(
    key: np.ndarray,
    first: np.ndarray,
    num_fixed: int,
    genome: np.ndarray,
    ids: np.ndarray,
    end: str,
) -> np.ndarray:
    """Flat indices of nodes; `first` is where the nodes of each genome begin."""
    # Inputs and outputs lead their genome's nodes, in order; others are searched for.
    place = first.take(genome) + ids
    hidden = np.flatnonzero((ids < 0) | (ids >= num_fixed))
    if not hidden.size:
        return place
    wanted = genome.take(hidden) << 32 | ids.take(hidden)
    at = np.minimum(np.searchsorted(key, wanted), key.size - 1)
    missing = np.flatnonzero((key.take(at) != wanted) | (ids.take(hidden) > _MAX_ID))
    if missing.size:
        link = hidden[missing[0]]
        raise ValueError(
            f"genome {int(genome[link])} has a link whose {end} is node "
            f"{int(ids[link])}, which is not among its nodes. Add the node or remove "
            "the link."
        )
    place[hidden] = at
    return place


@dataclasses.dataclass(frozen=True)
class Graphs:
    """All nodes of all genomes, sorted by genome and id, and their enabled links."""

    num_genomes: int
    num_inputs: int
    num_outputs: int
    genome: Int[np.ndarray, " nodes"]
    node_id: Int[np.ndarray, " nodes"]
    activation: Int[np.ndarray, " nodes"]
    bias: Float[np.ndarray, " nodes"]
    links: GraphLinks

    @property
    def is_input(self) -> Bool[np.ndarray, " nodes"]:
        return self.node_id < self.num_inputs

    @property
    def is_output(self) -> Bool[np.ndarray, " nodes"]:
        return ~self.is_input & (self.node_id < self.num_inputs + self.num_outputs)


def read_graphs(
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
    dtype: type[np.floating] = np.float32,
) -> Graphs:
    """Reads a population of graphs; `compile_programs` says what the arrays hold."""
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
    _check_whole_arrays(
        node_id=node_id,
        node_activation=arrays["node_activation"][0],
        link_source=link_source,
        link_target=arrays["link_target"][0],
    )
    check_counts(num_inputs=num_inputs, num_outputs=num_outputs)

    num_genomes = node_id.shape[0]
    place = np.flatnonzero(node_id >= 0)
    key = (place // max(1, node_id.shape[1])) << 32
    key |= node_id.ravel().take(place).astype(np.int64)
    if (key[1:] <= key[:-1]).any():  # NEAT's nodes come in order
        order = np.argsort(key, kind="stable")
        key, place = key[order], place[order]
    node_genome, ids = key >> 32, key & 0xFFFFFFFF
    bias = arrays["node_bias"][0].ravel().take(place)
    bias = as_numbers("node_bias must hold numbers", bias, dtype)
    activation = arrays["node_activation"][0].ravel().take(place)
    _check_finite("bias", bias, node_genome)
    if (key[1:] == key[:-1]).any():
        where = int(node_genome[1:][key[1:] == key[:-1]][0])
        raise ValueError(f"genome {where} has two nodes with the same id.")
    _check_arity(node_genome, ids, num_genomes, num_inputs, num_outputs)
    _check_inputs(activation, node_genome, ids, num_inputs)
    _check_activations(activation, node_genome, ids, num_inputs)

    place = np.flatnonzero(arrays["link_enabled"][0])
    link_genome = place // max(1, link_source.shape[1])
    weight = arrays["link_weight"][0].ravel().take(place)
    weight = as_numbers("link_weight must hold numbers", weight, dtype)
    _check_finite("link weight", weight, link_genome)
    source_id = link_source.ravel().take(place).astype(np.int64)
    target_id = arrays["link_target"][0].ravel().take(place).astype(np.int64)
    first = np.searchsorted(node_genome, np.arange(num_genomes))
    found = (key, first, num_inputs + num_outputs, link_genome)
    links = GraphLinks(
        link_genome,
        _find(*found, source_id, "source"),
        _find(*found, target_id, "target"),
        weight,
    )
    _check_no_link_into_input(links, target_id, num_inputs)
    return Graphs(
        num_genomes, num_inputs, num_outputs, node_genome, ids, activation, bias, links
    )


def _check_whole_arrays(**arrays: np.ndarray) -> None:
    for name, array in arrays.items():
        if array.size and array.dtype.kind not in "iu":
            raise ValueError(f"{name} must hold whole numbers, not {array.dtype}.")
        if name == "node_id" and array.max(initial=0) > _MAX_ID:
            raise ValueError(
                f"node_id holds {array.max()}; ids of nodes are at most {_MAX_ID}."
            )


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


def _check_inputs(
    activation: np.ndarray, node_genome: np.ndarray, ids: np.ndarray, num_inputs: int
) -> None:
    """Inputs that are marked as such must be read as inputs."""
    wrong = np.flatnonzero((activation == NO_ACTIVATION) & (ids >= num_inputs))
    if wrong.size:
        genome = int(node_genome[wrong[0]])
        marked = (activation == NO_ACTIVATION) & (node_genome == genome)
        raise ValueError(
            f"genome {genome} has {int(marked.sum())} inputs, but is read with "
            f"num_inputs={num_inputs}. Make them agree."
        )


def _check_activations(
    activation: np.ndarray, node_genome: np.ndarray, ids: np.ndarray, num_inputs: int
) -> None:
    known = len(ACTIVATION_NAMES)
    wrong = ((activation < 0) | (activation >= known)) & (ids >= num_inputs)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"node {int(ids[at])} of genome {int(node_genome[at])} has activation id "
            f"{int(activation[at])}, which is unknown; ids are positions in "
            f"ACTIVATION_NAMES, 0 to {known - 1}. Give it one of these."
        )


def _check_no_link_into_input(
    links: GraphLinks, target_id: np.ndarray, num_inputs: int
) -> None:
    wrong = target_id < num_inputs
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"genome {int(links.genome[at])} has a link into input node "
            f"{int(target_id[at])}; inputs only send. Remove that link, or lower "
            f"num_inputs={num_inputs} if that node is no input."
        )


def reaches_output(
    links: GraphLinks, is_output: Bool[np.ndarray, " nodes"]
) -> Bool[np.ndarray, " nodes"]:
    needed = is_output.copy()
    source, target = links.source, links.target
    while source.size:
        hit = needed.take(target)
        new = source.take(np.flatnonzero(hit))
        if needed.take(new).all():
            break
        needed[new] = True
        rest = np.flatnonzero(~hit)
        source, target = source.take(rest), target.take(rest)
    return needed


def longest_paths(
    source: Int[np.ndarray, " links"], target: Int[np.ndarray, " links"], num_nodes: int
) -> Int[np.ndarray, " nodes"] | None:
    """Links on the longest path to each node; None if there is a cycle."""
    depth = np.zeros(num_nodes, np.int64)
    waiting = np.bincount(target, minlength=num_nodes)
    step = 0
    while source.size:
        # All links into the nodes that this step is about have gone: the last of them
        # in the step before, which was the longest path.
        is_ready = waiting.take(source) == 0
        ready = target.take(np.flatnonzero(is_ready))
        if not ready.size:
            return None
        step += 1
        depth[ready] = step
        waiting -= np.bincount(ready, minlength=num_nodes)
        rest = np.flatnonzero(~is_ready)
        source, target = source.take(rest), target.take(rest)
    return depth


def evaluation_depths(links: GraphLinks, num_nodes: int) -> Int[np.ndarray, " nodes"]:
    """Longest paths in graphs that must be acyclic; an error names one that is not."""
    depth = longest_paths(links.source, links.target, num_nodes)
    if depth is not None:
        return depth
    for genome in np.unique(links.genome):
        mine = links.keep(links.genome == genome)
        if longest_paths(mine.source, mine.target, num_nodes) is None:
            raise ValueError(
                f"genome {int(genome)} is cyclic, but a feed-forward one must not be. "
                "Evolve it with feed_forward=True, or decode it as a recurrent network."
            )
    raise AssertionError("a cycle lies within one genome")
