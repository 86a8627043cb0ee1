"""Discovered wiring of a population: which nodes exist, which links join them."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from ._layout import Layout
from ._positions import Numbering


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
    """Spent on queries, their coordinates and their answers: of all cores together."""

    @property
    def num_genomes(self) -> int:
        return self.hidden_bounds.shape[0] - 1


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

    def counts(self, num_genomes: int) -> Int[np.ndarray, " genomes"]:
        """Links of each genome."""
        counts = np.zeros(num_genomes, np.int64)
        in_group = np.bincount(self.group, minlength=self.group_genome.size)
        np.add.at(counts, self.group_genome, in_group)
        return counts

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


def on_paths_in_chunks(
    chunks: Callable[[], Iterable[Links]], is_output: Bool[np.ndarray, " nodes"]
) -> Bool[np.ndarray, " nodes"]:
    """The same for links that are looked at chunk by chunk, again and again."""
    alive, sources, targets = is_output.copy(), [], []
    for links in chunks():
        leads = np.flatnonzero(is_output.take(links.target))
        sources.append(links.source.take(leads))
        targets.append(links.target.take(leads))
        alive[sources[-1]] = True
    while not alive.all():
        before = alive.sum()
        for links in chunks():
            alive = reached_from(alive, links.target, links.source)
        if alive.sum() == before:
            break
    none = np.zeros(0, np.int32)
    source, target = np.concatenate([none, *sources]), np.concatenate([none, *targets])
    return alive & reached_from(~is_output, source, target)


@dataclasses.dataclass(frozen=True)
class Counts:
    """Of each genome: hidden nodes and links that stayed, positions that were found."""

    num_hidden: Int[np.ndarray, " genomes"]
    num_links: Int[np.ndarray, " genomes"]
    num_found: Int[np.ndarray, " genomes"]

    @staticmethod
    def concatenate(parts: "list[Counts]") -> "Counts":
        none = np.zeros(0, np.int64)
        names = ("num_hidden", "num_links", "num_found")
        return Counts(
            *(np.concatenate([none, *(getattr(p, n) for p in parts)]) for n in names)
        )


@dataclasses.dataclass
class Part:
    """The wiring of some genomes. Its links come in chunks, once; then all are counted.

    Ends of links are node numbers within a genome.
    """

    links: Iterator[Links]
    hidden_point: Float[np.ndarray, "hidden 2"]
    num_hidden: Int[np.ndarray, " genomes"]
    num_found: Int[np.ndarray, " genomes"]
    num_links: Int[np.ndarray, " genomes"]

    def counts(self) -> Counts:
        return Counts(self.num_hidden, self.num_links, self.num_found)


def renumbered(
    numbering: Numbering, alive: Bool[np.ndarray, " nodes"], chunks: Iterable[Links]
) -> Part:
    """Node numbers within each genome, without the nodes that are not alive."""
    num_genomes = numbering.keys.num_genomes
    node_alive = alive | numbering.is_input | numbering.is_output
    kept_before = (np.cumsum(node_alive) - node_alive).astype(np.int32)
    number = kept_before - np.repeat(
        kept_before[numbering.bounds[:-1]], np.diff(numbering.bounds)
    )
    found_genome = numbering.genome[numbering.hidden]
    kept = node_alive[numbering.number]
    num_links = np.zeros(num_genomes, np.int64)

    def links() -> Iterator[Links]:
        for chunk in chunks:
            num_links[:] += chunk.counts(num_genomes)
            yield dataclasses.replace(
                chunk,
                source=number.take(chunk.source),
                target=number.take(chunk.target),
            )

    return Part(
        links=links(),
        hidden_point=numbering.point[numbering.hidden[kept]],
        num_hidden=np.bincount(found_genome[kept], minlength=num_genomes),
        num_found=np.bincount(found_genome, minlength=num_genomes),
        num_links=num_links,
    )
