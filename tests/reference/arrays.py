"""Programs and networks that are arrays, evaluated entry by entry in Python's floats.

Nothing is assumed of them but what the arrays say: any order of rows and links, any
bias, any activation. Numbers are converted one by one, so that dtypes do not matter.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .cppn import ARRAY

NAMES = (
    "identity", "tanh", "sigmoid", "sin", "gauss", "abs", "square", "cube", "step",
    "relu", "cos", "exp", "log", "inv", "clamped", "hat", "softplus", "elu", "selu",
    "lelu",
)  # fmt: skip
"""Activations by their ids."""


def _activate(activation: Any, dialect: str, z: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(ARRAY[dialect][NAMES[int(activation)]](z), float)


def program_outputs(programs: Any, genome: int, inputs: Sequence[float]) -> list[float]:
    """What the program of one genome answers to the values of its inputs."""
    slots = [float(value) for value in inputs]
    first = int(programs.first_row[genome])
    for row in range(first, first + int(programs.num_rows[genome])):
        z = float(programs.bias[row])
        for slot, weight in zip(
            programs.source[row], programs.weight[row], strict=True
        ):
            z += float(weight) * slots[int(slot)]
        activation = programs.activation_ids[int(programs.activation[row])]
        slots.append(float(_activate(activation, programs.dialect, np.array(z))))
    return [slots[int(slot)] for slot in programs.output_slot[genome]]


def network_outputs(
    networks: Any, index: int, samples: np.ndarray, steps: int | None
) -> np.ndarray:
    """Outputs (samples, outputs) of one network: settled, or after some steps."""
    begin, stop = (int(networks.node_bounds[index + k]) for k in (0, 1))
    values = [np.zeros(len(samples)) for _ in range(begin, stop)]
    for k in range(networks.num_inputs):
        values[k] = np.asarray(samples, float)[:, k]

    def value_of(node: int, values: list[np.ndarray]) -> np.ndarray:
        total = np.full(len(samples), float(networks.node_bias[begin + node]))
        for link in range(*(int(networks.link_bounds[index + k]) for k in (0, 1))):
            if int(networks.link_target[link]) == node:
                source = values[int(networks.link_source[link])]
                total = total + float(networks.link_weight[link]) * source
        return _activate(
            networks.node_activation[begin + node], networks.dialect, total
        )

    others = range(networks.num_inputs, stop - begin)
    if steps is None:
        for node in sorted(others, key=lambda k: int(networks.node_rank[begin + k])):
            values[node] = value_of(node, values)
    for _ in range(steps or 0):
        new = {node: value_of(node, values) for node in others}
        values = [new.get(node, value) for node, value in enumerate(values)]
    first = networks.num_inputs
    outputs = values[first : first + networks.num_outputs]
    return np.array(outputs).reshape(networks.num_outputs, len(samples)).T
