"""A network whose links do not fit into the memory together, evaluated in pieces.

Its nodes do fit. Its links are read in their order, again and again: each time those of
some ranks are picked out, put in order and worked off, and the values of the nodes are
carried on. Each target adds up its links in the same order as ever, so the result is
the same to the bit.
"""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._memory import forget_pages, read_budget, show_bytes
from ._networks import Networks
from ._plan import Plan, activate_nodes, add_links, make_plan, run_ranks

_LINK_BYTES, _NODE_BYTES = 128, 128
"""What a link and a node take in a plan and while it is made; values come on top."""

_VALUES = 3
"""Values of a node and lane that exist at a time."""

_LEAST_LINKS = 1 << 20
_LINKS_READ = 1 << 20


def is_too_large(networks: Networks, lanes: int) -> bool:
    """Whether these networks exceed the memory if they are evaluated together."""
    num_links = int(networks.link_bounds[-1])
    if num_links <= _LEAST_LINKS:
        return False
    return num_links * _LINK_BYTES > read_budget(networks.memory_budget) // 2


def evaluate_in_pieces(
    networks: Networks,
    inputs: Float[np.ndarray, "networks_or_1 samples inputs"],
    steps: int | None,
    lanes: int,
) -> Float[np.ndarray, "networks samples outputs"]:
    """Outputs, one network after the other."""
    shape = (len(networks), inputs.shape[1], networks.num_outputs)
    result = np.empty(shape, inputs.dtype)
    for k, network in enumerate(networks):
        own = inputs[k] if inputs.shape[0] > 1 else inputs[0]
        with jax.enable_x64(networks.dtype == np.float64):
            large = _Large(network, lanes)
            for first in range(0, own.shape[0], lanes):
                block = own[first : first + lanes]
                values = large.run(block, steps)[:, : len(block)]
                result[k, first : first + lanes] = values.T
    return result


_STATIC = ("activation_ids", "dialect")


@functools.partial(jax.jit, static_argnames=_STATIC)
def _run_ranks(plan: Plan, values: Array, *, activation_ids: Any, dialect: Any):
    return run_ranks(plan, values, activation_ids, dialect)


@jax.jit
def _add_links(plan: Plan, sums: Array, state: Array) -> Array:
    num_links = plan.link_bounds[plan.num_ranks]
    return add_links(plan, jnp.zeros_like(num_links), num_links, sums, state)


@functools.partial(jax.jit, static_argnames=_STATIC)
def _activate(plan: Plan, sums: Array, *, activation_ids: Any, dialect: Any):
    num_nodes = plan.node_bounds[plan.num_ranks]
    zero = jnp.zeros_like(num_nodes)
    return activate_nodes(plan, zero, num_nodes, sums, activation_ids, dialect)


class _Large:
    """One network, and how its ranks are cut into pieces."""

    def __init__(self, network: Networks, lanes: int) -> None:
        budget = read_budget(network.memory_budget)
        num_nodes = int(network.node_bounds[-1])
        needed = num_nodes * (_NODE_BYTES + _VALUES * lanes * network.dtype.itemsize)
        if needed > budget:
            raise ValueError(
                f"a network of {num_nodes:,} nodes needs about {show_bytes(needed)} to "
                f"be evaluated, more than memory_budget ({show_bytes(budget)}). Raise "
                "memory_budget, or lower depth."
            )
        self.network, self.lanes = network, lanes
        self.options = {
            "activation_ids": network.activation_ids,
            "dialect": network.dialect,
        }
        self.most = max(_LEAST_LINKS, budget // 2 // _LINK_BYTES)
        self.rank = np.unique(network.node_rank, return_inverse=True)[1]
        self.num_ranks = int(self.rank.max()) + 1
        counts = np.zeros(self.num_ranks, np.int64)
        for links in self._read():
            ranks = self.rank[network.link_target[links]]
            counts += np.bincount(ranks, minlength=self.num_ranks)
        self.counts = counts

    def _read(self) -> Iterator[slice]:
        network = self.network
        for begin in range(0, int(network.link_bounds[-1]), _LINKS_READ):
            yield slice(begin, begin + _LINKS_READ)
            forget_pages(network.link_source, network.link_target, network.link_weight)

    def run(
        self, block: Float[np.ndarray, "samples inputs"], steps: int | None
    ) -> Float[np.ndarray, "outputs lanes"]:
        network = self.network
        held = np.zeros((1, network.num_inputs, self.lanes), block.dtype)
        held[0, :, : len(block)] = block.T
        first = self._plan([], None)
        inputs, outputs = first.inputs[:1], first.outputs[0]
        bias = jnp.broadcast_to(
            jnp.asarray(first.bias)[:, None], (first.bias.shape[0], self.lanes)
        )
        if network.is_acyclic and steps is None:
            values = bias.at[inputs].set(held)
            for low, high in self._segments():
                for plan in self._plans(low, high):
                    values = _run_ranks(plan, values, **self.options)
            return np.asarray(values[outputs])
        everything = self._plan([], np.ones(self.rank.size, bool))
        state = jnp.zeros_like(bias).at[inputs].set(held)
        for _ in range(network.steps if steps is None else steps):
            sums = bias
            for plan in self._plans(0, self.num_ranks):
                sums = _add_links(plan, sums, state)
            state = _activate(everything, sums, **self.options)
            state = state.at[inputs].set(held)
        return np.asarray(state[outputs])

    def _segments(self) -> Iterator[tuple[int, int]]:
        """Runs of ranks that have few enough links, one rank at least."""
        low, total = 0, 0
        for rank, count in enumerate(self.counts.tolist()):
            if rank > low and total + count > self.most:
                yield low, rank
                low, total = rank, 0
            total += count
        yield low, self.num_ranks

    def _plans(self, low: int, high: int) -> Iterator[Plan]:
        """The links into ranks `low` to `high - 1`, in pieces that fit.

        The last piece, which there always is, activates the nodes.
        """
        network = self.network
        picked: list[np.ndarray] = []
        num = 0
        for links in self._read():
            rank = self.rank[network.link_target[links]]
            some = links.start + np.flatnonzero((rank >= low) & (rank < high))
            if num and num + some.size > self.most:
                yield self._plan(picked, np.zeros(self.rank.size, bool))
                picked, num = [], 0
            picked.append(some)
            num += some.size
        yield self._plan(picked, (self.rank >= low) & (self.rank < high))

    def _plan(self, picked: list[np.ndarray], activated: np.ndarray | None) -> Plan:
        which = np.concatenate([np.zeros(0, np.int64), *picked])
        part = dataclasses.replace(
            self.network,
            link_bounds=np.array([0, which.size]),
            link_source=self.network.link_source[which],
            link_target=self.network.link_target[which],
            link_weight=self.network.link_weight[which],
        )
        return make_plan(part, activated)
