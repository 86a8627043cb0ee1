"""Several seeds in one figure, in a notebook and on a page."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import substrax as sx
from substrax.report import plot_fitness, plot_growth, plot_species
from substrax.report._seed_curves import plot_seeds
from tests.report.support import Page, metrics_line

SMALL: dict[str, Any] = {
    "method": "neat",
    "population": 16,
    "generations": 4,
    "max_nodes": 16,
    "max_links": 32,
}


@pytest.fixture(scope="module")
def runs() -> sx.SeedRuns:
    return sx.evolve_seeds("xor", seeds=[3, 1, 5], **SMALL)


def evolve_nothing() -> sx.SeedRuns:
    settings: dict[str, Any] = SMALL | {"generations": 0}
    return sx.evolve_seeds("xor", seeds=1, **settings)


def curve(*best: float | None) -> list[dict[str, Any]]:
    return [metrics_line(g, best_ever=value) for g, value in enumerate(best)]


def lines_of(figure: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in figure.axes[0].get_lines()}


def test_a_figure_has_a_line_for_each_seed_their_median_and_quartiles(runs):
    figure = plot_fitness(runs)
    (axes,) = figure.axes
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["one seed", "quartiles", "median", "target"]
    assert len(axes.get_lines()) == 3 + 2
    best = np.array([[r.best_ever for r in run.history] for run in runs])
    median = np.asarray(lines_of(figure)["median"].get_ydata())
    np.testing.assert_allclose(median, np.median(best, axis=0))
    assert len(runs.plot().axes[0].get_lines()) == 5
    other = lines_of(plot_fitness(runs, target=0.5))["target"]
    assert np.asarray(other.get_ydata()).tolist() == [0.5, 0.5]


def test_a_run_that_has_ended_counts_on_with_what_it_had():
    figure = plot_seeds([curve(1, 2, 3, 4), curve(5, 9), curve(2, 3, 4, 5)])
    median = np.asarray(lines_of(figure)["median"].get_ydata())
    assert median.tolist() == [2, 3, 4, 5]
    (end,) = [line for line in figure.axes[0].get_lines() if line.get_marker() == "o"]
    assert (end.get_xdata(), end.get_ydata()) == ([1], [9])


def test_lines_that_are_lost_and_runs_without_success_leave_gaps():
    late = curve(None, None, 3)
    lost = [line for line in curve(1, 2, 4) if line["generation"] != 1]
    figure = plot_seeds([late, lost, []])
    median = np.asarray(lines_of(figure)["median"].get_ydata())
    assert median.tolist() == [1, 1, 3.5]
    plot_seeds([curve(None, None)]).draw_without_rendering()
    plot_seeds([curve(0.5), curve(0.7)]).draw_without_rendering()


def test_bad_beginnings_do_not_flatten_the_rest():
    curves = [curve(-5000.0 * k, *np.linspace(0, 1, 30)) for k in (1, 2, 3)]
    (axes,) = plot_seeds(curves).axes
    assert axes.get_ylim()[0] > -1
    assert "reaches below, to -1.5e+04" in axes.texts[0].get_text()


@pytest.mark.parametrize("plot", [plot_species, plot_growth])
def test_figures_of_one_run_say_so(runs, plot):
    with pytest.raises(ValueError, match=r"give one of them, runs\[0\], for example"):
        plot(runs)


def test_a_notebook_shows_the_table_and_the_figure(runs):
    page = runs._repr_html_()
    assert page.count("<img") == 1 and "<pre>xor by NEAT" in page
    assert "0 of 3 solved" in page and page.count("not solved") == 3
    assert "<img" not in evolve_nothing()._repr_html_()


def test_runs_that_were_not_saved_have_a_report_where_it_is_told(runs, tmp_path: Path):
    path = runs.report(tmp_path / "page")
    page = Page(path)
    assert page.figures == ["fitness"] and "xor with NEAT, 3 seeds" in page.text
    assert "Pages about single runs" not in page.text
    with pytest.raises(ValueError, match="none of these runs has a finished"):
        evolve_nothing().report(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_runs_that_were_saved_have_their_report_beside_them(tmp_path: Path):
    runs = sx.evolve_seeds("xor", seeds=2, directory=tmp_path / "x", **SMALL)
    assert runs.report() == tmp_path / "x" / "report" / "index.html"
    written = (tmp_path / "x" / "report" / "figures" / "fitness.svg").read_bytes()
    sx.report.write_report(tmp_path / "x")  # from their files
    again = (tmp_path / "x" / "report" / "figures" / "fitness.svg").read_bytes()
    assert again == written


def test_the_page_of_several_seeds_says_how_single_pages_are_written(tmp_path: Path):
    runs = sx.evolve_seeds("xor", seeds=2, directory=tmp_path / "x", **SMALL)
    before = Page(runs.report()).text
    assert "substrax report seed0" in before and "`" not in before
    runs[0].report()
    some = Page(runs.report()).text
    assert "Pages about single runs: seed0" in some and "report seed1" in some
    runs[1].report()
    assert "substrax report seed" not in Page(runs.report()).text
