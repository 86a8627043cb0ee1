"""Discovered wiring of a population: which nodes exist, which links join them."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from ._layout import Layout


@dataclasses.dataclass(frozen=True, eq=False)
class Wiring:
    """Nodes and links of all genomes, behind each other.

    Nodes of a genome are numbered: inputs, outputs, then hidden ones, which are sorted
    by y, then x. Genome g has hidden nodes `hidden_bounds[g]:hidden_bounds[g+1]` and
    links `link_bounds[g]:link_bounds[g+1]`; link ends are node numbers within it.
    """

    layout: Layout
    hidden_bounds: Int[np.ndarray, " genomes_and_one"]
    hidden_point: Float[np.ndarray, "hidden 2"]
    link_bounds: Int[np.ndarray, " genomes_and_one"]
    link_source: Int[np.ndarray, " links"]
    link_target: Int[np.ndarray, " links"]
    link_weight: Float[np.ndarray, " links"]
    num_found: Int[np.ndarray, " genomes"]
    """Hidden positions that were found, before the clean-up."""
    num_queries: int
    query_seconds: float
    """Time spent in the query engine."""

    @property
    def num_genomes(self) -> int:
        return self.hidden_bounds.shape[0] - 1


@dataclasses.dataclass
class Links:
    """Links of all genomes while they are being found; ends are global node numbers."""

    source: Int[np.ndarray, " links"]
    target: Int[np.ndarray, " links"]
    weight: Float[np.ndarray, " links"]

    @staticmethod
    def concatenate(parts: "list[Links]") -> "Links":
        return Links(
            np.concatenate([p.source for p in parts]),
            np.concatenate([p.target for p in parts]),
            np.concatenate([p.weight for p in parts]),
        )

    def keep(self, which: np.ndarray) -> "Links":
        return Links(self.source[which], self.target[which], self.weight[which])

    def without_repeats(self) -> "Links":
        """Each pair of ends once; a repeat was the same query and has the same weight.

        The first occurrence stays, and the order.
        """
        order = np.lexsort((self.target, self.source))
        source, target = self.source[order], self.target[order]
        repeated = np.zeros(order.size, bool)
        repeated[1:] = (source[1:] == source[:-1]) & (target[1:] == target[:-1])
        keep = np.ones(order.size, bool)
        keep[order[repeated]] = False  # lexsort is stable: later ones are repeats
        return self.keep(keep)


def reached_from(
    start: Bool[np.ndarray, " nodes"], source: np.ndarray, target: np.ndarray
) -> Bool[np.ndarray, " nodes"]:
    """All nodes that can be reached from `start` along links, start included."""
    reached = start.copy()
    pending = np.flatnonzero(~reached[target])
    while pending.size:
        hit = reached[source[pending]]
        if not hit.any():
            break
        reached[target[pending[hit]]] = True
        pending = pending[~reached[target[pending]]]
    return reached


def clean_up(
    links: Links,
    is_start: Bool[np.ndarray, " nodes"],
    is_end: Bool[np.ndarray, " nodes"],
) -> tuple[Links, Bool[np.ndarray, " nodes"]]:
    """Links both of whose ends lie on a path from a start to an end; and those nodes.

    Paths may run through inputs and outputs like through any other node.
    """
    alive = reached_from(is_start, links.source, links.target)
    # What a node reached from a start leads to is reached from it as well, so it does
    # no harm that this walk also sees links between other nodes.
    alive &= reached_from(is_end, links.target, links.source)
    return links.keep(alive[links.source] & alive[links.target]), alive
