"""Tables of what was run, as Markdown."""

import statistics
from typing import Any

from cells import CELLS, Arm, Cell, jobs_of

from substrax.reproduce import rate

Results = dict[str, dict[str, Any]]


def results_of(name: str, arm: Arm, done: Results) -> list[dict[str, Any]]:
    keys = [job.key for job in jobs_of(name, arm.seeds) if job.arm == arm.name]
    return [done[key] for key in keys if key in done]


def is_solved(cell: Cell, result: dict[str, Any]) -> bool:
    if result["solved_at"] is None:
        return False
    found = result.get("measures", {})
    return all(found.get(name, 0.0) >= least for name, least in cell.good)


def row(cell: Cell, arm: Arm, results: list[dict[str, Any]]) -> str:
    solved = [r for r in results if is_solved(cell, r)]
    share = rate(len(solved), len(results))
    parts = [
        arm.name,
        f"{len(solved)} of {len(results)}",
        f"[{share.low:.2f}, {share.high:.2f}]",
    ]
    for key in ("solved_at", "evaluations"):
        values = [r[key] for r in solved]
        parts.append(f"{statistics.median(values):,.0f}" if values else "")
    parts.append(f"{statistics.median(r['best'] for r in results):.4f}")
    for name in cell.measures:
        values = [r["measures"][name] for r in results if r.get("measures")]
        parts.append(f"{statistics.median(values):.3g}" if values else "")
    parts.append(f"{statistics.median(r['seconds'] for r in results):.1f} s")
    return "| " + " | ".join(parts) + " |"


def table(name: str, done: Results) -> str | None:
    """The table of a cell, or None if nothing of it was run."""
    cell = CELLS[name]
    rows = [
        row(cell, arm, results)
        for arm in cell.arms
        if (results := results_of(name, arm, done))
    ]
    if not rows:
        return None
    heads = [
        "",
        "solved",
        "95 % interval",
        "generation",
        "evaluations",
        "best fitness",
        *cell.measures,
        "time of a run",
    ]
    lines = [
        f"## {cell.title}",
        "",
        f"Asked, of {30}: {cell.ask}.",
        "",
        "| " + " | ".join(heads) + " |",
        "| --- " * len(heads) + "|",
        *rows,
    ]
    return "\n".join(lines)
