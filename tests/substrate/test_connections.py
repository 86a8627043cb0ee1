"""The six configurations: exactly the allowed links, and every one of them."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from substrax.cppn import QueryEngine
from substrax.substrate import (
    CONFIGURATIONS,
    LINK_CLASSES,
    EMRRule,
    ESRule,
    Layout,
)
from substrax.substrate._connections import configuration
from substrax.tensor._field import class_mask
from tests.reference.emr import CONFIGURATIONS as ALLOWED
from tests.reference.emr import link_class
from tests.reference.grid import Position
from tests.substrate.support import (
    MAPS,
    SEEDS,
    Wiring,
    draw_cppns,
    emr_rules,
    es_rules,
    find,
    hidden_of,
    layouts,
    links_of,
    make_engine,
    node_points,
)


def test_configurations_are_those_of_the_paper() -> None:
    """Table 2."""
    named = {
        name: {LINK_CLASSES[k] for k in classes}
        for name, classes in CONFIGURATIONS.items()
    }
    assert named == ALLOWED


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_link_is_allowed_by_its_class(name: str) -> None:
    points = [(x, y) for x in (-0.5, 0.5) for y in (-0.5, 0.0, 0.5)]
    pairs = list(itertools.product(points, points))
    source, target = np.array(pairs).transpose(1, 0, 2)
    is_same = (source == target).all(axis=1)
    heights = (2 * source[:, 1]).astype(int), (2 * target[:, 1]).astype(int)
    found = class_mask(CONFIGURATIONS[name], *heights, is_same, np.ones_like(is_same))
    assert found.tolist() == [link_class(*pair) in ALLOWED[name] for pair in pairs]


def strong_links(
    engine: QueryEngine,
    genome: int,
    pairs: list[tuple[Position, Position]],
    rule: EMRRule,
) -> dict[tuple[Position, Position], float]:
    """The pairs that pass the threshold, each asked for by itself."""
    if not pairs:
        return {}
    source, target = np.array(pairs).transpose(1, 0, 2)
    outputs = engine.query(genome, source, target)
    weights = MAPS[engine.programs.dialect](outputs[:, 0])
    strong = np.abs(weights) > rule.weight_threshold
    if outputs.shape[1] > 1:
        strong &= outputs[:, 1] > 0
    return {
        pair: weight
        for pair, weight, is_strong in zip(pairs, weights.tolist(), strong, strict=True)
        if is_strong
    }


def is_forward(pair: tuple[Position, Position]) -> bool:
    return pair[0][1] < pair[1][1]


@pytest.mark.parametrize("connections", list(CONFIGURATIONS))
@given(seed=SEEDS, data=st.data())
@settings(max_examples=12)
def test_every_allowed_strong_link_is_there_and_no_other(
    connections: str, seed: int, data: st.DataObject
) -> None:
    """Brute force over all pairs of the nodes that were found.

    Links from inputs need an active cell as well, so of those the class and the weight
    are checked, and that they are strong.
    """
    rule = data.draw(emr_rules(2, connections=connections))
    layout = data.draw(layouts(rule.depth))
    engine = make_engine(draw_cppns(seed, 3, leo=True), "plain", np.float32)
    wiring = find(engine, layout, rule)
    for genome in range(3):
        links = links_of(wiring, genome)
        hidden = hidden_of(wiring, genome)
        between = {pair: w for pair, w in links.items() if {*pair} <= hidden}
        allowed = [
            pair
            for pair in itertools.product(hidden, hidden)
            if link_class(*pair) in ALLOWED[connections]
        ]
        assert between == strong_links(engine, genome, allowed, rule)

        outputs = node_points(wiring, genome)[len(layout.inputs) :][
            : len(layout.outputs)
        ]
        upwards = [p for p in itertools.product(hidden, outputs) if is_forward(p)]
        found = {
            (s, t): w for (s, t), w in links.items() if s in hidden and t in outputs
        }
        assert found == strong_links(engine, genome, upwards, rule)

        rest = {pair: w for pair, w in links.items() if not {*pair} <= hidden}
        assert all(is_forward(pair) for pair in rest)
        assert rest == strong_links(engine, genome, list(rest), rule)


@pytest.mark.parametrize("connections", list(CONFIGURATIONS))
def test_each_allowed_class_occurs(connections: str) -> None:
    engine = make_engine(draw_cppns(0, 8, leo=True), "plain", np.float32)
    rule = EMRRule(depth=1, variance_threshold=0.003, connections=connections)
    wiring = find(engine, Layout.spread(2, 2), rule)
    seen = set()
    for genome in range(8):
        hidden = hidden_of(wiring, genome)
        seen |= {link_class(*p) for p in links_of(wiring, genome) if {*p} <= hidden}
    assert seen == ALLOWED[connections]


def assert_acyclic(wiring: Wiring) -> None:
    for genome in range(wiring.num_genomes):
        links = links_of(wiring, genome)
        assert all(is_forward(link) for link in links)
        assert nx.is_directed_acyclic_graph(nx.DiGraph(list(links)))


@given(seed=SEEDS, rule=es_rules(2), data=st.data())
@settings(max_examples=15)
def test_es_is_acyclic(seed: int, rule: ESRule, data: st.DataObject) -> None:
    engine = make_engine(draw_cppns(seed, 3), "neat-python", np.float32)
    assert_acyclic(find(engine, data.draw(layouts(rule.depth)), rule))


@pytest.mark.parametrize("connections", ["feedforward", "hidden"])
@given(seed=SEEDS, data=st.data())
@settings(max_examples=10)
def test_feedforward_and_hidden_are_acyclic(
    connections: str, seed: int, data: st.DataObject
) -> None:
    rule = data.draw(emr_rules(2, connections=connections))
    engine = make_engine(draw_cppns(seed, 3, leo=True), "plain", np.float32)
    assert_acyclic(find(engine, data.draw(layouts(rule.depth)), rule))


@given(seed=SEEDS, rule=st.one_of(es_rules(2), emr_rules(2)), data=st.data())
@settings(max_examples=20)
def test_every_node_and_link_lies_on_a_path_from_an_input_to_an_output(
    seed: int, rule: ESRule | EMRRule, data: st.DataObject
) -> None:
    """The clean-up keeps the links both of whose ends lie on such a path."""
    layout = data.draw(layouts(rule.depth))
    wiring = find(make_engine(draw_cppns(seed, 2, leo=True), "plain"), layout, rule)
    for genome in range(2):
        links = links_of(wiring, genome)
        graph: nx.DiGraph[Position | str] = nx.DiGraph()
        graph.add_edges_from(links)
        points = node_points(wiring, genome)
        graph.add_nodes_from(points)
        # One node before all inputs and one behind all outputs.
        graph.add_edges_from(("start", p) for p in points[: len(layout.inputs)])
        outputs = points[len(layout.inputs) : len(layout.points)]
        graph.add_edges_from((p, "end") for p in outputs)
        ahead = nx.descendants(graph, "start")
        behind = nx.ancestors(graph, "end")
        ends = {end for link in links for end in link}
        assert hidden_of(wiring, genome) <= ends <= ahead & behind


@pytest.mark.parametrize("name", ["sideways", ""])
def test_other_configurations_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="feedforward, hidden, backward"):
        configuration(name)
