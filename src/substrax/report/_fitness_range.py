"""Which part of a figure of fitness is shown."""

from typing import TYPE_CHECKING

import numpy as np

from ._style import FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_USUAL, _FAR = 0.1, 2.0
"""A value lies below the figure if it is so many times as far below the best as all but
this share of the values are, or as the best so far was once it had improved."""

_FLAT, _STEEP = 0.02, 0.25
"""If the best fitness climbs through less than the first share of the height, the
figure begins so high that it climbs through the second."""


def lowest_shown(values: np.ndarray, usual: np.ndarray, ever: np.ndarray) -> float:
    """Where a figure begins: one very bad generation must not flatten the rest, nor a
    mean that is always far below the best.

    **Arguments:**

    - `values`: all that are drawn.
    - `usual`: those that say what is usual, the means of generations.
    - `ever`: the best so far.
    """
    values, usual, ever = (row[np.isfinite(row)] for row in (values, usual, ever))
    if not usual.size or not ever.size:
        return -np.inf
    top, low = values.max(), values.min()
    scale = top - min(
        np.quantile(usual, _USUAL, method="higher"), np.unique(ever)[:2].max()
    )
    fence = top - _FAR * scale
    if scale > 0 and low < fence - 0.25 * (top - fence):
        low = values[values >= fence].min()
    climb = top - ever[ever >= low].min()
    if 0 < climb < _FLAT * (top - low):
        low = top - climb / _STEEP
    return float(low)


def cut_below(axes: "Axes", low: float, drawn: np.ndarray) -> None:
    """Ends a figure of rows of values at one of them, and says what lies below."""
    top = max(np.nanmax(drawn), axes.dataLim.y1)
    axes.set_ylim(low - 0.1 * (top - low), top + 0.06 * (top - low))
    num = int((drawn < low).any(axis=0).sum())
    words = "1 generation reaches" if num == 1 else f"{num} generations reach"
    axes.text(
        0.99,
        0.02,
        f"\N{DOWNWARDS ARROW} {words} below, to {np.nanmin(drawn):.3g}",
        transform=axes.transAxes,
        ha="right",
        va="bottom",
        fontsize=6,
        color=FAINT,
        bbox={"fc": "white", "ec": "none", "pad": 0.8, "alpha": 0.8},
        zorder=4,
    )
