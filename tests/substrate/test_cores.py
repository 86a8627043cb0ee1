"""The number of cores changes nothing but the time."""

from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cppns import random_cppn
from tests.substrate.support import (
    assert_same_wirings,
    find,
    make_engine,
    on_cores,
)
from tests.substrate.test_strategies import Case, cases

import substrax.substrate._discover as discover_module
import substrax.substrate._exploration as exploration_module
from substrax._threads import map_in_order
from substrax.substrate import ESRule, Exploration, Layout


@given(
    case=cases(max_depth=3),
    cores=st.sampled_from([2, 5]),
    num=st.sampled_from([1, 6]),
    together=st.sampled_from([50, 300]),
    max_quads=st.sampled_from([100, 1 << 20]),
)
@settings(max_examples=20)
def test_cores_change_nothing(
    case: Case, cores: int, num: int, together: int, max_quads: int
) -> None:
    parts = case.parts(num)
    with (
        mock.patch.object(discover_module, "_TOGETHER", together),
        mock.patch.object(exploration_module, "_LEAST_FIELDS", 2),
        mock.patch.object(exploration_module, "_BATCH_QUADS", 64),
    ):
        with on_cores(cores):
            several = find(*parts, max_quads=max_quads)
        with on_cores(1):
            one = find(*parts, max_quads=max_quads)
    assert several.num_queries == one.num_queries
    assert_same_wirings(several, one)
    assert_same_wirings(several, find(*parts))


STEEP = random_cppn(np.random.default_rng(1), 3, scale=2.0)
DENSE = random_cppn(np.random.default_rng(4), 3, scale=2.0)
FLAT = random_cppn(np.random.default_rng(0), 0, scale=0.0)
LAYOUT = Layout.spread(3, 1)


def test_runs_of_genomes_have_a_core_each() -> None:
    engine, rule = make_engine([STEEP] * 8), ESRule(depth=3)
    whole = find(engine, LAYOUT, rule)
    asked = []

    def spy(function, items, most=None):
        kept = list(items)
        asked.append((len(kept), most))
        return map_in_order(function, kept, most)

    # More links are expected before the clean-up than are left behind it.
    for times in (0.5, 3):
        together = int(times * whole.link_source.size)
        with (
            on_cores(3),
            mock.patch.object(discover_module, "_TOGETHER", together),
            mock.patch.object(discover_module, "map_in_order", spy),
        ):
            assert_same_wirings(find(engine, LAYOUT, rule), whole)
    assert any(num > 1 and most == 3 for num, most in asked)


def test_fields_that_are_more_than_expected_are_halved() -> None:
    engine = make_engine([FLAT] * 20 + [DENSE] * 3)
    rule = ESRule(depth=5, division_threshold=1e-4, iteration_level=0)
    whole = find(engine, LAYOUT, rule)
    with mock.patch.object(
        Exploration, "_halves", autospec=True, side_effect=Exploration._halves
    ) as halves:
        parts = find(engine, LAYOUT, rule, max_quads=2000)
    assert halves.called
    assert_same_wirings(parts, whole)
    assert parts.num_queries == whole.num_queries


def test_work_may_ask_for_work() -> None:
    def outer(x: int) -> list[int]:
        return list(map_in_order(lambda y: x * y, range(3)))

    with on_cores(4):
        found = list(map_in_order(outer, range(20)))
    assert found == [[0, x, 2 * x] for x in range(20)]
