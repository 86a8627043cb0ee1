"""Mode `recover` of rule `emr`: what the proof of the paper says, not its equation 2.

A cell is active iff the variance over its parent's children exceeds the threshold,
whatever the ancestors say. So an active cell may lie below a quiet one, and nothing
that was evaluated on the way down tells where. *Brute force* asks for every cell.
*Bounds* look ahead: interval arithmetic gives two numbers between which the field lies
on a whole cell, and no four numbers between lo and hi have a larger variance than
(hi - lo)^2 / 4 (Popoviciu). A cell whose bound does not exceed the threshold has no
active descendant and is left out, with certainty. The bounds decide what is asked and
never what is active, so both ways give the same bits.
"""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from ..cppn import Interval, enclose
from ._expression import Expressed, candidates_of, express, in_band, permitted
from ._fields import Fields, Quads, Queries, Values, block_variance

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


def explore_recovering(
    rule: "EMRRule",
    queries: Queries,
    fields: Fields,
    values: Values,
    classes: frozenset[int],
) -> Expressed:
    """The links that a rule with `recover` expresses."""
    has_bounds = not values.wants_everything
    levels = []
    quads = Quads.roots(fields.num)
    while quads.num:
        is_free = quads.level <= rule.initial_depth
        if has_bounds and not is_free:
            quads = quads.select(may_vary(rule, queries, fields, quads))
            if not quads.num:
                break
        u = values.at(quads)[0]
        weight = queries.weight_map(u)
        active = np.arange(quads.num)
        if not is_free:
            varying = u if rule.field == "output" else weight
            active = np.flatnonzero(block_variance(varying) > rule.variance_threshold)
        some, weight = quads.select(active), weight.take(active, axis=1)
        strong = np.abs(weight) > rule.weight_threshold
        levels.append(candidates_of(fields, some, weight, strong, classes))
        if quads.level == rule.depth:
            break
        quads = quads.children()
    if rule.band_threshold > 0:
        levels = in_band(queries, fields, levels, rule.band_threshold)
    return express(permitted(queries, fields, levels), queries.engine.dtype)


def may_vary(
    rule: "EMRRule", queries: Queries, fields: Fields, quads: Quads
) -> Bool[np.ndarray, " quads"]:
    """Which quads, or quads below them, may vary by more than the threshold."""
    engine = queries.engine
    low, high = _corners(quads, rule.depth)
    point = fields.point.astype(engine.dtype).astype(np.float64)[quads.field]
    fixed, moving = (point, point), (low, high)
    source, target = (fixed, moving) if fields.outgoing else (moving, fixed)
    genome = fields.genome[quads.field] + queries.first_genome
    bounds = enclose(engine.programs, engine.coordinates, genome, source, target)
    u = Interval(bounds.low[0], bounds.high[0])
    if rule.field == "weight":
        u = _weights(queries, u)
    # Compared as it is with computed variances: in the field's own precision.
    threshold = float(engine.dtype.type(rule.variance_threshold))
    return ~(largest_variance(u, engine.dtype) <= threshold)


def _corners(
    quads: Quads, depth: int
) -> tuple[Float[np.ndarray, "quads 2"], Float[np.ndarray, "quads 2"]]:
    """The boxes that hold the centres of all cells of quads, and of those below.

    That is the parent's square without a margin of half a cell of the deepest level.
    All numbers are dyadic, hence exact.
    """
    side = 2.0 ** (1 - quads.level)
    margin = 2.0 ** -(depth + 1)
    corner = np.column_stack([quads.i, quads.j]) * side - 1.0
    return corner + margin, corner + (side - margin)


def _weights(queries: Queries, u: Interval) -> Interval:
    """The weights of outputs. Weight maps never decrease, also as they are rounded."""
    dtype = queries.engine.dtype
    with np.errstate(over="ignore"):
        low = np.nextafter(u.low.astype(dtype), dtype.type(-np.inf))
        high = np.nextafter(u.high.astype(dtype), dtype.type(np.inf))
        ends = queries.weight_map(low), queries.weight_map(high)
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
