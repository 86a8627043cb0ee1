"""From a plan to its page with real runs, killed on the way."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet
import pytest

ROOT = Path(__file__).parents[2]

PLAN = """
title = "A small one"
paper = "table4"
page = "time"
seeds = 1
is_timed = true
experiment = "xor"
[settings]
"run.generations" = 6
"run.target" = 2.0
"neat.max_nodes" = 16
"neat.max_links" = 32
[grid]
depth = [2]
population = [16]
[[arm]]
name = "emr, frontier"
settings = { method = "emr" }
[[arm]]
name = "es, recursive quadtree"
kind = "quadtree"
settings = { method = "es" }
options = { source = { depth = 1 }, at = [2, 5], sample = 3, max_seconds = 20.0 }
[[arm]]
name = "es, counts"
kind = "evolve"
settings = { method = "es" }
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_plan_that_was_killed_is_finished_by_the_same_command(tmp_path):
    (tmp_path / "small.toml").write_text(PLAN)
    command = [sys.executable, "-m", "paper", "small.toml"]
    runs = tmp_path / "runs" / "paper"
    # a folder of the source, and no part of what is installed
    surroundings = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=tmp_path, env=surroundings)
    try:
        while not any(
            len(path.read_text().splitlines()) >= 2
            for path in runs.glob("*/run/metrics.jsonl")
        ):
            assert process.poll() is None
            time.sleep(0.1)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not (tmp_path / "results" / "small.md").exists()
    again = subprocess.run(
        command,
        cwd=tmp_path,
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 0, again.stderr
    page = (tmp_path / "results" / "small.md").read_text()
    assert "3 runs" in page and "6 of 6" in page
    rows = pyarrow.parquet.read_table(tmp_path / "results" / "small.parquet")
    assert set(rows["kind"].to_pylist()) == {"evolve", "quadtree"}
    generations = pyarrow.parquet.read_table(
        tmp_path / "results" / "small-generations.parquet"
    ).to_pylist()
    evolved = [r for r in generations if r["key"] == rows["key"].to_pylist()[0]]
    assert [r["generation"] for r in evolved] == list(range(6))
