"""Pages about time: table 4 and figure 2."""

from typing import Any

from ._figures import Figure, Series
from ._page import (
    Page,
    bound_mark,
    factor_text,
    paper_text,
    quartiles,
    spread_text,
    upper,
)
from ._paper import paper_numbers, paper_row
from ._results import Results
from ._statistics import times
from ._tables import Table, seconds

QUADTREES = ("quadtree", "pureples")
"""Kinds of runs that are samples of genomes, one CPPN call after the other."""


def is_quadtree(results: Results, arm: str) -> bool:
    return any(row["kind"] in QUADTREES for row in results.select(arm=arm))


def baseline_arm(results: Results) -> str | None:
    """The arm that the recursive quadtree is."""
    return next((arm for arm in results.arms() if is_quadtree(results, arm)), None)


def same_genomes_tables(results: Results) -> tuple[Table, ...]:
    """The quadtree beside the frontier on the same genomes, where it was run."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in results.rows:
        if row["kind"] in QUADTREES:
            groups.setdefault((row["depth"], row["arm"]), []).append(row)
    rows = []
    for (depth, arm), runs in sorted(groups.items()):
        total = {
            name: sum(run[name] for run in runs)
            for name in ("num_sampled", "num_cut", "num_same", "num_compared")
        }
        slow, fast = (
            sum(run[name] * run["num_sampled"] for run in runs) / total["num_sampled"]
            for name in ("decode_quadtree", "decode_frontier")
        )
        ratios = [run["decode_quadtree"] / run["decode_frontier"] for run in runs]
        mark = "~ " if total["num_cut"] else ""
        rows.append(
            (
                depth,
                arm,
                len(runs),
                total["num_sampled"],
                total["num_cut"],
                f"{mark}{seconds(slow)}",
                seconds(fast),
                f"{mark}{times(slow / fast)} [{times(min(ratios))}, "
                f"{times(max(ratios))}]",
                f"{total['num_same']} of {total['num_compared']}",
            )
        )
    if not rows:
        return ()
    table = Table.of(
        "Rule es by a quadtree and by the frontier, on the same genomes",
        ("D", "quadtree", "runs", "genomes", "cut off", "quadtree, a genome",
         "frontier, a genome", "ratio [range of runs]", "same network"),
        rows,
        (
            "Means over all genomes, decoding alone; the ratio is that of the means. "
            "Quadtree and frontier read the same genomes with the same dialect, weight "
            "map, coordinates, grid and thresholds; the quadtree takes one genome at a "
            "time, the frontier all of them and copies of them together, as in a "
            "population. Genomes are drawn at random from the generations named below. "
            "A quadtree that takes longer than `max_seconds` is cut off, and its time "
            "scaled (marked ~): seconds a query so far, times the queries that the "
            "frontier needs for this genome, times what the quadtree asks more than "
            "the frontier for the genomes that were not cut off. \"Same network\" "
            "compares links in 64 bits, of genomes not cut off. A generation by the "
            "quadtree is this mean, times the population.",
        ),
    )  # fmt: skip
    return (table,)


def slower(here: float | int | None, there: Any, what: str, whose: str) -> list[str]:
    theirs = upper(there)
    if here is None or theirs is None or here <= theirs:
        return []
    return [f"{what}: {seconds(here)} here, {seconds(theirs)} {whose}."]


def time_page(results: Results) -> Page:
    """Table 4: seconds per generation by depth."""
    rows, worse = [], []
    for depth in sorted(results.distinct("depth")):
        paper = paper_row("table4", depth=depth)
        for arm in results.arms():
            where: dict[str, Any] = {"arm": arm, "depth": depth}
            values = results.values("seconds_per_generation", **where)
            if not values:
                continue
            here = quartiles(values)[1]
            mark = bound_mark(results, **where)
            cold = results.values("compile_seconds", is_cold=True, **where)
            is_slow = is_quadtree(results, arm)
            theirs = paper.get("es" if "es" in arm.split(",")[0] else "gpu")
            rows.append(
                (
                    depth,
                    arm,
                    len(values),
                    mark + spread_text(values),
                    None if is_slow or not cold else seconds(max(cold)),
                    max(results.values("peak_mebibytes", **where), default=None),
                    paper_text(paper.get("es")),
                    paper_text(paper.get("cpu")),
                    paper_text(paper.get("gpu")),
                    "" if is_slow else factor_text(upper(paper.get("gpu")), here),
                )
            )
            if not is_slow:
                worse += slower(here, theirs, f"D = {depth}, {arm}", "in the paper")
    table = Table.of(
        "Time per generation",
        ("D", "arm", "runs", "a generation", "compiling (cold)", "peak MiB",
         "paper ES-HN", "paper EMR CPU", "paper EMR GPU", "paper GPU / here"),
        rows,
        (
            "Medians over runs of the mean over generations, with quartiles, without "
            "compiling; memory is the largest of the runs. The paper's machines are an "
            "Apple M4 Max and an RTX 2080 Ti, so that ratios to the paper compare "
            "machines as well. Arms differ in what they find; the next table compares "
            "on the same genomes.",
        ),
    )  # fmt: skip
    figure = Figure(
        generation_series(results, "table4"),
        "depth D",
        "seconds per generation",
        "Seconds per generation over depth, on a logarithmic scale, for each arm and "
        "for the paper.",
        is_log=True,
    )
    return Page((table, *same_genomes_tables(results)), figure, tuple(worse))


def over_depth(results: Results, arm: str, name: str, **where: Any) -> Series:
    depths = sorted(results.distinct("depth", arm=arm))
    found = {d: results.values(name, arm=arm, depth=d, **where) for d in depths}
    kept = [d for d in depths if found[d]]
    all_quartiles = [quartiles(found[d]) for d in kept]
    low, middle, high = zip(*all_quartiles, strict=True) if kept else ((), (), ())
    return Series(arm, kept, middle, low, high)


def generation_series(results: Results, table: str) -> list[Series]:
    """Seconds per generation over depth: of each arm, and of a table of the paper."""
    series = [
        over_depth(results, arm, "seconds_per_generation") for arm in results.arms()
    ]
    for name, label in (("es", "paper, ES-HN"), ("gpu", "paper, EMR on a GPU")):
        rows = [row for row in paper_numbers()[table]["rows"] if name in row]
        depths, printed = [r["depth"] for r in rows], [r[name] for r in rows]
        series.append(Series(label, depths, printed, is_paper=True))
    return series


def runtime_page(results: Results) -> Page:
    """Figure 2: seconds of whole runs by depth, compilation included."""
    numbers = paper_numbers()["figure2"]
    rows, series = [], []
    worse: list[str] = []
    for arm in results.arms():
        series.append(over_depth(results, arm, "seconds"))
    for name, label in (("es", "ES-HN"), ("cpu", "EMR CPU"), ("gpu", "EMR GPU")):
        band = numbers[name]
        middle = [
            (a * b) ** 0.5 for a, b in zip(band["low"], band["high"], strict=True)
        ]
        series.append(
            Series(
                f"paper, {label}",
                band["depth"],
                middle,
                band["low"],
                band["high"],
                is_paper=True,
                is_band=True,
            )
        )
    for depth in sorted(results.distinct("depth")):
        theirs = {
            name: _band_text(numbers[name], depth) for name in ("es", "cpu", "gpu")
        }
        for arm in results.arms():
            where: dict[str, Any] = {"arm": arm, "depth": depth}
            values = results.values("seconds", **where)
            if not values:
                continue
            middle = quartiles(values)[1]
            gpu = _band(numbers["gpu"], depth)
            populations = sorted(results.distinct("population", **where))
            rows.append(
                (
                    depth,
                    arm,
                    ", ".join(map(str, populations)),
                    len(values),
                    bound_mark(results, **where) + spread_text(values),
                    max(results.values("peak_mebibytes", **where), default=None),
                    theirs["es"],
                    theirs["cpu"],
                    theirs["gpu"],
                    ""
                    if gpu is None or is_quadtree(results, arm)
                    else times((gpu[0] * gpu[1]) ** 0.5 / middle),
                )
            )
            if gpu is not None and not is_quadtree(results, arm) and middle > gpu[1]:
                worse.append(
                    f"D = {depth}, {arm}: {seconds(middle)} here, at most "
                    f"{seconds(gpu[1])} in the paper."
                )
    table = Table.of(
        "Seconds of a whole run",
        ("D", "arm", "populations", "runs", "a run", "peak MiB", "paper ES-HN",
         "paper EMR CPU", "paper EMR GPU", "paper GPU / here"),
        rows,
        (
            "Medians with quartiles over populations and seeds, compiling included; "
            "the paper's quartiles are of its figure, and the ratio is to their "
            "geometric mean. The first seed of each cell compiles everything anew, the "
            "others use what is kept.",
        ),
    )  # fmt: skip
    figure = Figure(
        series,
        "depth D",
        "seconds of a run",
        "Seconds of whole runs over depth, on a logarithmic scale, with quartiles, "
        "beside the paper's bands.",
        is_log=True,
    )
    return Page((table, *same_genomes_tables(results)), figure, tuple(worse))


def _band(band: dict[str, list], depth: int) -> tuple[float | int, float | int] | None:
    if depth not in band["depth"]:
        return None
    place = band["depth"].index(depth)
    return band["low"][place], band["high"][place]


def _band_text(band: dict[str, list], depth: int) -> str:
    ends = _band(band, depth)
    return "" if ends is None else f"{seconds(ends[0])} to {seconds(ends[1])}"
