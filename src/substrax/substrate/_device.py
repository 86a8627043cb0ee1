"""Discovery for accelerators, and where the native engine was not built.

The host keeps the books in NumPy, and JAX answers the queries. Genomes are taken
together as far as memory allows, and in halves where it does not.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ._fields import Queries, TooLargeError
from ._layout import Layout
from ._phases import Phases
from ._positions import Keys, Numbering
from ._rule import AbstractRule
from ._wiring import Links, on_paths

_LINK_BYTES, _QUAD_BYTES = 160, 640
"""What a link and a quad take while they are found and sorted."""


class Part(NamedTuple):
    """The wiring of some genomes; ends of links are node numbers within a genome."""

    num_hidden: Int[np.ndarray, " genomes"]
    num_found: Int[np.ndarray, " genomes"]
    num_links: Int[np.ndarray, " genomes"]
    hidden_point: Float[np.ndarray, "hidden 2"]
    link_source: Int[np.ndarray, " links"]
    link_target: Int[np.ndarray, " links"]
    link_weight: Float[np.ndarray, " links"]


def discover_on_device(
    queries: Queries, layout: Layout, rule: AbstractRule, *, is_eager: bool, budget: int
) -> Part:
    """The wiring of every CPPN of the engine."""
    num_genomes = queries.engine.programs.num_genomes
    parts = list(_parts(queries, layout, rule, is_eager, budget, 0, num_genomes))
    if not parts:
        no_count, no_end = np.zeros(0, np.int64), np.zeros(0, np.int32)
        weight = np.zeros(0, queries.engine.dtype)
        return Part(
            no_count, no_count, no_count, np.zeros((0, 2)), no_end, no_end, weight
        )
    return Part(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _parts(
    queries: Queries,
    layout: Layout,
    rule: AbstractRule,
    is_eager: bool,
    budget: int,
    begin: int,
    stop: int,
) -> Iterator[Part]:
    if begin == stop:
        return
    queries.first_genome = begin
    keys = Keys(layout, rule.depth, stop - begin)
    limits = {"max_quads": budget // _QUAD_BYTES, "max_links": budget // _LINK_BYTES}
    phases = Phases(queries, rule, is_eager, keys, **limits)
    try:
        numbering, links = phases.run()
    except TooLargeError:
        if stop - begin == 1:
            raise ValueError(
                "one genome takes more than memory_budget while its links are found. "
                "Raise memory_budget, lower depth, or raise variance_threshold; the "
                "native engine, which needs a C++ compiler when substrax is installed, "
                "takes less and goes on to the disk."
            ) from None
        middle = (begin + stop) // 2
        yield from _parts(queries, layout, rule, is_eager, budget, begin, middle)
        yield from _parts(queries, layout, rule, is_eager, budget, middle, stop)
        return
    yield _cleaned(numbering, links)


def _cleaned(numbering: Numbering, links: Links) -> Part:
    """What lies on a path from an input to an output, in its order, renumbered."""
    alive = on_paths(links, numbering.is_output)
    links = links.sort(alive.take(links.source) & alive.take(links.target))
    if numbering.keys.terminal_of_cell:
        links = links.without_repeats()
    num_genomes = numbering.keys.num_genomes
    node_alive = alive | numbering.is_input | numbering.is_output
    kept_before = (np.cumsum(node_alive) - node_alive).astype(np.int32)
    number = kept_before - np.repeat(
        kept_before[numbering.bounds[:-1]], np.diff(numbering.bounds)
    )
    genome = numbering.genome[numbering.hidden]
    kept = node_alive[numbering.number]
    link_genome = links.group_genome.take(links.group)
    return Part(
        num_hidden=np.bincount(genome[kept], minlength=num_genomes),
        num_found=np.bincount(genome, minlength=num_genomes),
        num_links=np.bincount(link_genome, minlength=num_genomes),
        hidden_point=numbering.point[numbering.hidden[kept]],
        link_source=number.take(links.source),
        link_target=number.take(links.target),
        link_weight=links.weight,
    )
