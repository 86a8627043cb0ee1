"""Rule `es` leaves out what lies below a point; nothing of the result changes."""

from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.substrate.support import (
    assert_same_wirings,
    draw_cppns,
    find,
    layouts,
    make_engine,
)

import substrax.substrate._es as es_module
from substrax.substrate import ESRule, Layout


def _see_all(self, quads):
    """Nothing is hidden: every field is explored whole."""
    return np.ones((4, quads.num), bool)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    depth=st.integers(1, 3),
    variance=st.sampled_from([0.0, 0.03, 0.5, 5.0, 50.0]),
    division=st.sampled_from([0.0, 0.03, 0.5]),
    data=st.data(),
)
def test_what_lies_below_is_left_out_without_a_trace(
    seed, depth, variance, division, data
) -> None:
    rule = ESRule(depth=depth, division_threshold=division, variance_threshold=variance)
    engine = make_engine(draw_cppns(seed, 3), "neat-python", np.float32)
    layout = data.draw(layouts(depth))
    here = find(engine, layout, rule)
    with mock.patch.object(es_module._Visible, "members", _see_all):
        whole = find(engine, layout, rule)
    assert_same_wirings(here, whole)


def test_fields_that_the_visible_part_does_not_settle_are_explored_whole() -> None:
    """A high threshold on the variance makes many of them."""
    engine = make_engine(draw_cppns(3, 20), "neat-python", np.float32)
    layout = Layout.spread(3, 1)
    noticed = []
    original = es_module._Visible.miss

    def miss(self, field):
        noticed.append(field.size)
        original(self, field)

    rule = ESRule(depth=3, variance_threshold=8.0)
    with mock.patch.object(es_module._Visible, "miss", miss):
        here = find(engine, layout, rule)
    assert sum(noticed) > 0
    with mock.patch.object(es_module._Visible, "members", _see_all):
        assert_same_wirings(here, find(engine, layout, rule))
