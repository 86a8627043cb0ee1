"""The retina: objects to the left and to the right."""

import dataclasses
import functools
from typing import ClassVar

import numpy as np
from jaxtyping import Array, Float, Key

from .._resources import Resources
from .._types import check_settings
from ..network import Networks, evaluate
from ..substrate import Layout
from ._base import AbstractProblem, TracedFitness, check_networks, check_single
from ._loss import absolute, is_right, traced_samples
from ._preparation import Preparation

_COLUMNS = (-0.75, -0.25, 0.25, 0.75)
_ROWS = (-0.8, -1.0)
"""Upper, lower. No cell of a substrate lies at these heights, whatever its depth."""


def retina_patterns() -> tuple[
    Float[np.ndarray, "patterns pixels"], Float[np.ndarray, "patterns sides"]
]:
    """The 256 patterns, and whether there is an object to the left and to the right.

    Pixel 0 is the highest bit of the pattern's number. Pixels are numbered by columns
    from the left, the upper one of a column first.
    """
    pixels = (np.arange(256)[:, None] >> np.arange(8)[::-1]) & 1
    left, right = pixels[:, :4], pixels[:, 4:]

    def has_object(half: np.ndarray, outer: np.ndarray, inner: np.ndarray):
        return (half.sum(axis=1) >= 3) | (outer.any(axis=1) & ~inner.any(axis=1))

    objects = [
        has_object(left, left[:, :2], left[:, 2:]),
        has_object(right, right[:, 2:], right[:, :2]),
    ]
    return pixels.astype(np.float64), np.column_stack(objects).astype(np.float64)


def _score(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """1 minus the mean absolute error, or 1 if every answer is right."""
    error = absolute(outputs, targets).mean(axis=1)
    is_perfect = is_right(outputs, targets).all(axis=(1, 2))
    score = np.where(is_perfect, 1.0, 1.0 - error)
    return np.where(np.isfinite(outputs).all(axis=(1, 2)), score, np.nan)


@dataclasses.dataclass(frozen=True)
class Retina(AbstractProblem):
    """The left-and-right retina problem: two recognisers that need not meet.

    A retina of 4 x 2 pixels in all 256 patterns. "A left object is
    defined by three or more black pixels or one or two black pixels in the left column
    only", "a right object in a similar way, with one or two black pixels in the right
    column only" (Kashtan & Alon 2005): 8 of the 16 patterns of either half, so that 64
    patterns have both objects, 64 each one of them, 64 none. The first output should be
    1 if there is an object to the left, else 0; the second likewise for the right.

    Pixels are the first eight inputs, by columns from the left; so the patterns and
    labels are those of gymnasium-retinatask, bit for bit. Some implementations number
    pixels by rows, which turns the columns of the definition into rows, and some
    exchange 0 and 1; as a Boolean problem these are all the same. A dark pixel is -1
    and a bright one 1, as in the experiments with HyperNEAT; with 0 instead of -1 the
    problem is much harder (`dark`).

    **Fitness** is 1 minus the mean absolute error of the 512 answers. A network whose
    answers are all right (on their label's side of 0.5) has fitness 1 whatever is left
    of the error; any other has less. This orders networks as 1000 / (1 + E^2) of Risi &
    Stanley does, E being the sum of absolute errors.

    **Solved** at 1: all 256 patterns right on both sides. `accuracy` counts patterns of
    which both answers are right.

    **Coordinates**: columns at x = -3/4, -1/4, 1/4, 3/4; rows at y = -0.8 and -1; the
    bias, if there is one, at (0, -1); outputs at (-1/2, 1) and (1/2, 1).

    Kashtan & Alon (2005), Spontaneous evolution of modularity and network motifs, PNAS
    102(39); as a task for ES-HyperNEAT: Risi & Stanley (2012), An Enhanced
    Hypercube-Based Encoding, Artificial Life 18(4).

    **Arguments:**

    - `dark`: the value of a dark pixel.
    - `has_bias`: whether there is a ninth input of 1. Networks need a bias; where
      their nodes have none of their own (see `CPPNReading.outputs`) it must be an
      input.
    """

    dark: float = -1.0
    has_bias: bool = False

    name: ClassVar[str] = "retina"
    target: ClassVar[float] = 1.0
    is_separable: ClassVar[bool | None] = True
    suggested: ClassVar[dict[str, object]] = {"output_activation": "sigmoid"}

    def __post_init__(self) -> None:
        check_settings(self)
        if not (np.isfinite(self.dark) and self.dark < 1):
            raise ValueError(
                f"dark is {self.dark}: the value of a dark pixel, where a bright one "
                "is 1. Choose a smaller number."
            )

    @property
    def preparation(self) -> Preparation:
        return Preparation(has_bias=self.has_bias)

    @functools.cached_property
    def layout(self) -> Layout:
        inputs = [(x, y) for x in _COLUMNS for y in _ROWS]
        if self.has_bias:
            inputs.append((0.0, -1.0))
        return Layout(inputs, [(-0.5, 1.0), (0.5, 1.0)])

    def fitness(
        self,
        networks: Networks,
        *,
        key: Key[Array, ""],
        resources: Resources | None = None,
    ) -> Float[np.ndarray, " networks"]:
        del key
        check_networks(self, networks)
        return _score(*self._answers(networks, resources))

    def traced(self) -> TracedFitness | None:
        return self._traced

    @functools.cached_property
    def _traced(self) -> TracedFitness | None:
        targets = retina_patterns()[1]
        return traced_samples(self._inputs(), lambda outputs: _score(outputs, targets))

    def measures(self, network: Networks) -> dict[str, float]:
        check_single(self, network)
        is_hit = is_right(*self._answers(network))[0]
        return {
            "accuracy": float(is_hit.all(axis=1).mean()),
            "left_accuracy": float(is_hit[:, 0].mean()),
            "right_accuracy": float(is_hit[:, 1].mean()),
        }

    def _answers(
        self, networks: Networks, resources: Resources | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        outputs = evaluate(networks, self._inputs(), resources=resources)
        return outputs.astype(np.float64), retina_patterns()[1]

    def _inputs(self) -> Float[np.ndarray, "patterns inputs"]:
        pixels, _ = retina_patterns()
        inputs = np.where(pixels > 0, 1.0, self.dark)
        if self.has_bias:
            inputs = np.column_stack([inputs, np.ones(len(inputs))])
        return inputs
