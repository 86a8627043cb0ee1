"""Programs over boxes: between which numbers a CPPN's outputs lie, for all points of
two boxes.

The program of a genome runs on intervals instead of numbers (see `_interval`). Like the
kernel, this runs one program on many boxes where a genome has many, and many programs
in step where each has few.
"""

import numpy as np
from jaxtyping import Float, Int

from .._types import ArrayLike
from ._activation import bound_activation
from ._interval import Interval, Precision, square
from ._program import FAN_IN, Programs

_PIECE = 1 << 12
"""Boxes that are worked on at a time, so that their values stay in the cache."""

_ALONE = 48
"""Boxes of one genome from which on its program runs alone."""

_SUM_STEPS = 2 * (FAN_IN + 2)
"""Units in the last place, of the sum of magnitudes, that a sum may be off by: twice
what so many multiplications and additions can do, for the kernel and for NumPy."""


class _Slots:
    """The values of programs: an interval and the largest magnitude of each."""

    def __init__(self, num_slots: int, num_boxes: int) -> None:
        self.low = np.zeros((num_slots, num_boxes))
        self.high = np.zeros((num_slots, num_boxes))
        self.size = np.zeros((num_slots, num_boxes))

    def part(self, lanes: slice) -> "_Slots":
        result = object.__new__(_Slots)
        result.low, result.high = self.low[:, lanes], self.high[:, lanes]
        result.size = self.size[:, lanes]
        return result

    def put(self, slot: int, lanes: slice | np.ndarray, value: Interval) -> None:
        self.low[slot, lanes], self.high[slot, lanes] = value
        self.size[slot, lanes] = np.maximum(-value.low, value.high)


class _Sum:
    """bias + sum of weight * value, as the kernel rounds it."""

    def __init__(self, bias: ArrayLike, num: int, precision: Precision) -> None:
        self.precision = precision
        self.low = np.empty(num)
        self.low[:] = bias
        self.high = self.low.copy()
        self.size = np.abs(self.low)

    def add(self, weight, low: np.ndarray, high: np.ndarray, size: np.ndarray) -> None:
        """Adds a product; `weight` is one number or one for each value."""
        if np.ndim(weight) == 0:
            first, second = (low, high) if weight > 0 else (high, low)
            self.low += weight * first
            self.high += weight * second
        else:
            positive, negative = np.maximum(weight, 0.0), np.minimum(weight, 0.0)
            self.low += positive * low + negative * high
            self.high += positive * high + negative * low
        # A weight below `tiny` may be taken for 0; one that is 0 is none.
        least = self.precision.tiny / self.precision.epsilon
        self.size += (np.abs(weight) + least * (weight != 0)) * size

    def result(self) -> Interval:
        precision = self.precision
        slack = self.size * (_SUM_STEPS * precision.epsilon) + 8 * precision.tiny
        return precision.known(Interval(self.low - slack, self.high + slack))


def _difference(a: Interval, b: Interval, precision: Precision) -> Interval:
    return precision.widen(Interval(a.low - b.high, a.high - b.low), 2)


def _distance(dx: Interval, dy: Interval, precision: Precision) -> Interval:
    x, y = square(dx, precision), square(dy, precision)
    low = np.sqrt(np.maximum(x.low + y.low, 0.0))
    return precision.widen(Interval(low, np.sqrt(x.high + y.high)))


def _coordinates(
    names: tuple[str, ...], source: Interval, target: Interval, precision: Precision
) -> list[Interval]:
    """The CPPN's inputs over pairs of boxes, (boxes, 2) each."""

    def axis(box: Interval, which: int) -> Interval:
        return precision.widen(Interval(box.low[:, which], box.high[:, which]), 0)

    x1, y1, x2, y2 = (axis(box, k) for box in (source, target) for k in range(2))
    dx, dy = _difference(x2, x1, precision), _difference(y2, y1, precision)
    one = np.ones(source.low.shape[0])
    available = {
        "x1": x1,
        "y1": y1,
        "x2": x2,
        "y2": y2,
        "bias": Interval(one, one),
        "dx": dx,
        "dy": dy,
    }
    if "distance" in names:
        available["distance"] = _distance(dx, dy, precision)
    return [available[name] for name in names]


def _run_alone(
    programs: Programs, genome: int, slots: _Slots, precision: Precision
) -> None:
    """One program on all boxes of `slots`."""
    first = programs.first_row[genome]
    num = slots.low.shape[1]
    everything = slice(None)
    for k in range(programs.num_rows[genome]):
        row = first + k
        total = _Sum(programs.bias[row], num, precision)
        for slot, weight in zip(
            programs.source[row], programs.weight[row], strict=True
        ):
            if weight:
                total.add(
                    float(weight), slots.low[slot], slots.high[slot], slots.size[slot]
                )
        activation = programs.activation_ids[programs.activation[row]]
        value = bound_activation(
            activation, programs.dialect, total.result(), precision
        )
        slots.put(programs.num_inputs + k, everything, value)


def _run_together(
    programs: Programs,
    genome: Int[np.ndarray, " boxes"],
    slots: _Slots,
    precision: Precision,
) -> None:
    """Each box's program, row by row in step."""
    num_rows = programs.num_rows[genome]
    for k in range(int(num_rows.max(initial=0))):
        lanes = np.flatnonzero(num_rows > k)
        row = programs.first_row[genome[lanes]] + k
        total = _Sum(programs.bias[row], lanes.size, precision)
        for f in range(programs.source.shape[1]):
            weight = programs.weight[row, f].astype(np.float64)
            where = (programs.source[row, f], lanes)
            total.add(weight, slots.low[where], slots.high[where], slots.size[where])
        z = total.result()
        which = programs.activation[row]
        for a in np.unique(which):
            some = np.flatnonzero(which == a)
            value = bound_activation(
                programs.activation_ids[a],
                programs.dialect,
                Interval(z.low[some], z.high[some]),
                precision,
            )
            slots.put(programs.num_inputs + k, lanes[some], value)


def enclose(
    programs: Programs,
    coordinates: tuple[str, ...],
    genome: Int[np.ndarray, " boxes"],
    source: tuple[Float[np.ndarray, "boxes 2"], Float[np.ndarray, "boxes 2"]],
    target: tuple[Float[np.ndarray, "boxes 2"], Float[np.ndarray, "boxes 2"]],
) -> Interval:
    """Bounds of CPPN outputs over pairs of boxes, in arrays (outputs, boxes).

    **Arguments:**

    - `programs`, `coordinates`: as those of a `QueryEngine`.
    - `genome`: whose CPPN each pair is for; best sorted.
    - `source`, `target`: lower and upper corners of the boxes; equal for one point.

    **Returns:**

    An interval that holds what the engine answers for each pair of points of the two
    boxes that its precision has. It is infinite where an answer may overflow, or be
    no number at all.
    """
    precision = Precision(programs.bias.dtype)
    num = genome.shape[0]
    low = np.empty((programs.num_outputs, num))
    high = np.empty((programs.num_outputs, num))
    for begin in range(0, num, _PIECE):
        piece = slice(begin, begin + _PIECE)
        owner = genome[piece]
        here, there = (
            Interval(box[0][piece], box[1][piece]) for box in (source, target)
        )
        # Bounds overflow to infinity, and infinity minus infinity is no number: both
        # are answers here, and mean "anything".
        with np.errstate(all="ignore"):
            inputs = _coordinates(coordinates, here, there, precision)
            slots = _Slots(programs.max_slots, owner.size)
            for slot, value in enumerate(inputs):
                slots.put(slot, slice(None), value)
            _run(programs, owner, slots, precision)
        lanes = np.arange(owner.size)
        for output in range(programs.num_outputs):
            slot = programs.output_slot[owner, output]
            low[output, piece] = slots.low[slot, lanes]
            high[output, piece] = slots.high[slot, lanes]
    low[np.isnan(low)] = -np.inf
    high[np.isnan(high)] = np.inf
    return Interval(low, high)


def _run(
    programs: Programs,
    genome: Int[np.ndarray, " boxes"],
    slots: _Slots,
    precision: Precision,
) -> None:
    # Few boxes for each genome: all genomes step through their rows together. Many: one
    # genome after the other, whose rows are then plain numbers.
    starts = np.flatnonzero(np.diff(genome, prepend=-1))
    counts = np.diff(starts, append=genome.size)
    if genome.size < _ALONE * starts.size:
        _run_together(programs, genome, slots, precision)
        return
    for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
        part = slots.part(slice(start, start + count))
        _run_alone(programs, int(genome[start]), part, precision)
