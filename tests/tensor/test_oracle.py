"""Traced discovery against the slow oracles, on drawn CPPNs.

Each setting is a program to compile, which takes longer than all that it finds; so
settings are few and chosen, each for what it is about, and CPPNs are many.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from substrax.cppn import Vocabulary, activation_id, read_cppn
from substrax.network import Networks, to_host
from substrax.substrate import (
    CONFIGURATIONS,
    AbstractRule,
    EMRRule,
    ESRule,
    Layout,
    NetworkSettings,
)
from substrax.tensor import Capacity, Discoverer, Reader
from tests.cppns import population_arrays
from tests.reference import emr, es
from tests.reference.cppn import Query
from tests.reference.grid import Discovery
from tests.substrate.support import (
    ACTIVATIONS,
    MAPS,
    SEEDS,
    Wiring,
    draw_cppns,
    hidden_of,
    links_of,
    oracle_query,
)

COORDINATES = ("x1", "y1", "x2", "y2", "bias")
SLOTS, LINKS = 16, 48


def genomes_of(cppns: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Padded to one size, in the order of slots that NEAT has."""
    arrays = population_arrays(cppns)
    order = np.argsort(
        np.where(arrays["node_id"] < 0, 1 << 30, arrays["node_id"]), axis=1
    )
    fills = {"node_id": -1, "link_source": -1, "link_target": -1}
    result = {}
    for name, value in arrays.items():
        is_node = name.startswith("node")
        if is_node:
            value = np.take_along_axis(value, order, axis=1)
        width = (SLOTS if is_node else LINKS) - value.shape[1]
        result[name] = np.pad(
            value, ((0, 0), (0, width)), constant_values=fills.get(name, 0)
        )
    return result


@functools.cache
def compiled(name: str):
    """One program for each case."""
    rule, layout, capacity, dialect, outputs = CASES[name]
    ids = tuple(sorted(activation_id(name) for name in ACTIVATIONS))
    vocabulary = Vocabulary(COORDINATES, len(outputs), ids, dialect)
    make = Discoverer(layout, rule, MAPS[dialect], NetworkSettings(), 1.0, capacity)

    def one(genome):
        cppn = read_cppn(**genome, vocabulary=vocabulary)
        network, shortage = make(Reader(cppn, vocabulary, outputs))
        return network, shortage.exceeds(capacity), cppn.is_sound

    return jax.jit(jax.vmap(one))


def discover(name: str, cppns: list[dict[str, Any]]) -> tuple[Networks, np.ndarray]:
    """The networks, and which exceed the capacity."""
    with jax.enable_x64(True):
        genomes = jax.tree.map(jnp.asarray, genomes_of(cppns))
        networks, exceeds, is_sound = compiled(name)(genomes)
        assert np.asarray(is_sound).all()
        return to_host(networks), np.asarray(exceeds)


def wanted_of(rule: AbstractRule, layout: Layout, query: Query) -> Discovery:
    values: dict[str, Any] = dataclasses.asdict(rule)  # type: ignore[call-overload]
    if isinstance(rule, ESRule):
        parameters = es.Parameters(**values)
        return es.discover(query, layout.inputs, layout.outputs, parameters, dense=True)
    parameters = emr.Parameters(configuration=values.pop("connections"), **values)
    return emr.discover(query, layout.inputs, layout.outputs, parameters)


def assert_equal(wiring: Wiring, genome: int, wanted: Discovery) -> None:
    assert hidden_of(wiring, genome) == wanted.hidden
    links = links_of(wiring, genome)
    assert links.keys() == wanted.links.keys()
    for link, weight in wanted.links.items():
        assert abs(links[link] - weight) <= 1e-9


class Case(NamedTuple):
    rule: AbstractRule
    layout: Layout
    capacity: Capacity
    dialect: str = "plain"
    outputs: tuple[str, ...] = ("weight",)


APART = Layout.spread(2, 2)
ON_CELLS = Layout([(-0.5, -0.5), (0.25, -0.75)], [(0.5, 0.5), (-0.25, 0.25)])
"""Inputs and outputs that lie on cells, and not all outputs above all inputs."""


def emr_case(layout: Layout = APART, quads: int | None = None, **settings: Any) -> Case:
    rule = EMRRule(**{"depth": 2, **settings})
    room = Capacity.eager(rule.depth, 96)
    if quads is not None:
        room = Capacity.frontier(rule.depth, 96, quads)
    return Case(rule, layout, room)


CASES: dict[str, Case] = {
    **{f"emr {c}": emr_case(connections=c) for c in CONFIGURATIONS},
    "emr full, on cells": emr_case(ON_CELLS, connections="full", rounds=1),
    "emr weight field": emr_case(field="weight", variance_threshold=1.0),
    "emr band, initial depth": emr_case(band_threshold=0.3, initial_depth=1),
    "emr recover": emr_case(recover=True, variance_threshold=0.1),
    "emr little room": emr_case()._replace(capacity=Capacity.eager(2, 12)),
    "emr rounds": emr_case(rounds=2, connections="lateral", weight_threshold=4.0),
    "emr frontier": emr_case(depth=3, quads=16, weight_threshold=4.0),
    "emr leo": emr_case()._replace(outputs=("weight", "leo")),
    "es": Case(ESRule(2, division_threshold=0.1), APART, Capacity.eager(2, 96)),
    "es, on cells, rounds": Case(
        ESRule(2, division_threshold=0.03, iteration_level=2),
        ON_CELLS,
        Capacity.eager(2, 96),
        "neat-python",
    ),
    "es frontier, leo": Case(
        ESRule(3, initial_depth=1, variance_threshold=0.3),
        APART,
        Capacity.frontier(3, 96, 32),
        "neat-python",
        ("weight", "leo"),
    ),
}


SLOW = ("es frontier, leo", "es, on cells, rounds")
"""They take long to compile."""


def marked(names):
    return [
        pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in names
    ]


@pytest.mark.parametrize("name", marked(CASES))
@given(seed=SEEDS)
@settings(max_examples=3)
def test_networks_are_those_of_the_oracle(name: str, seed: int) -> None:
    case = CASES[name]
    cppns = draw_cppns(seed, 12, leo="leo" in case.outputs)
    networks, exceeds = discover(name, cppns)
    wiring = Wiring(networks, case.layout, 0)
    # (of little room it is said below that it is not always too little)
    assert (~exceeds).sum() >= (1 if name == "emr little room" else 6)
    for genome, cppn in enumerate(cppns):
        if not exceeds[genome]:
            query = oracle_query(cppn, case.dialect)
            wanted = wanted_of(case.rule, case.layout, query)
            assert_equal(wiring, genome, wanted)


@pytest.mark.parametrize(
    "name", marked(["emr frontier", "es frontier, leo", "emr little room"])
)
def test_what_exceeds_the_room_is_told(name: str) -> None:
    """Of many CPPNs, some do and some do not: the flag is neither always nor never."""
    case = CASES[name]
    cppns = draw_cppns(0, 60, leo="leo" in case.outputs)
    _, exceeds = discover(name, cppns)
    assert 0 < exceeds.sum() < 60
