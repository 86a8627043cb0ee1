"""The page about rates and times by depth and population: table 6."""

from typing import Any

from substrax.sweeps import Rate, Table, seconds

from .figures import Figure, Series
from .page import Page, bound_mark, cold_seconds, paper_text, slower, spread_text
from .page_quadtree import same_genomes_tables
from .page_solved import (
    compared,
    comparison_text,
    percent_text,
    solved_generation,
    solved_rate,
    solved_within,
)
from .published import paper_numbers, paper_row
from .results import Results

Cell = tuple[str, int, int]
"""Arm, depth and population."""


def solving_page(results: Results) -> Page:
    """Table 6: solve rate and time by depth and population."""
    cells = sorted({(r["depth"], r["population"]) for r in results.rows})
    within = solved_within(results)
    rates: dict[Cell, Rate] = {}
    for arm in results.arms("rate"):
        for depth, population in cells:
            found = solved_rate(
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
    rules = _rules_table(results, cells, rates)
    tables = (
        table,
        *([rules] if rules.rows else []),
        *same_genomes_tables(results),
    )
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
            cold = cold_seconds(results, role="time", **where)
            jit = None if side == "es" else paper.get("jit_cpu")
            theirs = paper.get(f"{side}_rate")
            rows.append(
                (
                    depth,
                    population,
                    arm,
                    here.text() if here else "",
                    solved_generation(results, role="rate", **where),
                    bound_mark(results, role="time", **where) + spread_text(timed)
                    if timed
                    else "",
                    len(timed),
                    percent_text(theirs, runs),
                    paper_text(paper.get(side)),
                    seconds(cold),
                    paper_text(jit),
                    "" if side == "es" else paper_text(paper.get("jit_gpu")),
                )
            )
            what = f"D = {depth}, population {population}, {arm}"
            worse += slower(cold, jit, f"{what}, compiling", "on the paper's CPU")
            if here and here.value * 100 < (theirs or 0):
                worse.append(
                    f"{what}: {here.text()} here, {theirs} % of {runs} in the paper."
                )
    table = Table.of(
        "Solve rate and time by depth and population",
        ("D", "population", "arm", f"solved within {solved_within(results)}",
         "median generation", "a generation", "timed runs", "paper, solved",
         "paper, a generation", "compiling (cold)", "paper compiling, CPU",
         "paper compiling, GPU"),
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
    keys, both = [], []
    for depth, population in cells:
        for first, second in _pairs(results.arms("rate")):
            a, b = (rates.get((arm, depth, population)) for arm in (first, second))
            if a and b:
                keys.append((depth, population, first, second, a.text(), b.text()))
                both.append((a, b))
    return Table.of(
        "Rule emr against rule es",
        ("D", "population", "first", "second", "first solved", "second solved",
         "Fisher's exact"),
        [
            (*key, comparison_text(test))
            for key, test in zip(keys, compared(both), strict=True)
        ],
        (
            "Two-sided, corrected by Holm over all rows; the effect is Cohen's h. In a "
            "pair everything but the rule and its thresholds is the same: NEAT, "
            "dialect, weight map, coordinates, grid, solve rule, seeds. A p-value that "
            "is not small is no sign of a difference, and no proof that there is none.",
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
        f"solved within {solved_within(results)} generations",
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
