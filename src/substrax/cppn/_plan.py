"""How the queries of a kernel call are cut into blocks."""

import dataclasses

import numpy as np
from jaxtyping import Int

from ._kernel import BLOCK_SIZES, GENOME, LENGTH, START, WIDE_BLOCK, Plan

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
) -> Plan:
    """Cuts consecutive runs of questions, each of one genome, into blocks.

    Large blocks first.
    """
    bounds = np.zeros(len(cut.sizes) + 1, np.int32)
    owners, remainders, lengths = [], [], []
    left = counts
    for k, (size, least) in enumerate(zip(cut.sizes, cut.least, strict=True)):
        shift = size.bit_length() - 1
        # One block more if the remainder exceeds `least`.
        take = (left + (size - 1 - least)) >> shift
        num = int(take.sum())
        bounds[k + 1] = bounds[k] + num
        if not num:
            continue
        owner = np.arange(take.size).repeat(take)
        nth = np.arange(num) - (take.cumsum() - take).take(owner)
        remaining = left.take(owner) - (nth << shift)
        owners.append(owner)
        remainders.append(remaining)
        lengths.append(np.minimum(remaining, size))
        left = np.maximum(left - (take << shift), 0)
    num_blocks = int(bounds[-1])
    capacity = next(c for c in BLOCK_CAPACITIES if c >= num_blocks)
    blocks = np.zeros((capacity, 3), np.int32)
    if num_blocks:
        owner, remaining = np.concatenate(owners), np.concatenate(remainders)
        rows = blocks[:num_blocks]
        rows[:, START] = counts.cumsum().take(owner) - remaining
        rows[:, GENOME] = genome.take(owner)
        rows[:, LENGTH] = np.concatenate(lengths)
    return Plan(blocks, bounds)
