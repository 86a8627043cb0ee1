"""Pages about rates: tables 3 and 6."""

from typing import Any

from ._figures import Figure, Series
from ._page import Page, bound_mark, median, spread_text
from ._pages_time import same_genomes_tables
from ._paper import paper_numbers, paper_row
from ._results import Results
from ._statistics import (
    Rate,
    fisher,
    holm,
    rate,
)
from ._tables import Table

MIN_RUNS = 30
"""Rates of fewer runs are shown, but not compared."""


def _rate(results: Results, within: int | None = None, **where: Any) -> Rate:
    return rate(*results.solved(within, **where))


def _percent(value: float | int | None, runs: int) -> str:
    return "" if value is None else f"{value:g} % of {runs}"


def _generation(results: Results, **where: Any) -> float | None:
    """The median generation of the runs that solved."""
    return median(results, "solved_at", **where)


def rates_page(results: Results) -> Page:
    """Table 3: connection configurations across problems."""
    rates = {
        (problem, name): _rate(results, problem=problem, connections=name)
        for problem in results.distinct("problem")
        for name in results.distinct("connections")
    }
    printed, runs = (paper_numbers()["table3"][key] for key in ("rates", "runs"))
    worse = [
        f"{problem}, {name}: {here.text()} here, {theirs} % of {runs} in the paper."
        for (problem, name), here in rates.items()
        if (theirs := printed[name].get(problem)) is not None
        and here.value * 100 < theirs
    ]
    early = {
        (problem, name): _rate(
            results, results.plan.within, problem=problem, connections=name
        )
        for problem, name in rates
    }
    tables = (_configurations_table(results, rates, early), _recounted_table(results))
    return Page(tables, _configurations_figure(results, early), tuple(worse))


def _configurations_table(
    results: Results,
    rates: dict[tuple[str, str], Rate],
    early: dict[tuple[str, str], Rate],
) -> Table:
    numbers = paper_numbers()["table3"]
    within = results.plan.within
    enough = 1 if results.plan.is_quick else MIN_RUNS
    others = [
        key
        for key, here in rates.items()
        if key[1] != "feedforward" and here.trials >= enough
    ]
    tests = holm([fisher(early[key], early[key[0], "feedforward"]) for key in others])
    test_of = dict(zip(others, tests, strict=True))
    rows = []
    for (problem, name), here in rates.items():
        where = {"problem": problem, "connections": name}
        test = test_of.get((problem, name))
        rows.append(
            (
                problem,
                name,
                here.text(),
                early[problem, name].text(),
                _generation(results, **where),
                median(results, "best_fitness", **where),
                _percent(numbers["rates"][name].get(problem), numbers["runs"]),
                test.text() if test else "",
            )
        )
    limit = f"within {within} generations" if within else "in all"
    return Table.of(
        "Runs that solved their problem",
        ("problem", "configuration", "solved", limit, "median generation",
         "median best fitness", "paper", f"{limit}, against feedforward (Fisher)"),
        rows,
        (
            "With 95 % intervals of Wilson. Tests are two-sided; p-values are "
            "corrected by Holm over all of them; the effect is Cohen's h. Rates of "
            f"fewer than {MIN_RUNS} runs are not compared.",
        ),
    )  # fmt: skip


def _recounted_table(results: Results) -> Table:
    printed, runs = (paper_numbers()["table3"][key] for key in ("rates", "runs"))
    rows = []
    for problem in results.distinct("problem"):
        share = lambda name, problem=problem: printed[name].get(problem, 0)
        best = max(results.distinct("connections"), key=share)
        first, second = (
            rate(round(share(name) * runs / 100), runs)
            for name in (best, "feedforward")
        )
        test = fisher(first, second)
        rows.append((problem, best, first.text(), second.text(), test.text()))
    return Table.of(
        "The paper's own counts, tested again",
        ("problem", "best", "paper, best", "paper, feedforward", "Fisher's exact"),
        rows,
        ("Best against feedforward, two-sided, as the paper's caption says.",),
    )


def _configurations_figure(
    results: Results, rates: dict[tuple[str, str], Rate]
) -> Figure:
    configurations = results.distinct("connections")
    problems = results.distinct("problem")
    printed = paper_numbers()["table3"]["rates"]
    series, paper = [], []
    for place, problem in enumerate(problems):
        # Side by side, or intervals would hide one another.
        shift = (place - (len(problems) - 1) / 2) * 0.2
        x = [k + shift for k in range(len(configurations))]
        found = [rates[problem, name] for name in configurations]
        series.append(Series.of_estimates(problem, x, found))
        shares = {
            k + shift + 0.07: printed[name][problem] / 100
            for k, name in enumerate(configurations)
            if problem in printed[name]
        }
        name = f"paper, {problem}"
        paper.append(Series(name, [*shares], [*shares.values()], is_paper=True))
    within = results.plan.within
    limit = f" within {within} generations" if within else ""
    return Figure(
        [*series, *paper],
        "connection configuration",
        f"solved{limit}",
        f"Share of runs that solved each problem{limit}, by connection configuration, "
        "with Wilson intervals, and the paper's.",
        ticks=configurations,
    )


Cell = tuple[str, int, int]
"""Arm, depth and population."""


def solving_page(results: Results) -> Page:
    """Table 6: solve rate and time by depth and population."""
    cells = sorted({(r["depth"], r["population"]) for r in results.rows})
    within = results.plan.within
    rates: dict[Cell, Rate] = {}
    for arm in results.arms("rate"):
        for depth, population in cells:
            found = _rate(
                results,
                within,
                arm=arm,
                role="rate",
                depth=depth,
                population=population,
            )
            if found.trials:
                rates[arm, depth, population] = found
    table, worse = _solving_table(results, cells, rates)
    tables = (table, _rules_table(results, cells, rates), *same_genomes_tables(results))
    return Page(tables, _solving_figure(results, rates), tuple(worse))


def _solving_table(
    results: Results, cells: list[tuple[int, int]], rates: dict[Cell, Rate]
) -> tuple[Table, list[str]]:
    runs = paper_numbers()["table6"]["runs"]
    rows, worse = [], []
    for depth, population in cells:
        paper = paper_row("table6", depth=depth, population=population)
        for arm in results.arms():
            where: dict[str, Any] = {
                "arm": arm, "depth": depth, "population": population,
            }  # fmt: skip
            here = rates.get((arm, depth, population))
            timed = results.values("seconds_per_generation", role="time", **where)
            if here is None and not timed:
                continue
            side = "es" if arm.startswith("es") else "gpu"
            theirs = paper.get(f"{side}_rate")
            rows.append(
                (
                    depth,
                    population,
                    arm,
                    here.text() if here else "",
                    _generation(results, role="rate", **where),
                    bound_mark(results, role="time", **where) + spread_text(timed)
                    if timed
                    else "",
                    len(timed),
                    _percent(theirs, runs),
                    None if side not in paper else f"{paper[side]:g} s",
                )
            )
            if here and here.value * 100 < (theirs or 0):
                worse.append(
                    f"D = {depth}, population {population}, {arm}: {here.text()} "
                    f"here, {theirs} % of {runs} in the paper."
                )
    table = Table.of(
        "Solve rate and time by depth and population",
        ("D", "population", "arm", f"solved within {results.plan.within}",
         "median generation", "a generation", "timed runs", "paper, solved",
         "paper, a generation"),
        rows,
        (
            "Solved runs with 95 % intervals of Wilson. Runs for rates stop when they "
            "have solved; times are of other runs, which go on for all generations. "
            "The paper's numbers beside rule emr are those of its GPU.",
        ),
    )  # fmt: skip
    return table, worse


def _rules_table(
    results: Results, cells: list[tuple[int, int]], rates: dict[Cell, Rate]
) -> Table:
    keys, tests = [], []
    for depth, population in cells:
        for first, second in _pairs(results.arms("rate")):
            a, b = (rates.get((arm, depth, population)) for arm in (first, second))
            if a and b:
                keys.append((depth, population, first, second, a.text(), b.text()))
                tests.append(fisher(a, b))
    return Table.of(
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


def _solving_figure(results: Results, rates: dict[Cell, Rate]) -> Figure:
    found: dict[tuple[str, int], dict[int, Rate]] = {}
    for (arm, depth, population), here in rates.items():
        found.setdefault((arm, population), {})[depth] = here
    series = []
    for place, ((arm, population), by_depth) in enumerate(found.items()):
        # Side by side, or intervals would hide one another.
        x = [depth + 0.06 * place for depth in by_depth]
        name = f"{arm}, population {population}"
        series.append(Series.of_estimates(name, x, [*by_depth.values()]))
    printed = [r for r in paper_numbers()["table6"]["rows"] if r["population"] == 300]
    for side, name in (("es", "ES-HN"), ("gpu", "EMR")):
        series.append(
            Series(
                f"paper, {name}, population 300 (3 runs)",
                [row["depth"] for row in printed],
                [row[f"{side}_rate"] / 100 for row in printed],
                is_paper=True,
            )
        )
    return Figure(
        series,
        "depth D",
        f"solved within {results.plan.within} generations",
        "Share of runs that solved XOR, over depth, with Wilson intervals.",
    )


def _pairs(arms: list[str]) -> list[tuple[str, str]]:
    """Arms of rule emr with those of rule es that are otherwise the same."""
    tail = lambda arm: arm.partition(",")[2]
    return [
        (a, b)
        for a in arms
        for b in arms
        if a.startswith("emr") and b.startswith("es") and tail(a) == tail(b)
    ]
