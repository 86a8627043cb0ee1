"""The number of threads changes nothing but the time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from substrax import Resources
from substrax.network import evaluate
from substrax.substrate import EMRRule, ESRule, Layout
from tests.cppns import random_cppn
from tests.substrate.support import assert_same_wirings, find, make_engine
from tests.substrate.test_strategies import Case, cases

STEEP = random_cppn(np.random.default_rng(1), 3, scale=2.0)
DENSE = random_cppn(np.random.default_rng(4), 3, scale=2.0)
FLAT = random_cppn(np.random.default_rng(0), 0, scale=0.0)
LAYOUT = Layout.spread(3, 1)


@given(
    case=cases(max_depth=3),
    threads=st.sampled_from([2, 5]),
    num=st.sampled_from([1, 6]),
)
@settings(max_examples=20)
def test_threads_change_nothing(case: Case, threads: int, num: int) -> None:
    parts = case.parts(num)
    several, one = find(*parts, threads=threads), find(*parts, threads=1)
    assert several.num_queries == one.num_queries
    assert_same_wirings(several, one)


@pytest.mark.parametrize("rule", [ESRule(depth=4), EMRRule(depth=4, field="weight")])
def test_genomes_of_very_different_sizes_keep_their_order(rule) -> None:
    """Threads that are done wait for their turn, and go on meanwhile."""
    cppns = [DENSE, *[FLAT] * 40, STEEP, *[FLAT] * 40, DENSE, STEEP]
    engine = make_engine(cppns, dtype=np.float32)
    several, one = (find(engine, LAYOUT, rule, threads=n) for n in (4, 1))
    assert_same_wirings(several, one)
    assert len(one.link_source) > 10_000
    inputs = np.random.default_rng(0).normal(size=(70, 3))
    outputs = [
        evaluate(one.networks, inputs, resources=Resources(threads=n)) for n in (1, 4)
    ]
    assert outputs[0].tobytes() == outputs[1].tobytes()
