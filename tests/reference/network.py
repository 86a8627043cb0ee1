"""The phenotype, evaluated naively: nodes are positions, links a mapping to weights.

Rules:
- A node's value is `activation(bias + sum of weight * value)` over its links.
- Without biases a node that no link feeds has value 0, not activation(0): an output
  that nothing reaches yields 0 even under a sigmoid. (PUREPLES; after the clean-up this
  concerns outputs only.) With biases it yields activation(bias).
- Inputs hold their value. A link into an input, which `es` may find where an input
  coincides with a grid position, carries nothing.
- An output may feed further nodes, and is then evaluated like any other node.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from . import grid
from .cppn import ARRAY
from .grid import Link, Position

Activation = Callable[[np.ndarray], np.ndarray]


class Network:
    """Terminals, links, and an activation for hidden nodes and one for outputs."""

    def __init__(
        self,
        inputs: Iterable[Iterable[float]],
        outputs: Iterable[Iterable[float]],
        links: Mapping[Link, float],
        *,
        hidden_activation: str = "sigmoid",
        output_activation: str = "sigmoid",
        dialect: str = "neat-python",
        biases: Mapping[Position, float] | None = None,
    ):
        self.biases = biases or {}
        self.inputs = grid.as_positions(inputs)
        self.outputs = grid.as_positions(outputs)
        self.hidden_function: Activation = ARRAY[dialect][hidden_activation]
        self.output_function: Activation = ARRAY[dialect][output_activation]
        self.feeds: dict[Position, list[tuple[Position, float]]] = {}
        for (source, target), weight in links.items():
            if target not in self.inputs:
                self.feeds.setdefault(target, []).append((source, weight))
        for position in self.biases:
            self.feeds.setdefault(position, [])

    def function_of(self, position: Position) -> Activation:
        is_output = position in self.outputs
        return self.output_function if is_output else self.hidden_function

    def order(self) -> list[Position]:
        """Fed nodes, each after all that feeds it; a cycle is an error."""
        done: list[Position] = []
        remaining = list(self.feeds)
        while remaining:
            ready = [
                position
                for position in remaining
                if not any(source in remaining for source, _ in self.feeds[position])
            ]
            if not ready:
                raise ValueError("the network has a cycle; it cannot settle")
            done += ready
            remaining = [position for position in remaining if position not in ready]
        return done

    def _start(self, samples: np.ndarray) -> dict[Position, np.ndarray]:
        samples = np.asarray(samples, dtype=float)
        return {p: samples[:, k] for k, p in enumerate(self.inputs)}

    def _value(
        self,
        position: Position,
        values: Mapping[Position, np.ndarray],
        zero: np.ndarray,
    ) -> np.ndarray:
        total = zero + self.biases.get(position, 0.0)
        for source, weight in self.feeds[position]:
            total = total + weight * values.get(source, zero)
        return self.function_of(position)(total)

    def _result(
        self, values: Mapping[Position, np.ndarray], zero: np.ndarray
    ) -> np.ndarray:
        return np.stack([values.get(p, zero) for p in self.outputs], axis=1)

    def settled(self, samples: np.ndarray | Sequence[Sequence[float]]) -> np.ndarray:
        """Outputs (n, outputs) for samples (n, inputs): each node once, in order."""
        values = self._start(np.asarray(samples))
        zero = np.zeros(len(samples))
        for position in self.order():
            values[position] = self._value(position, values, zero)
        return self._result(values, zero)

    def stepped(
        self, samples: np.ndarray | Sequence[Sequence[float]], steps: int
    ) -> np.ndarray:
        """Outputs after `steps` synchronous updates from a zero state, inputs held.

        In one step every fed node reads the values of the step before; so a value
        needs as many steps to reach an output as there are links on its way.
        """
        held = self._start(np.asarray(samples))
        zero = np.zeros(len(samples))
        state: dict[Position, np.ndarray] = {}
        for _ in range(steps):
            values = state | held
            state = {p: self._value(p, values, zero) for p in self.feeds}
        return self._result(state | held, zero)
