"""What all pages share: their parts, quartiles, and what the paper says."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from substrax.sweeps import Table, seconds, times

from .figures import Figure
from .results import Results, Row

MIN_SPREAD = 3
"""Fewer values have no quartiles and no range: a bracket would say the same again."""

QUADTREES = ("quadtree", "pureples")
"""Kinds of runs that are samples of genomes, one CPPN call after the other."""


@dataclasses.dataclass(frozen=True)
class Page:
    """Tables and a figure; and in `worse`, what is worse here than in the paper."""

    tables: tuple[Table, ...]
    figure: Figure | None = None
    worse: tuple[str, ...] = ()


def quartiles(values: Sequence[float | int]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile."""
    low, middle, high = np.quantile(np.asarray(values, float), (0.25, 0.5, 0.75))
    return float(low), float(middle), float(high)


def spread_text(values: Sequence[float | int]) -> str:
    """A median of times, with its quartiles if there are enough."""
    if not values:
        return "no runs"
    low, middle, high = quartiles(values)
    text = str(seconds(middle))
    if len(values) < MIN_SPREAD:
        return text
    return f"{text} [{seconds(low)}, {seconds(high)}]"


def paper_text(value: Any) -> str:
    """A time of the paper, or a range of them."""
    if value is None:
        return ""
    if isinstance(value, list):
        return f"{value[0]:g} to {value[1]:g} s"
    return f"{value:,g} s"


def smallest(value: Any) -> float | None:
    """A number of the paper; of a range, its smaller end: the harder one to reach."""
    if isinstance(value, list):
        return float(min(value))
    return None if value is None else float(value)


def factor_text(paper: Any, here: float | int | None) -> str:
    """How many times a number of the paper, or both ends of a range, is ours."""
    if not paper or not here:
        return ""
    ends = paper if isinstance(paper, list) else [paper]
    return " to ".join(times(end / here) for end in ends)


def slower(here: float | int | None, there: Any, what: str, whose: str) -> list[str]:
    """A sentence where ours takes longer than the smaller end of the paper's."""
    theirs = smallest(there)
    if here is None or theirs is None or here <= theirs:
        return []
    return [f"{what}: {seconds(here)} here, {paper_text(there)} {whose}."]


def median(results: Results, name: str, **where: Any) -> float | None:
    """The median of a column, where there is one."""
    values = results.values(name, **where)
    return float(np.median(values)) if values else None


def cold_seconds(results: Results, **where: Any) -> float | None:
    """The longest compilation of evolutions that compiled everything anew."""
    return max(
        results.values("compile_seconds", is_cold=True, kind="evolve", **where),
        default=None,
    )


def whole_seconds(row: Row) -> float:
    """Of a whole run: its process from start to end, where that was measured.

    A quadtree's run is an estimate, whatever its process took.
    """
    measured = None if row["kind"] in QUADTREES else row.get("whole_seconds")
    return row["seconds"] if measured is None else measured


def whole_runs(results: Results, **where: Any) -> list[float]:
    """Seconds of whole runs."""
    return [whole_seconds(row) for row in results.select(**where)]


def whole_runs_note(results: Results) -> str:
    """What a whole run is, for a page."""
    text = (
        "A whole run is measured from the start of its process to its end, compiling "
        "included."
    )
    runs = [row for row in results.rows if row["kind"] not in QUADTREES]
    num = sum(row.get("whole_seconds") is None for row in runs)
    if num:
        text += (
            f" For {num} of {len(runs)} runs that was not measured; they count with "
            "their generations, compiling included, without the start of the process."
        )
    return text


def bound_mark(results: Results, **where: Any) -> str:
    """Says that a time is scaled, because genomes were cut off."""
    return "~ " if sum(results.values("num_cut", **where)) else ""
