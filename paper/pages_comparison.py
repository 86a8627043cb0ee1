"""The page about tests: table 5."""

from typing import Any

from substrax.sweeps import (
    Table,
    holm,
    mann_whitney,
    median_of_ratios,
    ratio_of_medians,
    spearman,
    wilcoxon,
)

from .figures import Figure, Series
from .page import Page, bound_mark, whole_runs, whole_runs_note, whole_seconds
from .page_quadtree import baseline_arm, same_genomes_tables
from .published import paper_numbers, paper_row
from .results import Results


def comparison_page(results: Results) -> Page:
    """Table 5: the statistical comparison with the recursive quadtree."""
    baseline = baseline_arm(results) or results.arms()[0]
    arms = [arm for arm in results.arms() if arm != baseline]
    keys, tests, pairs = [], [], []
    for depth in sorted(results.distinct("depth")):
        slow = whole_runs(results, arm=baseline, depth=depth)
        for arm in arms:
            fast = whole_runs(results, arm=arm, depth=depth)
            if fast:
                keys.append((depth, arm, slow, fast))
                tests.append(mann_whitney(slow, fast, "greater"))
                pairs.append(_paired(results, baseline, arm, depth))
    rows, worse = [], []
    signed = holm([wilcoxon(ratios) for ratios in pairs])
    for (depth, arm, slow, fast), test, ratios, signed_test in zip(
        keys, holm(tests), pairs, signed, strict=True
    ):
        ratio, paired = ratio_of_medians(slow, fast), median_of_ratios(ratios)
        paper = paper_row("table5", depth=depth)
        mark = bound_mark(results, arm=baseline, depth=depth)
        rows.append(
            (
                depth,
                arm,
                test.text() if slow else "no runs of the quadtree",
                mark + ratio.text(),
                mark + paired.text() if ratios else "no pairs",
                signed_test.text() if ratios else "",
                _printed(paper, "gpu"),
                _printed(paper, "cpu"),
            )
        )
        if ratio.value < 1:
            worse.append(
                f"D = {depth}: {arm} takes {1 / ratio.value:.2f} times as long as the "
                "quadtree."
            )
    table = _whole_runs_table(results, baseline, rows)
    trend = _trend_table(arms, keys, pairs)
    return Page(
        (table, trend, *same_genomes_tables(results)),
        _figure(arms, keys),
        tuple(worse),
    )


def _figure(arms: list[str], keys: list[Any]) -> Figure:
    series = []
    for arm in arms:
        points = [(k[0], ratio_of_medians(k[2], k[3])) for k in keys if k[1] == arm]
        kept = {d: r for d, r in points if r.value > 0}
        series.append(
            Series.of_estimates(f"quadtree / {arm}", [*kept], [*kept.values()])
        )
    printed = paper_numbers()["table5"]["rows"]
    for device in ("GPU", "CPU"):
        series.append(
            Series(
                f"paper, ES-HN / EMR on a {device}",
                [r["depth"] for r in printed],
                [r[f"speedup_{device.lower()}"] for r in printed],
                is_paper=True,
            )
        )
    return Figure(
        series,
        "depth D",
        "times faster than the quadtree",
        "How many times faster than the recursive quadtree whole runs are, over depth, "
        "with bootstrap intervals.",
        is_log=True,
    )


def _whole_runs_table(results: Results, baseline: str, rows: list[Any]) -> Table:
    return Table.of(
        f"Whole runs against: {baseline}",
        (
            "D",
            "arm",
            "Mann-Whitney U, one-sided",
            "quadtree / arm, ratio of medians",
            "quadtree / arm, median of paired ratios",
            "Wilcoxon signed-rank, one-sided",
            "paper EMR GPU",
            "paper EMR CPU",
        ),
        rows,
        (
            f"Whole runs over all populations and seeds. {whole_runs_note(results)}",
            "p-values are corrected by Holm over all rows of their column. "
            "Mann-Whitney is the paper's test: it takes all runs of a depth for draws "
            "of one distribution, though populations differ; delta is Cliff's, named "
            "by the bounds of Romano et al. (2006). Pairs have the same population and "
            "seed; Wilcoxon's test is on the logarithms of their ratios, and r is the "
            "rank-biserial correlation. Intervals are 95 % bootstrap intervals "
            "(percentiles of 4,999 resamples of runs, or of pairs), from three on.",
        ),
    )


def _trend_table(arms: list[str], keys: list[Any], pairs: list[list[float]]) -> Table:
    return Table.of(
        "Does the ratio grow with depth?",
        ("arm", "Spearman, ratio and depth", "paper"),
        [
            (arm, _trend_text(*_columns(arm, keys, pairs)), "rho = 0.96, p < .001")
            for arm in arms
        ],
        (
            "Ratios of runs of the same population and seed. The same populations and "
            "seeds come back at every depth, so the ratios are not independent: read "
            "rho, not p.",
        ),
    )


def _trend_text(depths: list[float], ratios: list[float]) -> str:
    return spearman(depths, ratios).text() if ratios else "no pairs"


def _columns(
    arm: str, keys: list[tuple[int, str, Any, Any]], pairs: list[list[float]]
) -> tuple[list[float], list[float]]:
    """Depths and ratios of an arm, a row for each pair."""
    rows = [
        (float(key[0]), ratio)
        for key, ratios in zip(keys, pairs, strict=True)
        for ratio in ratios
        if key[1] == arm
    ]
    return [depth for depth, _ in rows], [ratio for _, ratio in rows]


def _paired(results: Results, slow: str, fast: str, depth: int) -> list[float]:
    """Ratios of runs of the same population and seed."""
    ratios = []
    for row in results.select(arm=slow, depth=depth):
        same = {"population": row["population"], "seed": row["seed"]}
        others = whole_runs(results, arm=fast, depth=depth, **same)
        ratios += [whole_seconds(row) / other for other in others]
    return ratios


def _printed(paper: dict[str, Any], device: str) -> str:
    if not paper:
        return ""
    speedup = paper[f"speedup_{device}"]
    ends = speedup if isinstance(speedup, list) else [speedup]
    text = " to ".join(f"{end:g}x" for end in ends)
    return f"p {paper[f'p_{device}']}, delta {paper[f'delta_{device}']:g}, {text}"
