"""Links of genomes while they are found, and the clean-up."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclasses.dataclass
class Links:
    """Links of all genomes while they are being found; ends are global node numbers.

    Links come in groups, each of one genome: those of a field, say. In the end they are
    sorted by genome, and within a genome by group; a group keeps its order.
    """

    source: Int[np.ndarray, " links"]
    target: Int[np.ndarray, " links"]
    weight: Float[np.ndarray, " links"]
    group: Int[np.ndarray, " links"]
    group_genome: Int[np.ndarray, " groups"]

    @staticmethod
    def concatenate(parts: "list[Links]") -> "Links":
        """The groups of later parts follow those of earlier ones."""
        first = np.cumsum([0, *(p.group_genome.size for p in parts)])
        return Links(
            np.concatenate([p.source for p in parts]),
            np.concatenate([p.target for p in parts]),
            np.concatenate([p.weight for p in parts]),
            np.concatenate(
                [p.group + f for p, f in zip(parts, first[:-1], strict=True)]
            ),
            np.concatenate([p.group_genome for p in parts]),
        )

    def keep(self, which: Int[np.ndarray, " some"] | Bool[np.ndarray, " links"]):
        """Some of them, by their numbers or by a mask."""
        if which.dtype == bool:
            which = np.flatnonzero(which)
        return Links(
            self.source.take(which),
            self.target.take(which),
            self.weight.take(which),
            self.group.take(which),
            self.group_genome,
        )

    def sort(self, wanted: Bool[np.ndarray, " links"]) -> "Links":
        """The wanted ones, by genome, then by group."""
        by_genome = np.argsort(self.group_genome, kind="stable")
        rank = np.empty(by_genome.size, np.int32)
        rank[by_genome] = np.arange(by_genome.size)
        kept = np.flatnonzero(wanted)
        # The links come as a few sorted runs, which this sort makes use of.
        order = np.argsort(rank.take(self.group.take(kept)), kind="stable")
        return self.keep(kept.take(order))

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
    pending = np.flatnonzero(~reached.take(target))
    while pending.size:
        hit = reached.take(source.take(pending))
        if not hit.any():
            break
        reached[target[pending[hit]]] = True
        pending = pending[~reached.take(target.take(pending))]
    return reached


def on_paths(
    links: Links, is_output: Bool[np.ndarray, " nodes"]
) -> Bool[np.ndarray, " nodes"]:
    """The nodes that lie on a path from an input to an output.

    All nodes but outputs were found from an input, or from a node that was. Paths may
    run through inputs and outputs like through any other node.
    """
    into = np.flatnonzero(is_output.take(links.target))
    leads_out = is_output.copy()  # the walk may begin one step away from the outputs
    leads_out[links.source.take(into)] = True
    alive = reached_from(leads_out, links.target, links.source)
    is_fed = reached_from(~is_output, links.source.take(into), links.target.take(into))
    return alive & is_fed
