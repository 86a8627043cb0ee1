"""Figures of a sweep: curves by arm, and what each arm came to."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._types import brief
from ..sweeps import median_interval, rate
from ._fitness_range import lowest_shown
from ._names import fitted, shortened
from ._seed_curves import quartiles_of
from ._style import COLUMN, GREEN, INK, PAGE, PALE, new_figure, style
from ._sweep import ArmCurves, SweepReport, stacked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Paul Tol's "bright" scheme (2021), for lines.
ARM_COLOURS = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#777777",
)  # fmt: skip
_MOST_TOGETHER = len(ARM_COLOURS)
"""Arms in one panel; more have a panel each."""
_COLUMNS = 4
_LABEL_LETTERS = 34


def plot_sweep(sweep: object, problem: str | None = None) -> "Figure":
    """The best fitness so far over the generations: for each arm the median of its
    runs, and the range between the quartiles. A run that has ended keeps its last
    value. More than seven arms have a panel each.

    **Arguments:**

    - `sweep`: the folder of a sweep.
    - `problem`: whose arms, if there are several; left out, those of the first.
    """
    if not isinstance(sweep, SweepReport | str | os.PathLike):
        raise ValueError(
            f"plot_sweep draws the folder of a sweep, not {brief(repr(sweep), 60)}. "
            "Use plot_fitness for a run."
        )
    report = sweep if isinstance(sweep, SweepReport) else SweepReport.read(sweep)
    groups = report.groups
    if problem is not None and problem not in groups:
        raise ValueError(
            f"no arm of this sweep has the problem {problem!r}; there are "
            f"{', '.join(groups)}."
        )
    with_curves = (p for p, arms in groups.items() if any(a.curves for a in arms))
    arms = groups[next(with_curves) if problem is None else problem]
    return plot_arm_curves([arm for arm in arms if arm.curves])


def plot_arm_curves(arms: Sequence[ArmCurves]) -> "Figure":
    """The same of some arms that have begun."""
    with style():
        if len(arms) > _MOST_TOGETHER:
            return _panels(arms)
        figure, axes = _with_legend(arms)
        bands = _bands(arms)
        for k, (arm, band) in enumerate(zip(arms, bands, strict=True)):
            _draw_band(axes, band, ARM_COLOURS[k], shortened(arm.label, _LABEL_LETTERS))
        _frame(axes, arms, bands)
        axes.set_xlabel("generation")
        axes.set_ylabel("best fitness so far")
        _add_legend(figure, arms)
        return figure


def _with_legend(arms: Sequence[ArmCurves]) -> "tuple[Figure, Axes]":
    """Room for a panel, and the names of arms above it or, of many, beside it."""
    is_beside = len(arms) > 2
    longest = max(len(shortened(arm.label, _LABEL_LETTERS)) for arm in arms)
    width = COLUMN + (0.4 + 0.062 * longest if is_beside else 0.0)
    figure = new_figure(min(width, PAGE), 2.3)
    return figure, figure.subplots()


def _add_legend(figure: "Figure", arms: Sequence[ArmCurves]) -> None:
    is_beside = len(arms) > 2
    figure.legend(
        loc="outside right upper" if is_beside else "outside upper center",
        ncols=1 if is_beside else 2,
        columnspacing=1.0,
        handlelength=1.4,
        handletextpad=0.5,
    )


def _panels(arms: Sequence[ArmCurves]) -> "Figure":
    """A panel for each arm, on the same axes; the medians of the others are faint."""
    rows = -(-len(arms) // _COLUMNS)
    figure = new_figure(PAGE, 0.5 + 1.35 * rows)
    panels = figure.subplots(rows, _COLUMNS, sharex=True, sharey=True, squeeze=False)
    bands = _bands(arms)
    for k, axes in enumerate(panels.flat):
        if k >= len(arms):
            axes.set_axis_off()
            continue
        for other in bands:
            axes.step(
                np.arange(len(other[1])), other[1], color=PALE, lw=0.6, where="post"
            )
        _draw_band(axes, bands[k], ARM_COLOURS[0], None)
        axes.set_title(fitted(arms[k].label, 2, 24), fontsize=7)
    _frame(panels.flat[0], arms, bands)
    for k in range(len(arms)):
        axes = panels.flat[k]
        if k + _COLUMNS >= len(arms):
            axes.tick_params(labelbottom=True)
    figure.supxlabel("generation", fontsize=8)
    figure.supylabel("best fitness so far", fontsize=8)
    return figure


def _bands(arms: Sequence[ArmCurves]) -> list[np.ndarray]:
    """Of each arm, lower quartile, median and upper quartile of each generation."""
    longest = max(len(curve) for arm in arms for curve in arm.curves)
    return [
        np.array([quartiles_of(row) for row in stacked(arm.curves, longest).T]).T
        for arm in arms
    ]


def _draw_band(axes: "Axes", band: np.ndarray, colour: str, label: str | None) -> None:
    # Each value lasts to the next generation, the last one, too.
    low, middle, high = np.concatenate([band, band[:, -1:]], axis=1)
    x = np.arange(len(middle))
    axes.fill_between(x, low, high, step="post", color=colour, alpha=0.15, lw=0)
    axes.step(x, middle, color=colour, lw=1.4, where="post", label=label)


def _frame(
    axes: "Axes", arms: Sequence[ArmCurves], bands: Sequence[np.ndarray]
) -> None:
    """Ticks, limits and the target."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(
        MaxNLocator(integer=True, nbins=6, steps=[1, 2, 5, 10])
    )
    longest = max(len(band[1]) for band in bands)
    axes.set_xlim(0, longest)
    values = np.concatenate([band.ravel() for band in bands])
    medians = np.concatenate([band[1] for band in bands])
    targets = {arm.target for arm in arms if arm.target is not None}
    drawn = [t for t in targets if np.isfinite(values).any() and _is_near(t, values)]
    for number, target in enumerate(sorted(drawn)):
        label = "target" if number == 0 else None
        axes.axhline(target, color=GREEN, lw=0.9, ls=(0, (4, 2)), label=label)
    begin = lowest_shown(values, values, medians)
    if np.isfinite(begin) and begin > np.nanmin(values):
        top = max([np.nanmax(values[np.isfinite(values)]), *drawn])
        axes.set_ylim(begin - 0.06 * (top - begin), top + 0.06 * (top - begin))
    else:
        axes.margins(y=0.06)


def _is_near(target: float, values: np.ndarray) -> bool:
    """Whether a line there leaves the curves their room."""
    finite = values[np.isfinite(values)]
    span = float(np.ptp(finite)) or 1.0
    return bool(finite.min() - span <= target <= finite.max() + 2 * span)


def plot_outcomes(arms: Sequence[ArmCurves]) -> "Figure | None":
    """What each arm came to: the share of runs that were solved, generations to a
    solution and best fitness, each with its interval of 95 %."""
    shown = [arm for arm in arms if arm.outcome.finished]
    if not shown:
        return None
    from matplotlib.ticker import MaxNLocator

    has_rate = any(arm.outcome.has_target for arm in shown)
    has_solved = any(arm.outcome.solved for arm in shown)
    kinds = ["rate"] * has_rate + ["generations"] * has_solved + ["fitness"]
    with style():
        width = PAGE if len(kinds) > 1 else PAGE * 0.6
        figure = new_figure(width, 0.75 + 0.24 * len(shown))
        panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
        places = list(range(len(shown)))
        for axes, kind in zip(panels, kinds, strict=True):
            for place, arm in zip(places, shown, strict=True):
                colour = _colour_of(arm, arms)
                if kind == "rate":
                    _draw_rate(axes, place, arm, colour)
                elif kind == "generations":
                    _draw_values(
                        axes, place, arm.outcome.generations_to_solution(), colour
                    )
                else:
                    _draw_values(axes, place, arm.outcome.fitness(), colour)
            axes.set_xlabel(
                {
                    "rate": "solved (%)",
                    "generations": "generations to a solution",
                    "fitness": "best fitness",
                }[kind]
            )
            axes.grid(axis="y", color=PALE, lw=0.5)
            axes.set_axisbelow(True)
            axes.tick_params(axis="y", length=0)
            if kind == "rate":
                axes.set_xlim(-3, 103)
                axes.set_xticks([0, 25, 50, 75, 100])
            else:
                axes.margins(x=0.06)
                whole = kind == "generations"
                axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=whole))
                low, high = axes.get_xlim()
                if whole and high - low < 2:  # all alike
                    axes.set_xlim(low - 1, high + 1)
        panels[0].set_yticks(places)
        panels[0].set_yticklabels([shortened(a.label, _LABEL_LETTERS) for a in shown])
        panels[0].set_ylim(len(shown) - 0.5, -0.5)  # the first on top
        return figure


def _colour_of(arm: ArmCurves, arms: Sequence[ArmCurves]) -> str:
    """That of its curve."""
    begun = [other for other in arms if other.curves]
    if len(begun) > _MOST_TOGETHER:
        return ARM_COLOURS[0]
    return ARM_COLOURS[begun.index(arm)] if arm in begun else INK


def _draw_rate(axes: "Axes", place: int, arm: ArmCurves, colour: str) -> None:
    if not arm.outcome.has_target:
        return
    share = rate(len(arm.outcome.solved), len(arm.outcome.finished))
    axes.plot([100 * share.low, 100 * share.high], [place] * 2, color=colour, lw=1.4)
    axes.plot([100 * share.value], [place], "o", color=colour, ms=4.5, clip_on=False)


def _draw_values(
    axes: "Axes", place: int, values: Sequence[float | int], colour: str
) -> None:
    """Each value as a pale dot, the median with its interval."""
    finite = sorted(float(v) for v in values if np.isfinite(v))
    if not finite:
        return
    # The same offsets each time: figures of equal sweeps are equal.
    offset = 0.28 * (np.modf(np.arange(len(finite)) * 0.618034)[0] - 0.5)
    axes.plot(
        finite, place + offset, "o", color=colour, ms=2, alpha=0.35, mew=0, zorder=2
    )
    middle, low, high = median_interval(finite)
    if np.isfinite(low):
        axes.plot([low, high], [place] * 2, color=colour, lw=1.4, zorder=3)
    axes.plot([middle], [place], "o", color=colour, ms=4.5, zorder=4)


def plot_solved(arms: Sequence[ArmCurves]) -> "Figure | None":
    """The share of finished runs that were solved by each generation."""
    shown = [a for a in arms if a.outcome.has_target and a.outcome.finished]
    solved = [g for a in shown for g in a.outcome.generations_to_solution()]
    if not solved or len(shown) > _MOST_TOGETHER:
        return None
    end = max(run.generations for arm in shown for run in arm.outcome.finished)
    with style():
        figure, axes = _with_legend(shown)
        for arm in shown:
            when = sorted(arm.outcome.generations_to_solution())
            num = len(arm.outcome.finished)
            x = [0, *when, end]
            y = [100 * k / num for k in (*range(len(when) + 1), len(when))]
            label = shortened(arm.label, _LABEL_LETTERS)
            axes.step(x, y, where="post", color=_colour_of(arm, arms), label=label)
        axes.set_xlim(0, max(end, 1))
        axes.set_ylim(-3, 103)
        axes.set_xlabel("generations")
        axes.set_ylabel("solved (%)")
        _add_legend(figure, shown)
        return figure
