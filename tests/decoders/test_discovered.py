"""ES-HyperNEAT and EMR-HyperNEAT from genome to output, against the oracles."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from substrax.decoders import CPPNReading, Discovered, emr_hyperneat, es_hyperneat
from substrax.network import Networks, describe, evaluate
from substrax.substrate import (
    CONFIGURATIONS,
    EMRRule,
    ESRule,
    Layout,
    WeightMap,
    discover,
)
from tests.decoders.support import (
    HIDDEN,
    OUTPUT,
    genomes_of,
    links_by_place,
    oracle_network,
    reading,
)
from tests.network.support import assert_same_networks
from tests.reference import emr, es
from tests.substrate.support import (
    MAPS,
    draw_cppns,
    oracle_query,
    without_silent_nodes,
)

CASES = json.loads(
    (Path(__file__).parent.parent / "data" / "pureples.json").read_text()
)["cases"]
LAYOUT = Layout([(-1.0, -1.0), (0.0, -0.9), (0.5, -0.5)], [(0.5, 1.0), (-0.5, 0.75)])
"""The last input and the last output lie on cells, of levels 0 or 1 and 2."""

ES = ESRule(depth=2, initial_depth=1, division_threshold=0.1, band_threshold=0.1)
EMR = EMRRule(depth=2, variance_threshold=0.01, weight_threshold=0.5)
WITH_LEO = ("weight", "leo")
NETWORK = {"hidden_activation": HIDDEN, "output_activation": OUTPUT, "steps": 5}


def es_decoder(**options: Any) -> Discovered:
    settings = {"rule": ES, "reading": reading(), **NETWORK, **options}
    return es_hyperneat(LAYOUT, **settings)


def emr_decoder(connections: str = "hidden", **options: Any) -> Discovered:
    rule = dataclasses.replace(EMR, connections=connections)
    settings = {"rule": rule, "reading": reading(), **NETWORK, **options}
    return emr_hyperneat(LAYOUT, **{"weight_map": MAPS["neat-python"], **settings})


def evolved_cppns() -> list[dict[str, Any]]:
    """CPPNs of the published vectors (ten generations of XOR), and random ones."""
    evolved = [without_silent_nodes(case["cppn"]) for case in CASES[::16]]
    return [*evolved, *draw_cppns(8, 3)]


ROWS = np.random.default_rng(1).uniform(-1, 1, (4, 3))


# ---------------------------------------------------------------- the published vectors


def test_settled_outputs_of_the_vectors() -> None:
    """To 1e-6, from the CPPN to the network's outputs."""
    kinds: dict[tuple[str, str], list[tuple[dict, Networks]]] = {}
    for case in CASES:
        if case["settle_outputs"] is None:
            continue
        parameters = case["params"]
        decoder = es_hyperneat(
            Layout(case["inputs"], case["outputs"]),
            ESRule(**vars(es.parameters_of(parameters))),
            reading=reading("neat-python"),
            weight_map=WeightMap("deadzone", parameters["max_weight"]),
            hidden_activation=parameters["activation"],
            output_activation=parameters["activation"],
        )
        network = decoder.decode(genomes_of([without_silent_nodes(case["cppn"])]))
        kind = (case["substrate"], parameters["activation"])
        kinds.setdefault(kind, []).append((case, network))
    assert sum(map(len, kinds.values())) == 72
    num_alive = 0
    for pairs in kinds.values():
        cases, networks = zip(*pairs, strict=True)
        inputs = [case["settle_inputs"] for case in cases]
        values = evaluate(Networks.join(list(networks)), inputs)
        wanted = [case["settle_outputs"] for case in cases]
        np.testing.assert_allclose(values, wanted, rtol=0, atol=1e-6)
        num_alive += int((values != 0).any(axis=(1, 2)).sum())
    assert num_alive > 40


# ------------------------------------------------------------- the oracles' networks


def check(decoder: Discovered, oracle: Any, cppns: list[dict[str, Any]]) -> int:
    """Links and outputs are the oracle's; how many links the largest network has."""
    networks = decoder.decode(genomes_of(cppns))
    values = evaluate(networks, ROWS)
    for cppn, network, result in zip(cppns, networks, values, strict=True):
        found = oracle(cppn)
        links = links_by_place(network)
        assert links.keys() == found.links.keys()
        theirs = oracle_network(LAYOUT, found, decoder.reading.dialect)
        if networks.is_acyclic:
            wanted = theirs.settled(ROWS)
        else:
            wanted = theirs.stepped(ROWS, 5)
        np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-9)
        assert network.num_hidden[0] == len(found.hidden)
    return int(networks.num_links.max())


def settings_of(rule: Any) -> dict[str, Any]:
    return dataclasses.asdict(rule)


def test_es_hyperneat_is_that_of_the_oracle() -> None:
    parameters = es.Parameters(**settings_of(ES))

    def oracle(cppn: dict[str, Any]) -> es.Discovery:
        query = oracle_query(cppn, "neat-python")
        return es.discover(query, LAYOUT.inputs, LAYOUT.outputs, parameters, dense=True)

    decoder = es_decoder()
    assert check(decoder, oracle, evolved_cppns()) > 10


@pytest.mark.parametrize("connections", CONFIGURATIONS)
def test_emr_hyperneat_is_that_of_the_oracle(connections: str) -> None:
    decoder = emr_decoder(connections)
    values = settings_of(decoder.rule)
    parameters = emr.Parameters(configuration=values.pop("connections"), **values)

    def oracle(cppn: dict[str, Any]) -> emr.Discovery:
        query = oracle_query(cppn, "neat-python")
        return emr.discover(query, LAYOUT.inputs, LAYOUT.outputs, parameters)

    cppns = evolved_cppns()
    assert check(decoder, oracle, cppns) > 10
    is_acyclic = connections in ("feedforward", "hidden")
    assert decoder.decode(genomes_of(cppns[:1])).is_acyclic == is_acyclic


@pytest.mark.parametrize("make", [es_decoder, emr_decoder])
def test_acyclic_networks_settle_to_what_stepping_reaches(make) -> None:
    networks = make().decode(genomes_of(evolved_cppns()))
    depth = max(describe(network).depth or 0 for network in networks)
    assert depth > 1
    np.testing.assert_array_equal(
        evaluate(networks, ROWS), evaluate(networks, ROWS, steps=depth)
    )


@pytest.mark.parametrize("make", [es_decoder, emr_decoder])
def test_strategies_decode_to_the_same_bits(make) -> None:
    genomes = genomes_of(evolved_cppns())
    auto = make(strategy="auto").decode(genomes)
    for options in ({"strategy": "eager"}, {"strategy": "frontier"}):
        assert_same_networks(make(**options).decode(genomes), auto)


def test_leo_gates_links() -> None:
    """A link is expressed only where the CPPN's second output is positive."""
    decoder = emr_decoder(
        "full", reading=reading("plain", outputs=WITH_LEO), weight_map=MAPS["plain"]
    )
    assert decoder.num_genome_outputs == 2
    values = settings_of(decoder.rule)
    parameters = emr.Parameters(configuration=values.pop("connections"), **values)
    num_gated = 0

    def oracle(cppn: dict[str, Any]) -> emr.Discovery:
        nonlocal num_gated
        ends = (LAYOUT.inputs, LAYOUT.outputs, parameters)
        free = oracle_query({**cppn, "leo_id": None}, "plain")
        gated = emr.discover(oracle_query(cppn, "plain"), *ends)
        num_gated += len(emr.discover(free, *ends).links) > len(gated.links)
        return gated

    assert check(decoder, oracle, draw_cppns(21, 5, leo=True)) > 10
    assert num_gated > 0


# ---------------------------------------------------------------------------- diagnoses


def constant_cppn(value: float) -> dict[str, Any]:
    node = {"id": 0, "activation": "identity", "bias": value, "response": 1.0}
    ids = [-1, -2, -3, -4, -5]
    return {"nodes": [node], "connections": [], "input_ids": ids, "output_id": 0}


def test_empty_networks_say_why() -> None:
    network = emr_decoder().decode(genomes_of([constant_cppn(0.0)]))[0]
    assert "made no hidden position" in describe(network).diagnosis
    # Cells of level 0 are found from the input, but the output lies below all of them.
    low = Layout([(0.0, -1.0)], [(0.5, -0.99)])
    decoder = dataclasses.replace(emr_decoder(), layout=low)
    network = decoder.decode(genomes_of([constant_cppn(0.9)]))[0]
    assert "none of them links on to an output" in describe(network).diagnosis
    np.testing.assert_array_equal(evaluate(network, [[1.0]]), 0.0)


# ---------------------------------------------------------------------------- settings


def test_defaults_are_those_of_the_sources() -> None:
    """PUREPLES: neat-python, deadzone, 5. The paper: plain, linear, 8."""
    ours = es_hyperneat(LAYOUT)
    assert (ours.reading.dialect, ours.weight_map) == (
        "neat-python",
        WeightMap("deadzone", 5.0),
    )
    assert isinstance(ours.rule, ESRule)
    theirs = emr_hyperneat(LAYOUT)
    assert (theirs.reading.dialect, theirs.weight_map) == (
        "plain",
        WeightMap("linear", 8.0),
    )
    assert isinstance(theirs.rule, EMRRule)
    assert theirs.rule.field == "output"
    assert theirs.rule.variance_threshold == 0.03


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "lazy"}, "unknown strategy 'lazy'"),
        ({"steps": 0}, "steps must be positive"),
        ({"output_activation": "sigmod"}, "did you mean 'sigmoid'"),
    ],
)
def test_bad_settings_get_a_sentence(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        es_decoder(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "latin"}, "unknown dialect"),
        ({"precision": "f16"}, "unknown precision"),
        ({"activations": ("tahn",)}, "did you mean 'tanh'"),
        ({"coordinates": ("x1", "z1")}, "unknown CPPN input 'z1'"),
    ],
)
def test_bad_readings_get_a_sentence(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CPPNReading(**options)


def test_discover_is_what_the_decoder_calls() -> None:
    """It counts queries, too."""
    genomes = genomes_of(draw_cppns(1, 2))
    found = discover(
        reading().compile(genomes),
        reading().coordinates,
        LAYOUT,
        EMR,
        MAPS["neat-python"],
    )
    networks = emr_decoder().decode(genomes)
    np.testing.assert_array_equal(found.networks.link_weight, networks.link_weight)
    assert found.num_queries > 0


def test_a_layout_that_no_link_can_cross_is_refused() -> None:
    upside_down = Layout([[0.0, 1.0]], [[0.0, -1.0]])
    for decoder in (es_hyperneat, emr_hyperneat):
        with pytest.raises(ValueError, match="no output lies above an input"):
            decoder(upside_down)
