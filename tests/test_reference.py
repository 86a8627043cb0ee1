"""The oracles against the published vectors, against each other, and by hand."""

import json
from pathlib import Path
from typing import Any

import neat.activations
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import cppn, emr, es, grid, network

DATA = Path(__file__).parent / "data"
CASES = json.loads((DATA / "pureples.json").read_text())["cases"]
COUNTEREXAMPLE = json.loads((DATA / "superset_counterexample.json").read_text())
INPUT_IDS = [-1, -2, -3, -4, -5]


def one_node(activation: str, bias: float = 0.0, **weights: float) -> dict[str, Any]:
    """A CPPN of one node, fed by the inputs that are named."""
    ids: dict[str, int] = dict(zip(cppn.PLAIN_INPUTS, INPUT_IDS, strict=True))
    return {
        "nodes": [{"id": 0, "activation": activation, "bias": bias, "response": 1.0}],
        "connections": [[ids[name], 0, weight] for name, weight in weights.items()],
        "input_ids": INPUT_IDS,
        "output_id": 0,
    }


def random_cppn(rng: np.random.Generator, num_hidden: int) -> dict[str, Any]:
    """A random feed-forward CPPN; continuous weights, so that ties do not happen."""
    names = ["tanh", "sin", "gauss", "sigmoid", "identity", "abs"]
    nodes, connections = [], []
    for node_id in range(num_hidden + 1):
        nodes.append(
            {
                "id": node_id,
                "activation": str(rng.choice(names[:3] if node_id == 0 else names)),
                "bias": float(rng.normal(0.0, 0.4)),
                "response": float(rng.uniform(0.5, 1.5)),
            }
        )
        for source in [*INPUT_IDS, *range(node_id + 1, num_hidden + 1)]:
            if rng.random() < 0.6:
                connections.append([source, node_id, float(rng.normal(0.0, 1.0))])
    return {
        "nodes": nodes,
        "connections": connections,
        "input_ids": INPUT_IDS,
        "output_id": 0,
    }


def random_terminals(
    rng: np.random.Generator, number: int, depth: int
) -> list[grid.Position]:
    """Distinct coordinates, about half of them on cells, in any order of height."""
    chosen: set[grid.Position] = set()
    while len(chosen) < number:
        if rng.random() < 0.5:
            axis = grid.centres(int(rng.integers(depth + 1)))
            chosen.add((float(rng.choice(axis)), float(rng.choice(axis))))
        else:
            chosen.add((float(rng.uniform(-1, 1)), float(rng.choice([-1.0, 0.3, 1.0]))))
    ordered = sorted(chosen, key=lambda p: p[1])
    if rng.random() < 0.3:
        ordered = [ordered[k] for k in rng.permutation(number)]
    return ordered


# ----------------------------------------------------------------------------- CPPN


@pytest.mark.parametrize("dialect", ["neat-python", "plain"])
@pytest.mark.parametrize("name", sorted(cppn.SCALAR["plain"]))
def test_array_and_scalar_activations_agree(name: str, dialect: str) -> None:
    z = np.concatenate([np.linspace(-20.0, 20.0, 401), [-80.0, 80.0]])
    one_by_one = [cppn.SCALAR[dialect][name](value) for value in z.tolist()]
    np.testing.assert_allclose(
        cppn.ARRAY[dialect][name](z), one_by_one, rtol=1e-13, atol=1e-15
    )


@pytest.mark.parametrize(
    "name", sorted(set(cppn.SCALAR["neat-python"]) - {"step", "cos"})
)
def test_neat_python_dialect_is_that_of_the_package(name: str) -> None:
    theirs = neat.activations.ActivationFunctionSet().get(name)
    for z in np.linspace(-15.0, 15.0, 301).tolist():
        assert cppn.SCALAR["neat-python"][name](z) == pytest.approx(
            theirs(z), rel=1e-14, abs=1e-300
        )


@given(seed=st.integers(0, 2**32 - 1), num_hidden=st.integers(0, 6))
@settings(max_examples=30, deadline=None)
def test_array_and_scalar_cppn_agree(seed: int, num_hidden: int) -> None:
    rng = np.random.default_rng(seed)
    genome = random_cppn(rng, num_hidden)
    points = rng.uniform(-1, 1, (5, 4))
    for unfed in ("silent", "bias"):
        fast = cppn.Query(genome, unfed=unfed)
        slow = cppn.Query(genome, unfed=unfed, scalar=True)
        np.testing.assert_allclose(
            fast.weight(points), slow.weight(points), rtol=1e-9, atol=1e-12
        )
        np.testing.assert_allclose(
            fast.weight(points), [slow.weight_at(*row) for row in points.tolist()]
        )


def test_cppn_by_hand() -> None:
    genome = one_node("identity", 0.5, x1=2.0, y2=-1.0)
    values = cppn.evaluate(genome, np.array([[0.5, 9.0, 9.0, 0.75]]), dialect="plain")
    assert values[0].tolist() == [0.5 + 1.0 - 0.75]


def test_unfed_node_is_silent_or_yields_its_bias() -> None:
    genome = one_node("identity", 0.5)
    genome["nodes"].append(
        {"id": 1, "activation": "identity", "bias": 3.0, "response": 1}
    )
    genome["connections"] = [[1, 0, 2.0], [-1, 0, 1.0]]
    points = np.array([[0.25, 0.0, 0.0, 0.0]])
    silent = cppn.Query(genome, dialect="plain", unfed="silent")
    ours = cppn.Query(genome, dialect="plain", unfed="bias")
    assert silent.output(points).tolist() == [0.0]
    assert ours.output(points).tolist() == [0.5 + 2.0 * 3.0 + 0.25]


def test_differences_and_distance_are_inputs_by_name() -> None:
    genome = one_node("identity")
    genome |= {
        "input_names": ["dx", "dy", "distance"],
        "input_ids": [-1, -2, -3],
        "connections": [[-1, 0, 100.0], [-2, 0, 10.0], [-3, 0, 1.0]],
    }
    points = np.array([[0.5, 0.5, -2.5, 4.5]])
    for scalar in (False, True):
        query = cppn.Query(genome, dialect="plain", scalar=scalar)
        assert query.output(points).tolist() == [-300.0 + 40.0 + 5.0]


def test_weight_maps_by_hand() -> None:
    u = np.array([-1.0, -0.6, -0.2, 0.0, 0.2, 0.6, 1.0, 2.0])
    np.testing.assert_allclose(
        cppn.deadzone(u, 5.0), [-5.0, -2.5, 0.0, 0.0, 0.0, 2.5, 5.0, 11.25]
    )
    assert cppn.deadzone(np.array([0.2, -0.2]), 5.0).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(cppn.linear(u, 8.0)[[0, 1, 4, 7]], [-8, -4.8, 1.6, 8])


# ------------------------------------------------------------------------------- es


@pytest.mark.parametrize("is_dense", [False, True], ids=["recursive", "dense"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['case']}-{c['substrate']}")
def test_es_reproduces_the_published_vectors(
    case: dict[str, Any], is_dense: bool
) -> None:
    query = cppn.Query(
        case["cppn"],
        max_weight=case["params"]["max_weight"],
        unfed="silent",
        scalar=not is_dense,
    )
    result = es.discover(
        query,
        case["inputs"],
        case["outputs"],
        es.parameters_of(case["params"]),
        dense=is_dense,
        count_like_pureples=True,
    )
    wanted = {((a, b), (c, d)): w for a, b, c, d, w in case["connections"]}
    assert result.hidden == {(x, y) for x, y in case["hidden"]}
    assert result.links.keys() == wanted.keys()
    assert len(result.raw_links) == case["raw_connections"]
    for link, weight in wanted.items():
        assert result.links[link] == pytest.approx(weight, abs=1e-9)
    if not is_dense:
        assert result.queries == case["queries"]

    net = network.Network(
        case["inputs"],
        case["outputs"],
        result.links,
        hidden_activation=case["params"]["activation"],
        output_activation=case["params"]["activation"],
    )
    settled = net.settled(case["settle_inputs"])
    if case["settle_outputs"] is not None:
        np.testing.assert_allclose(settled, case["settle_outputs"], atol=1e-6)
    stepped = net.stepped(case["settle_inputs"], 2 ** case["params"]["max_depth"] + 2)
    np.testing.assert_allclose(stepped, settled, atol=1e-12)


es_parameters = st.builds(
    es.Parameters,
    depth=st.integers(0, 2),
    initial_depth=st.integers(0, 1),
    division_threshold=st.sampled_from([0.03, 0.1, 0.5, 2.0]),
    variance_threshold=st.sampled_from([0.01, 0.03, 0.3, 2.0]),
    band_threshold=st.sampled_from([0.01, 0.1, 0.3]),
    iteration_level=st.integers(0, 3),
)


@given(
    seed=st.integers(0, 2**32 - 1),
    num_hidden=st.integers(0, 4),
    parameters=es_parameters,
    has_leo=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_recursive_and_dense_agree(
    seed: int, num_hidden: int, parameters: es.Parameters, has_leo: bool
) -> None:
    rng = np.random.default_rng(seed)
    genome = random_cppn(rng, num_hidden)
    if has_leo and num_hidden > 0:
        genome["leo_id"] = 1
    terminals = random_terminals(rng, 5, parameters.depth)
    query = cppn.Query(genome)
    first = es.recursive(query, terminals[:2], terminals[2:], parameters)
    second = es.dense(query, terminals[:2], terminals[2:], parameters)
    assert first.raw_hidden == second.raw_hidden
    assert first.raw_links.keys() == second.raw_links.keys()
    assert first.hidden == second.hidden
    assert first.links.keys() == second.links.keys()
    for link, weight in first.links.items():
        assert second.links[link] == pytest.approx(weight, abs=1e-9)
        assert link[0][1] < link[1][1]


def test_output_on_a_cell_is_explored_and_may_feed_another_output() -> None:
    # Depth 0 has the cells (+-0.5, +-0.5); one of them is an output, below the other.
    genome = one_node("sin", 0.3, x1=0.7, y1=0.5, x2=0.9, y2=-0.8)
    inputs, outputs = [(-1.0, -1.0), (1.0, -1.0)], [(-0.5, -0.5), (0.1, 1.0)]
    low, high = outputs
    parameters = es.Parameters(depth=0, band_threshold=0.05)
    result = es.recursive(cppn.Query(genome), inputs, outputs, parameters)
    assert any(source in inputs and target == low for source, target in result.links)
    assert any(
        source == low and target in result.hidden for source, target in result.links
    )
    assert (low, high) in result.raw_links
    assert not result.hidden & {*inputs, *outputs}


def test_every_link_of_a_cleaned_network_lies_on_a_path() -> None:
    links = {
        ((0.0, -1.0), (0.1, 0.0)): 1.0,  # input to a
        ((0.1, 0.0), (0.0, 1.0)): 1.0,  # a to output
        ((0.1, 0.0), (0.2, 0.5)): 1.0,  # a to a dead end
        ((0.3, -0.5), (0.1, 0.0)): 1.0,  # from a position that nothing feeds
    }
    hidden, kept = grid.clean_up(links, [(0.0, -1.0)], [(0.0, 1.0)])
    assert hidden == {(0.1, 0.0)}
    assert kept.keys() == set(list(links)[:2])


def test_terminals_at_one_place_are_an_error() -> None:
    query = cppn.Query(one_node("tanh", x2=1.0))
    with pytest.raises(ValueError, match="share a coordinate"):
        es.dense(query, [(0.0, 0.0)], [(0.0, 0.0)], es.Parameters())


# ------------------------------------------------------------------------------ emr


def brute_active(
    query: cppn.Query, parameters: emr.Parameters, source: grid.Position
) -> set[grid.Position]:
    """Activity cell by cell, straight from the definition, without arrays."""
    values = query.output if parameters.field == "output" else query.weight

    def varies(level: int, i: int, j: int) -> bool:
        size = 2 ** (level + 1)
        children = [
            (
                (2 * (2 * i + a) + 1) / (2 * size) - 1,
                (2 * (2 * j + b) + 1) / (2 * size) - 1,
            )
            for a, b in ((0, 0), (0, 1), (1, 1), (1, 0))
        ]
        four = values(np.array([[*source, *child] for child in children]))
        return bool(np.var(four) > parameters.variance_threshold)

    def is_active(level: int, i: int, j: int) -> bool:
        if level <= parameters.initial_depth:
            return True
        parent = (level - 1, i // 2, j // 2)
        return varies(*parent) and (parameters.recover or is_active(*parent))

    return {
        (float(grid.centres(level)[i]), float(grid.centres(level)[j]))
        for level in range(parameters.depth + 1)
        for i in range(2 ** (level + 1))
        for j in range(2 ** (level + 1))
        if is_active(level, i, j)
    }


def active_positions(masks: list[np.ndarray]) -> set[grid.Position]:
    return {
        (float(x), float(y))
        for level, mask in enumerate(masks)
        for x, y in grid.cell_points(level)[mask]
    }


@given(
    seed=st.integers(0, 2**32 - 1),
    parameters=st.builds(
        emr.Parameters,
        depth=st.integers(0, 2),
        initial_depth=st.integers(0, 2),
        variance_threshold=st.sampled_from([0.003, 0.03, 0.3]),
        field=st.sampled_from(["output", "weight"]),
        recover=st.booleans(),
    ),
)
@settings(max_examples=20, deadline=None)
def test_masks_are_those_of_equation_two(seed: int, parameters: emr.Parameters) -> None:
    rng = np.random.default_rng(seed)
    query = cppn.Query(random_cppn(rng, 2), dialect="plain", weight_map="linear")
    source = (float(rng.uniform(-1, 1)), -1.0)
    masks = emr.active_from(query, parameters, source)
    assert active_positions(masks) == brute_active(query, parameters, source)


@pytest.mark.parametrize("configuration", sorted(emr.CONFIGURATIONS))
@given(seed=st.integers(0, 2**32 - 1), rounds=st.integers(0, 2))
@settings(max_examples=8, deadline=None)
def test_configuration_has_all_its_links_and_no_others(
    configuration: str, seed: int, rounds: int
) -> None:
    rng = np.random.default_rng(seed)
    query = cppn.Query(
        random_cppn(rng, 2), dialect="plain", weight_map="linear", max_weight=8.0
    )
    terminals = random_terminals(rng, 4, 1)
    inputs, outputs = terminals[:2], terminals[2:]
    parameters = emr.Parameters(depth=1, configuration=configuration, rounds=rounds)
    result = emr.discover(query, inputs, outputs, parameters)
    classes = emr.CONFIGURATIONS[configuration]
    fixed = set(terminals)
    for source, target in result.raw_links:
        kind = emr.link_class(source, target)
        if source in fixed or target in fixed:
            assert kind == "forward"
        else:
            assert kind in classes
    for source in result.raw_hidden - fixed:
        for target in result.raw_hidden - fixed:
            weight = query.weight(np.array([[*source, *target]]))[0]
            is_wanted = (
                emr.link_class(source, target) in classes
                and abs(weight) > parameters.weight_threshold
            )
            assert ((source, target) in result.raw_links) == is_wanted
    if configuration in ("feedforward", "hidden"):
        net = network.Network(inputs, outputs, result.links, dialect="plain")
        samples = rng.uniform(-1, 1, (3, 2))
        stepped = net.stepped(samples, len(net.feeds) + 1)
        np.testing.assert_allclose(stepped, net.settled(samples), atol=1e-12)


def test_rounds_add_positions_and_never_remove_any() -> None:
    rng = np.random.default_rng(5)
    grew = 0
    for _ in range(10):
        query = cppn.Query(random_cppn(rng, 2), dialect="plain", weight_map="linear")
        found = [
            emr.discover(
                query,
                [(-1.0, -1.0), (1.0, -1.0)],
                [(0.0, 1.0)],
                emr.Parameters(depth=2, variance_threshold=0.01, rounds=rounds),
            ).raw_hidden
            for rounds in (0, 1, 2)
        ]
        assert found[0] <= found[1] <= found[2]
        grew += len(found[2]) > len(found[0])
    assert grew > 0


# --------------------------------------------------------------- superset theorem


@given(
    seed=st.integers(0, 2**32 - 1),
    num_hidden=st.integers(0, 5),
    depth=st.integers(0, 4),
    initial_depth=st.integers(0, 1),
    division_threshold=st.sampled_from([0.01, 0.03, 0.1, 0.5]),
    variance_threshold=st.sampled_from([0.01, 0.03, 0.1, 0.5]),
    weight_map=st.sampled_from(["deadzone", "linear"]),
    dialect=st.sampled_from(["neat-python", "plain"]),
)
@settings(max_examples=60, deadline=None)
def test_what_es_expresses_is_active_under_emr_with_the_smaller_threshold(
    seed: int,
    num_hidden: int,
    depth: int,
    initial_depth: int,
    division_threshold: float,
    variance_threshold: float,
    weight_map: str,
    dialect: str,
) -> None:
    """For one source, variance on the weight field in both, the same initial_depth and
    variance_threshold(emr) = min(division_threshold, variance_threshold)(es):
    es-expressed within emr within emr-recover.
    """
    rng = np.random.default_rng(seed)
    query = cppn.Query(
        random_cppn(rng, num_hidden), weight_map=weight_map, dialect=dialect
    )
    source = (float(rng.uniform(-1, 1)), -1.0)
    links = es.explore_densely(
        query,
        es.Parameters(
            depth=depth,
            initial_depth=initial_depth,
            division_threshold=division_threshold,
            variance_threshold=variance_threshold,
            band_threshold=0.01,
        ),
        source,
        True,
    )
    expressed = {target for _, target in links}
    active, recovered = (
        active_positions(
            emr.active_from(
                query,
                emr.Parameters(
                    depth=depth,
                    initial_depth=initial_depth,
                    variance_threshold=min(division_threshold, variance_threshold),
                    field="weight",
                    recover=recover,
                ),
                source,
            )
        )
        for recover in (False, True)
    )
    assert expressed <= active <= recovered


def test_identical_thresholds_give_no_superset() -> None:
    """The paper: "Under identical variance thresholds ... EMR-HyperNEAT discovers a
    superset of the positions discovered by ES-HyperNEAT." With the division threshold
    0.5 in both it does not: leaves that were made by a block of high variance may be
    expressed although their own block varies by less than 0.5.
    """
    case = COUNTEREXAMPLE["identical_thresholds"]
    source, depth = tuple(COUNTEREXAMPLE["source"]), COUNTEREXAMPLE["depth"]
    query = cppn.Query(case["cppn"], max_weight=case["max_weight"])
    parameters = es.Parameters(
        depth=depth,
        division_threshold=case["division_threshold"],
        variance_threshold=case["variance_threshold"],
        band_threshold=case["band_threshold"],
    )
    links = es.explore_recursively(query, parameters, source, True)
    expressed = {target for _, target in links}

    def active(threshold: float) -> set[grid.Position]:
        masks = emr.active_from(
            query,
            emr.Parameters(depth=depth, variance_threshold=threshold, field="weight"),
            source,
        )
        return active_positions(masks)

    missed = {(x, y) for x, y in case["missed"]}
    assert missed
    assert expressed - active(case["division_threshold"]) == missed
    assert expressed <= active(case["variance_threshold"])


def test_equation_two_does_not_recover_cells_below_a_quiet_parent() -> None:
    """The paper's proof: eager evaluation recovers "high-variance children within
    low-variance parents". Its equation 2 does not; mode `recover` does.
    """
    case = COUNTEREXAMPLE["low_variance_parent"]
    source = tuple(COUNTEREXAMPLE["source"])
    query = cppn.Query(case["cppn"])
    active, recovered = (
        active_positions(
            emr.active_from(
                query,
                emr.Parameters(
                    depth=COUNTEREXAMPLE["depth"],
                    variance_threshold=case["variance_threshold"],
                    recover=recover,
                ),
                source,
            )
        )
        for recover in (False, True)
    )
    assert recovered - active == {(x, y) for x, y in case["recovered"]}
    assert active < recovered


# -------------------------------------------------------------------------- network


def test_network_by_hand() -> None:
    a, b, hidden, out = (-1.0, -1.0), (1.0, -1.0), (0.25, 0.25), (0.0, 1.0)
    links = {(a, hidden): 2.0, (b, hidden): -1.0, (hidden, out): 0.5, (a, out): 1.0}
    net = network.Network(
        [a, b],
        [out],
        links,
        hidden_activation="tanh",
        output_activation="identity",
        dialect="plain",
    )
    h = np.tanh(2.0 * 0.5 - 0.25)
    np.testing.assert_allclose(net.settled([[0.5, 0.25]]), [[0.5 * h + 0.5]])
    # One step: the hidden node was still 0 when the output looked at it.
    np.testing.assert_allclose(net.stepped([[0.5, 0.25]], 1), [[0.5]])
    np.testing.assert_allclose(net.stepped([[0.5, 0.25]], 2), [[0.5 * h + 0.5]])


def test_output_without_links_is_zero_and_inputs_hold_their_value() -> None:
    low, high, out, lonely = (0.0, -1.0), (0.5, -0.5), (0.0, 1.0), (0.5, 1.0)
    links = {(low, high): 3.0, (high, out): 1.0}
    net = network.Network([low, high], [out, lonely], links, dialect="plain")
    expected = [[1 / (1 + np.exp(-0.25)), 0.0]]
    np.testing.assert_allclose(net.settled([[7.0, 0.25]]), expected)
    np.testing.assert_allclose(net.stepped([[7.0, 0.25]], 3), expected)


def test_a_cycle_cannot_settle_but_steps() -> None:
    a, hidden, out = (0.0, -1.0), (0.25, 0.25), (0.0, 1.0)
    links = {(a, hidden): 1.0, (hidden, hidden): 0.5, (hidden, out): 1.0}
    net = network.Network(
        [a],
        [out],
        links,
        hidden_activation="identity",
        output_activation="identity",
    )
    with pytest.raises(ValueError, match="cycle"):
        net.settled([[1.0]])
    assert [net.stepped([[1.0]], k).item() for k in range(5)] == [0, 0, 1, 1.5, 1.75]
