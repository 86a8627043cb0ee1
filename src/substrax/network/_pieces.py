"""Large networks, one at a time, in blocks of links.

Links are worked off in blocks of one size; the values of the nodes are carried from
block to block. So one compiled function serves networks of any size, memory is used
again and again, and links may lie on the disk: only the nodes must fit into the memory.

The order of the blocks is that of the links themselves wherever that can be: rule `emr`
yields them source by source, upwards. Where it cannot, links are put in the order of
their targets' ranks, some ranks at a time if there are many links. Either way each
target adds up its links in their order, so the result is the same to the bit.
"""

import dataclasses
import functools
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from .._memory import aligned_zeros, read_budget, show_bytes
from ._networks import Networks
from ._plan import (
    LINK_CHUNKS,
    Plan,
    activate_nodes,
    functions_of,
    make_plan,
    round_up,
)

_SORT_BYTES, _NODE_BYTES = 48, 128
"""What a link takes while it is sorted, and a node in a plan and while it is made."""

_VALUES = 3
"""Values of a node and lane that exist at a time."""

LARGE = 1 << 20
"""Networks with more links than this are evaluated one by one."""

_BLOCK = 1 << 20
"""Links of a block."""

_LEAST_SORTED = 1 << 20
"""Links that are sorted together whatever the budget."""


class _Block(NamedTuple):
    """Links as the kernels want them; the last chunk is never real."""

    source: Int[Array | np.ndarray, " links"]
    target: Int[Array | np.ndarray, " links"]
    weight: Float[Array | np.ndarray, " links"]


def _add_links(block: _Block, begin, stop, sums, state=None):
    """Adds weighted sources to the sums of their targets, in order.

    Sources are taken from `state`, or else from the sums themselves.
    """
    dummy = sums.shape[0] - 1

    def add(place, size, sums, is_last):
        source, target, weight = (
            lax.dynamic_slice_in_dim(jnp.asarray(x), place, size) for x in block
        )
        if is_last:
            is_real = place + jnp.arange(size, dtype=stop.dtype) < stop
            target = jnp.where(is_real, target, dummy)
        values = sums if state is None else state
        return sums.at[target].add(weight[:, None] * values[source])

    large, small = LINK_CHUNKS
    num = (stop - begin) // large
    sums = lax.fori_loop(
        0, num, lambda k, v: add(begin + k * large, large, v, False), sums
    )
    rest = begin + num * large
    num = (stop - rest + small - 1) // small
    return lax.fori_loop(
        0, num, lambda k, v: add(rest + k * small, small, v, True), sums
    )


_STATIC = ("activation_ids", "dialect")


@functools.partial(jax.jit, static_argnames=_STATIC)
def _settle_block(
    plan: Plan,
    block: _Block,
    bounds: Int[Array, " bounds"],
    first: Int[Array, ""],
    last: Int[Array, ""],
    values: Float[Array, "nodes lanes"],
    *,
    activation_ids: Any,
    dialect: Any,
) -> Float[Array, "nodes lanes"]:
    """Groups `first` to `last` of links. Behind each but the last, whose links may go
    on in the next block, the nodes of the rank of that number are ready."""

    def run(group, values):
        k = group - first
        values = _add_links(block, bounds[k], bounds[k + 1], values)
        begin = plan.node_bounds[group]
        stop = jnp.where(group < last, plan.node_bounds[group + 1], begin)
        return activate_nodes(plan, begin, stop, values, activation_ids, dialect)

    return lax.fori_loop(first, last + 1, run, values)


@jax.jit
def _add_block(block: _Block, num: Array, sums: Array, state: Array) -> Array:
    return _add_links(block, jnp.zeros_like(num), num, sums, state)


@functools.partial(jax.jit, static_argnames=_STATIC)
def _activate(plan: Plan, sums: Array, *, activation_ids: Any, dialect: Any):
    num_nodes = plan.node_bounds[plan.num_ranks]
    zero = jnp.zeros_like(num_nodes)
    return activate_nodes(plan, zero, num_nodes, sums, activation_ids, dialect)


class _Buffers(threading.local):
    """Two blocks of each thread, used in turn.

    They are aligned as XLA wants its arguments, which spares it a copy, so nothing may
    be written to one before what looks at it is done.
    """

    def __init__(self) -> None:
        self._blocks: dict[tuple[np.dtype, int], list[_Block]] = {}
        self._users: list[Array | None] = [None, None]
        self._turn = 0

    def next(self, dtype: np.dtype, size: int) -> _Block:
        self._turn = 1 - self._turn
        user = self._users[self._turn]
        if user is not None:
            user.block_until_ready()
        if (dtype, size) not in self._blocks:
            self._blocks.clear()
            self._blocks[dtype, size] = [_empty_block(dtype, size) for _ in range(2)]
        return self._blocks[dtype, size][self._turn]

    def used_by(self, result: Array) -> Array:
        """Notes what is computed from the block that was handed out last."""
        self._users[self._turn] = result
        return result


def _empty_block(dtype: np.dtype, size: int) -> _Block:
    length = size + LINK_CHUNKS[0]
    kinds = (np.dtype(np.int32), np.dtype(np.int32), dtype)
    return _Block(*(aligned_zeros((length,), kind) for kind in kinds))


_buffers = _Buffers()


class Large:
    """One network, whose links are worked off in blocks."""

    def __init__(self, network: Networks, lanes: int, share: int = 1) -> None:
        """`share` is how many such networks are evaluated at a time."""
        budget = read_budget(network.memory_budget) // share
        num_nodes = int(network.node_bounds[-1])
        needed = num_nodes * (_NODE_BYTES + _VALUES * lanes * network.dtype.itemsize)
        if needed > budget:
            raise ValueError(
                f"a network of {num_nodes:,} nodes needs about {show_bytes(needed)} to "
                f"be evaluated, more than memory_budget ({show_bytes(budget)}). Raise "
                "memory_budget, or lower depth."
            )
        self.network, self.lanes = network, lanes
        self.options = functions_of(network)
        self.most = max(_LEAST_SORTED, budget // 2 // _SORT_BYTES)
        rank = np.unique(network.node_rank, return_inverse=True)[1]
        self.num_ranks = int(rank.max()) + 1
        # A node is ready when the nodes of its rank are; inputs are from the beginning.
        ready = rank + 1
        ready[: network.num_inputs] = 0
        self.ready = ready.astype(np.uint16 if self.num_ranks < 1 << 15 else np.int32)
        self.plan = jax.device_put(make_plan(_without_links(network)))
        self.dummy = self.plan.bias.shape[0] - 1
        self.is_in_order = network.is_acyclic

    def run(
        self, block: Float[np.ndarray, "samples inputs"], steps: int | None
    ) -> Float[np.ndarray, "outputs samples"]:
        """Outputs for as many samples as there are lanes, or fewer."""
        network, plan = self.network, self.plan
        held = np.zeros((1, network.num_inputs, self.lanes), block.dtype)
        held[0, :, : len(block)] = block.T
        inputs, outputs = plan.inputs[:1], plan.outputs[0]
        bias = jnp.broadcast_to(plan.bias[:, None], (plan.bias.shape[0], self.lanes))
        if network.is_acyclic and steps is None:
            first = bias.at[inputs].set(held)
            values = self._settle(first, self._in_order()) if self.is_in_order else None
            if values is None:
                self.is_in_order = False
                values = self._settle(first, self._by_rank())
                assert values is not None, "links by rank are in order"
            return np.asarray(values[outputs])[:, : len(block)]
        count = network.steps if steps is None else steps
        state = self.advance(jnp.zeros_like(bias), held, count)
        return np.asarray(state[outputs])[:, : len(block)]

    def advance(
        self,
        state: Float[Array, "nodes lanes"],
        held: Float[np.ndarray, "1 inputs lanes"],
        steps: int,
    ) -> Float[Array, "nodes lanes"]:
        """`steps` synchronous updates of all nodes, the inputs held."""
        plan, inputs = self.plan, self.plan.inputs[:1]
        bias = jnp.broadcast_to(plan.bias[:, None], state.shape)
        state = state.at[inputs].set(held)
        for _ in range(steps):
            sums = bias
            for links in self._read():
                filled = self._fill(links, None)
                num = np.asarray(links.stop - links.start, np.int32)
                sums = _buffers.used_by(_add_block(filled, num, sums, state))
            state = _activate(plan, sums, **self.options)
            state = state.at[inputs].set(held)
        return state

    def _settle(
        self, values: Array, blocks: "Iterator[_Some | None]"
    ) -> Float[Array, "nodes lanes"] | None:
        """The values in the end; None if a block comes too late for its targets."""
        ready = 0
        size = round_up(self.num_ranks + 2, 64)
        for some in blocks:
            if some is None:
                return None
            last = int(some.group[-1])
            bounds = np.full(size, some.group.size, np.int32)
            groups = np.arange(ready, last + 1, dtype=some.group.dtype)
            bounds[: groups.size] = np.searchsorted(some.group, groups)
            filled = self._fill(some.links, some.is_input)
            values = _buffers.used_by(
                _settle_block(
                    self.plan,
                    filled,
                    bounds,
                    np.int32(ready),
                    np.int32(last),
                    values,
                    **self.options,
                )
            )
            ready = last
        nothing = _buffers.next(self.network.dtype, _BLOCK)
        return _buffers.used_by(
            _settle_block(
                self.plan,
                nothing,
                np.zeros(size, np.int32),
                np.int32(ready),
                np.int32(self.num_ranks),
                values,
                **self.options,
            )
        )

    def _read(self) -> Iterator[slice]:
        return self.network.link_slices(_BLOCK)

    def _fill(self, links: slice | np.ndarray, is_input: np.ndarray | None) -> _Block:
        """A block of links; those into inputs, which hold their value, go nowhere."""
        network = self.network
        block = _buffers.next(network.dtype, _BLOCK)
        columns = (network.link_source, network.link_target, network.link_weight)
        is_run = isinstance(links, slice)
        num = links.stop - links.start if is_run else links.size
        for place, column in zip(block, columns, strict=True):
            buffer = np.asarray(place)[:num]
            if is_run:
                buffer[:] = column[links]
            else:
                np.take(column, links, out=buffer, mode="clip")
        if is_input is not None:
            np.putmask(np.asarray(block.target)[:num], is_input, self.dummy)
        return block

    def _in_order(self) -> "Iterator[_Some | None]":
        """Blocks as they come, if each link comes when its source is ready, and before
        its target is; None where that ends."""
        network, ready = self.network, self.ready
        so_far = ready.dtype.type(0)
        for links in self._read():
            group = ready.take(network.link_source[links])
            group[0] = max(group[0], so_far)
            np.maximum.accumulate(group, out=group)
            so_far = group[-1]
            target = ready.take(network.link_target[links])
            is_late = target <= group
            is_input = None
            if is_late.any():
                is_input = target == 0
                if (is_late & ~is_input).any():
                    yield None
                    return
            yield _Some(links, group, is_input)

    def _by_rank(self) -> "Iterator[_Some]":
        """Blocks sorted by the ranks of targets, which wait for all ranks below."""
        for low, high in self._segments():
            for picked in self._pick(low, high):
                target = self.ready.take(self.network.link_target[picked])
                order = np.argsort(target, kind="stable")
                for begin in range(0, order.size, _BLOCK):
                    some = order[begin : begin + _BLOCK]
                    yield _Some(picked.take(some), target.take(some) - 1, None)

    def _segments(self) -> Iterator[tuple[int, int]]:
        """Runs of ranks that have few enough links, one rank at least."""
        counts = np.zeros(self.num_ranks + 1, np.int64)
        for links in self._read():
            target = self.ready.take(self.network.link_target[links])
            counts += np.bincount(target, minlength=counts.size)
        low, total = 1, 0
        for rank, count in enumerate(counts[1:].tolist(), 1):
            if rank > low and total + count > self.most:
                yield low, rank
                low, total = rank, 0
            total += count
        yield low, self.num_ranks + 1

    def _pick(self, low: int, high: int) -> Iterator[Int[np.ndarray, " links"]]:
        """The links into ranks `low` to `high - 1`, in pieces that fit."""
        picked: list[np.ndarray] = []
        num = 0
        for links in self._read():
            rank = self.ready.take(self.network.link_target[links])
            some = links.start + np.flatnonzero((rank >= low) & (rank < high))
            if num and num + some.size > self.most:
                yield np.concatenate(picked)
                picked, num = [], 0
            picked.append(some)
            num += some.size
        if num:
            yield np.concatenate(picked)


class _Some(NamedTuple):
    """Links that are worked off together: which, the rank that each waits for (sorted),
    and, if there are any, those that lead into inputs."""

    links: slice | Int[np.ndarray, " links"]
    group: Int[np.ndarray, " links"]
    is_input: np.ndarray | None


def _without_links(network: Networks) -> Networks:
    none = np.zeros(0, np.int32)
    return dataclasses.replace(
        network,
        link_bounds=np.zeros(2, np.int64),
        link_source=none,
        link_target=none,
        link_weight=none.astype(network.dtype),
    )
