"""Every figure can be drawn of a run alone; what it needs follows from the run."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

import substrax as sx
from substrax import report
from substrax.report import (
    plot_best,
    plot_fields,
    plot_fitness,
    plot_genome,
    plot_grid,
    plot_growth,
    plot_link_classes,
    plot_species,
    plot_substrate,
)

SMALL: dict[str, Any] = {
    "population": 16,
    "generations": 3,
    "max_nodes": 16,
    "max_links": 32,
}
DRAWN = {
    "neat": {"best", "genome", "fitness", "growth", "species"},
    "hyperneat": {
        "best", "genome", "fields", "substrate", "fitness", "growth", "species",
    },
    "emr": {
        "best", "genome", "fields", "grid", "substrate", "link_classes",
        "fitness", "growth", "species",
    },
}  # fmt: skip
FIGURES = sorted(
    name
    for name in vars(report)
    if name.startswith("plot_") and name != "plot_sweep"  # of many runs
)


def evolve(method: str, **settings: Any) -> sx.Run:
    return sx.evolve("xor", method=method, **(SMALL | settings))


@pytest.fixture(scope="module")
def runs() -> dict[str, sx.Run]:
    """A run of each kind, each with the target that its experiment has."""
    more = {"emr": {"depth": 2, "connections": "full"}}
    return {name: evolve(name, **more.get(name, {})) for name in DRAWN}


def texts(figure: Any) -> str:
    found = figure.findobj(lambda artist: hasattr(artist, "get_text"))
    return "\n".join(artist.get_text() for artist in found)


def pixels(figure: Any) -> np.ndarray:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())


@pytest.mark.parametrize("method", [*DRAWN])
@pytest.mark.parametrize("name", FIGURES)
def test_a_run_is_enough_or_a_sentence_says_what_to_use(runs, method, name):
    plot = getattr(report, name)
    if name.removeprefix("plot_") in DRAWN[method]:
        assert plot(runs[method]).axes
    else:
        with pytest.raises(ValueError, match=r"Use plot_(genome|substrate)"):
            plot(runs[method])


def test_what_is_saved_without_further_words_is_sharp_and_has_all_its_text(
    runs, tmp_path
):
    figure = runs["emr"].plot()
    figure.savefig(tmp_path / "fitness.png")
    with Image.open(tmp_path / "fitness.png") as image:
        assert image.size == (680, 460)  # 200 dpi
    window = figure.get_window_extent()
    within = figure.get_tightbbox().transformed(figure.dpi_scale_trans)
    assert window.x0 <= within.x0 and within.x1 <= window.x1
    assert window.y0 <= within.y0 and within.y1 <= window.y1


def test_a_run_is_no_sweep(runs):
    with pytest.raises(ValueError, match="Use plot_fitness for a run"):
        report.plot_sweep(runs["emr"])


def test_a_run_gives_what_its_parts_give(runs):
    run = runs["emr"]
    decoder, genome = run.experiment.build().decoder, run.best_genome
    network = run.result.best_network
    names: Any = {"input_names": ["in0", "in1", "bias"], "output_names": ["out0"]}
    pairs = [
        (plot_fields(run), plot_fields(decoder, genome, **names)),
        (plot_fields(run, genome), plot_fields(decoder, genome, **names)),
        (plot_grid(run), plot_grid(decoder, genome, network, **names)),
        (plot_substrate(run), plot_substrate(network)),
        (plot_best(run), plot_best(network, genome, decoder)),
        (plot_link_classes(run), plot_link_classes(network)),
        (
            plot_genome(run),
            plot_genome(
                genome,
                input_names=["x1", "y1", "x2", "y2", "bias"],
                output_names=["weight"],
            ),
        ),
    ]
    for ours, theirs in pairs:
        np.testing.assert_array_equal(pixels(ours), pixels(theirs))


def test_names_of_inputs_follow_from_the_run(runs):
    assert {"x1", "y2", "bias", "weight"} <= {
        line for text in [texts(plot_genome(runs["emr"]))] for line in text.split("\n")
    }
    named = plot_genome(runs["neat"], input_names=["left", "right", "one"])
    assert "left" in texts(named) and "out0" in texts(named)


def test_the_target_follows_from_the_run(runs):
    run = runs["emr"]
    assert run.target is not None
    assert "target" in texts(plot_fitness(run))
    assert "target" not in texts(plot_fitness(run.history))


def test_results_and_models_are_enough_where_a_network_is(runs):
    emr, neat = runs["emr"], runs["neat"]
    drawn = pixels(plot_substrate(emr))
    for given in (emr.result, emr.best, emr.result.best_network):
        np.testing.assert_array_equal(pixels(plot_substrate(given)), drawn)
    np.testing.assert_array_equal(pixels(plot_best(emr.result)), drawn)
    # a result does not know that the third input is the bias
    assert "bias" in texts(plot_genome(neat))
    plain = plot_genome(neat, input_names=["in0", "in1", "in2"])
    for plot in (plot_best, plot_genome):
        np.testing.assert_array_equal(pixels(plot(neat.result)), pixels(plain))
    for plot in (plot_fitness, plot_growth, plot_species):
        assert plot(emr.result).axes
    with pytest.raises(ValueError, match="Give the run"):
        plot_genome(emr.result)


@pytest.mark.parametrize(
    ("plot", "said"),
    [
        (lambda run: plot_genome(run.best_genome), "say input_names"),
        (lambda run: plot_fields(run.experiment.build().decoder), "give the genome"),
        (lambda run: plot_best(run.result.best_network), "give the genome and its"),
    ],
)
def test_what_is_missing_is_said(runs, plot: Callable[[sx.Run], Any], said: str):
    with pytest.raises(ValueError, match=said):
        plot(runs["neat"])


def test_a_run_that_found_nothing_says_so():
    nothing = evolve("neat", generations=0)
    for plot in (plot_best, plot_genome, plot_substrate, plot_fields, plot_grid):
        with pytest.raises(ValueError, match="no generation was finished"):
            plot(nothing)


def test_one_class_of_links_is_not_told_apart():
    run = evolve("hyperneat", generations=1)
    with pytest.raises(ValueError, match=r"links, so .* Use plot_substrate"):
        plot_link_classes(run)
