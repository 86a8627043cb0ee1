"""A CPPN as plain data, evaluated node by node in float64.

The data are those of `tests/data/pureples.json`: a mapping with `nodes` (`id`,
`activation`, `bias`, `response`), `connections` (`[from, to, weight]`, enabled ones
only), `input_ids` and `output_id`; optionally `leo_id`, a second output that decides
whether a link is expressed (it is where that output > 0; Verbancsics & Stanley 2011),
and `input_names`, which says what each input is. Without `input_names` the inputs are
`x1, y1, x2, y2, bias`; further names are the differences `dx = x2 - x1`,
`dy = y2 - y1` and the `distance` of the two points.

A node's value is `activation(bias + response * sum(weight * value))`.

Two evaluators, which differ in rounding only: `evaluate` (NumPy, over many points) and
`ScalarCppn` (`math`, one point at a time, the way neat-python's FeedForwardNetwork
does it).

**Unfed nodes.** `unfed="silent"` is neat-python 0.92: a node that no connection feeds
is never evaluated, nor is anything behind it, and an output that is never evaluated
yields 0. `unfed="bias"` is ours: such a node yields `activation(bias)`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

PLAIN_INPUTS = ("x1", "y1", "x2", "y2", "bias")
SELU_SCALE = 1.0507009873554804934193349852946
SELU_ALPHA = 1.6732632423543772848170429916717
LELU_SLOPE = 0.005

ScalarFn = Callable[[float], float]
ArrayFn = Callable[[np.ndarray], np.ndarray]


def _clip(z: float, bound: float = 60.0) -> float:
    return max(-bound, min(bound, z))


def _sigmoid(z: float) -> float:
    return 1.0 / (1.0 + math.exp(-z))


# Functions that are the same in both dialects (neat-python has them unscaled). `step`
# and `cos` are no functions of neat-python: `cos` is scaled and clipped there like its
# `sin`. The plain `exp` stops growing at 60, so that it stays finite in float32 too.
SCALAR_COMMON: dict[str, ScalarFn] = {
    "identity": lambda z: z,
    "abs": abs,
    "square": lambda z: z * z,
    "cube": lambda z: z * z * z,
    "step": lambda z: 1.0 if z > 0.0 else 0.0,
    "relu": lambda z: z if z > 0.0 else 0.0,
    "log": lambda z: math.log(max(1e-7, z)),
    "inv": lambda z: 0.0 if z == 0.0 else 1.0 / z,
    "clamped": lambda z: max(-1.0, min(1.0, z)),
    "hat": lambda z: max(0.0, 1.0 - abs(z)),
    "elu": lambda z: z if z > 0.0 else math.exp(z) - 1.0,
    "selu": lambda z: (
        SELU_SCALE * z if z > 0.0 else SELU_SCALE * SELU_ALPHA * (math.exp(z) - 1.0)
    ),
    "lelu": lambda z: z if z > 0.0 else LELU_SLOPE * z,
}
SCALAR: dict[str, dict[str, ScalarFn]] = {
    "neat-python": SCALAR_COMMON
    | {
        "tanh": lambda z: math.tanh(_clip(2.5 * z)),
        "sigmoid": lambda z: _sigmoid(_clip(5.0 * z)),
        "sin": lambda z: math.sin(_clip(5.0 * z)),
        "cos": lambda z: math.cos(_clip(5.0 * z)),
        "exp": lambda z: math.exp(_clip(z)),
        "gauss": lambda z: math.exp(-5.0 * _clip(z, 3.4) ** 2),
        "softplus": lambda z: 0.2 * math.log(1.0 + math.exp(_clip(5.0 * z))),
    },
    "plain": SCALAR_COMMON
    | {
        "tanh": math.tanh,
        "sigmoid": lambda z: _sigmoid(max(-700.0, z)),
        "sin": math.sin,
        "cos": math.cos,
        "exp": lambda z: math.exp(min(60.0, z)),
        "gauss": lambda z: math.exp(-z * z),
        "softplus": lambda z: max(z, 0.0) + math.log1p(math.exp(-abs(z))),
    },
}

ARRAY_COMMON: dict[str, ArrayFn] = {
    "identity": lambda z: z,
    "abs": np.abs,
    "square": lambda z: z * z,
    "cube": lambda z: z * z * z,
    "step": lambda z: (z > 0.0).astype(float),
    "relu": lambda z: np.where(z > 0.0, z, 0.0),
    "log": lambda z: np.log(np.maximum(1e-7, z)),
    "inv": lambda z: np.where(z == 0.0, 0.0, 1.0 / np.where(z == 0.0, 1.0, z)),
    "clamped": lambda z: np.clip(z, -1.0, 1.0),
    "hat": lambda z: np.maximum(0.0, 1.0 - np.abs(z)),
    "elu": lambda z: np.where(z > 0.0, z, np.exp(np.minimum(z, 0.0)) - 1.0),
    "selu": lambda z: (
        SELU_SCALE
        * np.where(z > 0.0, z, SELU_ALPHA * (np.exp(np.minimum(z, 0.0)) - 1.0))
    ),
    "lelu": lambda z: np.where(z > 0.0, z, LELU_SLOPE * z),
}
ARRAY: dict[str, dict[str, ArrayFn]] = {
    "neat-python": ARRAY_COMMON
    | {
        "tanh": lambda z: np.tanh(np.clip(2.5 * z, -60.0, 60.0)),
        "sigmoid": lambda z: 1.0 / (1.0 + np.exp(-np.clip(5.0 * z, -60.0, 60.0))),
        "sin": lambda z: np.sin(np.clip(5.0 * z, -60.0, 60.0)),
        "cos": lambda z: np.cos(np.clip(5.0 * z, -60.0, 60.0)),
        "exp": lambda z: np.exp(np.clip(z, -60.0, 60.0)),
        "gauss": lambda z: np.exp(-5.0 * np.clip(z, -3.4, 3.4) ** 2),
        "softplus": lambda z: 0.2 * np.log(1.0 + np.exp(np.clip(5.0 * z, -60.0, 60.0))),
    },
    "plain": ARRAY_COMMON
    | {
        "tanh": np.tanh,
        "sigmoid": lambda z: 1.0 / (1.0 + np.exp(-np.maximum(-700.0, z))),
        "sin": np.sin,
        "cos": np.cos,
        "exp": lambda z: np.exp(np.minimum(z, 60.0)),
        "gauss": lambda z: np.exp(-z * z),
        "softplus": lambda z: np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))),
    },
}


def _input_columns(names: Sequence[str], points: np.ndarray) -> list[np.ndarray]:
    x1, y1, x2, y2 = points.T
    columns = {
        "x1": x1,
        "y1": y1,
        "x2": x2,
        "y2": y2,
        "bias": np.ones(len(points)),
        "dx": x2 - x1,
        "dy": y2 - y1,
        "distance": np.sqrt((x1 - x2) ** 2 + (y1 - y2) ** 2),
    }
    return [columns[name] for name in names]


def evaluation_order(cppn: Mapping[str, Any], unfed: str) -> list[int]:
    """Node ids in an order in which each follows all that feeds it.

    Swept until nothing more is ready. Under `silent` a node needs at least one link, so
    unfed nodes, and all behind them, are left out; so is a cycle. Under `bias` a cycle
    is an error.
    """
    ids = [node["id"] for node in cppn["nodes"]]
    sources: dict[int, list[int]] = {node_id: [] for node_id in ids}
    for source, target, _ in cppn["connections"]:
        sources[target].append(source)
    known = set(cppn["input_ids"])
    order: list[int] = []
    while True:
        ready = [
            node_id
            for node_id in ids
            if node_id not in known
            and all(source in known for source in sources[node_id])
            and (unfed == "bias" or sources[node_id])
        ]
        if not ready:
            break
        order.extend(ready)
        known.update(ready)
    if unfed == "bias" and len(order) < len(ids):
        raise ValueError("the CPPN has a cycle; a feed-forward CPPN is needed")
    return order


def evaluate(
    cppn: Mapping[str, Any], points: np.ndarray, *, dialect: str, unfed: str = "bias"
) -> dict[int, np.ndarray]:
    """Values of all evaluated nodes at `points`, an array (n, 4) of x1, y1, x2, y2."""
    points = np.asarray(points, dtype=float)
    names = cppn.get("input_names", PLAIN_INPUTS)
    values = dict(
        zip(cppn["input_ids"], _input_columns(names, points), strict=True),
    )
    nodes = {node["id"]: node for node in cppn["nodes"]}
    for node_id in evaluation_order(cppn, unfed):
        total = np.zeros(len(points))
        for source, target, weight in cppn["connections"]:
            if target == node_id:
                total = total + weight * values[source]
        node = nodes[node_id]
        function = ARRAY[dialect][node["activation"]]
        values[node_id] = function(node["bias"] + node["response"] * total)
    return values


class ScalarCppn:
    """The same function for one point at a time, in plain Python floats."""

    def __init__(self, cppn: Mapping[str, Any], *, dialect: str, unfed: str = "bias"):
        nodes = {node["id"]: node for node in cppn["nodes"]}
        self.names = tuple(cppn.get("input_names", PLAIN_INPUTS))
        self.input_ids = tuple(cppn["input_ids"])
        self.output_ids = (cppn["output_id"], cppn.get("leo_id"))
        self.steps = [
            (
                node_id,
                SCALAR[dialect][nodes[node_id]["activation"]],
                nodes[node_id]["bias"],
                nodes[node_id]["response"],
                [(s, w) for s, t, w in cppn["connections"] if t == node_id],
            )
            for node_id in evaluation_order(cppn, unfed)
        ]

    def activate(self, x1: float, y1: float, x2: float, y2: float) -> dict[int, float]:
        if self.names == PLAIN_INPUTS:
            inputs = [x1, y1, x2, y2, 1.0]
        else:
            point = np.array([[x1, y1, x2, y2]])
            inputs = [float(c[0]) for c in _input_columns(self.names, point)]
        values = dict(zip(self.input_ids, inputs, strict=True))
        for node_id, function, bias, response, links in self.steps:
            total = sum(values[source] * weight for source, weight in links)
            values[node_id] = function(bias + response * total)
        return values


def deadzone(u: np.ndarray, max_weight: float) -> np.ndarray:
    """0 where |u| <= 0.2, else the rest stretched to max_weight at |u| = 1."""
    return np.where(np.abs(u) > 0.2, (u - np.sign(u) * 0.2) / 0.8 * max_weight, 0.0)


def linear(u: np.ndarray, max_weight: float) -> np.ndarray:
    """max_weight * u, clipped to +-max_weight."""
    return np.clip(u * max_weight, -max_weight, max_weight)


WEIGHT_MAPS = {"deadzone": deadzone, "linear": linear}


class Query:
    """What a decoder may ask of a CPPN: outputs, weights, and how often it asked.

    `scalar=True` evaluates one point after another with `ScalarCppn`.
    """

    def __init__(
        self,
        cppn: Mapping[str, Any],
        *,
        dialect: str = "neat-python",
        weight_map: str = "deadzone",
        max_weight: float = 5.0,
        unfed: str = "bias",
        scalar: bool = False,
    ):
        self.cppn, self.dialect, self.unfed = cppn, dialect, unfed
        self.weight_map, self.max_weight = weight_map, max_weight
        self.scalar = ScalarCppn(cppn, dialect=dialect, unfed=unfed) if scalar else None
        self.count = 0

    def _values(self, points: np.ndarray, node_id: int) -> np.ndarray:
        if self.scalar is not None:
            return np.array(
                [self.scalar.activate(*p).get(node_id, 0.0) for p in points.tolist()]
            )
        values = evaluate(self.cppn, points, dialect=self.dialect, unfed=self.unfed)
        return values.get(node_id, np.zeros(len(points)))

    def output(self, points: np.ndarray) -> np.ndarray:
        """The raw output u at points (n, 4)."""
        self.count += len(points)
        return self._values(points, self.cppn["output_id"])

    def weight(self, points: np.ndarray) -> np.ndarray:
        """The weight w(u) at points (n, 4), whatever LEO says."""
        return WEIGHT_MAPS[self.weight_map](self.output(points), self.max_weight)

    def is_permitted(self, points: np.ndarray) -> np.ndarray:
        """Whether LEO lets a link be expressed; everywhere True without LEO.

        LEO gates the expression alone. Variance and band are taken on the weight field
        as if there were no LEO.
        """
        if self.cppn.get("leo_id") is None:
            return np.ones(len(points), dtype=bool)
        return self._values(points, self.cppn["leo_id"]) > 0.0

    def weight_at(self, x1: float, y1: float, x2: float, y2: float) -> float:
        """One weight, in plain Python where `scalar` was asked for."""
        if self.scalar is None:
            return float(self.weight(np.array([[x1, y1, x2, y2]]))[0])
        self.count += 1
        u = self.scalar.activate(x1, y1, x2, y2).get(self.cppn["output_id"], 0.0)
        if self.weight_map == "linear":
            return max(-self.max_weight, min(self.max_weight, u * self.max_weight))
        if abs(u) <= 0.2:
            return 0.0
        return (u - math.copysign(0.2, u)) / 0.8 * self.max_weight
