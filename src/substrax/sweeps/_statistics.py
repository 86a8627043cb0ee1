"""Statistics from scipy and statsmodels, each with its sample sizes and effect size.

Nothing here returns a bare p-value: results carry the sizes of the samples and an
effect with its usual name, and print themselves with both.
"""

import dataclasses
import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

ALPHA = 0.05

# Romano et al. (2006) for Cliff's delta; Cohen (1988) for h and for correlations, the
# rank-biserial one among them.
_DELTA = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"))
_H = ((0.2, "negligible"), (0.5, "small"), (0.8, "medium"))
_RHO = ((0.1, "negligible"), (0.3, "small"), (0.5, "medium"))


def _name(size: float, bounds: tuple[tuple[float, str], ...]) -> str:
    if math.isnan(size):
        return "undefined"
    return next((name for bound, name in bounds if abs(size) < bound), "large")


def p_text(p: float) -> str:
    """A p-value for a table."""
    if math.isnan(p):
        return "undefined"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


@dataclasses.dataclass(frozen=True)
class Rate:
    """A share of runs with its 95 % interval of Wilson (1927)."""

    successes: int
    trials: int
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.successes / self.trials if self.trials else math.nan

    def text(self) -> str:
        if not self.trials:
            return "no runs"
        return (
            f"{self.successes}/{self.trials} "
            f"[{100 * self.low:.0f}, {100 * self.high:.0f}] %"
        )


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A test: p (after Holm, once `holm` has seen it), effect, and sample sizes."""

    test: str
    p: float
    effect: str
    size: float
    size_name: str
    num: tuple[int, ...]
    is_corrected: bool = False

    @property
    def is_significant(self) -> bool:
        return self.p < ALPHA

    def text(self) -> str:
        sizes = " and ".join(map(str, self.num))
        return (
            f"p {'' if self.p < 0.001 else '= '}{p_text(self.p)}"
            f"{' (Holm)' if self.is_corrected else ''}, "
            f"{self.effect} = {self.size:.2f} ({self.size_name}), n = {sizes}"
        )


@dataclasses.dataclass(frozen=True)
class Ratio:
    """A ratio with its 95 % bootstrap interval, and the sizes of both samples, or the
    number of pairs."""

    value: float
    low: float
    high: float
    num: tuple[int, ...]

    def text(self) -> str:
        if math.isnan(self.value):
            return "no runs"
        sizes = ", ".join(map(str, self.num)) + (" pairs" if len(self.num) == 1 else "")
        if math.isnan(self.low):
            return f"{times(self.value)} (n = {sizes})"
        return (
            f"{times(self.value)} [{times(self.low)}, {times(self.high)}] (n = {sizes})"
        )


def times(value: float | int) -> str:
    """A factor for a table."""
    if value >= 100:
        return f"{value:,.0f}x"
    return f"{value:.1f}x" if value >= 10 else f"{value:.2f}x"


def rate(successes: int, trials: int) -> Rate:
    """A proportion with its interval of 95 %, for which nothing need be installed."""
    if not trials:
        return Rate(0, 0, 0.0, 1.0)
    z = statistics.NormalDist().inv_cdf(1.0 - ALPHA / 2.0)
    share = successes / trials
    # Wilson's score interval, which is never beyond 0 and 1 but for rounding.
    middle = share + z * z / (2 * trials)
    width = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1.0 + z * z / trials
    low, high = (middle - width) / scale, (middle + width) / scale
    return Rate(successes, trials, max(low, 0.0), min(high, 1.0))


def quartiles(values: Sequence[float | int]) -> tuple[float, float, float]:
    """The lower quartile, the median and the upper quartile; NaN without values.

    Between two values, the line between them (type 7 of Hyndman & Fan 1996, as NumPy
    has it); a value may be infinite.
    """
    ordered = sorted(map(float, values))
    if not ordered:
        return math.nan, math.nan, math.nan
    low, middle, high = (_quantile(ordered, share) for share in (0.25, 0.5, 0.75))
    return low, middle, high


def _quantile(ordered: Sequence[float], share: float) -> float:
    below, rest = divmod(share * (len(ordered) - 1), 1.0)
    value = ordered[int(below)]
    if not rest or ordered[int(below) + 1] == value:
        return value
    return (1.0 - rest) * value + rest * ordered[int(below) + 1]


def cliffs_delta(a: Sequence[float | int], b: Sequence[float | int]) -> float:
    """P(a > b) - P(a < b), from -1 to 1."""
    from scipy.stats import mannwhitneyu

    # U counts the pairs in which a is larger, and half of the ties.
    statistic = float(mannwhitneyu(a, b).statistic)
    return 2.0 * statistic / (len(a) * len(b)) - 1.0


def mann_whitney(
    a: Sequence[float | int], b: Sequence[float | int], alternative: str = "two-sided"
) -> Comparison:
    """Whether a tends to be larger ("greater"), smaller ("less") or other than b."""
    from scipy.stats import mannwhitneyu

    if not len(a) or not len(b):
        p = delta = math.nan
    else:
        p = float(mannwhitneyu(a, b, alternative=alternative).pvalue)
        delta = cliffs_delta(a, b)
    return Comparison(
        "Mann-Whitney U", p, "delta", delta, _name(delta, _DELTA), (len(a), len(b))
    )


def wilcoxon(ratios: Sequence[float | int], alternative: str = "greater") -> Comparison:
    """Whether paired ratios tend to be above 1 ("greater"), below it or either.

    Signed ranks of their logarithms; the effect is the rank-biserial correlation: the
    share of ranks above 1 minus the share of those below. Ratios of 1 do not count.
    """
    from scipy.stats import wilcoxon as signed_rank

    logs = np.log(np.asarray(ratios, float))
    num = int(np.count_nonzero(logs))
    if not num:
        p = effect = math.nan
    else:
        found: Any = signed_rank(logs, alternative=alternative)
        # Two-sided, scipy's statistic is the smaller sum of ranks; one-sided, the one
        # above. Both together are n (n + 1) / 2.
        above: Any = signed_rank(logs, alternative="greater")
        p = float(found.pvalue)
        effect = 4.0 * float(above.statistic) / (num * (num + 1)) - 1.0
    return Comparison(
        "Wilcoxon signed-rank", p, "r", effect, _name(effect, _RHO), (len(ratios),)
    )


def fisher(a: Rate, b: Rate, alternative: str = "two-sided") -> Comparison:
    """Whether two rates differ; the effect is Cohen's h, positive if a is larger."""
    from scipy.stats import fisher_exact

    if not a.trials or not b.trials:
        p = h = math.nan
    else:
        table = [[r.successes, r.trials - r.successes] for r in (a, b)]
        p = float(np.asarray(fisher_exact(table, alternative=alternative))[1])
        h = 2.0 * (math.asin(math.sqrt(a.value)) - math.asin(math.sqrt(b.value)))
    return Comparison("Fisher's exact", p, "h", h, _name(h, _H), (a.trials, b.trials))


def spearman(x: Sequence[float | int], y: Sequence[float | int]) -> Comparison:
    """Whether y rises with x."""
    from scipy.stats import spearmanr

    # Two points always lie on a line, and what is constant has no ranks.
    if len(x) < 3 or len(set(x)) < 2 or len(set(y)) < 2:
        p = rho = math.nan
    else:
        found: Any = spearmanr(x, y)
        p, rho = float(found.pvalue), float(found.statistic)
    return Comparison("Spearman", p, "rho", rho, _name(rho, _RHO), (len(x),))


def holm(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same with p-values corrected together (Holm 1979); undefined ones stay."""
    from statsmodels.stats.multitest import multipletests

    # What could not be tested does not count among the tests that are corrected for.
    which = [k for k, c in enumerate(comparisons) if not math.isnan(c.p)]
    result = list(comparisons)
    if which:
        values = [comparisons[k].p for k in which]
        corrected: Any = multipletests(values, method="holm")[1]
        for k, p in zip(which, corrected.tolist(), strict=True):
            result[k] = dataclasses.replace(comparisons[k], p=p, is_corrected=True)
    return result


def median_interval(
    values: Sequence[float | int], resamples: int = 4999
) -> tuple[float, float, float]:
    """The median and the percentile bootstrap interval of it, of 95 %.

    The same values give the same interval. NaN are: all three without values; the
    interval of fewer than three, and without scipy.
    """
    middle = quartiles(values)[1]
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < len(values):
        return middle, math.nan, math.nan
    if len(set(values)) == 1 and len(values) >= 3:
        return middle, middle, middle
    median = lambda x, axis: np.median(x, axis=axis)
    try:
        return middle, *_interval((values,), median, resamples)
    except ImportError:
        return middle, math.nan, math.nan


def ratio_of_medians(
    a: Sequence[float | int], b: Sequence[float | int], resamples: int = 4999
) -> Ratio:
    """median(a) / median(b), with a percentile bootstrap interval.

    The same samples give the same interval. With fewer than three values on a side
    there is none.
    """
    num = (len(a), len(b))
    if not len(a) or not len(b) or not np.median(b):
        return Ratio(math.nan, math.nan, math.nan, num)
    value = float(np.median(a) / np.median(b))
    quotient = lambda x, y, axis: np.median(x, axis=axis) / np.median(y, axis=axis)
    return Ratio(value, *_interval((a, b), quotient, resamples), num)


def median_of_ratios(ratios: Sequence[float | int], resamples: int = 4999) -> Ratio:
    """The median of paired ratios; the bootstrap draws whole pairs.

    As with `ratio_of_medians`, fewer than three have no interval.
    """
    num = (len(ratios),)
    if not len(ratios):
        return Ratio(math.nan, math.nan, math.nan, num)
    middle = lambda x, axis: np.median(x, axis=axis)
    return Ratio(
        float(np.median(ratios)), *_interval((ratios,), middle, resamples), num
    )


def _interval(
    samples: tuple[Sequence[float | int], ...],
    statistic: Callable[..., Any],
    resamples: int,
) -> tuple[float, float]:
    """The same samples give the same interval."""
    from scipy.stats import bootstrap

    if min(map(len, samples)) < 3:
        return math.nan, math.nan
    found = bootstrap(
        tuple(np.asarray(sample, float) for sample in samples),
        statistic,
        method="percentile",
        n_resamples=resamples,
        rng=np.random.default_rng(0),
    )
    low, high = found.confidence_interval
    return float(low), float(high)
