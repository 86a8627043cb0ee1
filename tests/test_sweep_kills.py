"""SIGKILL for real: a sweep and its processes, killed at random moments."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import pytest

from tests.front.test_sweep import contents

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc"
)

PLAN = """
experiment = "xor"
seeds = 3
[settings]
method = "neat"
generations = 60
population = 40
target = 2
max_nodes = 16
max_links = 32
[grid]
add_node_rate = [0.1, 0.9]
"""


def start(folder: Path) -> subprocess.Popen:
    cache = jax.config.values["jax_compilation_cache_dir"] + "-cli"
    environment = os.environ | {
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2",
    }
    plan = folder.with_suffix(".toml")
    plan.write_text(PLAN)
    words = ["sweep", str(plan), "--out", str(folder), "--jobs", "2", "--no-report"]
    return subprocess.Popen(
        [sys.executable, "-m", "substrax.cli", *words, "--quiet"],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(folder: Path) -> None:
    process = start(folder)
    _, error = process.communicate(timeout=600)
    assert process.returncode == 0, error


def workers_of(parent: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().rpartition(")")
        except OSError:
            continue
        if int(rest.split()[1]) == parent:
            found.append(int(name.split()[0]))
    return found


def kill(number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)


def num_records(folder: Path) -> int:
    return sum(
        path.read_bytes().count(b"\n") for path in folder.glob("runs/*/metrics.jsonl")
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_killed_ten_times_a_sweep_ends_the_same(tmp_path, seed):
    """Twenty times in all: the parent, a child of it, or both."""
    finish(tmp_path / "whole")
    draw, folder = random.Random(seed), tmp_path / "killed"
    reached = []
    for _ in range(10):
        process = start(folder)
        before = num_records(folder)
        wanted = before + draw.randrange(1, 40)
        end = time.monotonic() + 120
        while num_records(folder) < wanted and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.01)
        time.sleep(draw.random() * 0.05)
        children = workers_of(process.pid)
        victims = draw.choice(["parent", "child", "all"])
        if victims == "child" and children:
            kill(draw.choice(children))
            time.sleep(draw.random())  # the parent begins another one
            children = workers_of(process.pid)
        if victims == "all":
            for child in children:
                kill(child)
        process.kill()
        process.communicate()
        end = time.monotonic() + 30
        while any(is_running(child) for child in children):
            assert time.monotonic() < end, "children of a killed process go on"
            time.sleep(0.05)
        reached.append(num_records(folder))
    finish(folder)
    assert contents(folder) == contents(tmp_path / "whole"), reached
    left = [p for p in folder.rglob("*") if p.name.endswith(".tmp")]
    assert not left and not list(folder.rglob("scratch"))


def is_running(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
