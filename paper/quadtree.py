"""The baseline: ES-HyperNEAT by a recursive quadtree in plain Python.

What PUREPLES does, query by query and node by node (Risi & Stanley 2012), without its
copying of links. It reads the same genomes, dialect, weight map, coordinates and
thresholds as the decoder it is compared with, so that the rule is all there is between
them; it must find the same network.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Iterable

import jax
import numpy as np

from substrax.cppn import ACTIVATION_NAMES
from substrax.decoders import Discovered
from substrax.neat import Genome
from substrax.substrate import ESRule, WeightMap

Position = tuple[float, float]
Link = tuple[Position, Position]
ScalarFn = Callable[[float], float]

_CHECK_EVERY = 256


class TookTooLong(Exception):  # noqa: N818 (an outcome that is counted, not an error)
    """The time for one genome is used up."""


@dataclasses.dataclass(frozen=True)
class Decoding:
    """What the quadtree made of one genome; no network if it was cut off."""

    seconds: float
    queries: int
    is_cut: bool
    links: dict[Link, float]


def _clip(z: float, bound: float = 60.0) -> float:
    return -bound if z < -bound else bound if z > bound else z


_PLAIN: dict[str, ScalarFn] = {
    "identity": lambda z: z,
    "abs": abs,
    "tanh": math.tanh,
    "sigmoid": lambda z: 1.0 / (1.0 + math.exp(-max(-700.0, z))),
    "sin": math.sin,
    "cos": math.cos,
    "gauss": lambda z: math.exp(-z * z),
    "relu": lambda z: z if z > 0.0 else 0.0,
}
_NEAT_PYTHON: dict[str, ScalarFn] = _PLAIN | {
    "tanh": lambda z: math.tanh(_clip(2.5 * z)),
    "sigmoid": lambda z: 1.0 / (1.0 + math.exp(-_clip(5.0 * z))),
    "sin": lambda z: math.sin(_clip(5.0 * z)),
    "cos": lambda z: math.cos(_clip(5.0 * z)),
    "gauss": lambda z: math.exp(-5.0 * _clip(z, 3.4) ** 2),
}
NEAT_PYTHON = "neat-python"
_FUNCTIONS = {"plain": _PLAIN, NEAT_PYTHON: _NEAT_PYTHON}


class Cppn:
    """One genome as a function of four numbers, in Python floats."""

    def __init__(self, genomes: Genome, index: int, dialect: str, num_inputs: int):
        ids = np.asarray(genomes.node_id[index])
        names = np.asarray(genomes.node_activation[index])
        biases = np.asarray(genomes.node_bias[index])
        nodes = {
            int(i): (ACTIVATION_NAMES[int(a)], float(b))
            for i, a, b in zip(ids, names, biases, strict=True)
            if i >= num_inputs
        }
        into: dict[int, list[tuple[int, float]]] = {i: [] for i in nodes}
        for source, target, weight, is_enabled in zip(
            *(
                np.asarray(getattr(genomes, name)[index]).tolist()
                for name in ("link_source", "link_target", "link_weight")
            ),
            np.asarray(genomes.link_enabled[index]).tolist(),
            strict=True,
        ):
            if is_enabled and target in into:
                into[target].append((source, weight))
        needed, waiting = {num_inputs}, [num_inputs]
        while waiting:
            for source, _ in into[waiting.pop()]:
                if source >= num_inputs and source not in needed:
                    needed.add(source)
                    waiting.append(source)
        place = {i: i for i in range(num_inputs)}
        self.steps, self.names = [], []
        while len(place) < num_inputs + len(needed):
            ready = [
                i
                for i in sorted(needed)
                if i not in place and all(s in place for s, _ in into[i])
            ]
            if not ready:
                raise ValueError("the CPPN has a cycle; feed_forward must be true.")
            for i in ready:
                name, bias = nodes[i]
                if name not in _FUNCTIONS[dialect]:
                    raise ValueError(
                        f"the quadtree has no activation {name!r}; leave it out of "
                        "neat.activation_options."
                    )
                links = [(place[s], w) for s, w in into[i]]
                self.steps.append((_FUNCTIONS[dialect][name], bias, links))
                self.names.append(name)
                place[i] = len(place)
        self.output = place[num_inputs]

    def __call__(self, x1: float, y1: float, x2: float, y2: float) -> float:
        values = [x1, y1, x2, y2, 1.0]
        for function, bias, links in self.steps:
            for source, weight in links:
                bias += values[source] * weight
            values.append(function(bias))
        return values[self.output]


class _Query:
    """Weights, one at a time, and how many were asked for."""

    def __init__(self, cppn: Cppn, weight_map: WeightMap, stop_at: float):
        self.cppn, self.stop_at = cppn, stop_at
        self.max_weight = weight_map.max_weight
        self.is_linear = weight_map.name == "linear"
        self.count = 0

    def __call__(self, x1: float, y1: float, x2: float, y2: float) -> float:
        self.count += 1
        if self.count % _CHECK_EVERY == 0 and time.perf_counter() > self.stop_at:
            raise TookTooLong
        u = self.cppn(x1, y1, x2, y2)
        if self.is_linear:
            return _clip(u * self.max_weight, self.max_weight)
        if abs(u) <= 0.2:
            return 0.0
        return (u - math.copysign(0.2, u)) / 0.8 * self.max_weight


@dataclasses.dataclass
class _Quad:
    x: float
    y: float
    half: float
    level: int
    weight: float = 0.0
    children: list["_Quad"] = dataclasses.field(default_factory=list)


def _leaves(quad: _Quad, weights: list[float]) -> list[float]:
    if not quad.children:
        weights.append(quad.weight)
    for child in quad.children:
        _leaves(child, weights)
    return weights


def _variance(weights: list[float]) -> float:
    mean = sum(weights) / len(weights)
    return sum((w - mean) ** 2 for w in weights) / len(weights)


class _Tree:
    """One exploration: from a point to all cells, or from all cells to it."""

    def __init__(self, query: _Query, rule: ESRule, point: Position, outgoing: bool):
        self.query, self.rule = query, rule
        self.point, self.outgoing = point, outgoing

    def weight_at(self, x: float, y: float) -> float:
        if self.outgoing:
            return self.query(*self.point, x, y)
        return self.query(x, y, *self.point)

    def divide(self, quad: _Quad) -> None:
        step = quad.half / 2.0
        for dx, dy in ((-step, -step), (-step, step), (step, step), (step, -step)):
            x, y = quad.x + dx, quad.y + dy
            child = _Quad(x, y, step, quad.level + 1, self.weight_at(x, y))
            quad.children.append(child)
        below = quad.level + 2
        if below <= self.rule.depth and (
            below < self.rule.initial_depth
            or _variance([c.weight for c in quad.children])
            > self.rule.division_threshold
        ):
            for child in quad.children:
                self.divide(child)

    def extract(self, quad: _Quad, links: dict[Link, float]) -> None:
        for child in quad.children:
            if (
                child.children
                and _variance(_leaves(child, [])) > self.rule.variance_threshold
            ):
                self.extract(child, links)
            elif child.weight != 0.0 and self.is_in_band(child):
                here = (child.x, child.y)
                ends = (self.point, here) if self.outgoing else (here, self.point)
                if ends[0][1] < ends[1][1]:
                    links[ends] = child.weight

    def is_in_band(self, quad: _Quad) -> bool:
        x, y, side, weight = quad.x, quad.y, 2.0 * quad.half, quad.weight
        left = abs(weight - self.weight_at(x - side, y))
        right = abs(weight - self.weight_at(x + side, y))
        down = abs(weight - self.weight_at(x, y - side))
        up = abs(weight - self.weight_at(x, y + side))
        return max(min(left, right), min(down, up)) > self.rule.band_threshold


def _explore(
    query: _Query, rule: ESRule, point: Position, outgoing: bool
) -> dict[Link, float]:
    tree, root = _Tree(query, rule, point, outgoing), _Quad(0.0, 0.0, 1.0, -1)
    tree.divide(root)
    links: dict[Link, float] = {}
    tree.extract(root, links)
    return links


def _reach(starts: Iterable[Position], links: Iterable[Link]) -> set[Position]:
    following: dict[Position, list[Position]] = {}
    for source, target in links:
        following.setdefault(source, []).append(target)
    reached = set(starts)
    waiting = list(reached)
    while waiting:
        for target in following.get(waiting.pop(), ()):
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def _discover(query: _Query, decoder: Discovered, rule: ESRule) -> dict[Link, float]:
    inputs = [(float(x), float(y)) for x, y in decoder.layout.inputs]
    outputs = [(float(x), float(y)) for x, y in decoder.layout.outputs]
    links: dict[Link, float] = {}
    for point in inputs:
        links |= _explore(query, rule, point, True)
    explored: set[Position] = set()
    for _ in range(rule.iteration_level):
        found = {target for _, target in links}
        for point in sorted(found - explored):
            links |= _explore(query, rule, point, True)
        explored |= found
    for point in outputs:
        links |= _explore(query, rule, point, False)
    alive = _reach(inputs, links) & _reach(outputs, ((b, a) for a, b in links))
    return {(a, b): w for (a, b), w in links.items() if a in alive and b in alive}


def checked_rule(decoder: Discovered) -> ESRule:
    """The decoder's rule, if a quadtree can do what the decoder does."""
    rule = decoder.rule
    if not isinstance(rule, ESRule):
        raise ValueError("the quadtree is rule es; give a decoder with that rule.")
    if decoder.reading.outputs != ("weight",) or decoder.reading.coordinates != (
        "x1", "y1", "x2", "y2", "bias",
    ):  # fmt: skip
        raise ValueError(
            "the quadtree takes CPPNs from x1, y1, x2, y2, bias to a weight alone."
        )
    return rule


def quadtree_decode(
    decoder: Discovered, genomes: Genome, index: int, max_seconds: float = math.inf
) -> Decoding:
    """One genome of a population by the recursive quadtree.

    Cut off after `max_seconds`: its time is then a lower bound.
    """
    rule = checked_rule(decoder)
    genomes = jax.device_get(genomes)  # indexing JAX's arrays would be compiled first
    began = time.perf_counter()
    cppn = Cppn(genomes, index, decoder.reading.dialect, 5)
    query = _Query(cppn, decoder.weight_map, began + max_seconds)
    try:
        links = _discover(query, decoder, rule)
        is_cut = False
    except TookTooLong:
        links, is_cut = {}, True
    return Decoding(time.perf_counter() - began, query.count, is_cut, links)
