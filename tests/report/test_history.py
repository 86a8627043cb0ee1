"""Figures of a run over its generations: what is told apart, and what is seen."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from substrax.report import plot_fitness, plot_species
from substrax.report._fitness import lowest_shown
from substrax.report._style import OTHERS
from tests.report.support import metrics_line

NUM = 120


def species_lines(sizes: Mapping[int, Any]) -> list[dict[str, Any]]:
    """Generations with these species; their sizes as rows over all generations."""
    rows = {k: np.broadcast_to(size, NUM) for k, size in sizes.items()}
    return [
        metrics_line(
            g,
            species_size=[
                {"id": k, "size": int(row[g])} for k, row in rows.items() if row[g] > 0
            ],
        )
        for g in range(NUM)
    ]


def while_in(begin: int, end: int, size: int) -> np.ndarray:
    row = np.zeros(NUM, int)
    row[begin:end] = size
    return row


LARGE = {57: while_in(0, 60, 90), 81: while_in(60, NUM, 60), 169: while_in(60, NUM, 50)}
SMALL = {
    k: while_in(j, j + 3, 4)
    for j, k in enumerate([*range(50), *range(60, 80), *range(90, 135)])
}
MANY = species_lines(dict(sorted((LARGE | SMALL).items())))


def areas_of(figure: Any) -> list[tuple[str, Any]]:
    """Colour and outline of each area, from below."""
    from matplotlib.colors import to_hex

    (axes,) = figure.axes
    return [
        (to_hex(area.get_facecolor()[0]), area.get_paths()[0])
        for area in axes.collections
    ]


def test_large_species_have_colours_of_their_own_and_small_ones_are_grey():
    """Colours by number modulo 8 made 57, 81 and 169 look alike."""
    colours = [colour for colour, _ in areas_of(plot_species(MANY))]
    assert len(colours) == len(LARGE) + len(SMALL)
    coloured = [colour for colour in colours if colour != OTHERS]
    assert len(coloured) == len(set(coloured)) == len(LARGE)
    few = species_lines({8 * k: 10 for k in range(8)})
    assert len({colour for colour, _ in areas_of(plot_species(few))} - {OTHERS}) == 8


def test_numbers_of_species_stand_within_their_own_areas():
    figure = plot_species(MANY)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    numbers = {text.get_text(): text for text in axes.texts}
    assert set(numbers) == {"57", "81", "169"}
    colours = set()
    for text in numbers.values():
        corners = text.get_window_extent().transformed(axes.transData.inverted())
        inside = [
            colour
            for colour, outline in areas_of(figure)
            if outline.contains_points(corners.corners()).all()
        ]
        assert len(inside) == 1 and inside[0] != OTHERS
        colours |= set(inside)
    assert len(colours) == 3


def test_one_generation_of_species_is_a_bar():
    lines = species_lines({0: 10, 1: 90})[:1]
    (axes,) = plot_species(lines).axes
    assert [text.get_text() for text in axes.texts] == ["1", "0"]
    assert len({bar.get_facecolor() for bar in axes.patches}) == 2


def fitness_lines(best: np.ndarray, mean: np.ndarray) -> list[dict[str, Any]]:
    ever = np.maximum.accumulate(best)
    return [
        metrics_line(g, best_fitness=b, mean_fitness=m, best_ever=e)
        for g, (b, m, e) in enumerate(zip(best, mean, ever, strict=True))
    ]


BEST = np.linspace(0.5, 0.9, NUM)
MEAN = np.linspace(0.2, 0.6, NUM)


def note_of(figure: Any) -> str:
    return "".join(text.get_text() for text in figure.axes[0].texts)


def test_all_values_of_a_normal_run_are_shown():
    figure = plot_fitness(fitness_lines(BEST, MEAN))
    low, high = figure.axes[0].get_ylim()
    assert low < 0.2 and high > 0.9 and note_of(figure) == ""


def test_the_climb_of_a_run_that_is_soon_at_the_top_is_shown():
    """Early generations are few and far below the others, and what matters."""
    best, mean = np.full(NUM, 1.0), np.full(NUM, 0.999)
    best[:5], mean[:8] = np.linspace(0.5, 0.9, 5), np.linspace(0.2, 0.9, 8)
    figure = plot_fitness(fitness_lines(best, mean))
    assert figure.axes[0].get_ylim()[0] < 0.2 and note_of(figure) == ""


@pytest.mark.parametrize("is_best_bad", [False, True])
def test_one_very_bad_generation_does_not_flatten_the_rest(is_best_bad: bool):
    best, mean = BEST.copy(), MEAN.copy()
    mean[0] = -29_727.0
    if is_best_bad:
        best[0] = -5_000.0
    figure = plot_fitness(fitness_lines(best, mean), target=0.95)
    low, high = figure.axes[0].get_ylim()
    assert 0.1 < low < 0.2 and 0.95 < high < 1.0
    assert "1 generation reaches below, to -2.97e+04" in note_of(figure)


def test_the_best_is_seen_where_all_means_are_far_below_it():
    mean = -1e6 - np.arange(NUM) * 1e5
    figure = plot_fitness(fitness_lines(BEST, mean))
    low, high = figure.axes[0].get_ylim()
    assert high - low < 5 * (BEST[-1] - BEST[0]) and low < 0.5
    assert f"{NUM} generations reach below" in note_of(figure)


def test_the_best_of_each_generation_is_seen_beneath_the_best_so_far():
    (axes,) = plot_fitness(fitness_lines(BEST, MEAN)).axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    best, ever = lines["best of generation"], lines["best so far"]
    assert best.get_markersize() > 2 * ever.get_linewidth()
    assert best.get_zorder() < ever.get_zorder()
    assert best.get_linestyle() == "None" and best.get_marker() == "o"


def test_runs_in_which_everything_failed_are_drawn():
    nothing = np.full(3, np.nan)
    assert lowest_shown(nothing, nothing, nothing) == -np.inf
    assert lowest_shown(np.array([1.0]), nothing, np.array([1.0])) == -np.inf
    lines = [
        metrics_line(g, best_fitness=None, best_ever=None, mean_fitness=None)
        for g in range(3)
    ]
    plot_fitness(lines).draw_without_rendering()
    same = np.full(3, 0.5)
    assert lowest_shown(same, same, same) == 0.5
