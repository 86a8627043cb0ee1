"""The page about rates of configurations: table 3."""

from substrax.sweeps import Rate, Table, fisher, rate

from .figures import Figure, Series
from .page import Page, median
from .page_solved import (
    MIN_RUNS,
    compared,
    comparison_text,
    percent_text,
    solved_generation,
    solved_rate,
    solved_within,
)
from .published import paper_numbers
from .results import Results


def rates_page(results: Results) -> Page:
    """Table 3: connection configurations across problems."""
    rates = {
        (problem, name): solved_rate(results, problem=problem, connections=name)
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
        (problem, name): solved_rate(
            results, solved_within(results, problem), problem=problem, connections=name
        )
        for problem, name in rates
    }
    recounted = _recounted_table(results)
    tables = (
        _configurations_table(results, rates, early),
        *([recounted] if recounted.rows else []),
    )
    return Page(tables, _configurations_figure(results, early), tuple(worse))


def _configurations_table(
    results: Results,
    rates: dict[tuple[str, str], Rate],
    early: dict[tuple[str, str], Rate],
) -> Table:
    numbers = paper_numbers()["table3"]
    within = solved_within(results)
    others = [key for key in rates if key[1] != "feedforward"]
    tests = compared(
        [(early[key], early.get((key[0], "feedforward"))) for key in others]
    )
    test_of = dict(zip(others, tests, strict=True))
    rows = []
    for (problem, name), here in rates.items():
        where = {"problem": problem, "connections": name}
        own = solved_within(results, problem)
        rows.append(
            (
                problem,
                name,
                here.text(),
                early[problem, name].text() + ("" if own == within else f" in {own}"),
                solved_generation(results, **where),
                median(results, "best_fitness", **where),
                percent_text(numbers["rates"][name].get(problem), numbers["runs"]),
                comparison_text(test_of[problem, name])
                if (problem, name) in test_of
                else "",
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
        shares = {n: row[problem] for n, row in printed.items() if problem in row}
        best = max(shares, key=lambda name: shares[name], default="feedforward")
        if shares.get("feedforward") == shares.get(best):
            continue
        first, second = (
            rate(round(shares[name] * runs / 100), runs)
            for name in (best, "feedforward")
        )
        test = fisher(first, second)
        rows.append((problem, best, first.text(), second.text(), test.text()))
    return Table.of(
        "The paper's own counts, tested again",
        ("problem", "best", "paper, best", "paper, feedforward", "Fisher's exact"),
        rows,
        (
            "Best against feedforward, two-sided, as the paper's caption says; where "
            "feedforward is among the best, there is nothing to test.",
        ),
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
    within = solved_within(results)
    limit = f" within {within} generations" if within else ""
    others = [f"{n:,} for the {name}" for name, n in results.plan.within_of.items()]
    limit += f" ({', '.join(others)})" if limit and others else ""
    return Figure(
        [*series, *paper],
        "connection configuration",
        f"solved{limit}",
        f"Share of runs that solved each problem{limit}, by connection configuration, "
        "with Wilson intervals, and the paper's.",
        ticks=configurations,
    )
