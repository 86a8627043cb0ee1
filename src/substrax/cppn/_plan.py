"""How the queries of a kernel call are cut into blocks."""

import dataclasses

import numpy as np
from jaxtyping import Int

from ._kernel import (
    BLOCK_SIZES,
    CRUMB_SIZE,
    CRUMBS,
    FROM,
    GENOME,
    LENGTH,
    ORIGIN,
    START,
    Plan,
)

BLOCK_CAPACITIES = (1 << 10, 1 << 15)
"""Blocks that one kernel call takes; a run needs no more than six of all sizes."""


@dataclasses.dataclass(frozen=True)
class Cut:
    """How a kind of device wants its queries cut (see `run_queries`)."""

    sizes: tuple[int, ...]
    crumb: int
    crumbs: int
    threshold: int
    """Runs shorter than this are crumbs altogether."""


CPU = Cut(BLOCK_SIZES, CRUMB_SIZE, CRUMBS, 48)
ACCELERATOR = Cut((), 256, 256, 1 << 30)


def plan_blocks(
    genome: Int[np.ndarray, " runs"],
    counts: Int[np.ndarray, " runs"],
    cut: Cut,
    num_queries: int = 1,
    first_target: Int[np.ndarray, " runs"] | None = None,
    min_blocks: int = 0,
) -> Plan:
    """Cuts consecutive runs of questions, each of one genome, into blocks.

    Large blocks first; a remainder that fills more than half of a block takes that
    block, anything less is left to the next smaller size. Runs that are ranges have a
    first target each. There is room for `min_blocks` blocks at least.
    """
    run_begin = np.cumsum(counts) - counts
    num_runs = counts.size
    blocks_by_size = (*cut.sizes, cut.crumb)
    shape = (len(blocks_by_size), num_runs)
    take = np.empty(shape, np.int64)  # blocks of each size that a run has,
    offset = np.empty(shape, np.int64)  # and where in the run they begin
    rest, done = counts, np.zeros(num_runs, np.int64)
    for k, block in enumerate(blocks_by_size):
        size = block // num_queries  # a power of two
        shift = size.bit_length() - 1
        left = rest & (size - 1)
        if block == cut.crumb:
            least = 0
        elif block == cut.sizes[-1]:
            least = cut.threshold // num_queries
        else:
            least = size // 2
        take[k] = (rest >> shift) + (left > least)
        offset[k] = done
        used = np.minimum(take[k] << shift, rest)
        done, rest = done + used, rest - used
    bounds = np.zeros(len(blocks_by_size) + 1, np.int32)
    np.cumsum(take.sum(axis=1), out=bounds[1:])
    num_blocks = int(bounds[-1])
    capacity = next(c for c in BLOCK_CAPACITIES if c >= max(num_blocks, min_blocks))
    blocks = np.zeros((capacity, 5), np.int32)
    take = take.ravel()
    piece = np.repeat(np.arange(take.size), take)
    owner = piece % num_runs
    nth = np.arange(num_blocks) - np.repeat(np.cumsum(take) - take, take)
    size = np.repeat(np.asarray(blocks_by_size) // num_queries, np.diff(bounds))
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
