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
from jaxtyping import Array, Float

from .._memory import forget_pages, read_budget, show_bytes
from .._threads import map_in_order, num_workers
from .._types import ArrayLike
from ._networks import Networks
from ._pieces import LARGE, Large
from ._plan import Plan, advance, make_plan, round_up, settle

_MAX_NODES, _MAX_LINKS = 1 << 16, 360_000
"""Networks are evaluated in groups of about this size, all alike.

However far a population grows, its groups keep their shapes, so that no kernel is
compiled for it.
"""

_PLAN_BYTES = 128
"""What a link or a node takes in a plan and while that is made."""

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
    options = {
        "activation_ids": networks.activation_ids,
        "dialect": networks.dialect,
    }
    plan = make_plan(networks)
    if inputs.shape[1] > lanes:  # used more than once; takes some time by itself
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


@dataclasses.dataclass(frozen=True)
class Stepper:
    """Networks that keep their state from one call to the next (control tasks).

    `state = stepper.start(batch)`, then `state, outputs = stepper(state, inputs)` with
    inputs (networks, batch, inputs). Pure: the state is yours.

    Networks with cycles make `steps` updates in each call. Those without settle, as in
    `evaluate`, and have nothing to remember: their state stays as it is.
    """

    networks: Networks
    plan: Plan

    @staticmethod
    def of(networks: Networks) -> "Stepper":
        """Keeps all networks in memory; refuses those that exceed `memory_budget`."""
        needed = int(networks.link_bounds[-1]) * _PLAN_BYTES
        needed += int(networks.node_bounds[-1]) * _PLAN_BYTES
        _check_memory(networks, needed, "stepping")
        with jax.enable_x64(networks.dtype == np.float64):
            return Stepper(networks, jax.device_put(make_plan(networks)))

    def start(self, batch: int) -> Float[Array, "nodes batch"]:
        size = self.plan.bias.shape[0] * batch * self.networks.dtype.itemsize
        _check_memory(self.networks, 3 * size, f"a batch of {batch}")
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
        options = {
            "activation_ids": self.networks.activation_ids,
            "dialect": self.networks.dialect,
        }
        with jax.enable_x64(self.networks.dtype == np.float64):
            if self.networks.is_acyclic:
                outputs = settle(self.plan, held, **options)
            else:
                steps = self.networks.steps
                state = advance(self.plan, state, held, steps, **options)
                outputs = state[self.plan.outputs]
            return state, outputs[:num].transpose(0, 2, 1)


def _check_memory(networks: Networks, needed: int, what: str) -> None:
    budget = read_budget(networks.memory_budget)
    if needed > budget:
        raise ValueError(
            f"{what} with {len(networks):,} networks of {networks.link_bounds[-1]:,} "
            f"links needs about {show_bytes(needed)}, more than memory_budget "
            f"({show_bytes(budget)}). Raise memory_budget, lower depth, or step fewer "
            "networks at a time."
        )
