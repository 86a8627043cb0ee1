"""What all pages share: their parts, quartiles, and what the paper says."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._figures import Figure
from ._results import Results
from ._statistics import times
from ._tables import Table, seconds


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
    return text if len(values) < 3 else f"{text} [{seconds(low)}, {seconds(high)}]"


def paper_text(value: Any) -> str:
    """A time of the paper, or a range of them."""
    if value is None:
        return ""
    if isinstance(value, list):
        return f"{value[0]:g} to {value[1]:g} s"
    return f"{value:,g} s"


def upper(value: Any) -> float | None:
    """A number of the paper; of a range, its larger end."""
    if isinstance(value, list):
        return float(value[-1])
    return None if value is None else float(value)


def factor_text(numerator: float | int | None, denominator: float | int | None) -> str:
    """A ratio, where both are known."""
    if not numerator or not denominator:
        return ""
    return times(numerator / denominator)


def median(results: Results, name: str, **where: Any) -> float | None:
    """The median of a column, where there is one."""
    values = results.values(name, **where)
    return float(np.median(values)) if values else None


def bound_mark(results: Results, **where: Any) -> str:
    """Says that a time is scaled, because genomes were cut off."""
    return "~ " if sum(results.values("num_cut", **where)) else ""
