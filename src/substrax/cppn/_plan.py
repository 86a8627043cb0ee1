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
    num_runs, num_sizes = counts.size, len(cut.sizes)
    sizes = [block // num_queries for block in cut.sizes]  # powers of two
    take = np.empty((num_sizes, num_runs), np.int64)  # blocks of each size of a run,
    rest = np.empty((num_sizes, num_runs), np.int64)  # what they are taken from
    left = counts
    for k, (size, least) in enumerate(zip(sizes, cut.least, strict=True)):
        rest[k] = left
        shift = size.bit_length() - 1
        # One block more if the remainder exceeds `least`.
        np.right_shift(left + (size - 1 - least // num_queries), shift, out=take[k])
        left = np.maximum(left - (take[k] << shift), 0)
    bounds = np.zeros(num_sizes + 1, np.int32)
    np.cumsum(take.sum(axis=1), out=bounds[1:])
    num_blocks = int(bounds[-1])
    capacity = next(c for c in BLOCK_CAPACITIES if c >= max(num_blocks, min_blocks))
    blocks = np.zeros((capacity, 5), np.int32)
    take = take.ravel()
    piece = np.repeat(np.arange(take.size), take)
    owner = piece % num_runs
    size = np.repeat(sizes, np.diff(bounds))
    nth = np.arange(num_blocks) - (np.cumsum(take) - take).take(piece)
    remaining = rest.ravel().take(piece) - nth * size
    rows = blocks[:num_blocks]
    rows[:, START] = np.cumsum(counts).take(owner) - remaining
    rows[:, GENOME] = genome.take(owner)
    np.minimum(remaining, size, out=rows[:, LENGTH], casting="same_kind")
    if first_target is not None:
        rows[:, FROM] = (first_target + counts).take(owner) - remaining
        rows[:, ORIGIN] = owner
    return Plan(blocks, bounds)
