"""The recursive quadtree on pages: which arm it is, and the frontier beside it."""

from typing import Any

from substrax.sweeps import Table, seconds, times

from .page import MIN_SPREAD, QUADTREES
from .results import Results


def is_quadtree(results: Results, arm: str) -> bool:
    return any(a.name == arm and a.kind in QUADTREES for a in results.plan.arms)


def baseline_arm(results: Results) -> str | None:
    """The arm that the recursive quadtree is, with or without runs."""
    names = (arm.name for arm in results.plan.arms)
    return next((name for name in names if is_quadtree(results, name)), None)


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
                f"{mark}{times(slow / fast)}{_range_of_runs(runs)}",
                f"{total['num_same']} of {total['num_compared']}"
                if total["num_compared"]
                else "none compared",
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
            "Means over all genomes, decoding alone; the ratio is that of the means, "
            f"and has a range from {MIN_SPREAD} runs on. "
            "Quadtree and frontier read the same genomes with the same dialect, weight "
            "map, coordinates, grid and thresholds; the quadtree takes one genome at a "
            "time, the frontier all of them and copies of them together, as in a "
            "population. The frontier is timed warm, the better of two (once if a "
            "sample takes more than a second), in 32 bits on all cores; the quadtree "
            "once, in Python's floats on one core. Genomes are drawn at random from "
            "the generations named below. "
            "A quadtree that takes longer than `max_seconds` is cut off, and its time "
            "scaled (marked ~): seconds a query so far, times the queries that the "
            "frontier needs for this genome, times what the quadtree asks more than "
            "the frontier for the genomes that were not cut off. \"Same network\" "
            "compares links in 64 bits, of genomes not cut off. A generation by the "
            "quadtree is this mean, times the population.",
        ),
    )  # fmt: skip
    return (table,)


def _range_of_runs(runs: list[dict[str, Any]]) -> str:
    if len(runs) < MIN_SPREAD:
        return ""
    ratios = [run["decode_quadtree"] / run["decode_frontier"] for run in runs]
    return f" [{times(min(ratios))}, {times(max(ratios))}]"
