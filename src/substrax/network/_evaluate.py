"""Evaluation of networks: settled (acyclic) and stepped (with state).

The native engine does it on CPUs, one network after the other on all cores; see
src/native/evaluator.hpp. On accelerators networks of about one size are matrices, and
evaluated side by side; see `_tensor`.
"""

import dataclasses
import functools

import jax
import numpy as np
from jaxtyping import Array, Float

from .._memory import show_bytes
from .._native import Engine, native_array
from .._resources import Resources
from .._types import ArrayLike, as_numbers, check_counts, round_up
from ._check import check_networks, check_steps, hold_networks, secured
from ._host import TensorGroup, tensor_groups
from ._networks import Networks
from ._tensor import TensorNetwork

_STATES = 3
"""How often a state exists while it is stepped."""

_MAX_LANES = 64
"""Samples that are evaluated at a time, at most."""

_NODE_BYTES, _VALUES = 64, 2
"""What a node takes while its network is evaluated, and how many values each sample has
there."""


def _check_inputs(networks: Networks, inputs: ArrayLike) -> np.ndarray:
    """Inputs as (networks or 1, samples, inputs)."""
    check_networks(networks)
    array = as_numbers("inputs must be arrays of numbers", inputs, networks.dtype)
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
    return native_array(array, networks.dtype)


def evaluate(
    networks: Networks,
    inputs: ArrayLike,
    *,
    steps: int | None = None,
    resources: Resources | None = None,
) -> Float[np.ndarray, "networks samples outputs"]:
    """Outputs of every network for every sample.

    `inputs` is (samples, inputs), or (networks, samples, inputs) where each network has
    its own. Acyclic networks settle. Others are updated `steps` times (default: their
    own number) from a zero state.
    """
    resources = resources or Resources()
    array = _check_inputs(networks, inputs)
    if steps is not None:
        check_steps(steps)
    shape = (len(networks), array.shape[1], networks.num_outputs)
    result = np.empty(shape, array.dtype)
    is_settled = networks.is_acyclic and steps is None
    count = 0 if is_settled else (networks.steps if steps is None else steps)
    native = resources.native
    if native is None:
        _evaluate_on_device(networks, array, count, resources, result)
    else:
        native.evaluate(
            hold_networks(native, networks),
            array,
            int(count),
            budget=resources.budget,
            num_threads=_threads_that_fit(networks, array.shape[1], resources),
            outputs=result,
        )
    return result


def _threads_that_fit(
    networks: Networks, num_samples: int, resources: Resources
) -> int:
    """As many as there are, unless the values of nodes would exceed the memory."""
    num_nodes, budget = int(networks.num_nodes.max(initial=1)), resources.budget
    # As src/native/engine_implementation.hpp chooses them.
    is_wide = num_samples > 32 and networks.dtype == np.float32
    lanes = 4 if num_samples <= 4 else _MAX_LANES if is_wide else 16
    needed = num_nodes * (_NODE_BYTES + _VALUES * lanes * networks.dtype.itemsize)
    if needed > budget:
        raise ValueError(
            f"a network of {num_nodes:,} nodes needs about {show_bytes(needed)} to be "
            f"evaluated, more than memory_budget ({show_bytes(budget)}). Raise "
            "memory_budget, or lower depth."
        )
    return min(resources.num_threads, budget // needed)


def _evaluate_on_device(
    networks: Networks,
    inputs: Float[np.ndarray, "networks_or_1 samples inputs"],
    steps: int,
    resources: Resources,
    result: Float[np.ndarray, "networks samples outputs"],
) -> None:
    num_samples = inputs.shape[1]
    lanes = min(_MAX_LANES, round_up(num_samples, 4))
    with jax.enable_x64(networks.dtype == np.float64):
        for group in tensor_groups(networks, resources.budget):
            own = _rows_of(group, inputs)
            for first in range(0, num_samples, lanes):
                block = own[:, first : first + lanes]
                some = block.shape[1]
                held = np.zeros((block.shape[0], lanes, block.shape[2]), block.dtype)
                held[:, :some] = block
                outputs = np.asarray(_evaluate_tensors(group.tensors, held, steps))
                where = slice(first, first + some)
                result[group.which, where] = outputs[: group.which.size, :some]


def _rows_of(group: TensorGroup, values: np.ndarray) -> np.ndarray:
    """What belongs to the networks of a group, a row for each of its rows."""
    num_rows = group.node.shape[0]
    if values.shape[0] == 1:
        return np.broadcast_to(values, (num_rows, *values.shape[1:]))
    which = group.which
    return values[np.append(which, np.repeat(which[-1:], num_rows - which.size))]


@functools.partial(jax.jit, static_argnames="steps")
def _evaluate_tensors(
    tensors: TensorNetwork, inputs: Float[Array, "networks samples inputs"], steps: int
) -> Float[Array, "networks samples outputs"]:
    def one(network, inputs):
        return network.run(inputs, steps) if steps else network(inputs)

    return jax.vmap(one)(tensors, inputs)


@jax.jit
def _step_tensors(tensors, states, inputs):
    return jax.vmap(lambda network, *now: network.step(*now))(tensors, states, inputs)


@dataclasses.dataclass(frozen=True)
class Stepper:
    """Networks that keep their state from one call to the next (control tasks).

    `state = stepper.start(batch)`, then `state, outputs = stepper(state, inputs)` with
    inputs (networks, batch, inputs). Pure: the state is yours.

    Networks with cycles make `steps` updates in each call. Those without settle, as in
    `evaluate`, and have nothing to remember: their state stays as it is.
    """

    networks: Networks
    resources: Resources = dataclasses.field(default_factory=Resources)

    @staticmethod
    def of(networks: Networks, resources: Resources | None = None) -> "Stepper":
        """Prepares networks."""
        return Stepper(secured(networks), resources or Resources())

    def start(self, batch: int) -> Float[np.ndarray, "nodes batch"]:
        """The state before anything happened."""
        check_counts(batch=batch)
        num_nodes = int(self.networks.node_bounds[-1])
        self._check_state(num_nodes, batch)
        return np.zeros((num_nodes, batch), self.networks.dtype)

    def __call__(
        self, state: Float[np.ndarray, "nodes batch"], inputs: ArrayLike
    ) -> tuple[
        Float[np.ndarray, "nodes batch"], Float[np.ndarray, "networks batch outputs"]
    ]:
        """The next state, and outputs."""
        networks = self.networks
        array = _check_inputs(networks, inputs)
        if networks.is_acyclic:
            return state, evaluate(networks, array, resources=self.resources)
        before = as_numbers("a state is an array of numbers", state, networks.dtype)
        wanted = (int(networks.node_bounds[-1]), array.shape[1])
        if before.shape != wanted:
            raise ValueError(
                f"the state has the shape {before.shape}, but these networks and a "
                f"batch of {array.shape[1]} have {wanted}. Begin with start(batch)."
            )
        native = self.resources.native
        if native is None:
            return _step_on_device(networks, before, array, self.resources)
        return self._step(native, before.copy(), array)

    def _step(self, native: Engine, state: np.ndarray, inputs: np.ndarray):
        networks = self.networks
        shape = (len(networks), inputs.shape[1], networks.num_outputs)
        outputs = np.empty(shape, networks.dtype)
        native.advance(
            hold_networks(native, networks),
            inputs,
            int(networks.steps),
            budget=self.resources.budget,
            num_threads=_threads_that_fit(networks, inputs.shape[1], self.resources),
            state=state,
            outputs=outputs,
        )
        return state, outputs

    def _check_state(self, num_nodes: int, batch: int) -> None:
        networks, budget = self.networks, self.resources.budget
        needed = _STATES * num_nodes * batch * networks.dtype.itemsize
        if needed > budget:
            raise ValueError(
                f"the state of {len(networks):,} networks with {num_nodes:,} nodes and "
                f"a batch of {batch} needs about {show_bytes(needed)}, more than "
                f"memory_budget ({show_bytes(budget)}). Raise memory_budget, lower "
                "depth, or step fewer networks, or a smaller batch, at a time."
            )


def _step_on_device(
    networks: Networks, state: np.ndarray, inputs: np.ndarray, resources: Resources
) -> tuple[np.ndarray, np.ndarray]:
    after = np.empty_like(state)
    shape = (len(networks), inputs.shape[1], networks.num_outputs)
    outputs = np.empty(shape, networks.dtype)
    with jax.enable_x64(networks.dtype == np.float64):
        for group in tensor_groups(networks, resources.budget):
            is_node = (group.node >= 0)[..., None]
            states = np.where(is_node, state[group.node], 0)
            values = _step_tensors(group.tensors, states, _rows_of(group, inputs))
            num = group.which.size
            new, answers = (np.asarray(x)[:num] for x in values)
            after[group.node[:num][is_node[:num, :, 0]]] = new[is_node[:num, :, 0]]
            outputs[group.which] = answers
    return after, outputs
