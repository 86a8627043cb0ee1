"""Sweeps on a Dask cluster: a scheduler and workers as processes on loopback."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import pytest

import substrax as sx
from substrax.workers import WorkersError
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


def scheduler_at(port: int) -> subprocess.Popen:
    words = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    return start("dask_scheduler", *words)


@pytest.fixture
def cluster(tmp_path, monkeypatch) -> Iterator[tuple[int, list[subprocess.Popen]]]:
    """Where the scheduler is; its workers, and it itself as the last."""
    monkeypatch.chdir(tmp_path)
    port = free_port()
    processes = [worker(port), worker(port), scheduler_at(port)]
    try:
        end = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            assert time.monotonic() < end
            time.sleep(0.2)
        yield port, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


LONG = {**KEYWORDS, "settings": {**KEYWORDS["settings"], "generations": 60}}


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> dict[str, tuple]:
    folder = tmp_path_factory.mktemp("expected") / "s"
    sx.sweep(**LONG, directory=folder, jobs=1, progress=False)
    return contents(folder)


@contextlib.contextmanager
def disturbed(folder: Path, disturb: Callable[[], None]) -> Iterator[None]:
    """Does something as soon as the first run of a sweep has begun."""

    def wait() -> None:
        end = time.monotonic() + 120
        while not list(folder.glob("runs/*/metrics.jsonl")) and time.monotonic() < end:
            time.sleep(0.05)
        disturb()

    thread = threading.Thread(target=wait)
    thread.start()
    yield
    thread.join()


def test_workers_that_die_and_join_change_nothing(tmp_path, cluster, expected):
    port, processes = cluster

    def disturb() -> None:
        processes[0].kill()
        processes.append(worker(port))

    place, address = tmp_path / "found", f"dask://127.0.0.1:{port}"
    with disturbed(place, disturb):
        result = sx.sweep(**LONG, directory=place, executor=address, progress=False)
    assert result.is_finished and not result.failures
    assert contents(place) == expected


def test_another_scheduler_in_the_place_of_a_killed_one(tmp_path, cluster, expected):
    port, processes = cluster

    def disturb() -> None:
        processes[2].kill()
        processes[2].wait()
        # Workers without a nanny end with their scheduler.
        processes.extend((scheduler_at(port), worker(port)))

    place, address = tmp_path / "found", f"dask://127.0.0.1:{port}"
    with disturbed(place, disturb):
        result = sx.sweep(**LONG, directory=place, executor=address, progress=False)
    assert result.is_finished and not result.failures
    assert contents(place) == expected


def test_a_scheduler_that_is_killed_ends_a_sweep_that_goes_on_without(
    tmp_path, cluster, expected, monkeypatch
):
    port, processes = cluster
    monkeypatch.setattr("substrax.workers._names.CONNECT_SECONDS", 2.0)
    place, address = tmp_path / "found", f"dask://127.0.0.1:{port}"
    with (
        disturbed(place, lambda: processes[2].kill()),
        pytest.raises(WorkersError, match="cannot be reached any more") as raised,
    ):
        sx.sweep(**LONG, directory=place, executor=address, progress=False)
    assert f"`substrax resume {place}` goes on" in raised.value.__notes__[0]
    # The last worker may still be about to end.
    for process in processes:
        process.wait(60)
    assert sx.sweep(place, jobs=1, progress=False).is_finished
    assert contents(place) == expected


def test_a_scheduler_that_is_not_there_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("substrax.workers._names.CONNECT_SECONDS", 2.0)
    with pytest.raises(WorkersError, match=r"the Dask scheduler at .* cannot be reach"):
        sx.sweep(
            **KEYWORDS,
            directory=tmp_path / "s",
            executor=f"dask://127.0.0.1:{free_port()}",
            progress=False,
        )
    assert not Path(tmp_path / "s").exists()
