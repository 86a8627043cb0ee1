"""`substrax sweep`, and `show`, `resume` and `report` of its folder."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import pytest

from substrax.cli import main
from substrax.runs import FACTS
from tests.front.test_sweep import contents, stamps
from tests.report.support import Page
from tests.test_cli import answer

PLAN = """
experiment = "xor"
seeds = 2
title = "Two rates"

[settings]
method = "neat"
generations = 3
population = 40
target = 2
max_nodes = 16
max_links = 32

[grid]
add_node_rate = [0.1, 0.4]
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("cli")
    (path / "rates.toml").write_text(PLAN)
    with pytest.MonkeyPatch.context() as patch:
        use_cache(patch)
        patch.chdir(path)
        assert main(["sweep", "rates.toml", "--jobs", "1", "--quiet"]) == 0
    return path / "runs" / "rates"


def use_cache(patch: pytest.MonkeyPatch) -> None:
    cache = jax.config.values["jax_compilation_cache_dir"] + "-cli"
    patch.setenv("JAX_COMPILATION_CACHE_DIR", cache)
    patch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")


@pytest.fixture(autouse=True)
def cached(monkeypatch):
    use_cache(monkeypatch)


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "rates"))


def test_a_plan_runs_below_runs_and_has_a_page(made: Path):
    assert (made / "plan.toml").read_text() == PLAN
    assert (made / "results.parquet").is_file()
    page = Page(made / "report" / "index.html")
    assert "Two rates" in page.text and "add_node_rate 0.4" in page.text
    assert "Tests between arms" in page.text and "Holm" in page.text
    assert "4 of 4 runs are done" in page.text
    names = {path.name for path in (made / "report" / "figures").iterdir()}
    assert names == {"curves.png", "curves.svg", "outcomes.png", "outcomes.svg"}


def test_what_runs_is_said_and_nothing_is_written(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rates.toml").write_text(PLAN)
    assert main(["sweep", "rates.toml", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "add_node_rate 0.1: xor by NEAT" in said
    assert said.count(" new ") == 4 and "Nothing was written" in said
    assert [path.name for path in tmp_path.iterdir()] == ["rates.toml"]
    assert main(["sweep", "rates.toml", "--dry-run", "--shard", "1/4", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["state"] == "new"
    assert main(["sweep", "rates.toml", "--dry-run", "--shard", "1/4"]) == 0
    assert "1 run: 1 new" in capsys.readouterr().out


def test_what_is_done_is_told_by_a_dry_run(folder: Path, capsys):
    assert main(["sweep", str(folder), "--dry-run"]) == 0
    assert "0 new, 0 begun, 4 done" in capsys.readouterr().out


def test_a_sweep_is_shown_without_jax(made: Path, tmp_path: Path):
    status, said, _, modules = answer(["show", str(made)], tmp_path)
    assert status == 0 and "jax" not in modules
    assert said.startswith("Two rates\narm ")
    assert "4 of 4 runs are done, 0 of them solved" in said
    assert main(["show", str(made), "--json"]) == 0


def test_json_has_a_line_for_each_run_and_a_result(folder: Path, capsys):
    shutil.rmtree(next((folder / "runs").iterdir()))
    assert main(["sweep", str(folder), "--jobs", "1", "--json"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["status"] for line in lines] == ["done"] * 4
    assert json.loads(last)["arms"]["add_node_rate 0.1"]["finished"] == 2


def test_a_sweep_that_is_done_is_resumed_in_an_instant(folder: Path, capsys):
    before = stamps(folder)
    assert main(["resume", str(folder)]) == 0
    assert stamps(folder) == before
    assert "4 of 4 runs are done" in capsys.readouterr().out


def test_the_plan_in_the_folder_is_what_resume_does(folder: Path, capsys):
    plan = folder / "plan.toml"
    plan.write_text(PLAN.replace("seeds = 2", "seeds = 3"))
    assert main(["resume", str(folder), "--quiet"]) == 0
    assert main(["show", str(folder)]) == 0
    assert "6 of 6 runs are done" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["sweep"])


def test_report_writes_the_page_again(folder: Path, capsys):
    shutil.rmtree(folder / "report")
    assert main(["report", str(folder)]) == 0
    assert capsys.readouterr().out.strip() == str(folder / "report" / "index.html")
    assert (folder / "report" / "index.html").is_file()


def test_single_runs_are_ordinary_runs(folder: Path, capsys):
    run = next((folder / "runs").iterdir())
    assert main(["show", str(run)]) == 0
    assert "3 of 3 generations" in capsys.readouterr().out
    assert main(["resume", str(run), "--generations", "4", "--quiet"]) == 0
    assert main(["report", str(run)]) == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere.toml"], "there is no plan nowhere.toml"),
        (["."], "holds no sweep"),
        (["plan.toml", "--shard", "3/2"], "from 1 on"),
        (["plan.toml", "--jobs", "0"], "--jobs is 0"),
        (["plan.toml", "--sbatch", "0"], "--sbatch is 0"),
        (["plan.toml", "--jobs", "2", "--executor", "dask://x:1"], "Leave one of them"),
        (["plan.toml", "--executor", "ray://x:1"], "dask://host:8786"),
        (["plan.toml", "--executor", "processes:0"], "at least 1"),
        (["wrong.toml"], "did you mean 'generations'"),
    ],
)
def test_mistakes_have_a_sentence_and_write_nothing(
    tmp_path, monkeypatch, capsys, words, sentence
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "wrong.toml").write_text(PLAN.replace("generations", "generatons"))
    assert main(["sweep", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plan.toml", "wrong.toml"]


def test_settings_of_a_sweep_are_those_of_its_plan(folder: Path, capsys):
    assert main(["resume", str(folder), "--generations", "9"]) == 2
    assert "Change the settings in" in capsys.readouterr().err


def test_a_failing_run_is_said_and_in_the_exit_status(folder: Path, capsys):
    victim = next((folder / "runs").iterdir())
    (victim / FACTS).write_text("{")
    assert main(["resume", str(folder), "--quiet"]) == 1
    said = capsys.readouterr().err
    assert "1 run failed" in said and "run.json cannot be used" in said
    assert main(["show", str(folder)]) == 0
    assert "failed: add_node_rate" in capsys.readouterr().out


def test_a_job_array_for_slurm_is_a_script(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name = "a plan; rm -rf $HOME.toml"
    (tmp_path / name).write_text(PLAN)
    assert main(["sweep", name, "--sbatch", "3", "--out", "here and there"]) == 0
    script = tmp_path / "sweep.sbatch"
    script.write_text(capsys.readouterr().out)
    assert "#SBATCH --array=1-3\n" in script.read_text()
    if shutil.which("bash") is None:
        pytest.skip("no bash here")
    subprocess.run(["bash", "-n", str(script)], check=True)
    # What its tasks run, with Slurm's part played by this test.
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "srun").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (fake / "srun").chmod(0o755)
    environment = {**os.environ, "PATH": f"{fake}:{os.environ['PATH']}"}
    environment |= {"SLURM_ARRAY_TASK_ID": "2", "SLURM_CPUS_PER_TASK": "4"}
    words = ["bash", str(script)]
    done = subprocess.run(
        words, env=environment, capture_output=True, text=True, check=True
    )
    said = done.stdout.splitlines()
    # Without its number of cores, srun binds a task to one of them.
    assert said == [
        "--cpus-per-task=4", "substrax", "sweep", name, "--out", "here and there",
        "--shard", "2/3", "--jobs", "4",
    ]  # fmt: skip


def start(*words: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "substrax.cli", "sweep", *words, "--no-report"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


LONG = PLAN.replace("generations = 3", "generations = 400")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_sweep_saves_and_says_how_to_go_on(tmp_path, number):
    (tmp_path / "plan.toml").write_text(LONG)
    process = start(str(tmp_path / "plan.toml"), "--out", str(tmp_path / "s"))
    end = time.monotonic() + 120
    while not list(tmp_path.glob("s/runs/*/metrics.jsonl")):
        assert time.monotonic() < end
        time.sleep(0.1)
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert f"substrax resume {tmp_path / 's'}" in error
    assert not list(tmp_path.rglob("*.tmp")) and not list(tmp_path.rglob("scratch"))
    begun = [p for p in tmp_path.glob("s/runs/*") if (p / "metrics.jsonl").exists()]
    stopped = [json.loads((p / FACTS).read_text())["stopped"] for p in begun]
    assert "interrupted" in stopped


def test_contents_tell_runs_apart(made: Path):
    assert len({str(value[0]) for value in contents(made).values()}) == 4


def test_a_missing_plan_says_what_a_plan_is(tmp_path, capsys):
    assert main(["sweep", str(tmp_path / "nope.toml")]) == 2
    said = capsys.readouterr().err
    assert "there is no plan" in said and "[grid]" in said
