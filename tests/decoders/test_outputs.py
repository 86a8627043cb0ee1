"""Outputs of CPPNs by name: their order means nothing, `bias` gives nodes biases."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from substrax import Resources
from substrax.decoders import (
    AbstractCPPNDecoder,
    CPPNReading,
    FixedSubstrate,
    HyperNEAT,
    NetworkCache,
    emr_hyperneat,
    es_hyperneat,
)
from substrax.network import evaluate, from_json, to_json
from substrax.substrate import EMRRule, ESRule, Layout, line
from tests.decoders.support import (
    HIDDEN,
    OUTPUT,
    genomes_of,
    links_by_place,
    reading,
)
from tests.network.support import assert_same_networks
from tests.reference.cppn import evaluate as evaluate_cppn
from tests.reference.network import Network
from tests.substrate.support import MAPS, SEEDS, draw_cppns

LAYOUT = Layout([(-1.0, -1.0), (0.0, -0.9), (0.5, -0.5)], [(0.5, 1.0), (-0.5, 0.75)])
LAYERS = [LAYOUT.inputs, line(4, -0.2), LAYOUT.outputs]
NETWORK = {"hidden_activation": HIDDEN, "output_activation": OUTPUT, "steps": 5}
ORDERS = [
    ("weight", "leo", "bias"),
    ("bias", "weight", "leo"),
    ("leo", "bias", "weight"),
]


def make(name: str, outputs: tuple[str, ...], **options: Any) -> AbstractCPPNDecoder:
    settings = {
        "reading": reading("plain", outputs=outputs),
        "weight_map": MAPS["plain"],
        **NETWORK,
        **options,
    }
    if name == "hyperneat":
        return HyperNEAT(FixedSubstrate.layered(LAYERS), **settings)
    if name == "es":
        rule = ESRule(depth=2, initial_depth=1, division_threshold=0.1)
        return es_hyperneat(LAYOUT, rule, **settings)
    rule = EMRRule(depth=2, weight_threshold=0.5, connections=name)
    return emr_hyperneat(LAYOUT, rule, **settings)


DECODERS = ("hyperneat", "es", "hidden", "full")


@pytest.mark.parametrize("name", DECODERS)
def test_the_order_of_outputs_means_nothing(name: str) -> None:
    cppns = draw_cppns(5, 6, leo=True, bias=True)
    first, *others = (
        make(name, order).decode(genomes_of(cppns, order)) for order in ORDERS
    )
    assert np.abs(first.node_bias).max() > 0
    for other in others:
        assert_same_networks(other, first)


@pytest.mark.parametrize("name", DECODERS)
def test_biases_change_nothing_about_links(name: str) -> None:
    cppns = draw_cppns(6, 8, bias=True)
    with_bias = make(name, ("weight", "bias")).decode(genomes_of(cppns))
    plain = [
        {k: v for k, v in cppn.items() if k != "bias_id"}
        | {
            "nodes": [n for n in cppn["nodes"] if n["id"] != cppn["bias_id"]],
            "connections": [c for c in cppn["connections"] if c[1] != cppn["bias_id"]],
        }
        for cppn in cppns
    ]
    without = make(name, ("weight",)).decode(genomes_of(plain))
    for field in ("node_bounds", "node_point", "link_source", "link_target"):
        assert np.array_equal(getattr(with_bias, field), getattr(without, field))
    assert with_bias.link_weight.tobytes() == without.link_weight.tobytes()
    assert not without.node_bias.any()


@given(
    seed=SEEDS,
    name=st.sampled_from(DECODERS),
    scale=st.sampled_from([None, 0.0, 1.0, 2.5]),
    leo=st.booleans(),
)
def test_biases_are_what_the_cppn_says_of_nodes_and_the_origin(
    seed: int, name: str, scale: float | None, leo: bool
) -> None:
    """Eq. of section 3: b(p) = bias_scale * u_bias(p, 0)."""
    cppns = draw_cppns(seed, 3, leo=leo, bias=True)
    names = ("weight", "leo", "bias") if leo else ("weight", "bias")
    decoder = make(name, names, bias_scale=scale)
    networks = decoder.decode(genomes_of(cppns))
    factor = MAPS["plain"].max_weight if scale is None else scale
    samples = np.random.default_rng(0).uniform(-1, 1, (4, 3))
    outputs = evaluate(networks, samples)
    for cppn, network, values in zip(cppns, networks, outputs, strict=True):
        points = network.node_point[network.num_inputs :]
        rows = np.concatenate([points, np.zeros_like(points)], axis=1)
        said = evaluate_cppn(cppn, rows, dialect="plain")[cppn["bias_id"]]
        assert not network.node_bias[: network.num_inputs].any()
        bias = network.node_bias[network.num_inputs :]
        np.testing.assert_allclose(bias, factor * said, rtol=0, atol=1e-9)
        oracle = Network(
            LAYOUT.inputs,
            LAYOUT.outputs,
            links_by_place(network),
            hidden_activation=HIDDEN,
            output_activation=OUTPUT,
            dialect="plain",
            biases={tuple(p): b for p, b in zip(points.tolist(), bias, strict=True)},
        )
        wanted = (
            oracle.settled(samples)
            if network.is_acyclic
            else oracle.stepped(samples, network.steps)
        )
        np.testing.assert_allclose(values, wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] if n == "es" else []) for n in DECODERS],
)
def test_the_engines_agree_on_biases(name: str) -> None:
    genomes = genomes_of(draw_cppns(7, 5, leo=True, bias=True), ORDERS[1])
    decoder = make(name, ORDERS[1])
    native = decoder.decode(genomes, Resources(engine="native"))
    device = decoder.decode(genomes, Resources(engine="device"))
    assert np.array_equal(native.node_activation, device.node_activation)
    np.testing.assert_array_equal(native.link_bounds, device.link_bounds)
    # Each engine has an order of its own for links.
    of_link = np.repeat(np.arange(len(native)), native.num_links)
    ends = [
        np.lexsort((n.link_target, n.link_source, of_link)) for n in (native, device)
    ]
    for name in ("link_source", "link_target"):
        ours, theirs = (
            getattr(n, name)[o] for n, o in zip((native, device), ends, strict=True)
        )
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_allclose(native.node_bias, device.node_bias, rtol=0, atol=1e-12)


def test_threads_and_the_cache_change_nothing_about_biases() -> None:
    genomes = genomes_of(draw_cppns(8, 9, bias=True))
    decoder = make("hidden", ("weight", "bias"))
    one = decoder.decode(genomes, Resources(threads=1))
    assert_same_networks(decoder.decode(genomes, Resources(threads=2)), one)
    cache = NetworkCache(1 << 20)
    for _ in range(2):
        assert_same_networks(cache.decode(decoder, genomes), one)
    assert cache.num_hits == 9


def test_an_unfed_output_yields_its_bias() -> None:
    """Where nodes have biases; else it yields 0 (see test_discovered)."""
    cppns = draw_cppns(9, 4, bias=True)
    rule = EMRRule(depth=1, weight_threshold=1e9)
    decoder = emr_hyperneat(
        LAYOUT, rule, reading=reading("plain", outputs=("weight", "bias")), **NETWORK
    )
    networks = decoder.decode(genomes_of(cppns))
    assert not networks.num_links.any()
    outputs = evaluate(networks, np.zeros((1, 3)))
    bias = networks.node_bias.reshape(4, 5)[:, 3:]
    np.testing.assert_allclose(outputs[:, 0], 1 / (1 + np.exp(-bias)), atol=1e-12)


def test_biases_stay_finite() -> None:
    cppn: dict[str, Any] = draw_cppns(10, 1, bias=True)[0]
    for node in cppn["nodes"]:
        node["activation"] = "cube"
        node["bias"] = 1e30
    decoder = HyperNEAT(
        FixedSubstrate.layered(LAYERS),
        CPPNReading(outputs=("weight", "bias")),
    )
    with np.errstate(all="ignore"):
        networks = decoder.decode(genomes_of([cppn]))
    assert np.isfinite(networks.node_bias).all()


def test_exported_networks_have_their_biases() -> None:
    networks = make("hidden", ("weight", "bias")).decode(
        genomes_of(draw_cppns(11, 6, bias=True))
    )
    for network in networks:
        again = from_json(to_json(network))
        assert again.node_bias.tobytes() == network.node_bias.tobytes()


@pytest.mark.parametrize(
    ("outputs", "sentence"),
    [
        (("leo",), "does not name weight"),
        (("weight", "biass"), "unknown CPPN output 'biass'"),
        (("weight", "weight"), "more than once"),
    ],
)
def test_wrong_names_are_refused(outputs: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        CPPNReading(outputs=outputs)


@pytest.mark.parametrize("scale", [-1.0, np.inf, np.nan])
def test_wrong_scales_are_refused(scale: float) -> None:
    with pytest.raises(ValueError, match="bias_scale"):
        make("hidden", ("weight", "bias"), bias_scale=scale)
