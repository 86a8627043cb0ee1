"""Evaluation of networks: settled (acyclic) and stepped (with state).

All networks of a batch are one graph of many parts, so that networks of very different
sizes are evaluated side by side and none is padded to the largest; see `_plan`. One
that exceeds the memory by itself is evaluated in pieces.
"""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._memory import forget_pages
from .._types import ArrayLike
from ._networks import Networks
from ._pieces import evaluate_in_pieces, is_too_large
from ._plan import Plan, advance, make_plan, round_up, settle

_MAX_NODES, _MAX_LINKS = 1 << 16, 360_000
"""Networks are evaluated in groups of about this size, all alike.

However far a population grows, its groups keep their shapes, so that no kernel is
compiled for it.
"""

_MAX_LANES = 64
"""Samples that are evaluated at a time: their values should fit the cache."""


def _groups(networks: Networks) -> list[tuple[int, int]]:
    """Runs of networks of about the same, bounded size."""
    size = networks.node_bounds / _MAX_NODES + networks.link_bounds / _MAX_LINKS
    num = max(1, int(np.ceil(size[-1])))
    ends = np.searchsorted(size, size[-1] / num * np.arange(1, num), side="left")
    bounds = np.unique([0, *ends, len(networks)]).tolist()
    return list(itertools.pairwise(bounds))


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
    lanes = min(_MAX_LANES, round_up(num_samples, 4))
    options = {
        "activation_ids": networks.activation_ids,
        "dialect": networks.dialect,
    }
    for begin, stop in _groups(networks):
        part = networks.part(begin, stop)
        if is_too_large(part, lanes):
            own = array[begin:stop] if array.shape[0] > 1 else array
            result[begin:stop] = evaluate_in_pieces(part, own, steps, lanes)
            continue
        with jax.enable_x64(networks.dtype == np.float64):
            plan = jax.device_put(make_plan(part))
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
        forget_pages(networks.link_source, networks.link_target, networks.link_weight)
    return result


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
        with jax.enable_x64(networks.dtype == np.float64):
            return Stepper(networks, jax.device_put(make_plan(networks)))

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
