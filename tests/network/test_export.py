"""JSON that rebuilds the identical network; arrays; NetworkX graphs."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import substrax.network._export as export_module
from substrax.network import (
    Networks,
    evaluate,
    from_json,
    json_pieces,
    to_arrays,
    to_json,
    to_networkx,
)
from tests.network.support import (
    activation_names,
    assert_same_bits,
    assert_same_networks,
    random_networks,
    samples_for,
)


def one(seed: int = 0, num_hidden: int = 7, **options: Any) -> Networks:
    return random_networks(seed, (num_hidden,), **options)


@given(
    seed=st.integers(0, 1 << 32),
    num_hidden=st.sampled_from([0, 1, 7, 40]),
    cyclic=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=30)
def test_json_rebuilds_the_identical_network(seed, num_hidden, cyclic, dtype) -> None:
    network = one(seed, num_hidden, cyclic=cyclic, dtype=dtype)
    assert_same_networks(from_json(to_json(network)), network)


@pytest.mark.parametrize("cyclic", [False, True])
def test_network_from_json_gives_the_same_outputs(cyclic: bool) -> None:
    network = one(1, 40, cyclic=cyclic, dtype=np.float32)
    samples = samples_for(network)
    assert_same_bits(
        evaluate(from_json(to_json(network)), samples), evaluate(network, samples)
    )


def test_json_comes_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    network = one(num_hidden=40)
    whole = to_json(network)
    assert whole == json.dumps(json.loads(whole))
    monkeypatch.setattr(export_module, "_NODES_AT_A_TIME", 7)
    monkeypatch.setattr(export_module, "_LINKS_AT_A_TIME", 10)
    pieces = list(json_pieces(network))
    assert len(pieces) > 10
    assert "".join(pieces) == whole
    assert_same_networks(from_json(whole), network)


def test_json_is_plain() -> None:
    """Names instead of ids, and nothing that only Python's reader understands."""
    network = one()
    network.node_point[-1] = np.nan
    text = to_json(network)
    document = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    kinds = [node["kind"] for node in document["nodes"]]
    assert kinds == ["input"] * 3 + ["output"] * 2 + ["hidden"] * 7
    names = [node["activation"] for node in document["nodes"]]
    assert names == activation_names(network)
    assert document["nodes"][-1]["point"] is None
    assert_same_networks(from_json(text), network)


Damage = Callable[[dict[str, Any]], Any]
DAMAGES: dict[str, tuple[Damage, str]] = {
    "other format": (lambda d: d.update(format="torch"), "is not a network"),
    "no format": (lambda d: d.pop("format"), "is not a network"),
    "newer version": (lambda d: d.update(version=2), "format version 2.*reads vers"),
    "no version": (lambda d: d.pop("version"), "format version None"),
    "no nodes": (lambda d: d.pop("nodes"), "incomplete or damaged.*nodes"),
    "no links": (lambda d: d.pop("links"), "incomplete or damaged.*links"),
    "nodes are a number": (lambda d: d.update(nodes=3), "incomplete or damaged"),
    "node lost its bias": (lambda d: d["nodes"][0].pop("bias"), "damaged.*bias"),
    "order of nodes": (lambda d: d["nodes"].reverse(), "inputs, then outputs"),
    "unknown kind": (lambda d: d["nodes"][-1].update(kind="odd"), "then outputs"),
    "unknown activation": (
        lambda d: d["nodes"][5].update(activation="tahn"),
        "unknown activation 'tahn'",
    ),
    "unlisted activation": (
        lambda d: d["nodes"][5].update(activation="sin"),
        "not among this network's activations",
    ),
    "unknown dialect": (lambda d: d.update(dialect="latin"), "unknown dialect"),
    "unknown precision": (lambda d: d.update(precision="int8"), "unknown precision"),
    "link to nowhere": (lambda d: d["links"][0].__setitem__(0, 99), "is not there"),
    "link from nowhere": (lambda d: d["links"][0].__setitem__(1, -1), "is not there"),
    "link far away": (lambda d: d["links"][0].__setitem__(0, 1 << 40), "damaged"),
    "link to half a node": (lambda d: d["links"][0].__setitem__(1, 1.5), "an integer"),
    "link too short": (lambda d: d["links"][0].pop(), "source, target, weight"),
    "weight is NaN": (
        lambda d: d["links"][0].__setitem__(2, math.nan),
        "weight of this network is not finite",
    ),
    "weight is text": (
        lambda d: d["links"][0].__setitem__(2, "1"),
        "weight of this network is not a number",
    ),
    "bias is infinite": (
        lambda d: d["nodes"][4].update(bias=math.inf),
        "bias of this network is not finite",
    ),
    "point in space": (
        lambda d: d["nodes"][4].update(point=[0.0, 0.0, 0.0]),
        "point",
    ),
    "link down the ranks": (
        lambda d: [node.update(rank=0) for node in d["nodes"]],
        "said to be acyclic",
    ),
    "no steps": (lambda d: d.update(steps=0), "steps must be positive"),
    "steps are true": (lambda d: d.update(steps=True), "is not an integer"),
    "steps without end": (lambda d: d.update(steps=1 << 40), "steps must lie"),
    "weight beyond float32": (
        lambda d: [d.update(precision="float32"), d["links"][0].__setitem__(2, 1e300)],
        "weight of this network is not finite",
    ),
    "weight beyond floats": (
        lambda d: d["links"][0].__setitem__(2, 10**400),
        "weight of this network is not finite",
    ),
    "acyclic in words": (lambda d: d.update(acyclic="no"), "true or false"),
    "link is a table": (lambda d: d["links"].__setitem__(0, {"a": 1}), "source, targ"),
    "node is a text": (lambda d: d["nodes"].__setitem__(0, "input"), "damaged"),
    "dialect is a list": (lambda d: d.update(dialect=["plain"]), "unknown dialect"),
    "steps in words": (lambda d: d.update(steps="five"), "is not an integer"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_or_foreign_json_gets_a_sentence(name: str) -> None:
    damage, message = DAMAGES[name]
    document = json.loads(to_json(one()))
    damage(document)
    with pytest.raises(ValueError, match=message):
        from_json(json.dumps(document))


def test_text_that_is_nested_too_deeply_gets_a_sentence() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        from_json("[" * 100_000)


@pytest.mark.parametrize("text", ["", "{", "network", to_json(one())[:-9]])
def test_text_that_is_no_json_gets_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="this is not a network: it is not JSON"):
        from_json(text)


@pytest.mark.parametrize("text", ["3", "[]", "null", '"text"'])
def test_json_that_is_no_mapping_gets_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="this JSON is not a network"):
        from_json(text)


@pytest.mark.parametrize("export", [to_json, to_arrays, to_networkx])
def test_populations_are_exported_one_by_one(export: Callable) -> None:
    with pytest.raises(ValueError, match=r"one network at a time.*networks\[0\]"):
        export(random_networks(0))


def test_arrays_are_copies_of_the_network() -> None:
    network = one()
    arrays = to_arrays(network)
    assert arrays.keys() == {
        "node_point", "node_activation", "node_bias",
        "link_source", "link_target", "link_weight",
    }  # fmt: skip
    for name, array in arrays.items():
        assert_same_bits(array, getattr(network, name))
        assert not np.shares_memory(array, getattr(network, name))


def test_graph_has_the_nodes_and_links_of_the_network() -> None:
    network = one(3, 40)
    graph = to_networkx(network)
    assert graph.number_of_nodes() == 45
    assert graph.number_of_edges() == network.num_links[0]
    for s, t, w in zip(
        network.link_source, network.link_target, network.link_weight, strict=True
    ):
        assert graph.edges[int(s), int(t)]["weight"] == w
    names = activation_names(network)
    for n, data in graph.nodes(data=True):
        kind = "input" if n < 3 else "output" if n < 5 else "hidden"
        assert data["kind"] == kind
        assert data["activation"] == names[n]
        assert data["bias"] == 0.0
        assert data["point"] == tuple(network.node_point[n])


def test_graph_of_nodes_that_lie_nowhere() -> None:
    network = one()
    network.node_point[:] = np.nan
    graph = to_networkx(network)
    assert {data["point"] for _, data in graph.nodes(data=True)} == {None}
