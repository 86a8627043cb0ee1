"""What lies below a source is not looked at, and changes nothing.

Nothing is expressed within a cell whose upper edge is not above the source, and what is
seen nearly always settles the variances of the cells around it. Where it does not, the
field is explored whole. Strategy `eager` looks at everything.
"""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from substrax.substrate import ESRule, Layout
from tests.substrate.support import (
    SEEDS,
    assert_same_wirings,
    draw_cppns,
    find,
    make_engine,
)

THRESHOLDS = st.sampled_from([0.0, 0.001, 0.03, 0.5, 3.0])


@given(
    seed=SEEDS,
    depth=st.integers(1, 4),
    initial_depth=st.integers(0, 3),
    division=THRESHOLDS,
    variance=THRESHOLDS,
    band=THRESHOLDS,
    inputs=st.lists(
        st.tuples(*[st.sampled_from([-1.0, -0.5, -0.25, 0.0, 0.3])] * 2),
        min_size=1,
        max_size=3,
        unique=True,
    ),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=40)
def test_what_is_below_a_source_changes_nothing(
    seed, depth, initial_depth, division, variance, band, inputs, dtype
) -> None:
    engine = make_engine(draw_cppns(seed, 3), "neat-python", dtype)
    layout = Layout(inputs, [[0.0, 1.0]])
    rule = ESRule(depth, min(initial_depth, depth), division, variance, band)
    here = find(engine, layout, rule)
    assert_same_wirings(here, find(engine, layout, rule, strategy="eager"))


def test_it_is_not_asked_about() -> None:
    """From a source high up there is little to see; the output sees everything."""
    engine = make_engine(draw_cppns(3, 20), "neat-python", np.float32)
    rule = ESRule(depth=4, division_threshold=0.03, iteration_level=0)
    low, high = (
        find(engine, Layout([(x, y) for x in (-0.5, 0.5)], [(0.0, 1.0)]), rule)
        for y in (-1.0, 0.5)
    )
    assert high.num_queries < 0.7 * low.num_queries
    assert len(low.link_source) > 1000
