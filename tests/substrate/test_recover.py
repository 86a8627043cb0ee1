"""Mode `recover`: brute force, bounds and the oracle agree; the bounds are certain."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from substrax.config import Experiment
from substrax.cppn import Interval
from substrax.decoders import Discovered, emr_hyperneat
from substrax.substrate import EMRRule, Layout, active_cells
from substrax.substrate._activity import block_variance
from substrax.substrate._recover import largest_variance, may_vary
from tests.reference import emr as oracle
from tests.substrate.support import (
    MAPS,
    SEEDS,
    assert_same_wirings,
    draw_cppns,
    emr_rules,
    find,
    layouts,
    make_engine,
    oracle_query,
)
from tests.substrate.test_activity import places, places_of

LAYOUT = Layout.spread(2, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(
    seed=SEEDS,
    rule=emr_rules(3, recover=True),
    data=st.data(),
)
@settings(max_examples=20)
def test_bounds_and_brute_force_give_the_same_bits(
    dtype, seed: int, rule: EMRRule, data: st.DataObject
) -> None:
    engine = make_engine(draw_cppns(seed, 3, leo=True), "plain", dtype)
    layout = data.draw(layouts(rule.depth))
    rule = dataclasses.replace(rule, rounds=0, connections="feedforward")
    brute = find(engine, layout, rule, strategy="eager")
    bounded = find(engine, layout, rule, strategy="frontier")
    assert_same_wirings(brute, bounded)
    assert bounded.num_queries <= brute.num_queries


@pytest.mark.parametrize("seed", range(3))
def test_they_agree_at_the_deepest_grid_that_both_can_do(seed: int) -> None:
    engine = make_engine(draw_cppns(seed, 2, leo=True), "plain", np.float32)
    rule = EMRRule(depth=7, recover=True, connections="feedforward")
    brute = find(engine, LAYOUT, rule, strategy="eager")
    bounded = find(engine, LAYOUT, rule)
    assert_same_wirings(brute, bounded)
    assert bounded.num_queries < brute.num_queries / 4


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("field", ["output", "weight"])
def test_active_cells_are_those_of_the_oracle(seed: int, field: str) -> None:
    """A cell is active iff var4 of its parent > threshold: no word of ancestors."""
    [cppn] = draw_cppns(seed, 1)
    engine = make_engine([cppn], "plain")
    settings = {"depth": 4, "field": field, "recover": True}
    source = (0.3, -1.0)
    cells = active_cells(engine, MAPS["plain"], EMRRule(**settings), source)
    masks = oracle.active_from(
        oracle_query(cppn, "plain"), oracle.Parameters(**settings), source
    )
    for level, expected in enumerate(places_of(masks)):
        assert places(cells, cells.level == level) == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(
    seed=SEEDS,
    field=st.sampled_from(["output", "weight"]),
    threshold=st.sampled_from([1e-6, 1e-3, 0.03, 0.5]),
    depth=st.integers(1, 4),
    outgoing=st.booleans(),
)
@settings(max_examples=8)
def test_nothing_that_varies_is_pruned(
    dtype, seed: int, field: str, threshold: float, depth: int, outgoing: bool
) -> None:
    """Every quad of every level against the bounds of all cells above it."""
    rng = np.random.default_rng(seed)
    engine, weight_map = make_engine(draw_cppns(seed, 2), "neat-python", dtype), MAPS
    rule = EMRRule(depth=depth, variance_threshold=threshold, field=field, recover=True)
    for genome, point in enumerate(rng.uniform(-1, 1, (2, 2))):
        view = (engine, weight_map["neat-python"], genome, point, outgoing)
        i = j = np.zeros(1, int)
        is_open, member = np.ones(1, bool), np.arange(4)
        for level in range(depth + 1):
            is_open &= may_vary(rule, *view, level, i, j)
            below = 2 * i[:, None] + member // 2, 2 * j[:, None] + member % 2
            cells = np.stack(below, axis=-1).reshape(-1, 2)
            u = engine.query_cells(genome, point, level, cells, outgoing=outgoing)
            u = u[:, 0].reshape(-1, 4)
            varying = u if field == "output" else weight_map["neat-python"](u)
            assert not (block_variance(varying) > threshold)[~is_open].any()
            i, j = (k.ravel() for k in below)
            is_open = np.repeat(is_open, 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_variance_is_never_exceeded_even_as_it_is_rounded(dtype) -> None:
    """Also where the numbers are large and their differences are mere rounding."""
    rng = np.random.default_rng(0)
    middle = rng.normal(size=20_000) * 10.0 ** rng.uniform(-20, 12, 20_000)
    radius = np.abs(middle) * 10.0 ** rng.uniform(-17, 2, 20_000)
    low, high = (middle - radius).astype(dtype), (middle + radius).astype(dtype)
    part = rng.integers(0, 2, (4, 20_000))
    members = np.where(part == 1, high, low)
    bound = largest_variance(
        Interval(low.astype(np.float64), high.astype(np.float64)), np.dtype(dtype)
    )
    assert (block_variance(members.T) <= bound).all()
    halves = np.stack([low, low, high, high])  # the variance that the bound is made of
    assert (block_variance(halves.T) <= bound).all()
    is_plain = radius > 1e-3 * np.abs(middle)
    is_plain &= radius > 1e-15
    np.testing.assert_allclose(
        block_variance(halves.T)[is_plain], bound[is_plain], rtol=1e-2
    )


def test_a_deep_grid_costs_no_more_than_what_the_bounds_leave() -> None:
    engine = make_engine(draw_cppns(1, 2), "neat-python", np.float32)
    rule = EMRRule(
        depth=20, variance_threshold=0.1, connections="feedforward", recover=True
    )
    wiring = find(engine, LAYOUT, rule)
    assert 0 < wiring.num_queries < 500_000


def test_brute_force_of_a_deep_grid_is_refused_and_the_bounds_are_offered() -> None:
    deep = EMRRule(depth=8, recover=True)
    message = r"strategy eager .*recover.*depth 7, not 8.*strategy frontier"
    with pytest.raises(ValueError, match=message):
        deep.check_strategy("eager", 1 << 30)
    with pytest.raises(ValueError, match=message):
        emr_hyperneat(LAYOUT, deep, strategy="eager")
    dataclasses.replace(deep, depth=7).check_strategy("eager", 1 << 30)
    dataclasses.replace(deep, recover=False).check_strategy("eager", 1 << 30)
    deep.check_strategy("frontier", 1 << 30)
    deep.check_strategy("auto", 1 << 30)


def test_the_setting_is_reachable_from_a_configuration() -> None:
    experiment = Experiment.from_toml(
        '[problem]\nname = "xor"\n[method.emr]\nrecover = true\n'
    )
    assert experiment.values["method.recover"] is True
    decoder = experiment.build().decoder
    assert isinstance(decoder, Discovered)
    assert isinstance(decoder.rule, EMRRule) and decoder.rule.recover
    flags = experiment.with_settings({"method.recover": "false"})
    assert flags.values["method.recover"] is False
    eager = {"method.depth": 9, "method.strategy": "eager"}
    with pytest.raises(ValueError, match="strategy frontier"):
        experiment.with_settings(eager).build()
