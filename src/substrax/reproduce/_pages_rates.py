"""Pages about rates and tests: tables 3, 5 and 6."""

from typing import Any

from ._figures import Figure, Series
from ._page import Page, bound_mark, median, spread_text
from ._pages_time import baseline_arm, same_genomes_table
from ._paper import paper_numbers, paper_row
from ._results import Results
from ._statistics import (
    Rate,
    fisher,
    holm,
    mann_whitney,
    rate,
    ratio_of_medians,
    spearman,
)
from ._tables import Table


def _rate(results: Results, within: int | None = None, **where: Any) -> Rate:
    return rate(*results.solved(within, **where))


def _percent(value: float | int | None, runs: int) -> str:
    return "" if value is None else f"{value:g} % of {runs}"


def _generation(results: Results, **where: Any) -> float | None:
    """The median generation of the runs that solved."""
    return median(results, "solved_at", **where)


def rates_page(results: Results) -> Page:
    """Table 3: connection configurations across problems."""
    numbers = paper_numbers()["table3"]
    printed, runs = numbers["rates"], numbers["runs"]
    within = results.plan.within
    configurations = results.distinct("connections")
    problems = results.distinct("problem")
    rates = {
        (p, c): _rate(results, problem=p, connections=c)
        for p in problems
        for c in configurations
    }
    others = [(p, c) for p in problems for c in configurations if c != "feedforward"]
    tests = dict(
        zip(
            others,
            holm([fisher(rates[key], rates[key[0], "feedforward"]) for key in others]),
            strict=True,
        )
    )
    rows, worse = [], []
    for problem in problems:
        for name in configurations:
            theirs = printed[name].get(problem)
            here = rates[problem, name]
            early = _rate(results, within, problem=problem, connections=name)
            test = tests.get((problem, name))
            rows.append(
                (
                    problem,
                    name,
                    here.text(),
                    early.text() if within else "",
                    _generation(results, problem=problem, connections=name),
                    median(results, "best_fitness", problem=problem, connections=name),
                    spread_text(
                        results.values(
                            "seconds_per_generation", problem=problem, connections=name
                        )
                    ),
                    _percent(theirs, runs),
                    test.text() if test else "",
                )
            )
            if theirs is not None and here.value * 100 < theirs:
                worse.append(
                    f"{problem}, {name}: {here.text()} here, {theirs} % of {runs} in "
                    "the paper."
                )
    limit = f"within {within}" if within else "early"
    table = Table.of(
        "Runs that solved their problem",
        ("problem", "configuration", "solved", limit, "median generation",
         "median best fitness", "a generation", "paper",
         "against feedforward (Fisher)"),
        rows,
        (
            "With 95 % intervals of Wilson. Tests are two-sided; p-values are "
            "corrected by Holm over all of them; the effect is Cohen's h.",
        ),
    )  # fmt: skip
    again = []
    for problem in problems:
        best = max(configurations, key=lambda c: printed[c].get(problem, 0))
        first, second = (
            rate(round(printed[c].get(problem, 0) * runs / 100), runs)
            for c in (best, "feedforward")
        )
        test = fisher(first, second)
        again.append((problem, best, first.text(), second.text(), test.text()))
    recomputed = Table.of(
        "The paper's own counts, tested again",
        ("problem", "best", "paper, best", "paper, feedforward", "Fisher's exact"),
        again,
        ("Best against feedforward, two-sided, as the paper's caption says.",),
    )
    series = []
    for place, problem in enumerate(problems):
        shift = (place - (len(problems) - 1) / 2) * 0.2
        found = [rates[problem, c] for c in configurations]
        series.append(
            Series(
                problem,
                [k + shift for k in range(len(configurations))],
                [r.value for r in found],
                [r.low for r in found],
                [r.high for r in found],
            )
        )
    figure = Figure(
        series,
        "connection configuration",
        "share of runs that solved",
        "Share of runs that solved each problem, by connection configuration, with "
        "Wilson intervals.",
        ticks=configurations,
    )
    return Page((table, recomputed), figure, tuple(worse))


def solving_page(results: Results) -> Page:
    """Table 6: solve rate and time by depth and population."""
    runs = paper_numbers()["table6"]["runs"]
    rows, tests, keys, worse = [], [], [], []
    cells = sorted({(r["depth"], r["population"]) for r in results.rows})
    rates: dict[tuple[str, int, int], Rate] = {}
    within = results.plan.within
    for arm in results.arms("rate"):
        for depth, population in cells:
            rates[arm, depth, population] = _rate(
                results,
                within,
                arm=arm,
                role="rate",
                depth=depth,
                population=population,
            )
    arms = results.arms()
    for depth, population in cells:
        paper = paper_row("table6", depth=depth, population=population)
        for arm in arms:
            where: dict[str, Any] = {
                "arm": arm, "depth": depth, "population": population,
            }  # fmt: skip
            here = rates.get((arm, depth, population))
            timed = results.values("seconds_per_generation", role="time", **where)
            if (here is None or not here.trials) and not timed:
                continue
            side = "es" if arm.startswith("es") else "gpu"
            theirs = paper.get(f"{side}_rate")
            rows.append(
                (
                    depth,
                    population,
                    arm,
                    here.text() if here and here.trials else "",
                    _generation(results, role="rate", **where),
                    bound_mark(results, role="time", **where) + spread_text(timed)
                    if timed
                    else "",
                    len(timed),
                    _percent(theirs, runs),
                    None if side not in paper else f"{paper[side]:g} s",
                )
            )
            if here and here.trials and here.value * 100 < (theirs or 0):
                worse.append(
                    f"D = {depth}, population {population}, {arm}: {here.text()} "
                    f"here, {theirs} % of {runs} in the paper."
                )
        for first, second in _pairs(results.arms("rate")):
            a, b = (rates[arm, depth, population] for arm in (first, second))
            if a.trials and b.trials:
                keys.append((depth, population, first, second, a.text(), b.text()))
                tests.append(fisher(a, b))
    table = Table.of(
        "Solve rate and time by depth and population",
        ("D", "population", "arm", f"solved within {within}", "median generation",
         "a generation", "timed runs", "paper, solved", "paper, a generation"),
        rows,
        (
            "Solved runs with 95 % intervals of Wilson. Runs for rates stop when they "
            "have solved; times are of other runs, which go on for all generations. "
            "The paper's numbers beside rule emr are those of its GPU.",
        ),
    )  # fmt: skip
    compared = Table.of(
        "Rule emr against rule es",
        ("D", "population", "first", "second", "first solved", "second solved",
         "Fisher's exact"),
        [(*key, test.text()) for key, test in zip(keys, holm(tests), strict=True)],
        (
            "Two-sided, corrected by Holm over all rows; the effect is Cohen's h. In a "
            "pair everything but the rule is the same: NEAT, dialect, weight map, "
            "coordinates, grid, solve rule, seeds.",
        ),
    )  # fmt: skip
    populations = sorted({p for _, p in cells})
    series = []
    for arm in results.arms("rate"):
        for population in populations:
            depths = [d for d, p in cells if p == population]
            found = [rates[arm, d, population] for d in depths]
            kept = [(d, r) for d, r in zip(depths, found, strict=True) if r.trials]
            series.append(
                Series(
                    f"{arm}, {population}",
                    [d for d, _ in kept],
                    [r.value for _, r in kept],
                    [r.low for _, r in kept],
                    [r.high for _, r in kept],
                )
            )
    figure = Figure(
        series,
        "depth D",
        f"solved within {within} generations",
        "Share of runs that solved XOR, over depth, with Wilson intervals.",
    )
    more = same_genomes_table(results)
    tables = (table, compared, *([more] if more else []))
    return Page(tables, figure, tuple(worse))


def _pairs(arms: list[str]) -> list[tuple[str, str]]:
    """Arms of rule emr with those of rule es that are otherwise the same."""
    tail = lambda arm: arm.partition(",")[2]
    return [
        (a, b)
        for a in arms
        for b in arms
        if a.startswith("emr") and b.startswith("es") and tail(a) == tail(b)
    ]


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
        kept = [(d, r) for d, r in points if r.value > 0]
        series.append(
            Series(
                f"quadtree / {arm}",
                [d for d, _ in kept],
                [r.value for _, r in kept],
                [r.low for _, r in kept],
                [r.high for _, r in kept],
            )
        )
    printed = [r for r in paper_numbers()["table5"]["rows"]]
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
    more = same_genomes_table(results)
    figure = Figure(
        series,
        "depth D",
        "times faster than the quadtree",
        "How many times faster than the recursive quadtree whole runs are, over depth, "
        "with bootstrap intervals.",
        is_log=True,
    )
    return Page((table, trend, *([more] if more else [])), figure, tuple(worse))


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
