"""What depth buys: rates and times by depth, as a table and as a figure."""

import statistics
from pathlib import Path
from typing import Any

from substrax.report import PAGE, new_figure, save_figure, style
from substrax.sweeps import rate

from .cells import DEPTH_CELLS, DEPTHS, Arm, Results, results_by_arm

COLOURS = {"emr": "#2166ac", "es": "#b35806"}


def _cell(results: list[dict[str, Any]]) -> str:
    if not results:
        return ""
    solved = [r for r in results if r["solved_at"] is not None]
    seconds = statistics.median(r["seconds"] for r in results)
    best = statistics.median(r["best"] for r in results)
    return f"{len(solved)} of {len(results)}; {best:.3f}; {seconds:.1f} s"


def section(done: Results) -> str | None:
    """Tables of all problems of which there are runs."""
    parts = []
    for name, cell in DEPTH_CELLS.items():
        found = results_by_arm(name, done)
        if not found:
            continue
        lines = [
            f"### {cell.name}",
            "",
            cell.budget,
            "",
            "| | " + " | ".join(f"depth {depth}" for depth in DEPTHS) + " |",
            "| --- " * (len(DEPTHS) + 1) + "|",
        ]
        for label, arms in cell.arms.items():
            cells = [_cell(found.get(arm.name, [])) for arm in arms]
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) if parts else None


def _rates(arms: list[Arm], found: dict[str, list[dict[str, Any]]]) -> list[Any]:
    rates = []
    for arm in arms:
        results = found.get(arm.name, [])
        solved = sum(r["solved_at"] is not None for r in results)
        rates.append(rate(solved, len(results)))
    return rates


def draw(done: Results, stem: Path) -> list[Path]:
    """Rates with their intervals by depth, a panel for each problem."""
    names = [name for name in DEPTH_CELLS if results_by_arm(name, done)]
    with style():
        figure = new_figure(PAGE, PAGE / 3 + 0.3)
        axes = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
        for place, name in zip(axes, names, strict=True):
            cell, found = DEPTH_CELLS[name], results_by_arm(name, done)
            for number, (label, arms) in enumerate(cell.arms.items()):
                rates = _rates(arms, found)
                middle = [r.value for r in rates]
                # 1 is the end of its interval, but for rounding.
                below = [max(r.value - r.low, 0.0) for r in rates]
                above = [max(r.high - r.value, 0.0) for r in rates]
                method, start = label.split(", ")
                place.errorbar(
                    [depth + 0.08 * (number - 1.5) for depth in DEPTHS],
                    middle,
                    [below, above],
                    color=COLOURS[method],
                    ls="-" if start == "seeded" else "--",
                    marker="o" if start == "seeded" else "s",
                    mfc=COLOURS[method] if start == "seeded" else "white",
                    ms=4,
                    lw=1,
                    elinewidth=0.6,
                    label=label,
                )
            place.set_title(cell.name)
            place.set_xlabel("depth")
            place.set_xticks(list(DEPTHS))
            place.set_ylim(-0.03, 1.03)
        axes[0].set_ylabel("share of runs solved")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        return save_figure(figure, stem)
