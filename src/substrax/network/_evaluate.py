"""Evaluation of networks: settled (acyclic) and stepped (with state).

All networks of a batch are one graph of many parts, so that networks of very different
sizes are evaluated side by side and none is padded to the largest; see `_plan`. One
that exceeds the memory by itself is evaluated in pieces.
"""

import collections
import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .._memory import forget_pages, read_budget, show_bytes
from .._threads import map_in_order, num_workers
from .._types import ArrayLike
from ._networks import Networks
from ._pieces import LARGE, Large
from ._plan import Plan, advance, functions_of, make_plan, round_up, settle

_MAX_NODES, _MAX_LINKS = 1 << 16, 360_000
"""Networks are evaluated in groups of about this size, all alike.

However far a population grows, its groups keep their shapes, so that no kernel is
compiled for it.
"""

_PLAN_BYTES = 128
"""What a link or a node takes in a plan and while that is made."""

_STATES = 3
"""How often a state exists while it is stepped."""

_RUN_BYTES = 256 << 20
"""What a run of networks may take while it is evaluated, about."""

_MAX_LANES = 64
"""Samples that are evaluated at a time: their values should fit the cache."""


def _groups(networks: Networks) -> list[tuple[int, int]]:
    """Runs of networks of about the same, bounded size."""
    size = networks.node_bounds / _MAX_NODES + networks.link_bounds / _MAX_LINKS
    num = max(1, int(np.ceil(size[-1])))
    ends = np.searchsorted(size, size[-1] / num * np.arange(1, num), side="left")
    bounds = np.unique([0, *ends, len(networks)]).tolist()
    return list(itertools.pairwise(bounds))


def _cut(networks: Networks) -> list[tuple[int, int]]:
    """Runs of networks that are evaluated together; a large one is alone."""
    large = np.flatnonzero(networks.num_links > LARGE)
    ends = np.column_stack([large, large + 1]).ravel()
    runs = []
    for begin, stop in itertools.pairwise([0, *ends.tolist(), len(networks)]):
        if begin in large:
            runs.append((begin, stop))
        elif begin < stop:
            groups = _groups(networks.part(begin, stop))
            runs.extend((begin + first, begin + last) for first, last in groups)
    return runs


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
    result = np.empty(
        (len(networks), array.shape[1], networks.num_outputs), array.dtype
    )
    lanes = min(_MAX_LANES, round_up(array.shape[1], 4))
    runs = _cut(networks)
    share = _share(networks) if len(runs) > 1 else 1

    def run(bounds: tuple[int, int]) -> None:
        begin, stop = bounds
        part = networks.part(begin, stop)
        own = array[begin:stop] if array.shape[0] > 1 else array
        with jax.enable_x64(networks.dtype == np.float64):
            if part.link_bounds[-1] > LARGE and len(part) == 1:
                large = Large(part, lanes, share)
                for first in range(0, array.shape[1], lanes):
                    values = large.run(own[0, first : first + lanes], steps)
                    result[begin, first : first + lanes] = values.T
            else:
                _evaluate_together(part, own, steps, lanes, result[begin:stop])
        forget_pages(networks.link_source, networks.link_target, networks.link_weight)

    collections.deque(map_in_order(run, runs, share), maxlen=0)
    return result


def _share(networks: Networks) -> int:
    """How many runs are evaluated at a time: as many as there are cores, on a CPU."""
    if jax.default_backend() != "cpu":
        return 1
    return max(1, min(num_workers(), read_budget(networks.memory_budget) // _RUN_BYTES))


def _evaluate_together(
    networks: Networks,
    inputs: Float[np.ndarray, "networks_or_1 samples inputs"],
    steps: int | None,
    lanes: int,
    result: Float[np.ndarray, "networks samples outputs"],
) -> None:
    options = functions_of(networks)
    plan = make_plan(networks)
    if inputs.shape[1] > lanes:  # for one block, this would take longer than it
        plan = jax.device_put(plan)
    rows = plan.inputs.shape[0]
    for first in range(0, inputs.shape[1], lanes):
        block = inputs[:, first : first + lanes].transpose(0, 2, 1)
        held = np.zeros((rows, block.shape[1], lanes), inputs.dtype)
        held[: len(networks), :, : block.shape[2]] = block
        if networks.is_acyclic and steps is None:
            values = settle(plan, held, **options)
        else:
            state = jnp.zeros((plan.bias.shape[0], lanes), inputs.dtype)
            count = networks.steps if steps is None else steps
            state = advance(plan, state, held, count, **options)
            values = state[plan.outputs]
        values = np.asarray(values)[: len(networks), :, : block.shape[2]]
        result[:, first : first + lanes] = values.transpose(0, 2, 1)


def _plan_bytes(networks: Networks) -> Int[np.ndarray, " networks_and_one"]:
    """What the plan of the first networks takes, for each number of them."""
    return (networks.link_bounds + networks.node_bounds) * _PLAN_BYTES


def runs_that_fit(networks: Networks) -> list[tuple[int, int]]:
    """Runs of networks whose plans fit `memory_budget`, all of (almost) one length.

    For whoever makes plans of whole populations and compiles for their numbers.
    """
    budget, total = read_budget(networks.memory_budget), len(networks)
    num_bytes = _plan_bytes(networks)
    most = int(np.diff(num_bytes).max(initial=0))
    if most > budget:
        raise ValueError(
            f"a network of {networks.num_links.max():,} links needs about "
            f"{show_bytes(most)} inside a JAX function, more than memory_budget "
            f"({show_bytes(budget)}). Raise memory_budget, or lower depth."
        )
    length = total
    while True:
        bounds = np.append(np.arange(0, total, max(length, 1)), total)
        if (np.diff(num_bytes[bounds]) <= budget).all():
            return list(itertools.pairwise(bounds.tolist()))
        length = -(-length // 2)


@dataclasses.dataclass(frozen=True)
class Stepper:
    """Networks that keep their state from one call to the next (control tasks).

    `state = stepper.start(batch)`, then `state, outputs = stepper(state, inputs)` with
    inputs (networks, batch, inputs). Pure: the state is yours.

    Networks with cycles make `steps` updates in each call. Those without settle, as in
    `evaluate`, and have nothing to remember: their state stays as it is.

    Networks that exceed `memory_budget` together are stepped some at a time, which
    reads their links in each call; only the state is all in memory.
    """

    networks: Networks
    plan: Plan | None
    """All networks, if they fit the memory."""

    @staticmethod
    def of(networks: Networks) -> "Stepper":
        """Prepares networks; those that fit the memory are kept there."""
        if _plan_bytes(networks)[-1] > read_budget(networks.memory_budget):
            return Stepper(networks, None)
        with jax.enable_x64(networks.dtype == np.float64):
            return Stepper(networks, jax.device_put(make_plan(networks)))

    def start(self, batch: int) -> Float[Array, "nodes batch"]:
        """The state before anything happened."""
        if self.plan is None:
            num_nodes = int(self.networks.node_bounds[-1])
        else:
            num_nodes = self.plan.bias.shape[0]
        _check_state(self.networks, num_nodes, batch)
        with jax.enable_x64(self.networks.dtype == np.float64):
            return jnp.zeros((num_nodes, batch), self.networks.dtype)

    def __call__(
        self, state: Float[Array, "nodes batch"], inputs: ArrayLike
    ) -> tuple[Float[Array, "nodes batch"], Float[Array, "networks batch outputs"]]:
        """The next state, and outputs."""
        networks = self.networks
        array = _check_inputs(networks, inputs)
        with jax.enable_x64(networks.dtype == np.float64):
            if self.plan is not None:
                return _step(networks, self.plan, state, array)
            if networks.is_acyclic:
                return state, jnp.asarray(evaluate(networks, array))
            states, outputs = [], []
            for begin, stop in _cut(networks):
                nodes = slice(networks.node_bounds[begin], networks.node_bounds[stop])
                own = array[begin:stop] if array.shape[0] > 1 else array
                after = _step_part(networks.part(begin, stop), state[nodes], own)
                states.append(after[0])
                outputs.append(after[1])
                forget_pages(networks.link_source, networks.link_target)
                forget_pages(networks.link_weight)
            return jnp.concatenate(states), jnp.concatenate(outputs)


def _step(
    networks: Networks,
    plan: Plan,
    state: Float[Array, "nodes batch"],
    inputs: Float[np.ndarray, "networks_or_1 batch inputs"],
) -> tuple[Float[Array, "nodes batch"], Float[Array, "networks batch outputs"]]:
    num = len(networks)
    held = np.zeros(
        (plan.inputs.shape[0], inputs.shape[2], inputs.shape[1]), inputs.dtype
    )
    held[:num] = inputs.transpose(0, 2, 1)
    options = functions_of(networks)
    if networks.is_acyclic:
        outputs = settle(plan, held, **options)
    else:
        state = advance(plan, state, held, networks.steps, **options)
        outputs = state[plan.outputs]
    return state, outputs[:num].transpose(0, 2, 1)


def _step_part(
    networks: Networks,
    state: Float[Array, "nodes batch"],
    inputs: Float[np.ndarray, "networks_or_1 batch inputs"],
) -> tuple[Float[Array, "nodes batch"], Float[Array, "networks batch outputs"]]:
    """Networks with cycles whose plan is made for this step only."""
    is_large = len(networks) == 1 and networks.link_bounds[-1] > LARGE
    large = Large(networks, state.shape[1]) if is_large else None
    plan = jax.device_put(make_plan(networks)) if large is None else large.plan
    padding = plan.bias.shape[0] - state.shape[0]
    padded = jnp.pad(state, ((0, padding), (0, 0)))
    if large is None:
        after, outputs = _step(networks, plan, padded, inputs)
    else:
        after = large.advance(padded, inputs.transpose(0, 2, 1), networks.steps)
        outputs = after[plan.outputs[:1]].transpose(0, 2, 1)
    return after[: state.shape[0]], outputs


def _check_state(networks: Networks, num_nodes: int, batch: int) -> None:
    budget = read_budget(networks.memory_budget)
    needed = _STATES * num_nodes * batch * networks.dtype.itemsize
    if needed > budget:
        raise ValueError(
            f"the state of {len(networks):,} networks with {num_nodes:,} nodes and a "
            f"batch of {batch} needs about {show_bytes(needed)}, more than "
            f"memory_budget ({show_bytes(budget)}). Raise memory_budget, lower depth, "
            "or step fewer networks, or a smaller batch, at a time."
        )
