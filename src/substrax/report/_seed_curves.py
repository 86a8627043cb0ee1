"""Best fitness over generations, for several seeds at once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..sweeps import quartiles
from ._fitness_range import cut_below, lowest_shown
from ._history import Lines, column, generations_on
from ._style import BLUE, COLUMN, FAINT, GREEN, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_seeds(curves: Sequence[Lines], target: float | None = None) -> "Figure":
    """The best fitness so far of each run as a thin line, with their median and the
    range between the quartiles. A run that has ended keeps its last value.

    **Arguments:**

    - `curves`: the generations of each run.
    - `target`: a fitness that is enough.
    """
    begun = [lines for lines in curves if lines]
    with style():
        figure = new_figure(COLUMN, 2.3)
        axes = figure.subplots()
        longest = max(begun, key=lambda lines: lines[-1]["generation"], default=[])
        generations_on(axes, longest)
        rows = np.stack([_best_so_far(lines, longest) for lines in begun])
        x = np.arange(rows.shape[1])
        low, middle, high = np.array([quartiles_of(row) for row in rows.T]).T
        begin = lowest_shown(rows.ravel(), rows.ravel(), middle)
        is_cut = bool((rows < begin).any())
        marker = "o" if len(x) == 1 else None
        options = {"where": "post", "clip_on": is_cut, "marker": marker}
        for k, (lines, row) in enumerate(zip(begun, rows, strict=True)):
            num = int(lines[-1]["generation"]) + 1
            label = "one seed" if k == 0 else None
            thin = {"color": FAINT, "lw": 0.5, "alpha": 0.7, "label": label, "ms": 3}
            axes.step(x[:num], row[:num], **thin, **options)
            if num < len(x):  # where it ended
                axes.plot(x[num - 1], row[num - 1], "o", color=FAINT, markersize=2)
        band = {"color": BLUE, "alpha": 0.2, "lw": 0, "label": "quartiles"}
        axes.fill_between(x, low, high, step="post", **band)
        axes.step(x, middle, color=BLUE, lw=1.5, label="median", zorder=3, **options)
        if target is not None and np.isfinite(target):
            axes.axhline(target, color=GREEN, lw=0.9, ls=(0, (4, 2)), label="target")
        axes.set_xlabel("generation")
        axes.set_ylabel("best fitness so far")
        axes.margins(y=0.06)
        if is_cut:
            cut_below(axes, begin, rows)
        figure.legend(
            loc="outside upper center",
            ncols=4,
            columnspacing=0.9,
            handlelength=1.3,
            handletextpad=0.4,
        )
        return figure


def _best_so_far(lines: Lines, longest: Lines) -> np.ndarray:
    """In each generation of the longest run; what was known before stays."""
    row = np.full(int(longest[-1]["generation"]) + 1, np.nan)
    row[column(lines, "generation").astype(int)] = column(lines, "best_ever")
    known = np.maximum.accumulate(np.where(np.isnan(row), -1, np.arange(len(row))))
    return np.where(known >= 0, row[known], np.nan)


def quartiles_of(values: np.ndarray) -> tuple[float, float, float]:
    """Of the runs that have found something."""
    return quartiles(values[~np.isnan(values)].tolist())
