"""The first door for a user's own problem: arrays."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Key

from .._resources import Resources
from .._types import ArrayLike, shown
from ..network import Networks
from ..substrate import Layout
from ._base import (
    AbstractProblem,
    TracedFitness,
    check_layout,
    check_networks,
    check_positive,
    check_single,
    check_target,
)
from ._frames import OF_TRAINING, answer_names, by_name, column_names
from ._loss import LOSSES, LossFunction, draw_samples, mean_loss, traced_loss
from ._preparation import Preparation


def _matrix(name: str, values: ArrayLike) -> Float[np.ndarray, "rows columns"]:
    try:
        array = np.array(values, np.float64)  # a copy, so that it stays as checked
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be a table of numbers, its rows of the same length ({error})."
        ) from None
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or not array.size:
        raise ValueError(
            f"{name} needs the shape (samples, columns), or (samples,) for one column; "
            f"it has {np.shape(values)}."
        )
    check_all_finite(name, array)
    return array


def check_all_finite(
    name: str,
    array: Float[np.ndarray, "rows columns"],
    columns: Sequence[str] | None = None,
) -> None:
    """`columns` are their names, for the sentence."""
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0].tolist()
        called = column if columns is None else shown(columns[column])
        raise ValueError(
            f"{name}[{row}, {called}] is {array[row, column]}: networks cannot take "
            "that. Fill in or drop missing values first."
        )


def _pair(
    x_name: str, X: ArrayLike, y_name: str, y: ArrayLike, preparation: Preparation
) -> tuple[np.ndarray, np.ndarray]:
    X = by_name(x_name, X, preparation.feature_names, OF_TRAINING)
    inputs, targets = _matrix(x_name, X), _matrix(y_name, y)
    check_lengths(x_name, inputs, y_name, targets)
    return preparation.inputs(inputs), targets


def check_lengths(x_name: str, X: np.ndarray, y_name: str, y: np.ndarray) -> None:
    """Samples and answers come in pairs."""
    if len(X) != len(y):
        raise ValueError(f"{x_name} has {len(X)} samples, but {y_name} has {len(y)}.")


def _check_labels(loss: str, y_name: str, targets: np.ndarray) -> None:
    """Losses of classes mean nothing for other numbers, but would give some value."""
    if loss == "cross_entropy":
        is_bad, wanted = (targets < 0) | (targets > 1), "probabilities, 0 to 1"
    elif loss == "misclassified" and targets.shape[1] == 1:
        is_bad, wanted = (targets != 0) & (targets != 1), "0 or 1"
    else:
        return
    if is_bad.any():
        row, column = np.argwhere(is_bad)[0]
        raise ValueError(
            f"{y_name}[{row}, {column}] is {targets[row, column]:g}, but targets of "
            f"the loss {shown(loss)} are {wanted}. Relabel them, or use the loss "
            "squared."
        )


@dataclasses.dataclass(frozen=True, eq=False, init=False)
class ArrayProblem(AbstractProblem):
    """A data set: networks see a row of `X` and should answer with that of `y`.

    Fitness is 1 minus the mean loss over the samples. Networks with cycles are given
    each sample from a zero state, for their number of `steps`.

    **Arguments:**

    - `X`: (samples, features). `y`: (samples,) or (samples, outputs). The columns of a
      data frame keep their names: `X_test`, and rows for a model, may have them in
      another order.
    - `loss`: `squared` (default), `absolute`, `cross_entropy` (outputs are
      probabilities), `misclassified`, or your own function of outputs (networks,
      samples, outputs) and targets (samples, outputs) that returns (networks, samples).
    - `layout`: where inputs and outputs lie; left out, spread along the lower and upper
      edge. With a bias, its place is the last of the inputs.
    - `target`: the fitness that counts as solved; 1, a perfect fit, if left out.
    - `has_bias`: adds an input that is always 1, the last.
    - `X_test`, `y_test`: held back from evolution, for `measures`.
    - `samples_per_generation`: judge each generation by that many samples, drawn by its
      key without repetition, the same for all its networks; left out, by all. Fitness
      of different generations is then not of the same samples.
    - `chunk_size`: samples evaluated at a time; changes memory, and no bit of a result.
    - `suggested`: settings for a decoder.
    - `preparation`: what is done to rows of `X` (and `X_test`) first, instead of
      `has_bias`; targets `y` are taken as they are.

    `measures` gives the mean of every loss that fits the data, on all of it:
    `squared_loss`, `absolute_loss`, and `accuracy` where all targets are 0 or 1; those
    of the test data begin with `test_`.
    """

    name: str
    layout: Layout
    target: float
    suggested: dict[str, object]
    inputs: Float[np.ndarray, "samples inputs"]
    targets: Float[np.ndarray, "samples outputs"]
    test_inputs: Float[np.ndarray, "test inputs"] | None
    test_targets: Float[np.ndarray, "test outputs"] | None
    loss: LossFunction
    samples_per_generation: int | None
    chunk_size: int

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        loss: str | LossFunction = "squared",
        layout: Layout | None = None,
        target: float = 1.0,
        has_bias: bool = False,
        X_test: ArrayLike = None,
        y_test: ArrayLike = None,
        samples_per_generation: int | None = None,
        chunk_size: int = 16_384,
        suggested: dict[str, object] | None = None,
        name: str = "arrays",
        preparation: Preparation | None = None,
    ) -> None:
        preparation = preparation or Preparation(
            has_bias=has_bias,
            feature_names=column_names(X),
            target_names=answer_names(y),
        )
        inputs, targets = _pair("X", X, "y", y, preparation)
        test_inputs = test_targets = None
        if (X_test is None) != (y_test is None):
            raise ValueError("give both X_test and y_test, or neither.")
        if X_test is not None:
            test_inputs, test_targets = _pair(
                "X_test", X_test, "y_test", y_test, preparation
            )
            for name_of, a, b in (
                ("X", inputs, test_inputs),
                ("y", targets, test_targets),
            ):
                if a.shape[1] != b.shape[1]:
                    raise ValueError(
                        f"{name_of} has {a.shape[1]} columns (with any bias), but "
                        f"{name_of}_test has {b.shape[1]}."
                    )
        if isinstance(loss, str):
            if loss not in LOSSES:
                raise ValueError(
                    f"unknown loss {shown(loss)}: use one of {', '.join(LOSSES)}, or a "
                    "function."
                )
            _check_labels(loss, "y", targets)
            if test_targets is not None:
                _check_labels(loss, "y_test", test_targets)
            loss = LOSSES[loss]
        layout = layout or Layout.spread(inputs.shape[1], targets.shape[1])
        check_layout(layout)
        places = (len(layout.inputs), len(layout.outputs))
        if places != (inputs.shape[1], targets.shape[1]):
            raise ValueError(
                f"the layout has places for {places[0]} inputs and {places[1]} "
                f"outputs, but the data have {inputs.shape[1]} (with any bias) and "
                f"{targets.shape[1]}."
            )
        check_samples(samples_per_generation, len(inputs))
        check_positive("chunk_size", chunk_size)
        check_target(target)
        values = {
            "name": name,
            "layout": layout,
            "target": float(target),
            "suggested": dict(suggested or {}),
            "inputs": inputs,
            "targets": targets,
            "test_inputs": test_inputs,
            "test_targets": test_targets,
            "loss": loss,
            "samples_per_generation": samples_per_generation,
            "chunk_size": chunk_size,
            "preparation": preparation,
        }
        for field, value in values.items():
            object.__setattr__(self, field, value)

    @staticmethod
    def of_prepared(
        X: np.ndarray, y: np.ndarray, preparation: Preparation, **options: Any
    ) -> "ArrayProblem":
        """A problem of rows that were prepared already; options are as above."""
        # Without it at first: these rows have been through it. Models need it later.
        problem = ArrayProblem(X, y, **options)
        object.__setattr__(problem, "preparation", preparation)
        return problem

    def fitness(
        self,
        networks: Networks,
        *,
        key: Key[Array, ""],
        resources: Resources | None = None,
    ) -> Float[np.ndarray, " networks"]:
        check_networks(self, networks)
        inputs, targets = self.inputs, self.targets
        if self.samples_per_generation is not None:
            some = draw_samples(key, self.samples_per_generation, len(inputs))
            inputs, targets = inputs[some], targets[some]
        return 1.0 - mean_loss(
            networks, inputs, targets, self.loss, self.chunk_size, resources
        )

    def traced(self) -> TracedFitness | None:
        return self._traced if self.samples_per_generation is None else None

    @functools.cached_property
    def _traced(self) -> TracedFitness | None:
        return traced_loss(self.inputs, self.targets, self.loss)

    def samples(self) -> tuple[np.ndarray, np.ndarray]:
        return self.inputs, self.targets

    def test_samples(self) -> tuple[np.ndarray, np.ndarray] | None:
        if self.test_inputs is None or self.test_targets is None:
            return None
        return self.test_inputs, self.test_targets

    def measures(self, network: Networks) -> dict[str, float]:
        check_single(self, network)
        result = self._losses(network, self.inputs, self.targets, "")
        test = self.test_samples()
        if test is not None:
            result |= self._losses(network, *test, "test_")
        return result

    def _losses(
        self, network: Networks, inputs: np.ndarray, targets: np.ndarray, prefix: str
    ) -> dict[str, float]:
        def mean(loss: LossFunction) -> float:
            values = mean_loss(network, inputs, targets, loss, self.chunk_size)
            return float(values[0])

        result = {
            f"{prefix}squared_loss": mean(LOSSES["squared"]),
            f"{prefix}absolute_loss": mean(LOSSES["absolute"]),
        }
        if np.isin(targets, (0.0, 1.0)).all():
            result[f"{prefix}accuracy"] = 1.0 - mean(LOSSES["misclassified"])
        return result


def check_samples(samples_per_generation: int | None, total: int) -> None:
    if samples_per_generation is None:
        return
    check_positive("samples_per_generation", samples_per_generation)
    if samples_per_generation > total:
        raise ValueError(
            f"samples_per_generation is {samples_per_generation}, but there are only "
            f"{total} samples to draw from. Choose fewer, or none to take all."
        )
