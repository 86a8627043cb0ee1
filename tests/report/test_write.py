"""The report as files: what is in it, for every kind of run."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from substrax.config import Experiment
from substrax.evolution import RunDirectory
from substrax.report import write_report
from tests.report.support import (
    CONSTANT,
    PLAIN,
    RIDGES,
    Page,
    make_run,
    metrics_line,
)

EMR = 'name = "emr"\ndepth = 2'
EVERYTHING = ["fitness", "species", "growth", "genome", "fields", "grid"]


def test_page_holds_all_parts_and_figures_of_a_discovered_network(page: Path):
    content = Page(page)
    assert content.parts == ["overview", "evolution", "cppn", "grid", "network", "run"]
    assert content.figures[:6] == EVERYTHING
    assert {"substrate", "weights"} <= {*content.figures}


def test_page_asks_for_nothing_from_elsewhere(page: Path):
    """Self-contained: pictures, styles and scripts are in the page."""
    text = page.read_text("utf-8")
    content = Page(page)
    policy = content.all("meta")[2]["content"]
    assert policy is not None and policy.startswith("default-src 'none'")
    for image in content.all("img"):
        assert str(image["src"]).startswith("data:image/svg+xml;base64,")
    for script in content.all("script"):
        assert "src" not in script
    for link in content.all("link"):
        assert str(link["href"]).startswith("data:")
    for anchor in content.all("a"):
        assert not re.match(r"[a-z]+:", str(anchor["href"]))
    assert "url(" not in text and "@import" not in text


def test_every_link_of_the_page_leads_to_a_file_or_a_part(page: Path):
    content = Page(page)
    names = {a["id"] for _, a in content.tags if "id" in a}
    for anchor in content.all("a"):
        target = str(anchor["href"])
        if target.startswith("#"):
            assert target[1:] in names
        else:
            assert (page.parent / target).resolve().is_file()


def test_page_can_be_used_without_eyes_or_mouse(page: Path):
    content = Page(page)
    assert content.all("html")[0]["lang"] == "en"
    assert len(content.all("h1")) == 1
    assert len(content.all("h2")) == len(content.parts) + 1  # and the enlarged figure
    for image in content.all("img"):
        assert len(image["alt"] or "") > 30
    for button in content.all("button"):
        assert button["type"] == "button"
    for head in content.all("th"):
        assert head["scope"] in ("row", "col")


def test_page_says_how_the_run_can_be_repeated(page: Path, evolved: Path):
    text = Page(page).text
    assert "substrax run config.toml --out again" in text
    assert re.sub(r"\s+", " ", (evolved / "config.toml").read_text()).strip() in text
    assert "all generations were run" in text
    versions = RunDirectory(evolved).facts()["versions"]
    assert f"jax{versions['jax']}" in text.replace(" ", "")


def test_truth_table_and_measures_are_shown(page: Path):
    text = Page(page).text
    assert "What the best network answers" in text
    assert "accuracy" in text


def test_svg_text_is_text_and_png_has_300_dpi(page: Path):
    from PIL import Image

    svg = (page.parent / "figures" / "fitness.svg").read_text()
    assert ">best so far</text>" in svg
    assert "<dc:date>" not in svg
    with Image.open(page.parent / "figures" / "fitness.png") as image:
        assert image.size[0] == pytest.approx(3.4 * 300, abs=1)


def test_same_run_gives_the_same_figures_to_the_byte(page: Path, tmp_path: Path):
    copy = tmp_path / "copy"
    shutil.copytree(page.parent.parent, copy)
    shutil.rmtree(copy / "report")
    again = write_report(copy)
    names = sorted(p.name for p in (page.parent / "figures").iterdir())
    assert names == sorted(p.name for p in (again.parent / "figures").iterdir())
    for name in names:
        first, second = (p.parent / "figures" / name for p in (page, again))
        assert first.read_bytes() == second.read_bytes(), name
    assert page.read_text() == again.read_text()


@pytest.mark.slow
def test_plain_neat_has_its_genome_as_the_network(tmp_path: Path):
    decoder = 'name = "neat"\ndialect = "neat-python"'
    run = make_run(tmp_path / "run", decoder, PLAIN)
    content = Page(write_report(run.path))
    assert content.parts == ["overview", "evolution", "cppn", "run"]
    assert content.figures == ["fitness", "species", "growth", "genome"]
    assert "with NEAT" in content.text


@pytest.mark.slow
def test_fixed_substrate_has_patterns_but_no_grid(tmp_path: Path):
    decoder = 'name = "hyperneat"\nsubstrate = "layered"\nhidden_layers = [3]'
    run = make_run(tmp_path / "run", decoder, RIDGES)
    content = Page(write_report(run.path))
    assert "grid" not in content.parts
    assert {"fields", "substrate"} <= {*content.figures}


@pytest.mark.slow
def test_es_hyperneat_shows_its_quadtree_towards_an_output_too(tmp_path: Path):
    decoder = 'name = "es"\ndepth = 2\nband_threshold = 0.0'
    run = make_run(tmp_path / "run", decoder, RIDGES)
    page = write_report(run.path)
    assert "the quadtree has" in Page(page).text
    assert "to out0" in (page.parent / "figures" / "grid.svg").read_text()


def test_empty_network_is_a_diagnosis(tmp_path: Path):
    """Not an empty picture: page and figure say why nothing is there."""
    run = make_run(tmp_path / "run", EMR, CONSTANT)
    page = write_report(run.path)
    content = Page(page)
    assert content.text.count("Why this network does little") == 2
    assert "made no hidden position" in content.text
    assert "weights" not in content.figures
    svg = (page.parent / "figures" / "substrate.svg").read_text()
    assert "empty: the CPPN" in svg
    assert "constant: 0.0" in (page.parent / "figures" / "fields.svg").read_text()


def test_constant_network_is_a_diagnosis_beside_its_picture(tmp_path: Path):
    unfed = PLAIN | {"connections": [[-1, 1, 6.0]]}
    decoder = 'name = "neat"\ndialect = "neat-python"'
    run = make_run(tmp_path / "run", decoder, unfed)
    text = Page(write_report(run.path)).text
    assert "nothing reaches output 0" in text


@pytest.mark.slow
def test_run_of_one_generation_without_species_has_a_report(tmp_path: Path):
    line = metrics_line(0, species_size=[], num_species=0)
    run = make_run(tmp_path / "run", EMR, RIDGES, [line])
    content = Page(write_report(run.path))
    assert "species" not in content.figures
    assert {"fitness", "growth"} <= {*content.figures}


@pytest.mark.slow
def test_run_whose_evaluations_all_failed_has_a_report(tmp_path: Path):
    failed: dict[str, Any] = {"best_fitness": None, "best_ever": None, "num_failed": 16}
    lines = [metrics_line(g, **failed) for g in range(2)]
    run = make_run(tmp_path / "run", EMR, None, lines)
    content = Page(write_report(run.path))
    assert content.parts == ["overview", "evolution", "run"]
    assert "no evaluation succeeded" in content.text
    assert "32 fitness values were not finite" in content.text


@pytest.mark.slow
def test_run_started_from_python_can_be_given_its_decoder(tmp_path: Path):
    made = make_run(tmp_path / "made", EMR, RIDGES)
    best = made.best()
    run = RunDirectory.create(tmp_path / "<b>run & co", seed=3)
    run.append_metrics(metrics_line(0))
    run.write_best(best)
    content = Page(write_report(run.path))
    assert "Give write_report the decoder" in content.text
    assert "substrate" in content.figures and "fields" not in content.figures
    # and what comes from outside is text, whatever it looks like
    assert not content.all("b")
    assert "<b>run & co" in content.text

    parts = Experiment.from_toml(made.config_text()).build()
    page = write_report(run.path, decoder=parts.decoder, problem=parts.problem)
    assert {"fields", "grid"} <= {*Page(page).figures}


@pytest.mark.slow
def test_figures_of_an_older_report_do_not_stay(tmp_path: Path):
    run = make_run(tmp_path / "run", 'name = "neat"', PLAIN, [metrics_line(0)])
    old = run.path / "report" / "figures" / "grid.svg"
    old.parent.mkdir(parents=True)
    old.write_text("old")
    listed = {"figures": ["grid.svg"]}
    (run.path / "report" / "figures.json").write_text(json.dumps(listed))
    write_report(run.path)
    assert not old.exists()


@pytest.mark.slow
def test_steps_are_told(tmp_path: Path):
    run = make_run(tmp_path / "run", 'name = "neat"', PLAIN, [metrics_line(0)])
    steps: list[str] = []
    write_report(run.path, on_step=steps.append)
    assert steps == ["fitness", "species", "growth", "genome", "page"]


def test_run_without_a_generation_is_refused_with_advice(tmp_path: Path):
    run = make_run(tmp_path / "run", EMR, None, [])
    with pytest.raises(ValueError, match="has not finished a generation yet"):
        write_report(run.path)


def test_missing_matplotlib_is_a_sentence_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run = make_run(tmp_path / "run", EMR, RIDGES)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'substrax\[report\]'"):
        write_report(run.path)
