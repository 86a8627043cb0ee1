"""Running statistics: those of all numbers together, whoever added up which."""

import hypothesis
import hypothesis.strategies as st
import numpy as np

from substrax.worlds import Seen, Statistics


def seen_of(numbers, centre):
    """What the networks of a generation say; `numbers` are theirs, (steps, 2) each."""
    away = [x - centre for x in numbers]
    return Seen(
        np.array([len(x) for x in numbers]),
        np.array([x.sum(axis=0) for x in away]),
        np.array([(x**2).sum(axis=0) for x in away]),
    )


@hypothesis.given(st.integers(0, 1000), st.integers(1, 4), st.floats(-1e3, 1e3))
def test_generations_together_are_as_all_numbers_at_once(seed, num, offset):
    rng = np.random.default_rng(seed)
    statistics, everything = Statistics.nothing(2), []
    for _ in range(num):
        numbers = [
            offset + rng.normal(size=(rng.integers(1, 20), 2)) * [1, 30]
            for _ in range(rng.integers(1, 6))
        ]
        everything += numbers
        statistics = statistics.joined(seen_of(numbers, statistics.mean))
    together = np.concatenate(everything)
    assert statistics.num == len(together)
    np.testing.assert_allclose(statistics.mean, together.mean(axis=0), atol=1e-8)
    if len(together) > 1:
        np.testing.assert_allclose(statistics.spread, together.std(axis=0), rtol=1e-5)


def test_networks_whose_numbers_are_not_finite_are_left_out():
    numbers = [np.array([[1.0, 2.0]]), np.array([[np.nan, 2.0]])]
    statistics = Statistics.nothing(2).joined(seen_of(numbers, np.zeros(2)))
    assert statistics.num == 1
    assert statistics.mean.tolist() == [1, 2]


def test_what_never_changes_is_not_divided_by_nothing():
    statistics = Statistics.nothing(1).joined(seen_of([np.full((5, 1), 3.0)], 0))
    assert statistics.spread.tolist() == [1]
    assert Statistics.nothing(3).spread.tolist() == [1, 1, 1]
