"""SIGKILL for real: a process of the command line, killed at random moments."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import pytest
import safetensors.numpy

from substrax.evolution import RunDirectory

from .support import timeless

RUN = [
    "--method", "neat", "--preset", "neat_python", "--population", "24",
    "--generations", "40", "--target", "2", "--max_nodes", "16", "--max_links", "32",
]  # fmt: skip


def start(*words: str) -> subprocess.Popen:
    """`substrax ...` as a process of its own, with compiled code of earlier ones."""
    cache = jax.config.values["jax_compilation_cache_dir"] + "-cli"
    environment = os.environ | {
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "substrax.cli", *words, "--json"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(*words: str) -> str:
    process = start(*words)
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    return out


def contents(path: Path) -> tuple:
    return (
        timeless(RunDirectory(path).metrics()),
        (path / "best.json").read_bytes(),
        (path / "best.safetensors").read_bytes(),
    )


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    finish("run", "xor", *RUN, "--out", str(path))
    metrics, *best = contents(path)
    assert len(metrics) == 40
    return metrics, *best


def kill_somewhere(words: list[str], draw: random.Random, path: Path) -> int:
    """Kills after some generations and a moment; returns how many were recorded."""
    process = start(*words)
    assert process.stdout is not None
    for _ in range(draw.randrange(1, 9)):
        if not process.stdout.readline():
            break
    time.sleep(draw.random() * 0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()
    return len(RunDirectory(path).metrics())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_killed_again_and_again_a_run_ends_the_same(tmp_path, expected, seed):
    draw = random.Random(seed)
    path = tmp_path / "run"
    reached = [kill_somewhere(["run", "xor", *RUN, "--out", str(path)], draw, path)]
    for _ in range(4):
        reached.append(kill_somewhere(["resume", str(path)], draw, path))
    assert 0 < reached[0] < 40
    finish("resume", str(path))
    assert contents(path) == expected, reached


@pytest.mark.slow
def test_killed_once_a_run_ends_the_same(tmp_path, expected):
    path = tmp_path / "run"
    words = ["run", "xor", *RUN, "--out", str(path)]
    assert 0 < kill_somewhere(words, random.Random(7), path) < 40
    finish("resume", str(path))
    assert contents(path) == expected


@pytest.mark.slow
def test_killed_while_capacities_grow_a_run_ends_the_same(tmp_path):
    """Genomes start with room for hardly more than they have, and grow fast."""
    words = ["run", "xor", *RUN[:-4], "--max_nodes", "5", "--max_links", "6"]
    words += ["--add_node_rate", "0.8", "--delete_node_rate", "0"]
    words[words.index("--generations") + 1] = "24"
    finish(*words, "--out", str(tmp_path / "whole"))
    path, draw = tmp_path / "run", random.Random(11)
    shapes = set()
    kill_somewhere([*words, "--out", str(path)], draw, path)
    for _ in range(4):
        shapes |= {size_of(p) for p in (path / "checkpoints").glob("*.safetensors")}
        kill_somewhere(["resume", str(path)], draw, path)
    finish("resume", str(path))
    shapes |= {size_of(p) for p in (path / "checkpoints").glob("*.safetensors")}
    assert len(shapes) > 1, "capacities did not grow"
    assert contents(path) == contents(tmp_path / "whole")


def size_of(checkpoint: Path) -> tuple[int, ...]:
    return safetensors.numpy.load_file(checkpoint)["population.node_id"].shape


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, signal.SIGTERM],
)
@pytest.mark.slow
def test_an_interrupted_run_saves_and_says_how_to_go_on(tmp_path, expected, number):
    path = tmp_path / "run"
    process = start("run", "xor", *RUN, "--out", str(path))
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(number)
    out, error = process.communicate(timeout=300)
    assert process.returncode == 128 + number
    assert "stopping after this generation" in error
    assert '"reason": "interrupted"' in out
    done = len(RunDirectory(path).metrics())
    assert 0 < done < 40
    assert (path / "checkpoints" / f"{done:06d}.json").exists()
    finish("resume", str(path))
    assert contents(path) == expected
