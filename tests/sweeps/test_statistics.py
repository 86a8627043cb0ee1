"""Statistics against values computed by hand, and against the paper's own counts."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from substrax.sweeps import (
    cliffs_delta,
    fisher,
    holm,
    mann_whitney,
    median_interval,
    median_of_ratios,
    rate,
    ratio_of_medians,
    spearman,
    wilcoxon,
)

NUMBERS = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=8)


@given(NUMBERS, NUMBERS)
def test_cliffs_delta_counts_pairs(a, b):
    signs = [(x > y) - (x < y) for x, y in itertools.product(a, b)]
    assert math.isclose(
        cliffs_delta(a, b), sum(signs) / (len(a) * len(b)), abs_tol=1e-12
    )


def test_effects_are_named_by_the_usual_bounds():
    assert mann_whitney([1, 2, 3], [4, 5, 6]).size_name == "large"
    assert mann_whitney([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]).size_name == "negligible"
    assert fisher(rate(10, 10), rate(10, 10)).size_name == "negligible"
    assert fisher(rate(10, 10), rate(0, 10)).size_name == "large"


def test_wilson_is_what_three_of_three_deserves():
    """Table 6 of the paper: 3 of 3 runs are "100 %"."""
    found = rate(3, 3)
    assert (round(found.low, 2), found.high) == (0.44, 1.0)
    assert found.text() == "3/3 [44, 100] %"
    assert rate(0, 0).text() == "no runs"


def test_fisher_on_the_papers_own_counts():
    """Table 3: p < 0.001 is printed for 10 of 10 against 9 of 10."""
    assert fisher(rate(10, 10), rate(9, 10)).p == pytest.approx(1.0)
    assert fisher(rate(10, 10), rate(2, 10)).p < 0.001
    assert fisher(rate(3, 3), rate(0, 3)).p == pytest.approx(0.1)


def test_mann_whitney_is_one_sided_where_asked():
    assert mann_whitney([4, 5, 6, 7], [0, 1, 2, 3], "greater").p == pytest.approx(
        1 / 70
    )
    assert mann_whitney([4, 5, 6, 7], [0, 1, 2, 3], "less").p == pytest.approx(1.0)


def test_a_p_value_never_stands_alone():
    text = mann_whitney([4, 5, 6, 7], [0, 1, 2, 3]).text()
    assert text == "p = 0.029, delta = 1.00 (large), n = 4 and 4"
    assert "n = 3" in spearman([1, 2, 3], [3.0, 5.0, 4.0]).text()


def test_holm_multiplies_the_smallest_by_their_number():
    tests = [mann_whitney([4, 5, 6, 7], [0, 1, 2, 3]), mann_whitney([1], [1])]
    missing = mann_whitney([], [1.0])
    corrected = holm([*tests, missing])
    assert corrected[0].p == pytest.approx(2 * tests[0].p)
    assert "(Holm)" in corrected[0].text()
    assert math.isnan(corrected[2].p) and "undefined" in corrected[2].text()
    assert holm([]) == []


def test_ratio_of_medians_has_an_interval_and_sizes():
    found = ratio_of_medians([10.0, 20.0, 30.0], [1.0, 2.0, 3.0])
    assert found.value == 10.0
    assert found.low <= 10.0 <= found.high
    assert found == ratio_of_medians([10.0, 20.0, 30.0], [1.0, 2.0, 3.0])
    assert found.text().endswith("(n = 3, 3)")
    assert "[" not in ratio_of_medians([10.0], [1.0]).text()
    assert ratio_of_medians([], [1.0]).text() == "no runs"


def test_spearman_of_a_rising_column_is_one():
    assert spearman([1, 2, 3, 4], [1.0, 4.0, 9.0, 16.0]).size == pytest.approx(1.0)
    assert math.isnan(spearman([1, 1, 1], [1.0, 2.0, 3.0]).p)


def test_paired_ratios_have_a_median_and_an_interval_of_pairs():
    found = median_of_ratios([2.0, 4.0, 8.0])
    assert found.value == 4.0 and 2.0 <= found.low <= 4.0 <= found.high <= 8.0
    assert found == median_of_ratios([2.0, 4.0, 8.0])
    assert found.text().endswith("(n = 3 pairs)")
    assert median_of_ratios([2.0, 4.0]).text() == "3.00x (n = 2 pairs)"
    assert median_of_ratios([]).text() == "no runs"


def test_wilcoxon_counts_signed_ranks_of_logarithms():
    """All five above 1 is one of the 32 ways to choose signs."""
    above = wilcoxon([2.0, 3.0, 4.0, 5.0, 6.0])
    assert above.p == pytest.approx(1 / 32) and above.size == 1.0
    assert above.text() == "p = 0.031, r = 1.00 (large), n = 5"
    assert wilcoxon([0.5, 0.25, 0.2]).size == -1.0
    # ranks 1 and 2 above, 3 below
    assert wilcoxon([2.0, 4.0, 1 / 8]).size == pytest.approx(0.0)
    assert math.isnan(wilcoxon([1.0, 1.0]).p) and math.isnan(wilcoxon([]).p)


@pytest.mark.parametrize(("successes", "trials"), [(0, 5), (3, 7), (30, 30)])
def test_intervals_are_wilsons(successes, trials):
    expected: Any = proportion_confint(successes, trials, 0.05, method="wilson")
    found = rate(successes, trials)
    np.testing.assert_allclose((found.low, found.high), expected, atol=1e-12)


def test_a_median_has_an_interval_that_is_the_same_each_time():
    values = [float(k) for k in range(1, 31)]
    middle, low, high = median_interval(values)
    assert middle == 15.5 and 9 <= low < middle < high <= 22
    assert median_interval(values) == (middle, low, high)
    assert median_interval([2.0, 2.0, 2.0]) == (2.0, 2.0, 2.0)
    assert median_interval([1, 3])[0] == 2 and math.isnan(median_interval([1, 3])[1])
    assert all(math.isnan(x) for x in median_interval([]))
    # what cannot be added up has a median, and no interval
    middle, low, _ = median_interval([-math.inf, 1.0, 2.0])
    assert middle == 1.0 and math.isnan(low)
