"""Settings of rules and exploration: wrong ones are named; borders are allowed."""

from typing import Any

import numpy as np
import pytest

from substrax._types import check_whole
from substrax.cppn import QueryEngine
from substrax.substrate import EMRRule, ESRule, Layout, WeightMap
from substrax.substrate._es import QUAD_BYTES
from substrax.substrate._rule import num_quads
from tests.substrate.support import draw_cppns, find, make_engine

RULES = [
    ESRule(),
    ESRule(depth=0, iteration_level=0),
    EMRRule(),
    EMRRule(depth=0),
    EMRRule(connections="full", rounds=2),
]


@pytest.mark.parametrize("rule", [ESRule, EMRRule])
@pytest.mark.parametrize(
    "setting",
    [
        {"depth": -1},
        {"depth": 21},
        {"initial_depth": -1},
        {"depth": 2, "initial_depth": 4},
        {"variance_threshold": -0.1},
        {"variance_threshold": float("nan")},
        {"band_threshold": float("inf")},
    ],
    ids=str,
)
def test_a_wrong_setting_of_either_rule_is_named(
    rule: type[ESRule | EMRRule], setting: dict[str, Any]
) -> None:
    name = list(setting)[-1]
    with pytest.raises(ValueError, match=f"^{name} must .*{setting[name]}"):
        rule(**setting)


@pytest.mark.parametrize(
    "setting", [{"division_threshold": -1.0}, {"iteration_level": -1}], ids=str
)
def test_a_wrong_setting_of_es_is_named(setting: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"^{next(iter(setting))} must"):
        ESRule(**setting)


@pytest.mark.parametrize(
    "setting", [{"weight_threshold": -1.0}, {"rounds": -1}, {"field": "u"}], ids=str
)
def test_a_wrong_setting_of_emr_is_named(setting: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"^{next(iter(setting))} must"):
        EMRRule(**setting)


def test_emr_has_a_band_if_its_threshold_is_positive() -> None:
    assert not EMRRule(band_threshold=0.0).has_band
    assert EMRRule(band_threshold=0.1).has_band


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"configuration 'sideways'.*lateral"):
        EMRRule(connections="sideways")
    with pytest.raises(ValueError, match=r"strategy 'lazy'.*frontier"):
        ESRule().check_strategy("lazy", 1 << 30)
    with pytest.raises(ValueError, match=r"weight map 'cubic'.*deadzone"):
        WeightMap("cubic")


@pytest.mark.parametrize("max_weight", [1e-30, 0.5, 1.0, 9.9e37])
def test_max_weight_may_be_any_positive_number(max_weight: float) -> None:
    weights = WeightMap("linear", max_weight)(np.array([-1.0, 0.0, 2.0]))
    np.testing.assert_array_equal(weights, [-max_weight, 0.0, max_weight])


@pytest.mark.parametrize("max_weight", [0.0, -1.0, 1e38, np.nan, np.inf])
def test_max_weight_is_positive(max_weight: float) -> None:
    with pytest.raises(ValueError, match="max_weight must be positive"):
        WeightMap("linear", max_weight)


def test_initial_depth_may_reach_below_the_deepest_level() -> None:
    """`es` counts levels d < initial_depth, `emr` levels d <= initial_depth."""
    assert ESRule(depth=2, initial_depth=3).initial_depth == 3
    assert EMRRule(depth=2, initial_depth=2).initial_depth == 2
    with pytest.raises(ValueError, match=r"^initial_depth must"):
        EMRRule(depth=2, initial_depth=3)


def test_eager_es_is_refused_where_its_quadtrees_do_not_fit() -> None:
    """A million quads are always allowed, more only within half of the budget."""
    ESRule(depth=9).check_strategy("eager", 0)
    ESRule(depth=10).check_strategy("frontier", 0)
    with pytest.raises(ValueError, match="Use strategy frontier, raise memory_budget"):
        ESRule(depth=10).check_strategy("eager", 0)
    needed = num_quads(10) * QUAD_BYTES
    ESRule(depth=10).check_strategy("eager", 2 * needed)
    with pytest.raises(ValueError, match="keeps 5,592,404 cells for each field"):
        ESRule(depth=10).check_strategy("eager", 2 * needed - 2)


def constant_cppn(value: float) -> dict[str, Any]:
    node = {"id": 0, "activation": "identity", "bias": value, "response": 1.0}
    return {**draw_cppns(0, 1)[0], "nodes": [node], "connections": []}


@pytest.mark.parametrize("strategy", ["eager", "frontier"])
@pytest.mark.parametrize("rule", RULES, ids=range(len(RULES)))
def test_a_cppn_that_says_zero_gives_an_empty_network(
    rule: ESRule | EMRRule, strategy: str
) -> None:
    engine = make_engine([constant_cppn(0.0)], "neat-python", np.float32)
    wiring = find(engine, Layout.spread(2, 2), rule, strategy=strategy)
    assert wiring.num_genomes == 1
    assert wiring.hidden_bounds.tolist() == wiring.link_bounds.tolist() == [0, 0]
    assert wiring.hidden_point.shape == (0, 2)
    assert wiring.link_source.shape == wiring.link_weight.shape == (0,)
    assert wiring.link_weight.dtype == np.float32


def test_a_constant_cppn_has_no_band_but_active_cells() -> None:
    """`es` asks for a difference; `emr` keeps the levels up to initial_depth."""
    engine = make_engine([constant_cppn(0.5)], "neat-python", np.float32)
    layout = Layout.spread(2, 1)
    assert not find(engine, layout, ESRule()).link_source.size
    for initial_depth in (0, 1, 2):
        rule = EMRRule(initial_depth=initial_depth, connections="feedforward")
        wiring = find(engine, layout, rule)
        num_hidden = sum(4 ** (level + 1) for level in range(initial_depth + 1))
        assert len(wiring.hidden_point) == num_hidden
        assert len(wiring.link_source) == 3 * num_hidden
        assert np.ptp(wiring.link_weight) == 0


@pytest.mark.parametrize("strategy", ["eager", "frontier"])
@pytest.mark.parametrize("rule", RULES, ids=range(len(RULES)))
def test_a_population_of_none_has_no_networks(
    rule: ESRule | EMRRule, strategy: str
) -> None:
    programs = make_engine(draw_cppns(0, 2), "neat-python", np.float32).programs
    engine = QueryEngine(programs.select(np.zeros(0, int)))
    wiring = find(engine, Layout.spread(2, 1), rule, strategy=strategy)
    assert wiring.num_genomes == 0
    assert wiring.link_source.size == wiring.num_queries == 0


def test_empty_and_full_genomes_lie_side_by_side() -> None:
    full = draw_cppns(3, 1)[0]
    cppns = [constant_cppn(0.0), full, constant_cppn(0.0), full]
    engine = make_engine(cppns, "neat-python", np.float32)
    rule = EMRRule(depth=2, connections="full")
    wiring = find(engine, Layout.spread(2, 1), rule)
    number = np.diff(wiring.link_bounds)
    assert number[0] == number[2] == 0
    assert number[1] == number[3] > 0


def test_a_deep_grid_costs_no_more_than_its_active_cells() -> None:
    """At depth 20 a table over all cells would have 6e12 entries."""
    engine = make_engine(draw_cppns(1, 2), "neat-python", np.float32)
    rule = EMRRule(depth=20, variance_threshold=0.1, connections="feedforward")
    wiring = find(engine, Layout.spread(2, 1), rule)
    assert 0 < wiring.num_queries < 100_000


@pytest.mark.parametrize("depth", [2.5, "3", True, None])
def test_a_depth_that_is_no_whole_number_is_named(depth) -> None:
    # Directly, because in tests the types of a rule's arguments are checked before.
    with pytest.raises(ValueError, match="depth must be a whole number, not"):
        check_whole(depth=depth)


@pytest.mark.parametrize("rule", [ESRule, EMRRule])
def test_rules_ask_for_whole_numbers(rule) -> None:
    with pytest.raises(ValueError, match="depth must be a whole number, not True"):
        rule(depth=True)
