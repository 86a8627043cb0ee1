"""What a page lacks: cells without all their runs, and runs that failed."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from substrax.sweeps import Outcome

from .plan import Task

Cell = tuple[tuple[str, Any], ...]


def missing_lines(tasks: Sequence[Task], outcome: Outcome) -> list[str]:
    """A line for each arm whose cells lack runs, and one for each run that failed."""
    cells: dict[tuple[str, str], dict[Cell, list[Task]]] = {}
    for task in tasks:
        of_arm = cells.setdefault((task.arm, task.role), {})
        of_arm.setdefault(tuple(task.cell.items()), []).append(task)
    lines = []
    for (arm, role), of_arm in cells.items():
        lacking: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
        for cell, seeds in of_arm.items():
            done = sum(task.key in outcome.results for task in seeds)
            if done < len(seeds):
                lacking.setdefault((done, len(seeds)), []).append(dict(cell))
        if lacking:
            name = arm if role == "all" else f"{arm} ({role})"
            texts = [
                f"{'all cells' if len(some) == len(of_arm) else cells_text(some)}: "
                f"{done} of {wanted}"
                for (done, wanted), some in lacking.items()
            ]
            lines.append(f"**{name}**: {'; '.join(texts)}")
    # where the log is, is nothing for a reader elsewhere
    failed = [re.sub(r" \(all of it: .*\)$", "", m) for m in outcome.failures.values()]
    return lines + [f"Failed: {message}" for message in failed]


def cells_text(cells: Sequence[Mapping[str, Any]]) -> str:
    """Cells of a grid in few words: "depth 6 and 7, population 300 and 500"."""
    if not cells or not cells[0]:
        return ""
    name, *others = cells[0]
    rest: dict[Any, list[Mapping[str, Any]]] = {}
    for cell in cells:
        rest.setdefault(cell[name], []).append({key: cell[key] for key in others})
    # values of the first name that go with the same values of the others
    together: dict[str, list[Any]] = {}
    for value, remaining in rest.items():
        together.setdefault(cells_text(remaining), []).append(value)
    return ", and ".join(
        f"{name} {_listed(values)}" + (f", {text}" if text else "")
        for text, values in together.items()
    )


def _listed(values: Sequence[Any]) -> str:
    *first, last = (f"{v:,}" if isinstance(v, int) else str(v) for v in values)
    return f"{', '.join(first)} and {last}" if first else last
