"""Species over the generations of a run."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ._history import Lines, Metrics, generations_on, lines_of
from ._style import COLUMN, INK, OTHERS, SPECIES_COLOURS, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_LINES = 60
"""Few species get lines that survive a photocopy, more would drown in them."""

_MAX_NUMBERS = 20

_HEIGHT, _DIGIT = 0.06, 0.022
"""Of a number and of a digit, as shares of the figure's height and width."""


def has_species(metrics: Metrics) -> bool:
    """Whether any generation says which species it had."""
    return bool(_species_sizes(lines_of(metrics)))


def plot_species(metrics: Metrics) -> "Figure":
    """Sizes of species over generations, stacked.

    Those that had most members over the run have a colour, the others are grey; numbers
    stand where there is room for them.

    **Arguments:**

    - `metrics`: what `substrax.evolve` returned, a result, or records of generations.
    """
    metrics = lines_of(metrics)
    sizes = _species_sizes(metrics)
    if metrics and not sizes:
        raise ValueError(
            "there is nothing to draw: no generation says which species it had. "
            "plot_fitness and plot_growth do without."
        )
    with style():
        figure = new_figure(COLUMN, 2.3)
        axes = figure.subplots()
        x = generations_on(axes, metrics)
        rows = np.stack(list(sizes.values()))
        places = _places(rows, list(sizes))
        _stack(axes, x, rows, _colours(rows, places), set(places))
        for k, (generation, height) in places.items():
            number = str(list(sizes)[k])
            at = (float(x[generation]), height)
            axes.text(*at, number, ha="center", va="center", fontsize=6)
        axes.set_ylim(0, rows.sum(axis=0).max())
        axes.set_xlabel("generation")
        axes.set_ylabel("genomes, by species")
        alive = int((rows[:, -1] > 0).sum())
        axes.set_title(
            f"{len(sizes)} species in all, {alive} in the last generation",
            loc="left",
            color=INK,
        )
        return figure


def _species_sizes(metrics: Lines) -> dict[int, np.ndarray]:
    """How large each species was in each generation, in order of age."""
    sizes: dict[int, np.ndarray] = {}
    for g, line in enumerate(metrics):
        for species in line.get("species_size") or ():
            row = sizes.setdefault(int(species["id"]), np.zeros(len(metrics)))
            row[g] = species["size"]
    return dict(sorted(sizes.items()))


class Place(NamedTuple):
    """Where the number of a species stands."""

    generation: int
    height: float


def place_of(rows: np.ndarray, k: int, num_digits: int) -> Place | None:
    """The middle of the widest part of a species' own area; None if its number has no
    room there."""
    num = rows.shape[1]
    top = rows[: k + 1].sum(axis=0)
    bottom = top - rows[k]
    reach = int(np.ceil(_DIGIT * (num_digits + 1) * (num - 1) / 2))
    if num < 2 * reach + 1:
        return None
    window = lambda row: np.lib.stride_tricks.sliding_window_view(row, 2 * reach + 1)
    floor, ceiling = window(bottom).max(axis=1), window(top).min(axis=1)
    room = ceiling - floor
    if room.max() < _HEIGHT * rows.sum(axis=0).max():
        return None
    widest = np.flatnonzero(room >= 0.95 * room.max())
    begin = int(widest[len(widest) // 2])
    return Place(begin + reach, float(ceiling[begin] + floor[begin]) / 2)


def _places(rows: np.ndarray, ids: list[int]) -> dict[int, Place]:
    """The places of numbers, for the largest species that have room for one."""
    places: dict[int, Place] = {}
    for k in _by_size(rows):
        place = place_of(rows, k, len(str(ids[k])))
        if place is not None and len(places) < _MAX_NUMBERS:
            places[k] = place
    return places


def _by_size(rows: np.ndarray) -> list[int]:
    """Those with most members over the run first."""
    return np.argsort(-rows.sum(axis=1), kind="stable").tolist()


def _colours(rows: np.ndarray, places: dict[int, Place]) -> list[str]:
    """A colour of their own for the largest species with a number, or for all if they
    are few; neighbours in the stack are as different as can be."""
    most = len(SPECIES_COLOURS)
    large = _by_size(rows) if len(rows) <= most else list(places)[:most]
    colours = [OTHERS] * len(rows)
    for colour, k in zip(SPECIES_COLOURS, sorted(large), strict=False):
        colours[k] = colour
    return colours


def _stack(
    axes: "Axes",
    x: np.ndarray,
    rows: np.ndarray,
    colours: list[str],
    outlined: set[int],
) -> None:
    if len(x) > 1:
        areas = axes.stackplot(x, rows, colors=colours, lw=0.4, ec="white")
        for k, area in enumerate(areas):
            if k not in outlined and len(rows) > _MAX_LINES:
                area.set_edgecolor("none")
        return
    bottom = np.cumsum(rows[:, 0]) - rows[:, 0]
    axes.bar(
        np.full(len(rows), x[0]),
        rows[:, 0],
        0.5,
        bottom,
        color=colours,
        edgecolor="white",
        linewidth=0.5,
    )
