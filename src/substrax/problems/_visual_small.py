"""Visual discrimination on a 5 x 5 field, as in the code of the EMR-HyperNEAT paper."""

import dataclasses
import functools
from typing import ClassVar

import numpy as np
from jaxtyping import Array, Float, Key

from .._resources import Resources
from ..network import Networks, evaluate
from ..substrate import Layout, rectangle
from ._base import AbstractProblem, check_networks, check_single
from ._loss import is_right, squared
from ._preparation import Preparation

_SIZE = 5


def small_fields() -> tuple[
    Float[np.ndarray, "samples pixels"], Float[np.ndarray, "samples one"]
]:
    """The 25 fields with one pixel (label 0), then the 16 with a square (label 1)."""
    fields = np.zeros((41, _SIZE, _SIZE))
    sample = 0
    for edge in (1, 2):
        for row in range(_SIZE - edge + 1):
            for column in range(_SIZE - edge + 1):
                fields[sample, row : row + edge, column : column + edge] = 1.0
                sample += 1
    labels = (np.arange(41) >= 25).astype(np.float64)
    return fields.reshape(41, -1), labels[:, None]


@dataclasses.dataclass(frozen=True)
class VisualSmall(AbstractProblem):
    """One pixel or a square of four? The small stand-in for visual discrimination.

    A field of 5 x 5 pixels, 0 or 1, with one pixel on (25 fields; the output should be
    0) or a square of 2 x 2 (16 fields; 1): 41 samples. The last input is a bias of 1.
    This is what the code of Claret et al. (2026) means by "visual discrimination"; it
    is not the task of Stanley, D'Ambrosio & Gauci (2009), for which see
    `VisualDiscrimination`. Counting the pixels is enough to solve it.

    **Fitness** is 1 minus the mean squared error; a network whose 41 answers are all
    right (on their label's side of 0.5) has fitness 1 whatever is left of the error.

    **Solved** at 1: all answers right. The original's own rule is not known.

    **Coordinates**: pixels row by row from below, x from -1 to 1 and y from -0.9 to
    -0.6, the bias at (0, -1), the output at (0, 1).

    **Arguments:**

    - `has_bias`: whether there is the last input.
    """

    has_bias: bool = True

    name: ClassVar[str] = "visual-small"
    target: ClassVar[float] = 1.0
    is_separable: ClassVar[bool | None] = True
    suggested: ClassVar[dict[str, object]] = {"output_activation": "sigmoid"}

    @property
    def preparation(self) -> Preparation:
        return Preparation(has_bias=self.has_bias)

    @functools.cached_property
    def layout(self) -> Layout:
        inputs = rectangle(_SIZE, _SIZE, -0.9, -0.6)
        if self.has_bias:
            inputs = np.concatenate([inputs, [[0.0, -1.0]]])
        return Layout(inputs, [[0.0, 1.0]])

    def fitness(
        self,
        networks: Networks,
        *,
        key: Key[Array, ""],
        resources: Resources | None = None,
    ) -> Float[np.ndarray, " networks"]:
        del key
        check_networks(self, networks)
        outputs, targets = self._answers(networks, resources)
        with np.errstate(over="ignore", invalid="ignore"):
            score = 1.0 - squared(outputs, targets).mean(axis=1)
        is_perfect = is_right(outputs, targets).all(axis=(1, 2))
        score = np.where(is_perfect, 1.0, score)
        return np.where(np.isfinite(outputs).all(axis=(1, 2)), score, np.nan)

    def measures(self, network: Networks) -> dict[str, float]:
        check_single(self, network)
        return {"accuracy": float(is_right(*self._answers(network)).mean())}

    def _answers(
        self, networks: Networks, resources: Resources | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        inputs, targets = small_fields()
        if self.has_bias:
            inputs = np.column_stack([inputs, np.ones(len(inputs))])
        outputs = evaluate(networks, inputs, resources=resources)
        return outputs.astype(np.float64), targets
