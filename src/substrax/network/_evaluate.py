"""Evaluation of networks: settled (acyclic) and stepped (with state).

All networks of a batch are one graph of many parts, so that networks of very different
sizes are evaluated side by side and none is padded to the largest. Links are worked off
in chunks, rank by rank of their targets; each target adds up its links in their order,
so that neither the chunks nor the neighbours change a bit.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from .._types import ArrayLike
from ..cppn import Dialect, activation_functions
from ._networks import Networks

_MAX_NODES, _MAX_LINKS = 1 << 18, 1 << 22
"""Networks are evaluated in groups of about this size."""

_MAX_LANES = 64
"""Samples that are evaluated at a time: their values should fit the cache."""


class Plan(NamedTuple):
    """A batch of networks as the kernels want it.

    Links and nodes are cut into chunks of one rank each, padded with a dummy node (the
    last) and weight 0. Rank r works off link chunks `link_bounds[r]:link_bounds[r+1]`
    and then activates node chunks `node_bounds[r]:node_bounds[r+1]`.
    """

    bias: Float[Array | np.ndarray, " nodes"]
    activation: Int[Array | np.ndarray, " nodes"]
    inputs: Int[Array | np.ndarray, "networks inputs"]
    outputs: Int[Array | np.ndarray, "networks outputs"]
    link_source: Int[Array | np.ndarray, "link_chunks link_chunk"]
    link_target: Int[Array | np.ndarray, "link_chunks link_chunk"]
    link_weight: Float[Array | np.ndarray, "link_chunks link_chunk"]
    link_bounds: Int[Array | np.ndarray, " bounds"]
    node: Int[Array | np.ndarray, "node_chunks node_chunk"]
    node_bounds: Int[Array | np.ndarray, " bounds"]
    num_ranks: Int[Array | np.ndarray, ""]


def _activate(
    z: Float[Array, "nodes lanes"],
    activation: Int[Array, " nodes"],
    activation_ids: tuple[int, ...],
    dialect: Dialect,
) -> Float[Array, "nodes lanes"]:
    functions = activation_functions(activation_ids, dialect)
    y = functions[0](z)
    for a, function in zip(activation_ids[1:], functions[1:], strict=True):
        y = jnp.where(activation[:, None] == a, function(z), y)
    return y


def _add_links(plan: Plan, chunk, values, sums):
    """Adds one chunk of weighted sources to the sums of its targets."""
    source, target = plan.link_source[chunk], plan.link_target[chunk]
    weighted = plan.link_weight[chunk][:, None] * values[source]
    return sums.at[target].add(weighted)


_STATIC = ("activation_ids", "dialect")


@functools.partial(jax.jit, static_argnames=_STATIC)
def settle(
    plan: Plan,
    inputs: Float[Array, "networks inputs lanes"],
    *,
    activation_ids: tuple[int, ...],
    dialect: Dialect,
) -> Float[Array, "networks outputs lanes"]:
    """Each node once, in order of rank: what stepping reaches when nothing changes."""
    lanes = inputs.shape[-1]
    values = jnp.broadcast_to(plan.bias[:, None], (plan.bias.shape[0], lanes))
    values = values.at[plan.inputs].set(inputs)

    def run_rank(rank, values):
        def add(chunk, values):
            return _add_links(plan, chunk, values, values)

        def activate(chunk, values):
            nodes = plan.node[chunk]
            y = _activate(
                values[nodes], plan.activation[nodes], activation_ids, dialect
            )
            return values.at[nodes].set(y)

        values = lax.fori_loop(
            plan.link_bounds[rank], plan.link_bounds[rank + 1], add, values
        )
        return lax.fori_loop(
            plan.node_bounds[rank], plan.node_bounds[rank + 1], activate, values
        )

    values = lax.fori_loop(0, plan.num_ranks, run_rank, values)
    return values[plan.outputs]


@functools.partial(jax.jit, static_argnames=_STATIC)
def advance(
    plan: Plan,
    state: Float[Array, "nodes lanes"],
    inputs: Float[Array, "networks inputs lanes"],
    steps: Int[Array, ""],
    *,
    activation_ids: tuple[int, ...],
    dialect: Dialect,
) -> Float[Array, "nodes lanes"]:
    """`steps` synchronous updates of all nodes, the inputs held."""
    num_chunks = plan.link_bounds[plan.num_ranks]
    state = state.at[plan.inputs].set(inputs)

    def step(_, state):
        sums = jnp.broadcast_to(plan.bias[:, None], state.shape)
        sums = lax.fori_loop(
            0, num_chunks, lambda c, sums: _add_links(plan, c, state, sums), sums
        )
        new = _activate(sums, jnp.asarray(plan.activation), activation_ids, dialect)
        return new.at[plan.inputs].set(inputs)

    return lax.fori_loop(0, steps, step, state)


def _round_up(n: int, minimum: int) -> int:
    return max(minimum, 1 << max(0, n - 1).bit_length())


def _cut(rank: np.ndarray, num_ranks: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each entry, sorted by rank, goes in chunks of one rank each; and bounds."""
    counts = np.bincount(rank, minlength=num_ranks)
    chunks = -(-counts // size)
    bounds = np.concatenate([[0], np.cumsum(chunks)])
    within = np.arange(rank.size) - (np.cumsum(counts) - counts)[rank]
    return bounds[rank] * size + within, bounds


def make_plan(networks: Networks) -> Plan:
    """The plan of a batch, in sizes that are powers of two."""
    num = len(networks)
    node_offset = networks.node_bounds[:-1]
    num_nodes = int(networks.node_bounds[-1])
    dummy = _round_up(num_nodes + 1, 256) - 1
    dtype = networks.dtype

    def padded(values: np.ndarray) -> np.ndarray:
        result = np.zeros(dummy + 1, values.dtype)
        result[:num_nodes] = values
        return result

    offset = np.repeat(node_offset, networks.num_links)
    source = (offset + networks.link_source).astype(np.int32)
    target = (offset + networks.link_target).astype(np.int32)
    is_input = np.zeros(num_nodes, bool)
    terminals = node_offset[:, None]
    inputs = terminals + np.arange(networks.num_inputs)
    outputs = terminals + networks.num_inputs + np.arange(networks.num_outputs)
    is_input[inputs] = True
    # Inputs hold their value: links into them (`es` may find some) carry nothing.
    effective = ~is_input[target]
    source, target = source[effective], target[effective]
    weight = networks.link_weight[effective]

    # Ranks that occur at targets, renumbered from 0; unfed nodes are ready at once.
    used, rank = np.unique(networks.node_rank, return_inverse=True)
    num_ranks = max(1, used.size)
    target_rank = rank[target]
    order = _stable_argsort(target_rank, num_ranks)
    size = min(4096, _round_up(-(-source.size // num_ranks), 64))
    place, link_bounds = _cut(target_rank[order], num_ranks, size)
    num_chunks = _round_up(int(link_bounds[-1]), 8)
    link_source = np.full(num_chunks * size, dummy, np.int32)
    link_target = np.full(num_chunks * size, dummy, np.int32)
    link_weight = np.zeros(num_chunks * size, dtype)
    link_source[place] = source[order]
    link_target[place] = target[order]
    link_weight[place] = weight[order]

    nodes = np.flatnonzero(~is_input)
    nodes = nodes[_stable_argsort(rank[nodes], num_ranks)]
    node_size = min(1024, _round_up(-(-nodes.size // num_ranks), 16))
    place, node_bounds = _cut(rank[nodes], num_ranks, node_size)
    num_node_chunks = _round_up(int(node_bounds[-1]), 8)
    node = np.full(num_node_chunks * node_size, dummy, np.int32)
    node[place] = nodes

    bounds_size = _round_up(num_ranks + 1, 64)
    genomes = _round_up(num, 1)
    return Plan(
        bias=padded(networks.node_bias.astype(dtype)),
        activation=padded(networks.node_activation.astype(np.int32)),
        inputs=_pad_rows(inputs, genomes, dummy),
        outputs=_pad_rows(outputs, genomes, dummy),
        link_source=link_source.reshape(-1, size),
        link_target=link_target.reshape(-1, size),
        link_weight=link_weight.reshape(-1, size),
        link_bounds=_pad_bounds(link_bounds, bounds_size),
        node=node.reshape(-1, node_size),
        node_bounds=_pad_bounds(node_bounds, bounds_size),
        num_ranks=np.asarray(num_ranks, np.int32),
    )


def _stable_argsort(rank: np.ndarray, num_ranks: int) -> np.ndarray:
    # NumPy sorts 16-bit integers by radix, many times faster than wider ones.
    small = rank.astype(np.uint16) if num_ranks < 1 << 16 else rank
    return np.argsort(small, kind="stable")


def _pad_rows(rows: np.ndarray, length: int, fill: int) -> np.ndarray:
    result = np.full((length, rows.shape[1]), fill, np.int32)
    result[: rows.shape[0]] = rows
    return result


def _pad_bounds(bounds: np.ndarray, length: int) -> np.ndarray:
    result = np.full(length, bounds[-1], np.int32)
    result[: bounds.size] = bounds
    return result


def _groups(networks: Networks) -> list[tuple[int, int]]:
    """Runs of networks of bounded size."""
    groups = []
    begin = 0
    while begin < len(networks):
        nodes = networks.node_bounds[begin] + _MAX_NODES
        links = networks.link_bounds[begin] + _MAX_LINKS
        stop = min(
            int(np.searchsorted(networks.node_bounds, nodes, side="right")) - 1,
            int(np.searchsorted(networks.link_bounds, links, side="right")) - 1,
        )
        stop = min(max(stop, begin + 1), len(networks))
        groups.append((begin, stop))
        begin = stop
    return groups


def _check_inputs(networks: Networks, inputs: ArrayLike) -> np.ndarray:
    """Inputs as (networks or 1, samples, inputs)."""
    array = np.asarray(inputs, networks.dtype)
    shape = f"(samples, {networks.num_inputs})"
    if array.ndim == 2:
        array = array[None]
    if (
        array.ndim != 3
        or array.shape[2] != networks.num_inputs
        or array.shape[0] not in (1, len(networks))
    ):
        raise ValueError(
            f"inputs have shape {np.shape(inputs)}; give {shape} for all networks, or "
            f"({len(networks)}, samples, {networks.num_inputs}) for each its own."
        )
    if not np.isfinite(array).all():
        raise ValueError("an input value is NaN or infinite; repair the inputs.")
    return array


def evaluate(
    networks: Networks, inputs: ArrayLike, *, steps: int | None = None
) -> Float[np.ndarray, "networks samples outputs"]:
    """Outputs of every network for every sample.

    `inputs` is (samples, inputs), or (networks, samples, inputs) where each network has
    its own. Acyclic networks settle. Others are updated `steps` times (default: their
    own number) from a zero state.
    """
    array = _check_inputs(networks, inputs)
    if steps is not None and steps < 1:
        raise ValueError(f"steps must be positive, not {steps}.")
    num_samples = array.shape[1]
    result = np.empty((len(networks), num_samples, networks.num_outputs), array.dtype)
    lanes = min(_MAX_LANES, _round_up(num_samples, 4))
    options = {
        "activation_ids": networks.activation_ids,
        "dialect": networks.dialect,
    }
    for begin, stop in _groups(networks):
        part = networks.part(begin, stop)
        with jax.enable_x64(networks.dtype == np.float64):
            plan = jax.tree.map(jnp.asarray, make_plan(part))
            rows = plan.inputs.shape[0]
            for first in range(0, num_samples, lanes):
                block = array[begin:stop] if array.shape[0] > 1 else array
                block = block[:, first : first + lanes].transpose(0, 2, 1)
                held = np.zeros((rows, block.shape[1], lanes), array.dtype)
                held[: stop - begin, :, : block.shape[2]] = block
                if networks.is_acyclic and steps is None:
                    values = settle(plan, held, **options)
                else:
                    state = jnp.zeros((plan.bias.shape[0], lanes), array.dtype)
                    count = networks.steps if steps is None else steps
                    state = advance(plan, state, held, count, **options)
                    values = state[plan.outputs]
                values = np.asarray(values)[: stop - begin, :, : block.shape[2]]
                result[begin:stop, first : first + lanes] = values.transpose(0, 2, 1)
    return result


@dataclasses.dataclass(frozen=True)
class Stepper:
    """Networks that keep their state from one call to the next (control tasks).

    `state = stepper.start(batch)`, then `state, outputs = stepper(state, inputs)` with
    inputs (networks, batch, inputs). Pure: the state is yours.
    """

    networks: Networks
    plan: Plan

    @staticmethod
    def of(networks: Networks) -> "Stepper":
        with jax.enable_x64(networks.dtype == np.float64):
            return Stepper(networks, jax.tree.map(jnp.asarray, make_plan(networks)))

    def start(self, batch: int) -> Float[Array, "nodes batch"]:
        with jax.enable_x64(self.networks.dtype == np.float64):
            return jnp.zeros((self.plan.bias.shape[0], batch), self.networks.dtype)

    def __call__(
        self, state: Float[Array, "nodes batch"], inputs: ArrayLike
    ) -> tuple[Float[Array, "nodes batch"], Float[Array, "networks batch outputs"]]:
        array = _check_inputs(self.networks, inputs)
        num = len(self.networks)
        held = np.zeros(
            (self.plan.inputs.shape[0], array.shape[2], array.shape[1]), array.dtype
        )
        held[:num] = array.transpose(0, 2, 1)
        with jax.enable_x64(self.networks.dtype == np.float64):
            state = advance(
                self.plan,
                state,
                held,
                self.networks.steps,
                activation_ids=self.networks.activation_ids,
                dialect=self.networks.dialect,
            )
            return state, state[self.plan.outputs][:num].transpose(0, 2, 1)
