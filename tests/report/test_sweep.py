"""The page about a sweep: what it says, and that its figures are the same each time."""

import os
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import substrax as sx
from substrax.report import write_report
from substrax.report._sweep import SweepReport
from substrax.report._sweep_figures import plot_arm_curves, plot_outcomes, plot_sweep

from .support import Page

SMALL = {
    "method": "neat", "generations": 3, "population": 24, "max_nodes": 16,
    "max_links": 32,
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Nine arms of one problem, solved or not, and one of another problem."""
    path = tmp_path_factory.mktemp("report") / "arms"
    rates = [round(0.1 * k, 1) for k in range(8)]
    rows: list[dict[str, Any]] = [{"add_link_rate": rate} for rate in rates]
    rows[0] |= {"name": "<script>alert(1)</script>", "target": 0.5}
    rows.append({"experiment": "parity", "name": "another", "num_bits": 2})
    with pytest.MonkeyPatch.context() as patch:
        cache = jax.config.values["jax_compilation_cache_dir"] + "-cli"
        patch.setenv("JAX_COMPILATION_CACHE_DIR", cache)
        sx.sweep(
            experiment="xor",
            seeds=3,
            settings=SMALL,
            rows=rows,
            title="A & B",
            directory=path,
            jobs=1,
            progress=False,
        )
    return path


def test_the_page_has_all_arms_and_escapes_their_names(folder: Path):
    page = Page(write_report(folder))
    text = (folder / "report" / "index.html").read_text()
    assert "<script>alert(1)" not in text and "alert(1)" in page.text
    for label in ("add_link_rate 0.7", "another", "A & B", "27 of 27 runs are done"):
        assert label in page.text
    # the arms of one problem with its first; the other problem has one arm
    assert page.text.count(" - <script>alert(1)</script>") == 7
    names = sorted(p.stem for p in (folder / "report" / "figures").glob("*.svg"))
    assert names == ["curves-1", "curves-2", "outcomes-1", "outcomes-2", *names[4:]]


def test_equal_sweeps_give_equal_files(folder: Path, tmp_path: Path):
    first, second = (write_report(folder, tmp_path / name) for name in ("a", "b"))
    for ours in sorted((first.parent / "figures").iterdir()):
        theirs = second.parent / "figures" / ours.name
        assert ours.read_bytes() == theirs.read_bytes()


def test_many_arms_have_a_panel_each(folder: Path):
    report = SweepReport.read(folder)
    arms = report.groups["xor"]
    figure = plot_arm_curves(arms)
    assert sum(axes.axison for axes in figure.axes) == len(arms) == 8
    assert len(plot_arm_curves(arms[:3]).axes) == 1
    assert len(plot_sweep(folder, "parity").axes) == 1
    with pytest.raises(ValueError, match="there are xor, parity"):
        plot_sweep(folder, "retina")
    outcomes = plot_outcomes(arms)
    assert outcomes is not None
    labels = [text.get_text() for text in outcomes.axes[0].get_yticklabels()]
    assert len(labels) == 8


def test_a_median_is_drawn_where_it_is(folder: Path):
    (arm, *_) = SweepReport.read(folder).groups["parity"]
    axes = plot_arm_curves([arm]).axes[0]
    (line,) = [x for x in axes.lines if len(np.asarray(x.get_ydata())) > 2]
    rows = np.stack([curve for curve in arm.curves if len(curve) == 3])
    if len(rows) == 3:
        drawn = np.asarray(line.get_ydata())[:3]
        np.testing.assert_array_equal(drawn, np.median(rows, axis=0))


def test_nothing_to_report_is_a_sentence(tmp_path: Path):
    folder = tmp_path / "s"
    folder.mkdir()
    sx.sweep(
        experiment="xor",
        settings={**SMALL, "generations": 0},
        directory=folder,
        jobs=1,
        progress=False,
    )
    with pytest.raises(ValueError, match="nothing to report"):
        write_report(folder)
    assert not os.path.exists(folder / "report")
