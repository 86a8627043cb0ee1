"""How the queries of a kernel call are cut into blocks."""

import dataclasses

import numpy as np
from jaxtyping import Int

from ._kernel import (
    BLOCK_SIZES,
    FROM,
    GENOME,
    LENGTH,
    ORIGIN,
    START,
    WIDE_BLOCK,
    Plan,
)

BLOCK_CAPACITIES = (1 << 10, 1 << 15)
"""Blocks that one kernel call takes; a run needs no more than six of all sizes."""


@dataclasses.dataclass(frozen=True)
class Cut:
    """How a kind of device wants its queries cut (see `run_queries`)."""

    sizes: tuple[int, ...]
    """Queries of a block, from large to small."""
    least: tuple[int, ...]
    """A remainder of more queries than this takes one more block of that size; anything
    less is left to smaller ones."""
    side_by_side: int
    """Blocks that run together; 0: each runs alone."""


CPU = Cut(BLOCK_SIZES, (768, 128, 16, 0), 0)
ACCELERATOR = Cut((WIDE_BLOCK,), (0,), 256)


def plan_blocks(
    genome: Int[np.ndarray, " runs"],
    counts: Int[np.ndarray, " runs"],
    cut: Cut,
    num_queries: int = 1,
    first_target: Int[np.ndarray, " runs"] | None = None,
    min_blocks: int = 0,
) -> Plan:
    """Cuts consecutive runs of questions, each of one genome, into blocks.

    Large blocks first. Runs that are ranges have a first target each. There is room for
    `min_blocks` blocks at least.
    """
    run_begin = np.cumsum(counts) - counts
    num_runs = counts.size
    shape = (len(cut.sizes), num_runs)
    take = np.empty(shape, np.int64)  # blocks of each size that a run has,
    offset = np.empty(shape, np.int64)  # and where in the run they begin
    rest, done = counts, np.zeros(num_runs, np.int64)
    for k, (block, least) in enumerate(zip(cut.sizes, cut.least, strict=True)):
        size = block // num_queries  # a power of two
        shift = size.bit_length() - 1
        take[k] = (rest >> shift) + ((rest & (size - 1)) > least // num_queries)
        offset[k] = done
        used = np.minimum(take[k] << shift, rest)
        done, rest = done + used, rest - used
    bounds = np.zeros(len(cut.sizes) + 1, np.int32)
    np.cumsum(take.sum(axis=1), out=bounds[1:])
    num_blocks = int(bounds[-1])
    capacity = next(c for c in BLOCK_CAPACITIES if c >= max(num_blocks, min_blocks))
    blocks = np.zeros((capacity, 5), np.int32)
    take = take.ravel()
    piece = np.repeat(np.arange(take.size), take)
    owner = piece % num_runs
    nth = np.arange(num_blocks) - np.repeat(np.cumsum(take) - take, take)
    size = np.repeat(np.asarray(cut.sizes) // num_queries, np.diff(bounds))
    within = offset.ravel()[piece] + nth * size
    start = run_begin[owner] + within
    rows = blocks[:num_blocks]
    rows[:, START] = start
    rows[:, GENOME] = genome[owner]
    rows[:, LENGTH] = np.minimum(counts[owner] - within, size)
    if first_target is not None:
        rows[:, FROM] = within + first_target[owner]
        rows[:, ORIGIN] = owner
    return Plan(blocks, bounds)
