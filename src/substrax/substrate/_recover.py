"""Mode `recover` of rule `emr`: what the proof of the paper says, not its equation 2.

A cell is active iff the variance over its parent's children exceeds the threshold,
whatever the ancestors say. So an active cell may lie below a quiet one, and nothing
that was evaluated on the way down tells where. *Brute force* asks for every cell.
*Bounds* look ahead: interval arithmetic gives two numbers between which the field lies
on a whole cell, and no four numbers between lo and hi have a larger variance than
(hi - lo)^2 / 4 (Popoviciu). A cell whose bound does not exceed the threshold has no
active descendant and is left out, with certainty. The bounds decide what is asked and
never what is active, so both ways give the same bits. The native engine has them
(src/native/interval.hpp); here they serve figures.
"""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from ..cppn import Interval, QueryEngine, enclose
from ._weights import WeightMap

if TYPE_CHECKING:
    from ._emr import EMRRule

MAX_BRUTE_DEPTH = 7
"""The deepest grid whose every cell is asked for: 87,380 cells for each field."""


def check_brute_force(rule: "EMRRule") -> None:
    """Refuses to recover from every cell of a grid that is too deep for it."""
    if rule.recover and rule.depth > MAX_BRUTE_DEPTH:
        raise ValueError(
            f"strategy eager evaluates every cell, which with recover goes up to depth "
            f"{MAX_BRUTE_DEPTH}, not {rule.depth}. Use strategy frontier, which leaves "
            "out what interval bounds prove inactive and gives the same network, or a "
            "smaller depth."
        )


def may_vary(
    rule: "EMRRule",
    engine: QueryEngine,
    weight_map: WeightMap,
    genome: int,
    point: Float[np.ndarray, " 2"],
    outgoing: bool,
    level: int,
    i: Int[np.ndarray, " quads"],
    j: Int[np.ndarray, " quads"],
) -> Bool[np.ndarray, " quads"]:
    """Which quads of a level, below cells (i, j), or quads below them, may vary by more
    than the threshold, seen from a point."""
    low, high = _corners(level, i, j, rule.depth)
    here = point.astype(engine.dtype).astype(np.float64)
    here = np.broadcast_to(here, low.shape)
    fixed, moving = (here, here), (low, high)
    source, target = (fixed, moving) if outgoing else (moving, fixed)
    genomes = np.full(len(i), genome)
    bounds = enclose(engine.programs, engine.coordinates, genomes, source, target)
    u = Interval(bounds.low[0], bounds.high[0])
    if rule.field == "weight":
        u = _weights(weight_map, engine.dtype, u)
    # Compared as it is with computed variances: in the field's own precision.
    threshold = float(engine.dtype.type(rule.variance_threshold))
    return ~(largest_variance(u, engine.dtype) <= threshold)


def _corners(
    level: int, i: np.ndarray, j: np.ndarray, depth: int
) -> tuple[Float[np.ndarray, "quads 2"], Float[np.ndarray, "quads 2"]]:
    """The boxes that hold the centres of all cells of quads, and of those below.

    That is the parent's square without a margin of half a cell of the deepest level.
    All numbers are dyadic, hence exact.
    """
    side = 2.0 ** (1 - level)
    margin = 2.0 ** -(depth + 1)
    corner = np.column_stack([i, j]) * side - 1.0
    return corner + margin, corner + (side - margin)


def _weights(weight_map: WeightMap, dtype: np.dtype, u: Interval) -> Interval:
    """The weights of outputs. Weight maps never decrease, also as they are rounded."""
    with np.errstate(over="ignore"):
        low = np.nextafter(u.low.astype(dtype), dtype.type(-np.inf))
        high = np.nextafter(u.high.astype(dtype), dtype.type(np.inf))
        ends = weight_map(low), weight_map(high)
    return Interval(*(end.astype(np.float64) for end in ends))


def largest_variance(
    values: Interval, dtype: np.dtype
) -> Float[np.ndarray, " intervals"]:
    """What `block_variance` computes at most for four numbers of an interval.

    Popoviciu's bound, and what rounding adds: the computed mean is off by no more than
    4 units of the largest number, by whose square the variance around it grows; the
    subtraction, the square and the sum are off by a few units each.
    """
    epsilon, tiny = float(np.finfo(dtype).eps), float(np.finfo(dtype).tiny)
    with np.errstate(over="ignore", invalid="ignore"):
        half = (values.high - values.low) / 2
        mean_error = 4 * epsilon * np.maximum(-values.low, values.high) + tiny
        return (half * half + mean_error * mean_error) * (1 + 16 * epsilon) + 4 * tiny
