"""HyperNEAT on substrates that are given: weights, LEO, order of evaluation."""

import dataclasses

import numpy as np
import pytest

from substrax.decoders import FixedSubstrate, HyperNEAT
from substrax.network import describe, evaluate
from substrax.substrate import Layout, line, rectangle
from tests.decoders.support import (
    HIDDEN,
    OUTPUT,
    genomes_of,
    links_by_place,
    reading,
)
from tests.network.support import oracle_of
from tests.substrate.support import MAPS, draw_cppns, oracle_query

LAYERS = [line(3, -1.0), line(4, -0.2), rectangle(2, 2, 0.1, 0.4), line(2, 1.0)]
LAYOUT = Layout.spread(3, 2)

SUBSTRATES = {
    "layered": FixedSubstrate.layered(LAYERS),
    "without hidden nodes": FixedSubstrate.layered([LAYERS[0], LAYERS[-1]]),
    "grid": FixedSubstrate.grid(LAYOUT, columns=3, rows=2),
    "from links": FixedSubstrate.from_links(
        LAYOUT.inputs,
        LAYOUT.outputs,
        line(2, 0.0),
        [(0, 5), (1, 6), (2, 3), (5, 3), (6, 4), (5, 6), (5, 4)],
    ),
    "with a cycle": FixedSubstrate.from_links(
        LAYOUT.inputs,
        LAYOUT.outputs,
        line(2, 0.0),
        [(0, 5), (1, 6), (2, 6), (5, 6), (6, 5), (5, 5), (5, 3), (6, 4), (3, 5)],
    ),
}


def decoder(substrate: str, dialect: str = "neat-python", **options) -> HyperNEAT:
    leo = options.pop("leo", False)
    return HyperNEAT(
        **{
            "substrate": SUBSTRATES[substrate],
            "reading": reading(
                dialect, outputs=("weight", "leo") if leo else ("weight",)
            ),
            "weight_map": MAPS[dialect],
            "hidden_activation": HIDDEN,
            "output_activation": OUTPUT,
            **options,
        }
    )


@pytest.mark.parametrize("leo", [False, True])
@pytest.mark.parametrize("substrate", SUBSTRATES)
def test_weights_are_what_the_cppn_says_of_each_pair(substrate: str, leo: bool) -> None:
    """A link is expressed iff |w| > threshold, and with LEO its second output > 0."""
    cppns = draw_cppns(3, 4, leo=leo)
    dialect = "plain" if leo else "neat-python"
    networks = decoder(substrate, dialect, leo=leo, weight_threshold=0.5).decode(
        genomes_of(cppns)
    )
    given = SUBSTRATES[substrate]
    points = np.concatenate([given.layout.points, given.hidden])
    rows = np.concatenate([points[given.source], points[given.target]], axis=1)
    num_gated = 0
    for cppn, network in zip(cppns, networks, strict=True):
        query = oracle_query(cppn, dialect)
        weight, permitted = query.weight(rows), query.is_permitted(rows)
        strong = np.abs(weight) > 0.5
        num_gated += int((strong & ~permitted).sum())
        wanted = {
            ((x1, y1), (x2, y2)): w
            for (x1, y1, x2, y2), w, is_there in zip(
                rows.tolist(), weight, strong & permitted, strict=True
            )
            if is_there
        }
        links = links_by_place(network)
        assert links.keys() == wanted.keys()
        for link, w in wanted.items():
            assert abs(links[link] - w) <= 1e-9
        assert network.num_hidden[0] == len(given.hidden)
    assert (num_gated > 0) == leo


@pytest.mark.parametrize("substrate", SUBSTRATES)
def test_network_computes_what_the_oracle_computes(substrate: str) -> None:
    networks = decoder(substrate, steps=5).decode(genomes_of(draw_cppns(4, 5)))
    assert networks.is_acyclic == (substrate != "with a cycle")
    rows = np.random.default_rng(0).uniform(-1, 1, (6, 3))
    values = evaluate(networks, rows)
    for network, result in zip(networks, values, strict=True):
        oracle = oracle_of(network)
        if networks.is_acyclic:
            wanted = oracle.settled(rows)
        else:
            wanted = oracle.stepped(rows, 5)
        np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-10)


def test_layers_are_linked_fully_to_the_next() -> None:
    substrate = SUBSTRATES["layered"]
    assert substrate.source.size == 3 * 4 + 4 * 4 + 4 * 2
    assert substrate.is_acyclic
    places = [set(map(tuple, layer.tolist())) for layer in LAYERS]
    points = np.concatenate([substrate.layout.points, substrate.hidden]).tolist()
    layer_of = [
        next(k for k, layer in enumerate(places) if tuple(p) in layer) for p in points
    ]
    for s, t in zip(substrate.source, substrate.target, strict=True):
        assert layer_of[t] == layer_of[s] + 1


def test_layers_may_run_downwards() -> None:
    """The order of layers decides, not their height."""
    upside_down = FixedSubstrate.layered([layer * [1, -1] for layer in LAYERS])
    assert upside_down.is_acyclic
    np.testing.assert_array_equal(upside_down.rank, SUBSTRATES["layered"].rank)


def test_grid_has_cell_centres_and_all_links_upwards() -> None:
    substrate = SUBSTRATES["grid"]
    assert sorted(map(tuple, substrate.hidden.round(9).tolist())) == [
        (x, y) for x in (-0.666666667, 0.0, 0.666666667) for y in (-0.5, 0.5)
    ]
    points = np.concatenate([substrate.layout.points, substrate.hidden])
    wanted = {
        (s, t)
        for s in range(len(points))
        for t in range(len(points))
        if points[s, 1] < points[t, 1] and t >= 3 and s not in (3, 4)
    }
    links = list(zip(substrate.source.tolist(), substrate.target.tolist(), strict=True))
    assert len(links) == len(wanted)
    assert set(links) == wanted


def test_empty_network_is_not_blamed_on_a_search() -> None:
    """Nobody looked for positions here; the description must not say so."""
    genomes = genomes_of(draw_cppns(6, 1))
    network = decoder("layered", weight_threshold=1e9).decode(genomes)[0]
    assert describe(network).diagnosis.startswith("empty: there is no link")


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([(0, 9)], "names node 9, but nodes are numbered 0 to 6"),
        ([(-1, 5)], "names node -1, but nodes are numbered 0 to 6"),
        ([(5, 0)], "leads into an input; inputs only send"),
        ([(0, 5), (1, 5), (0, 5)], "linked twice"),
        ([(0, 5, 1)], r"shape \(n, 2\)"),
        ([0, 5], r"shape \(n, 2\)"),
        ([(0.5, 5.0)], "by integers"),
    ],
)
def test_bad_links_get_a_sentence(links: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FixedSubstrate.from_links(LAYOUT.inputs, LAYOUT.outputs, line(2, 0.0), links)


@pytest.mark.parametrize(
    ("hidden", "message"),
    [
        ([(0.0, 1.5)], r"hidden\[0\] = \(0, 1.5\) lies outside the plane"),
        ([(0.0, 0.0), (np.nan, 0.0)], r"hidden\[1\] = \(nan, 0\) lies outside"),
        ([(-1.0, -1.0)], r"\(-1, -1\) is the place of more than one node"),
        ([(0.0, 0.5), (0.0, 0.5)], r"\(0, 0.5\) is the place of more than one node"),
        ([(-1.0, 1.0)], r"\(-1, 1\) is the place of more than one node"),
        ([0.0, 0.5], r"hidden nodes need the shape \(n, 2\)"),
    ],
)
def test_bad_places_get_a_sentence(hidden: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FixedSubstrate.from_links(LAYOUT.inputs, LAYOUT.outputs, hidden, [(0, 3)])


def test_a_substrate_without_links_decodes_to_empty_networks() -> None:
    substrate = FixedSubstrate.from_links(LAYOUT.inputs, LAYOUT.outputs, [], [])
    networks = dataclasses.replace(decoder("grid"), substrate=substrate).decode(
        genomes_of(draw_cppns(0, 2))
    )
    assert networks.num_links.tolist() == [0, 0]
    np.testing.assert_array_equal(evaluate(networks, np.ones((1, 3))), 0.0)


def test_one_layer_is_too_few() -> None:
    with pytest.raises(ValueError, match="needs inputs and outputs at least"):
        FixedSubstrate.layered([line(3, 0.0)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight_threshold": -1.0}, "weight_threshold must be a number of at least 0"),
        ({"weight_threshold": np.nan}, "weight_threshold must be a number"),
        ({"steps": 0}, "steps must be positive"),
        ({"hidden_activation": "tahn"}, "did you mean 'tanh'"),
    ],
)
def test_bad_settings_get_a_sentence(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decoder("grid", **options)


def test_layers_and_grids_of_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"layer 0 needs the shape \(n, 2\)"):
        FixedSubstrate.layered([[[0, -1, 0.3]], [[0.0, 1.0]]])
    with pytest.raises(ValueError, match="a column and a row at least"):
        FixedSubstrate.grid(LAYOUT, columns=0, rows=2)
