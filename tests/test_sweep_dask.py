"""Sweeps on a Dask cluster: a scheduler and workers as processes on loopback."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

import substrax as sx
from tests.front.test_sweep import KEYWORDS, contents

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    # Dask's own: loops and sockets that it closes late
    pytest.mark.filterwarnings("ignore"),
]


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


def start(*words: str) -> subprocess.Popen:
    cache = jax.config.values["jax_compilation_cache_dir"] + "-cli"
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]],
        env=os.environ | {"JAX_COMPILATION_CACHE_DIR": cache},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def worker(port: int) -> subprocess.Popen:
    address = f"tcp://127.0.0.1:{port}"
    words = ["--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard", "--no-nanny"]
    return start("dask_worker", address, *words)


@pytest.fixture
def cluster(tmp_path, monkeypatch) -> Iterator[tuple[int, list[subprocess.Popen]]]:
    monkeypatch.chdir(tmp_path)
    port = free_port()
    words = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    scheduler = start("dask_scheduler", *words)
    workers = [worker(port), worker(port)]
    try:
        end = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            assert time.monotonic() < end
            time.sleep(0.2)
        yield port, workers
    finally:
        for process in [*workers, scheduler]:
            process.kill()
            process.wait()


def test_workers_that_die_and_join_change_nothing(tmp_path, cluster):
    port, workers = cluster
    long = {**KEYWORDS, "settings": {**KEYWORDS["settings"], "generations": 60}}
    expected, found = tmp_path / "expected", tmp_path / "found"
    sx.sweep(**long, directory=expected, jobs=1, progress=False)
    address = f"dask://127.0.0.1:{port}"

    import threading

    def disturb() -> None:
        end = time.monotonic() + 120
        while not list(found.glob("runs/*/metrics.jsonl")) and time.monotonic() < end:
            time.sleep(0.05)
        workers[0].kill()
        workers.append(worker(port))

    thread = threading.Thread(target=disturb)
    thread.start()
    result = sx.sweep(**long, directory=found, executor=address, progress=False)
    thread.join()
    assert result.is_finished and not result.failures
    assert contents(found) == contents(expected)


def test_a_scheduler_that_is_not_there_is_said(tmp_path):
    with pytest.raises(OSError, match="no Dask scheduler answers"):
        sx.sweep(
            **KEYWORDS,
            directory=tmp_path / "s",
            executor=f"dask://127.0.0.1:{free_port()}",
            progress=False,
        )
    assert not Path(tmp_path / "s").exists()
