"""A CPPN over a box, node by node in float64: the natural interval extension.

A function's range over [low, high] is the hull of its values at both ends and at those
points between them where it turns. Nothing is rounded outwards, so this is *not* a
bound: it says what a bound must hold, and how wide it need be (to rounding). `inv` is
left out, since it has a pole.
"""

import math
from collections.abc import Mapping
from typing import Any

from .cppn import SCALAR, evaluation_order

Range = tuple[float, float]


def turning_points(name: str, dialect: str, low: float, high: float) -> list[float]:
    """Where a function turns, within [low, high]."""
    if name in ("abs", "square", "hat", "gauss"):
        return [0.0] if low < 0 < high else []
    if name in ("sin", "cos"):
        scale = 5.0 if dialect == "neat-python" else 1.0
        start = 0.0 if name == "cos" else 0.5
        # beyond neat-python's clipping the function is constant
        bound = 12.0 if dialect == "neat-python" else math.inf
        low, high = max(low, -bound), min(high, bound)
        first = math.ceil(low * scale / math.pi - start)
        last = math.floor(high * scale / math.pi - start)
        return [(k + start) * math.pi / scale for k in range(first, last + 1)]
    return []


def range_of(name: str, dialect: str, z: Range) -> Range:
    function = SCALAR[dialect][name]
    points = [*z, *turning_points(name, dialect, *z)]
    values = [function(point) for point in points]
    return min(values), max(values)


def enclose(cppn: Mapping[str, Any], dialect: str, inputs: list[Range]) -> Range:
    """The output's range, for inputs that lie in ranges."""
    ranges = dict(zip(cppn["input_ids"], inputs, strict=True))
    nodes = {node["id"]: node for node in cppn["nodes"]}
    for node_id in evaluation_order(cppn, "bias"):
        node = nodes[node_id]
        low = high = node["bias"]
        for source, target, weight in cppn["connections"]:
            if target == node_id:
                ends = [weight * node["response"] * end for end in ranges[source]]
                low, high = low + min(ends), high + max(ends)
        ranges[node_id] = range_of(node["activation"], dialect, (low, high))
    return ranges[cppn["output_id"]]
