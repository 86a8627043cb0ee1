"""What the tests of discovery share: engines, drawn settings, views of a wiring.

Engines are built for the same functions and for at most 16 slots, whatever the CPPNs
are, so that all tests of one dialect and precision share their kernels.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from substrax import Resources
from substrax.cppn import QueryEngine
from substrax.network import Networks
from substrax.substrate import (
    CONFIGURATIONS,
    AbstractRule,
    EMRRule,
    ESRule,
    Layout,
    WeightMap,
    discover,
)
from tests.cppns import compile_cppns, random_cppn
from tests.reference.cppn import Query, evaluation_order
from tests.reference.grid import Link, Position, centres

ACTIVATIONS = ("identity", "tanh", "sin", "gauss", "sigmoid")
MAPS = {"neat-python": WeightMap("deadzone", 5.0), "plain": WeightMap("linear", 8.0)}
"""Weight maps by the dialect they come with."""

SEEDS = st.integers(0, 2**32 - 1)
"""Seeds: CPPNs are drawn by NumPy, so that their weights are generic."""


def draw_cppns(
    seed: int, num: int, *, leo: bool = False, bias: bool = False
) -> list[dict[str, Any]]:
    """CPPNs of 0 to 3 hidden nodes (2 with LEO): no more than 16 slots.

    Half of them are smooth, half are steep enough to saturate here and there.
    """
    rng = np.random.default_rng(seed)
    return [
        random_cppn(
            rng,
            int(rng.integers(0, 3 if leo else 4)),
            leo=leo,
            bias=bias,
            scale=float(rng.choice([0.4, 1.0])),
        )
        for _ in range(num)
    ]


def make_engine(
    cppns: list[dict[str, Any]],
    dialect: str = "neat-python",
    dtype: type[np.floating] = np.float64,
) -> QueryEngine:
    return QueryEngine(compile_cppns(cppns, dialect, dtype, activations=ACTIVATIONS))


def oracle_query(cppn: Mapping[str, Any], dialect: str, **options: Any) -> Query:
    weight_map = MAPS[dialect]
    return Query(
        cppn,
        dialect=dialect,
        weight_map=weight_map.name,
        max_weight=weight_map.max_weight,
        **options,
    )


@dataclasses.dataclass(frozen=True)
class Wiring:
    """The networks of a discovery, seen as hidden nodes and links."""

    networks: Networks
    layout: Layout
    num_queries: int

    @property
    def num_genomes(self) -> int:
        return len(self.networks)

    @property
    def num_found(self) -> np.ndarray:
        return self.networks.num_found

    @property
    def hidden_bounds(self) -> np.ndarray:
        num = np.arange(len(self.networks) + 1) * len(self.layout.points)
        return self.networks.node_bounds - num

    @property
    def hidden_point(self) -> np.ndarray:
        terminals = len(self.layout.points)
        parts = [n.node_point[terminals:] for n in self.networks]
        return np.concatenate([np.zeros((0, 2)), *parts])

    @property
    def link_bounds(self) -> np.ndarray:
        return self.networks.link_bounds

    @property
    def link_source(self) -> np.ndarray:
        return self.networks.link_source

    @property
    def link_target(self) -> np.ndarray:
        return self.networks.link_target

    @property
    def link_weight(self) -> np.ndarray:
        return self.networks.link_weight


def find(
    engine: QueryEngine,
    layout: Layout,
    rule: AbstractRule,
    /,
    *,
    weight_map: WeightMap | None = None,
    strategy: str = "auto",
    **resources: Any,
) -> Wiring:
    """`discover`, with the weight map of the engine's dialect."""
    if weight_map is None:
        weight_map = MAPS[engine.programs.dialect]
    found = discover(
        engine.programs,
        engine.coordinates,
        layout,
        rule,
        weight_map,
        strategy=strategy,
        resources=Resources(**resources),
    )
    return Wiring(found.networks, layout, found.num_queries)


# ------------------------------------------------------------------ views of a wiring


def node_points(wiring: Wiring, genome: int) -> list[Position]:
    """Positions of a genome's nodes by number: inputs, outputs, hidden."""
    begin, stop = wiring.hidden_bounds[genome : genome + 2]
    points = np.concatenate([wiring.layout.points, wiring.hidden_point[begin:stop]])
    return [(float(x), float(y)) for x, y in points]


def hidden_of(wiring: Wiring, genome: int) -> set[Position]:
    return set(node_points(wiring, genome)[len(wiring.layout.points) :])


def links_of(wiring: Wiring, genome: int) -> dict[Link, float]:
    """A genome's links by the positions of their ends; none occurs twice."""
    points = node_points(wiring, genome)
    part = slice(*wiring.link_bounds[genome : genome + 2])
    ends = [
        (points[s], points[t])
        for s, t in zip(wiring.link_source[part], wiring.link_target[part], strict=True)
    ]
    assert len(set(ends)) == len(ends), "a pair of positions has two links"
    return dict(zip(ends, wiring.link_weight[part].tolist(), strict=True))


def part_of(wiring: Wiring, genome: int) -> tuple[np.ndarray, ...]:
    """Everything a wiring says about one genome, in order."""
    hidden = slice(*wiring.hidden_bounds[genome : genome + 2])
    links = slice(*wiring.link_bounds[genome : genome + 2])
    return (
        wiring.hidden_point[hidden],
        wiring.link_source[links],
        wiring.link_target[links],
        wiring.link_weight[links],
    )


def assert_same_bits(first: tuple[np.ndarray, ...], second: tuple[np.ndarray, ...]):
    """Points, ends of links and weights agree to the bit, and so does their order."""
    for a, b in zip(first, second, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.tobytes() == b.tobytes()


def assert_same_wirings(first: Wiring, second: Wiring) -> None:
    assert first.num_genomes == second.num_genomes
    for genome in range(first.num_genomes):
        assert_same_bits(part_of(first, genome), part_of(second, genome))


# ------------------------------------------------------------------------ neat-python


def without_silent_nodes(cppn: Mapping[str, Any]) -> dict[str, Any]:
    """The CPPN whose unfed nodes yield their bias and which yet does what neat-python
    0.92 does: there, nodes that no link feeds are never evaluated, nor is anything
    behind them, and an output that is never evaluated is 0.
    """
    alive = {*cppn["input_ids"], *evaluation_order(cppn, "silent")}
    nodes = [node for node in cppn["nodes"] if node["id"] in alive]
    connections = [link for link in cppn["connections"] if link[1] in alive]
    if cppn["output_id"] not in alive:
        dead = {"activation": "identity", "bias": 0.0, "response": 1.0}
        nodes.append({"id": cppn["output_id"], **dead})
    return {**cppn, "nodes": nodes, "connections": connections}


# ---------------------------------------------------------------------- drawn settings


def _points(depth: int, y: list[float] | None = None) -> st.SearchStrategy[Position]:
    """Corners, edges, places between, and cells of all levels; at given heights."""
    on_cells = [float(x) for level in range(depth + 1) for x in centres(level)]
    between = [-1.0, -0.3, 0.0, 0.1, 0.6, 1.0]
    anywhere = st.tuples(
        st.sampled_from([*between, *on_cells]),
        st.sampled_from(y or [*between, *on_cells]),
    )
    if y is not None:
        return anywhere
    cells = st.integers(0, depth).flatmap(
        lambda level: st.tuples(
            *[st.sampled_from([float(x) for x in centres(level)])] * 2
        )
    )
    return st.one_of(anywhere, cells)


@st.composite
def layouts(draw: st.DrawFn, depth: int) -> Layout:
    """One to three inputs and outputs, many of them on cells.

    Mostly there is a way up from inputs to outputs, so that networks are not empty for
    want of one; some layouts have outputs below inputs.
    """

    def points(num: int, y: list[float] | None = None) -> list[Position]:
        wanted = st.lists(_points(depth, y), min_size=num, max_size=num, unique=True)
        return draw(wanted)

    num_inputs, num_outputs = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    order = draw(st.sampled_from(["apart", "apart", "apart", "sorted", "any"]))
    if order == "apart":
        inputs = points(num_inputs, [-1.0, -0.9, -0.75, -0.5])
        return Layout(inputs, points(num_outputs, [1.0, 0.9, 0.75, 0.5]))
    both = points(num_inputs + num_outputs)
    if order == "sorted":
        both.sort(key=lambda point: point[1])
    return Layout(both[:num_inputs], both[num_inputs:])


@st.composite
def es_rules(draw: st.DrawFn, max_depth: int = 3) -> ESRule:
    """Settings of rule `es`.

    Thresholds are positive: where a function saturates, a band threshold of 0 asks
    whether a difference is 0 to the last bit, which two implementations of tanh may
    answer differently. (The published vectors have it, and are tested with it.)
    """
    depth = draw(st.integers(0, max_depth))
    return ESRule(
        depth=depth,
        initial_depth=draw(st.integers(0, min(2, depth + 1))),
        division_threshold=draw(st.sampled_from([0.03, 0.1, 0.5])),
        variance_threshold=draw(st.sampled_from([0.01, 0.03, 0.3, 2.0])),
        band_threshold=draw(st.sampled_from([0.02, 0.1, 0.3])),
        iteration_level=draw(st.integers(0, 3)),
    )


@st.composite
def emr_rules(draw: st.DrawFn, max_depth: int = 3, **fixed: Any) -> EMRRule:
    """Settings of rule `emr`; a band threshold of 0 switches the test off."""
    depth = draw(st.integers(0, max_depth))
    field = draw(st.sampled_from(["output", "weight"]))
    thresholds = {"output": [0.003, 0.03, 0.1], "weight": [0.1, 1.0, 5.0]}[field]
    settings = {
        "depth": depth,
        "initial_depth": draw(st.integers(0, min(1, depth))),
        "variance_threshold": draw(st.sampled_from(thresholds)),
        "weight_threshold": draw(st.sampled_from([0.1, 1.0, 4.0])),
        "band_threshold": draw(st.sampled_from([0.0, 0.05, 0.3])),
        "connections": draw(st.sampled_from(list(CONFIGURATIONS))),
        "field": field,
        "rounds": draw(st.integers(0, 2)),
        "recover": draw(st.booleans()),
    }
    return EMRRule(**{**settings, **fixed})
