"""Where inputs and outputs lie on the plane."""

import dataclasses

import numpy as np
from jaxtyping import Float

from .._types import ArrayLike, as_numbers, check_whole

MAX_POINTS = 1 << 22
"""Of a line or a rectangle: more than any network has been evolved for."""


def normalise(points: ArrayLike) -> Float[np.ndarray, "n 2"]:
    """Points scaled and shifted into [-1, 1], each axis by itself.

    An axis on which all points agree is put in the middle.
    """
    points = _as_points("points", points)
    low, high = points.min(axis=0), points.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    return np.where(high > low, 2.0 * (points - low) / span - 1.0, 0.0)


def line(num: int, y: float) -> Float[np.ndarray, "n 2"]:
    """`num` points spread evenly along a horizontal line, from edge to edge.

    A single point lies in the middle.
    """
    check_whole(num=num)
    if num < 1:
        raise ValueError(f"a line needs at least one point, not {num}.")
    if num > MAX_POINTS:
        raise ValueError(f"a line has at most {MAX_POINTS:,} points, not {num:,}.")
    x = np.linspace(-1.0, 1.0, num) if num > 1 else np.zeros(1)
    return np.column_stack([x, np.full(num, float(y))])


def rectangle(
    columns: int, rows: int, y_low: float, y_high: float
) -> Float[np.ndarray, "n 2"]:
    """`columns * rows` points in a grid between two heights, row by row from below."""
    check_whole(columns=columns, rows=rows)
    if rows < 1:
        raise ValueError(f"a rectangle needs at least one row, not {rows}.")
    if columns * rows > MAX_POINTS:
        raise ValueError(
            f"a rectangle has at most {MAX_POINTS:,} points, not {columns * rows:,}."
        )
    heights = np.linspace(y_low, y_high, rows) if rows > 1 else [(y_low + y_high) / 2]
    return np.concatenate([line(columns, y) for y in heights])


def _as_points(name: str, points: ArrayLike) -> Float[np.ndarray, "n 2"]:
    array = as_numbers(f"{name} must be rows (x, y) of numbers", points, np.float64)
    array = array.copy()  # theirs may change
    if array.ndim != 2 or array.shape[1] != 2 or not len(array):
        raise ValueError(
            f"{name} need the shape (n, 2), one row (x, y) for each; these have "
            f"{array.shape}."
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name} hold a NaN or infinite coordinate; repair it.")
    return array


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """The coordinates of a substrate's inputs and outputs, checked.

    Any points in the plane [-1, 1]^2 will do, also cell centres: a cell that lies on an
    input or an output *is* that node. `Layout.spread(n, m)` makes the usual choice.
    """

    inputs: Float[np.ndarray, "inputs 2"]
    outputs: Float[np.ndarray, "outputs 2"]

    def __init__(self, inputs: ArrayLike, outputs: ArrayLike) -> None:
        checked = {"inputs": inputs, "outputs": outputs}
        for name, points in checked.items():
            checked[name] = array = _as_points(name, points)
            outside = np.abs(array).max(axis=1) > 1
            if outside.any():
                k = int(np.flatnonzero(outside)[0])
                raise ValueError(
                    f"{name}[{k}] = ({array[k, 0]:g}, {array[k, 1]:g}) lies outside "
                    "the plane [-1, 1]^2, where a CPPN pattern means nothing. Use "
                    "Layout.normalised(inputs, outputs) to scale all of them into it."
                )
            array.flags.writeable = False  # it stays as checked
            object.__setattr__(self, name, array)
        everything = np.concatenate([checked["inputs"], checked["outputs"]])
        _, first, count = np.unique(
            everything, axis=0, return_index=True, return_counts=True
        )
        if (count > 1).any():
            x, y = everything[first[count > 1][0]]
            raise ValueError(
                f"({x:g}, {y:g}) is the place of more than one input or output; a "
                "place can hold one node. Move one of them."
            )

    @staticmethod
    def spread(num_inputs: int, num_outputs: int) -> "Layout":
        """Inputs along the lower edge (y = -1), outputs along the upper (y = 1)."""
        return Layout(line(num_inputs, -1.0), line(num_outputs, 1.0))

    @staticmethod
    def normalised(inputs: ArrayLike, outputs: ArrayLike) -> "Layout":
        """Points from anywhere, scaled and shifted into the plane, all alike."""
        inputs = _as_points("inputs", inputs)
        together = [inputs, _as_points("outputs", outputs)]
        points = normalise(np.concatenate(together))
        return Layout(points[: len(inputs)], points[len(inputs) :])

    @property
    def points(self) -> Float[np.ndarray, "terminals 2"]:
        """Inputs, then outputs."""
        return np.concatenate([self.inputs, self.outputs])
