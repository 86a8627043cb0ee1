"""What the best network answers to the rows of a data set."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from ..network import Networks, evaluate
from ..problems import AbstractProblem, Label
from ._names import plain
from ._style import (
    BLUE,
    COLUMN,
    FAINT,
    MAX_VECTOR_SHAPES,
    PAGE,
    new_figure,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROWS_AT_A_TIME = 16_384

MAX_POINTS = 20_000
"""Of more rows some are drawn, spread evenly: the others would lie on them."""
MAX_PANELS = 6
"""Of more outputs, the first are drawn."""


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """Rows of a data set: what should come out of a network, and what does."""

    is_test: bool
    """Whether they are the test; else they are what was learnt from."""
    targets: Float[np.ndarray, "rows outputs"]
    outputs: Float[np.ndarray, "rows outputs"]
    classes: tuple[Label, ...] | None
    """None where answers are numbers."""

    @staticmethod
    def of(problem: AbstractProblem, network: Networks) -> "Answers | None":
        """Those of the test, or of all rows if there is none; None if the problem is
        no data set."""
        test = problem.test_samples()
        rows = problem.samples() if test is None else test
        if rows is None:
            return None
        inputs, targets = rows
        parts = [
            evaluate(network, inputs[k : k + _ROWS_AT_A_TIME].astype(network.dtype))[0]
            for k in range(0, len(inputs), _ROWS_AT_A_TIME)
        ]
        outputs = np.concatenate(parts).astype(np.float64)
        preparation = problem.preparation
        classes = preparation.classes
        # A problem may ask for 0 and 1 without a word about classes.
        if classes is None and targets.shape[1] == 1 and np.isin(targets, (0, 1)).all():
            classes = (0, 1)
        if classes is None:
            targets = preparation.outputs(targets)
            outputs = preparation.outputs(outputs)
        return Answers(test is not None, targets, outputs, classes)

    @property
    def is_finite(self) -> np.ndarray:
        return np.asarray(np.isfinite(self.outputs).all(axis=1))

    def confusion(self) -> Int[np.ndarray, "classes answers"]:
        """How many rows of each class were answered with each; the last column counts
        those that were not decided.

        That is an output of exactly 0.5, two that are equally large, or none that is
        finite: what `accuracy` counts as wrong.
        """
        assert self.classes is not None, "answers are numbers"
        targets, outputs = self.targets, self.outputs
        if targets.shape[1] == 1:
            wanted = (targets[:, 0] > 0.5).astype(np.int64)
            given = (outputs[:, 0] > 0.5).astype(np.int64)
            is_decided = outputs[:, 0] != 0.5
        else:
            wanted, given = targets.argmax(axis=1), outputs.argmax(axis=1)
            largest = outputs.max(axis=1, keepdims=True)
            is_decided = (outputs == largest).sum(axis=1) == 1
        num = len(self.classes)
        given = np.where(is_decided & self.is_finite, given, num)
        counts = np.zeros((num, num + 1), np.int64)
        np.add.at(counts, (wanted, given), 1)
        return counts


def explained(targets: np.ndarray, outputs: np.ndarray) -> float:
    """R^2, the share of the variance that is explained; NaN if there is none."""
    variance = float(((targets - targets.mean()) ** 2).sum())
    error = float(((targets - outputs) ** 2).sum())
    return 1 - error / variance if variance > 0 else float("nan")


def plot_answers(answers: Answers, names: list[str]) -> "Figure | None":
    """Answers over targets, a point for each row, a panel for each output.

    None if the answers are classes, or none of them is finite.
    """
    rows = np.flatnonzero(answers.is_finite)
    if answers.classes is not None or not rows.size:
        return None
    if rows.size > MAX_POINTS:
        rows = rows[np.linspace(0, rows.size - 1, MAX_POINTS).astype(np.int64)]
    num = min(answers.targets.shape[1], MAX_PANELS)
    columns = min(num, 3)
    lines = -(-num // columns)
    with style():
        width = COLUMN if columns == 1 else PAGE
        figure = new_figure(width, lines * (width / columns - 0.1))
        panels = figure.subplots(lines, columns, squeeze=False)
        for place in panels.flat[num:]:
            place.set_axis_off()
        for k, axes in enumerate(panels.flat[:num]):
            targets, outputs = answers.targets[rows, k], answers.outputs[rows, k]
            _draw(axes, targets, outputs, plain(names[k]))
        return figure


def _draw(axes: "Axes", targets: np.ndarray, outputs: np.ndarray, name: str) -> None:
    both = np.concatenate([targets, outputs])
    margin = 0.04 * float(np.ptp(both)) or 1.0
    limits = (float(both.min()) - margin, float(both.max()) + margin)
    axes.plot(limits, limits, color=FAINT, lw=0.8, zorder=1)
    axes.scatter(
        targets,
        outputs,
        s=float(np.clip(3000 / targets.size, 1.5, 14)),
        c=BLUE,
        alpha=float(np.clip(150 / targets.size, 0.15, 0.7)),
        lw=0,
        zorder=2,
        rasterized=targets.size > MAX_VECTOR_SHAPES,
    )
    axes.set_xlim(*limits)
    axes.set_ylim(*limits)
    axes.set_aspect("equal")
    axes.set_title(name, pad=3)
    axes.set_xlabel("target")
    axes.set_ylabel("answer")
