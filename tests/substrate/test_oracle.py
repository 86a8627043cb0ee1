"""Both rules against the slow oracles, on drawn CPPNs, coordinates and settings."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from substrax.substrate import CONFIGURATIONS, EMRRule, ESRule, Layout
from tests.reference import emr, es
from tests.reference.grid import Discovery
from tests.substrate.support import (
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
    oracle_query,
)


def assert_equal(wiring: Wiring, genome: int, wanted: Discovery) -> None:
    """Sets of nodes and links are equal, weights agree to 1e-9."""
    assert hidden_of(wiring, genome) == wanted.hidden
    links = links_of(wiring, genome)
    assert links.keys() == wanted.links.keys()
    for link, weight in wanted.links.items():
        assert abs(links[link] - weight) <= 1e-9


def emr_parameters(rule: EMRRule) -> emr.Parameters:
    values = dataclasses.asdict(rule)
    return emr.Parameters(configuration=values.pop("connections"), **values)


def check_es(
    seed: int,
    rule: ESRule,
    layout: Layout,
    *,
    dialect: str,
    leo: bool,
    dense: bool,
    num: int,
) -> int:
    cppns = draw_cppns(seed, num, leo=leo)
    wiring = find(make_engine(cppns, dialect), layout, rule)
    for genome, cppn in enumerate(cppns):
        wanted = es.discover(
            oracle_query(cppn, dialect, scalar=not dense and not leo),
            layout.inputs,
            layout.outputs,
            es.Parameters(**dataclasses.asdict(rule)),
            dense=dense,
        )
        assert_equal(wiring, genome, wanted)
    return len(wiring.link_source)


def check_emr(
    seed: int, rule: EMRRule, layout: Layout, *, dialect: str, leo: bool, num: int
) -> int:
    cppns = draw_cppns(seed, num, leo=leo)
    wiring = find(make_engine(cppns, dialect), layout, rule)
    for genome, cppn in enumerate(cppns):
        query = oracle_query(cppn, dialect)
        wanted = emr.discover(
            query, layout.inputs, layout.outputs, emr_parameters(rule)
        )
        assert_equal(wiring, genome, wanted)
    return len(wiring.link_source)


@st.composite
def es_settings(draw: st.DrawFn, max_depth: int) -> tuple[ESRule, Layout]:
    rule = draw(es_rules(max_depth))
    return rule, draw(layouts(rule.depth))


@st.composite
def emr_settings(
    draw: st.DrawFn, max_depth: int, **fixed: Any
) -> tuple[EMRRule, Layout]:
    rule = draw(emr_rules(max_depth, **fixed))
    return rule, draw(layouts(rule.depth))


@given(seed=SEEDS, drawn=es_settings(max_depth=3))
@settings(max_examples=30)
def test_es_is_that_of_the_dense_oracle(seed: int, drawn: tuple[ESRule, Layout]):
    check_es(seed, *drawn, dialect="neat-python", leo=False, dense=True, num=2)


@given(seed=SEEDS, drawn=es_settings(max_depth=1))
@settings(max_examples=15)
def test_es_is_that_of_the_recursive_quadtree(seed: int, drawn: tuple[ESRule, Layout]):
    check_es(seed, *drawn, dialect="neat-python", leo=False, dense=False, num=2)


@given(seed=SEEDS, drawn=es_settings(max_depth=2))
@settings(max_examples=25)
def test_es_with_leo_is_that_of_the_oracle(seed: int, drawn: tuple[ESRule, Layout]):
    """LEO decides about expression alone: variance and band know nothing of it."""
    check_es(seed, *drawn, dialect="plain", leo=True, dense=True, num=2)


@pytest.mark.parametrize("connections", list(CONFIGURATIONS))
@given(seed=SEEDS, data=st.data())
@settings(max_examples=10)
def test_emr_is_that_of_the_oracle(
    connections: str, seed: int, data: st.DataObject
) -> None:
    drawn = data.draw(emr_settings(2, connections=connections))
    check_emr(seed, *drawn, dialect="neat-python", leo=False, num=2)


@given(seed=SEEDS, drawn=emr_settings(2))
@settings(max_examples=25)
def test_emr_with_leo_is_that_of_the_oracle(
    seed: int, drawn: tuple[EMRRule, Layout]
) -> None:
    check_emr(seed, *drawn, dialect="plain", leo=True, num=2)
