"""The page about tests: table 5."""

from typing import Any

from ._figures import Figure, Series
from ._page import Page, bound_mark
from ._pages_time import baseline_arm, same_genomes_tables
from ._paper import paper_numbers, paper_row
from ._results import Results
from ._statistics import holm, mann_whitney, ratio_of_medians, spearman
from ._tables import Table


def comparison_page(results: Results) -> Page:
    """Table 5: the statistical comparison with the recursive quadtree."""
    baseline = baseline_arm(results) or results.arms()[0]
    arms = [arm for arm in results.arms() if arm != baseline]
    depths = sorted(results.distinct("depth"))
    keys, tests, worse = [], [], []
    factors: dict[str, list[tuple[int, float]]] = {arm: [] for arm in arms}
    for depth in depths:
        slow = results.values("seconds", arm=baseline, depth=depth)
        for arm in arms:
            fast = results.values("seconds", arm=arm, depth=depth)
            if not fast:
                continue
            keys.append((depth, arm, slow, fast))
            tests.append(mann_whitney(slow, fast, "greater"))
            factors[arm] += [
                (depth, factor) for factor in _paired(results, baseline, arm, depth)
            ]
    rows, series = [], []
    for (depth, arm, slow, fast), test in zip(keys, holm(tests), strict=True):
        ratio = ratio_of_medians(slow, fast)
        paper = paper_row("table5", depth=depth)
        mark = bound_mark(results, arm=baseline, depth=depth)
        rows.append((depth, arm, test.text(), mark + ratio.text(), _printed(paper)))
        if ratio.value < 1:
            worse.append(
                f"D = {depth}: {arm} takes {1 / ratio.value:.2f} times as long as the "
                "quadtree."
            )
    for arm in arms:
        points = [(k[0], ratio_of_medians(k[2], k[3])) for k in keys if k[1] == arm]
        kept = {d: r for d, r in points if r.value > 0}
        series.append(
            Series.of_estimates(f"quadtree / {arm}", [*kept], [*kept.values()])
        )
    printed = paper_numbers()["table5"]["rows"]
    series.append(
        Series(
            "paper, ES-HN / EMR on a GPU",
            [r["depth"] for r in printed],
            [r["speedup_gpu"] for r in printed],
            is_paper=True,
        )
    )
    table = Table.of(
        f"Whole runs against: {baseline}",
        ("D", "arm", "Mann-Whitney U, one-sided", "quadtree / arm", "paper"),
        rows,
        (
            "Seconds of whole runs, compiling included, over all populations and "
            "seeds. p-values are corrected by Holm over all rows; delta is Cliff's, "
            "named by the bounds of Romano et al. (2006). The ratio is of medians, "
            "with a 95 % bootstrap interval (percentiles of 4,999 resamples).",
        ),
    )
    trend = Table.of(
        "Does the ratio grow with depth?",
        ("arm", "Spearman, ratio and depth", "paper"),
        [
            (arm, spearman(*_columns(factors[arm])).text(), "rho = 0.96, p < .001")
            for arm in arms
        ],
        ("Ratios of runs of the same population and seed.",),
    )
    figure = Figure(
        series,
        "depth D",
        "times faster than the quadtree",
        "How many times faster than the recursive quadtree whole runs are, over depth, "
        "with bootstrap intervals.",
        is_log=True,
    )
    return Page((table, trend, *same_genomes_tables(results)), figure, tuple(worse))


def _columns(pairs: list[tuple[int, float]]) -> tuple[list[float], list[float]]:
    return [float(d) for d, _ in pairs], [f for _, f in pairs]


def _paired(results: Results, slow: str, fast: str, depth: int) -> list[float]:
    """Ratios of runs of the same population and seed."""
    ratios = []
    for row in results.select(arm=slow, depth=depth):
        other = results.values(
            "seconds",
            arm=fast,
            depth=depth,
            population=row["population"],
            seed=row["seed"],
        )
        ratios += [row["seconds"] / value for value in other]
    return ratios


def _printed(paper: dict[str, Any]) -> str:
    if not paper:
        return ""
    speedup = paper["speedup_gpu"]
    text = f"{speedup[0]:g} to {speedup[1]:g}" if isinstance(speedup, list) else speedup
    return f"p {paper['p_gpu']}, delta {paper['delta_gpu']:g}, {text}x (GPU)"
