"""A drawing of a directed graph in layers (Sugiyama, Tagawa & Toda 1981).

Nodes lie in layers by the longest way from an input. Links over several layers get a
*bend* in each layer between, which takes part in the ordering like a node. Within
layers, sweeps up and down move everything towards the mean of its neighbours.
"""

import dataclasses
import itertools

import numpy as np
from jaxtyping import Bool, Float, Int

from ..cppn import longest_paths

_SWEEPS = 12
_BEND_WIDTH = 0.35
"""Room for a bend, where a node takes 1."""


@dataclasses.dataclass(frozen=True, eq=False)
class LayeredGraph:
    """Places of nodes, and the points that each link runs through, ends included.

    Layer 0 holds the inputs, the last one the outputs. Links that lead backwards, or
    from a node to itself, have no bends.
    """

    x: Float[np.ndarray, " nodes"]
    layer: Int[np.ndarray, " nodes"]
    routes: list[Float[np.ndarray, "_ 2"]]
    is_backward: Bool[np.ndarray, " links"]

    @property
    def num_layers(self) -> int:
        return int(self.layer.max(initial=0)) + 1

    @property
    def widest(self) -> int:
        """Nodes of the layer that has most."""
        return int(np.bincount(self.layer).max(initial=0))


def layer_graph(
    num_nodes: int,
    is_input: Bool[np.ndarray, " nodes"],
    is_output: Bool[np.ndarray, " nodes"],
    source: Int[np.ndarray, " links"],
    target: Int[np.ndarray, " links"],
) -> LayeredGraph:
    """Lays a graph out; it may have cycles and nodes that nothing is linked to."""
    layer, is_backward = _layers(num_nodes, is_input, is_output, source, target)
    owner_layer = list(layer)
    chains: list[list[int]] = []
    for s, t, backward in zip(source, target, is_backward, strict=True):
        bends = [] if backward else range(int(layer[s]) + 1, int(layer[t]))
        first = len(owner_layer)
        owner_layer.extend(bends)
        chains.append([int(s), *range(first, len(owner_layer)), int(t)])
    everything = np.array(owner_layer, np.int64)
    steps = [
        (a, b)
        for chain, backward in zip(chains, is_backward, strict=True)
        if not backward
        for a, b in itertools.pairwise(chain)
    ]
    # Bends are numbered behind the nodes.
    width = np.where(np.arange(everything.size) < num_nodes, 1.0, _BEND_WIDTH)
    x = _place(everything, width, np.array(steps, np.int64).reshape(-1, 2))
    points = np.column_stack([x, everything])
    return LayeredGraph(
        x[:num_nodes], layer, [points[chain] for chain in chains], is_backward
    )


def _layers(
    num_nodes: int,
    is_input: np.ndarray,
    is_output: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The layer of each node, and which links lead backwards."""
    # An output that feeds something would lie below it; such links count as backward,
    # so that outputs stay on top.
    is_backward = (source == target) | is_output[source] | is_input[target]
    # Everything but an input lies above one more node, so also what nothing feeds.
    others = np.flatnonzero(~is_input)
    root = np.full(others.size, num_nodes)

    def depths() -> np.ndarray | None:
        return longest_paths(
            np.concatenate([source[~is_backward], root]),
            np.concatenate([target[~is_backward], others]),
            num_nodes + 1,
        )

    depth = depths()
    if depth is None:  # cycles: what does not lead further from the inputs is backward
        # Shortest ways, not longest: these exist with cycles, too.
        distance = _distances(is_input, source, target)
        is_backward |= distance[source] >= distance[target]
        depth = depths()
        assert depth is not None, "distances ascend along what is left"
    layer = np.where(is_input, 0, depth[:num_nodes])
    hidden = layer[~is_input & ~is_output]
    # One layer for all outputs, above all else, however short the ways to some.
    top = max(int(hidden.max(initial=0)) + 1, int(layer[is_output].max(initial=1)))
    return np.where(is_output, top, layer), is_backward


def _distances(
    is_input: np.ndarray, source: np.ndarray, target: np.ndarray
) -> Int[np.ndarray, " nodes"]:
    """Links on the shortest way from an input; more than any where there is none."""
    distance = np.where(is_input, 0, is_input.size + 1)
    for _ in range(is_input.size):
        nearer = distance.copy()
        np.minimum.at(nearer, target, distance[source] + 1)
        nearer = np.minimum(nearer, is_input.size + 1)
        if (nearer == distance).all():
            break
        distance = nearer
    return distance


def _place(
    layer: Int[np.ndarray, " all"],
    width: Float[np.ndarray, " all"],
    steps: Int[np.ndarray, "steps 2"],
) -> Float[np.ndarray, " all"]:
    """The x of nodes and bends, such that neighbours in a layer keep their distance."""
    members = [np.flatnonzero(layer == k) for k in range(int(layer.max()) + 1)]
    x = np.zeros(layer.size)
    for some in members:
        # Nearly at one place: making room then spreads them about the middle.
        x[some] = _spread(np.arange(some.size, dtype=float) * 1e-3, width[some])
    for sweep in range(_SWEEPS):
        upwards = sweep % 2 == 0
        # Upwards each layer follows the one below it, placed just before.
        near, far = (steps[:, 1], steps[:, 0]) if upwards else steps.T
        count = np.bincount(near, minlength=layer.size)
        order = range(1, len(members)) if upwards else range(len(members) - 2, -1, -1)
        for k in order:
            some = members[k]
            total = np.bincount(near, x[far], minlength=layer.size)[some]
            # What has no neighbour on that side stays where it is.
            wanted = np.where(
                count[some] > 0, total / np.maximum(count[some], 1), x[some]
            )
            # Inputs keep their order: readers know it.
            if k > 0:
                some = some[np.argsort(wanted, kind="stable")]
                wanted = np.sort(wanted, kind="stable")
                members[k] = some
            x[some] = _spread(wanted, width[some])
    # The middle of the picture is 0, where the sentence about missing links stands.
    return x - (x.max(initial=0) + x.min(initial=0)) / 2


def _spread(wanted: np.ndarray, width: np.ndarray) -> np.ndarray:
    """The nearest positions, in the same order, that are far enough apart.

    Shifted by the room that all before it take, each must not lie before the last:
    isotonic regression, by pooling adjacent violators.
    """
    room = np.concatenate([[0.0], np.cumsum((width[1:] + width[:-1]) / 2)])
    blocks: list[tuple[float, int]] = []
    for value in wanted - room[: wanted.size]:
        mean, size = float(value), 1
        # A block that would lie behind the next one shares its mean with it: the least
        # sum of squared distances from what was wanted.
        while blocks and blocks[-1][0] > mean:
            before, count = blocks.pop()
            mean = (before * count + mean * size) / (count + size)
            size += count
        blocks.append((mean, size))
    means = np.concatenate(
        [np.zeros(0), *(np.full(size, mean) for mean, size in blocks)]
    )
    return means + room[: wanted.size]
