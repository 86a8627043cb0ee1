"""A folder of runs that differ in their seeds: `run --seeds`, `show`, `resume`,
`report`."""

import json
import shutil
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import substrax as sx
from substrax.cli import main
from substrax.cli._interruption import Interruption
from substrax.evolution import RunDirectory, StopReason
from substrax.runs import FACTS, SEEDS
from tests.report.support import Page
from tests.test_cli import answer

SMALL = [
    "--depth", "2", "--population", "16", "--max_nodes", "16", "--max_links", "32",
    "--target", "2",
]  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Three seeds of two generations."""
    path = tmp_path_factory.mktemp("seeds") / "xor"
    words = ["run", "xor", *SMALL, "--generations", "2", "--out", str(path)]
    assert main([*words, "--seeds", "3", "--quiet"]) == 0
    return path


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy to be changed."""
    return Path(shutil.copytree(made, tmp_path / "xor"))


def content(folder: Path, name: str = "metrics.jsonl") -> dict[str, bytes]:
    return {p.parent.name: p.read_bytes() for p in sorted(folder.glob(f"seed*/{name}"))}


def test_a_folder_of_seeds_is_shown_without_jax(made: Path, tmp_path: Path):
    status, said, _, modules = answer(["show", str(made)], tmp_path)
    assert status == 0 and "jax" not in modules
    title, head, *lines = said.splitlines()
    assert title == "xor, method emr, 3 seeds"
    columns = "seed result generations best fitness seconds running seconds compiling"
    assert " ".join(head.split()) == columns
    assert [line.split()[:4] for line in lines[:3]] == [
        [str(k), "not", "solved", "2"] for k in range(3)
    ]
    assert lines[3] == "0 of 3 solved (95 % interval 0.00 to 0.56)"
    assert "quartiles" in lines[4]
    assert f"substrax resume {made} --generations 4" in said


def test_json_has_the_seeds_and_the_summary(made: Path, capsys):
    assert main(["show", str(made), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [seed["seed"] for seed in found["seeds"]] == [0, 1, 2]
    assert {seed["result"] for seed in found["seeds"]} == {"not solved"}
    assert found["summary"]["runs"] == 3 and found["directory"] == str(made)
    best = sorted(seed["best_fitness"] for seed in found["seeds"])
    assert found["summary"]["median_best_fitness"] == best[1]


def test_the_end_of_several_runs_says_what_show_says(made, folder, capsys):
    words = ["run", "xor", *SMALL, "--generations", "2", "--out", str(folder)]
    assert main([*words, "--seeds", "3"]) == 0
    end = capsys.readouterr().out
    assert main(["show", str(folder)]) == 0
    assert end.endswith(capsys.readouterr().out)


def test_resume_goes_on_with_the_seeds_that_are_not_finished(made, folder, capsys):
    RunDirectory(folder / "seed1").write_stop_reason(StopReason.INTERRUPTED)
    shutil.rmtree(folder / "seed2")  # never begun
    assert main(["show", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "1 not finished" not in said and "2 not finished" in said
    assert "not begun" in said and f"Go on with: substrax resume {folder}\n" in said
    assert main(["resume", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "seed 0:" not in said and "seed 1:" in said and "seed 2:" in said
    assert "0 of 3 solved" in said
    assert content(folder, "best.json") == content(made, "best.json")
    status = main(["resume", str(folder), "--quiet"])
    assert status == 0 and capsys.readouterr().out == ""


def test_resume_of_finished_seeds_does_not_wait_for_jax(made: Path, tmp_path: Path):
    status, said, _, modules = answer(["resume", str(made)], tmp_path)
    assert status == 0 and "jax" not in modules
    assert "0 of 3 solved" in said


def test_an_interruption_names_the_folder(folder, capsys):
    """As Ctrl-C does it, in the generation of the first seed that goes on."""
    interrupt = mock.patch.object(
        Interruption,
        "generation",
        lambda self, generation: StopReason.INTERRUPTED,
    )
    with interrupt:
        main(["resume", str(folder), "--generations", "5"])
    said = capsys.readouterr().out
    assert f"Continue with: substrax resume {folder}\n" in said
    assert "--generations 6" not in said  # of one seed only


def test_what_a_run_may_change_all_seeds_may_change(folder, capsys):
    assert main(["resume", str(folder), "--generations", "3", "--json"]) == 0
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [seed["generations"] for seed in last["seeds"]] == [3, 3, 3]
    assert main(["resume", str(folder), "--depth", "3"]) == 2
    assert "depth is 2 in this run" in capsys.readouterr().err
    assert main(["resume", str(folder), "--dpth", "3"]) == 2
    assert "did you mean 'depth'" in capsys.readouterr().err


def test_folders_of_older_releases_are_understood(folder, capsys):
    (folder / SEEDS).unlink()
    for words in (["show"], ["resume"], ["resume", "--generations", "3", "--quiet"]):
        assert main([words[0], str(folder), *words[1:]]) == 0
    assert "3 seeds" in capsys.readouterr().out


def test_a_report_of_all_seeds(folder, capsys):
    assert main(["report", str(folder / "seed1")]) == 0
    assert main(["report", str(folder)]) == 0
    path = folder / "report" / "index.html"
    assert capsys.readouterr().out.splitlines()[-1] == str(path)
    page = Page(path)
    assert page.parts == ["overview", "run"] and page.figures == ["fitness"]
    assert "xor with EMR-HyperNEAT, 3 seeds" in page.text
    assert "0 of 3 solved (95 % interval 0.00 to 0.56)." in page.text
    assert "quartiles" in page.text
    links = [a["href"] for a in page.all("a") if "seed" in str(a["href"])]
    assert links == ["../seed1/report/index.html"]
    for link in page.all("a"):
        target = str(link["href"])
        assert target.startswith("#") or (path.parent / target).is_file()
    assert (folder / "report" / "figures" / "fitness.svg").is_file()


def test_the_report_may_be_written_with_the_runs(tmp_path, capsys):
    words = ["run", "xor", *SMALL, "--generations", "1", "--out", str(tmp_path / "x")]
    assert main([*words, "--seeds", "2", "--report"]) == 0
    assert capsys.readouterr().out.endswith(f"report: {tmp_path}/x/report/index.html\n")
    assert (tmp_path / "x" / "seed1" / "report" / "index.html").is_file()


def test_seeds_without_a_generation_have_no_report_and_no_error(tmp_path, capsys):
    words = ["run", "xor", *SMALL, "--generations", "0", "--out", str(tmp_path / "x")]
    assert main([*words, "--seeds", "2", "--report"]) == 0
    assert "no report: no generation was finished" in capsys.readouterr().err
    assert not (tmp_path / "x" / "report").exists()
    assert main(["report", str(tmp_path / "x")]) == 2
    assert "none of these runs has a finished generation" in capsys.readouterr().err


def test_what_takes_one_run_says_which_to_name(made, capsys):
    assert main(["export", str(made)]) == 2
    assert f"name one of them, such as {made / 'seed0'}" in capsys.readouterr().err
    with pytest.raises(ValueError, match="several seeds: name one of them"):
        sx.resume(made)


def test_a_folder_whose_seeds_have_not_begun(tmp_path, made, capsys):
    folder = tmp_path / "none"
    folder.mkdir()
    shutil.copy(made / SEEDS, folder)
    assert main(["show", str(folder)]) == 0
    assert "none of 3 has come to its end" in capsys.readouterr().out
    for command in ("resume", "report"):
        assert main([command, str(folder)]) == 2
        assert "has begun" in capsys.readouterr().err


def test_seeds_of_data_from_python_go_on_with_their_data(tmp_path, capsys):
    rows = np.random.default_rng(0).normal(size=(30, 2))
    settings: dict[str, Any] = {"population": 16, "generations": 2}
    folder = tmp_path / "data"
    sx.evolve_seeds(
        (rows, rows[:, 0] > 0),
        seeds=[4, 6],
        method="neat",
        directory=folder,
        **settings,
    )
    wanted = content(folder)
    shutil.rmtree(folder / "seed6")
    assert main(["resume", str(folder), "--quiet"]) == 0
    assert (folder / "seed6" / FACTS).is_file()
    lines = [
        [
            {k: v for k, v in json.loads(line).items() if "fitness" in k}
            for line in text.splitlines()
        ]
        for text in (content(folder)["seed6"], wanted["seed6"])
    ]
    assert lines[0] == lines[1]
    assert main(["show", str(folder)]) == 0
    assert "data, method neat, 2 seeds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seed", "4294967294", "--seeds", "3"], "seeds has 4294967296, which is no"),
        (["--seeds", "1" + "0" * 30], "Choose at least 1 and at most 100,000"),
        (["--seeds", "0"], "--seeds is 0. Choose at least 1"),
    ],
)
def test_all_seeds_are_looked_at_before_the_first_one_runs(
    tmp_path, capsys, words, said
):
    assert main(["run", "xor", *SMALL, *words, "--out", str(tmp_path / "xor")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "xor").exists()


@pytest.mark.parametrize("seeds", [[0, -1], [0, 1 << 32], [0, True], 0, []])
def test_what_is_no_seed_is_refused_before_another_one_runs(tmp_path, seeds):
    with pytest.raises(ValueError, match="seeds"):
        sx.evolve_seeds("xor", seeds=seeds, directory=tmp_path / "xor")
    assert not (tmp_path / "xor").exists()


def test_a_directory_that_holds_a_run_takes_no_seeds(made, capsys):
    words = ["run", "xor", *SMALL, "--generations", "2", "--seeds", "2"]
    assert main([*words, "--out", str(made / "seed0")]) == 2
    assert "already holds a run" in capsys.readouterr().err
    assert not (made / "seed0" / SEEDS).exists()
