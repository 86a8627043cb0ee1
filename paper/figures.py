"""The one kind of figure that the pages need: lines over depth, with intervals."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from substrax.report import PAGE, new_figure, save_figure, style

# Okabe & Ito (2008): told apart by readers of any colour vision
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_MARKERS = "osD^vPX"


@runtime_checkable
class Estimate(Protocol):
    """A number with the interval that it lies in."""

    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


@dataclasses.dataclass(frozen=True)
class Series:
    """Points with, if known, the ends of their intervals.

    `is_paper` draws what the paper prints, in grey; `is_band` an area between ends.
    """

    name: str
    x: Sequence[float | int]
    y: Sequence[float | int]
    low: Sequence[float | int] | None = None
    high: Sequence[float | int] | None = None
    is_paper: bool = False
    is_band: bool = False

    @staticmethod
    def of_estimates(
        name: str, x: Sequence[float | int], estimates: Sequence[Estimate]
    ) -> "Series":
        return Series(
            name,
            x,
            [estimate.value for estimate in estimates],
            [estimate.low for estimate in estimates],
            [estimate.high for estimate in estimates],
        )


@dataclasses.dataclass(frozen=True)
class Figure:
    """Series and what the axes are."""

    series: Sequence[Series]
    xlabel: str
    ylabel: str
    alt: str
    is_log: bool = False
    ticks: Sequence[str] = ()
    """Names of the places 0, 1, ... along x, where they are no numbers."""


def write_figure(figure: Figure, path: Path) -> list[Path]:
    """Writes it as PNG and SVG."""
    with style():
        canvas = new_figure(PAGE, 3.4)
        axes = canvas.add_subplot()
        colours = iter(_COLOURS * 3)
        greys = iter(("#777777", "#aaaaaa", "#cccccc") * 3)
        for number, series in enumerate(figure.series):
            colour = next(greys if series.is_paper else colours)
            marker = _MARKERS[number % len(_MARKERS)]
            if series.is_band and series.low is not None and series.high is not None:
                axes.fill_between(
                    series.x, series.low, series.high, color=colour, alpha=0.3, lw=0
                )
            elif series.low is not None and series.high is not None:
                axes.vlines(series.x, series.low, series.high, color=colour, lw=0.8)
            axes.plot(
                series.x,
                series.y,
                color=colour,
                marker=marker,
                ms=3.5,
                ls="--" if series.is_paper else "-",
                lw=0 if figure.ticks else 1.2,
                label=series.name,
            )
        if figure.is_log:
            axes.set_yscale("log")
        elif all(max(series.y, default=0.0) <= 1.0 for series in figure.series):
            axes.set_ylim(0.0, 1.05)  # shares
        if figure.ticks:
            axes.set_xticks(range(len(figure.ticks)), figure.ticks)
        else:
            axes.set_xticks(sorted({round(x) for s in figure.series for x in s.x}))
        axes.set_xlabel(figure.xlabel)
        axes.set_ylabel(figure.ylabel)
        axes.grid(axis="y", lw=0.3)
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
        return save_figure(canvas, path)
