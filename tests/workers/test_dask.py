"""Dask within this process: no network, and the same bits. More is in `tests.hurt`."""

import os
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import substrax as sx
from substrax.evolution import evolve
from substrax.workers import Share, Sizes, Span, WorkersError, open_crew
from tests.evolution.shared import Misbehaving, Weights
from tests.evolution.support import parts, timeless

from .support import pid_and_square, sleep, squares_after_a_hang, wait_until_gone

distributed = pytest.importorskip("distributed")


@pytest.fixture
def client() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        )
        client = distributed.Client(cluster, set_as_default=False)
        yield client
        client.close()
        cluster.close()


def test_a_client_s_executor_gives_the_same_bits(client: Any) -> None:
    alone = evolve(*parts(Weights()), seed=3, generations=4)
    shared = evolve(
        *parts(Weights()), seed=3, generations=4, executor=client.get_executor()
    )
    assert timeless(alone.history) == timeless(shared.history)
    assert client.status == "running"  # it is not ours to close


def test_equal_calls_are_two_calls(client: Any) -> None:
    crew = open_crew(client.get_executor())
    futures = [crew.submit(pid_and_square, 3) for _ in range(2)]
    assert [future.result()[1] for future in futures] == [9, 9]
    assert crew.num_workers() == 2
    assert not crew.is_forgotten(futures[0])
    late = crew.submit(sleep, 2.0)
    crew.give_up(late)
    assert late.cancelled()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Dask's own, about ports and what it closes late
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks by /proc")
def test_a_worker_that_hangs_is_replaced_by_its_nanny(tmp_path) -> None:
    """A thread cannot be ended, and the worker would be lost for good."""
    place = tmp_path / "hangs"

    def ask(span: Span, is_full: bool):
        return squares_after_a_hang, (str(place), list(range(*span)))

    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    client = distributed.Client(cluster, set_as_default=False)
    try:
        before = set(client.run(os.getpid).values())
        crew = open_crew(client.get_executor())
        share = Share(crew, ask, sizes=Sizes(), timeout=3.0)
        found = {n * n for n in range(20)}
        assert {value for _, values in share.run(20) for value in values} == found
        assert share.num_redone >= 1
        hung = int(place.read_text())
        assert hung in before
        wait_until_gone([hung])
        client.wait_for_workers(2, timeout=60)
        after = set(client.run(os.getpid).values())
        assert len(after) == 2 and len(after & before) == 1 and hung not in after
    finally:
        client.close()
        cluster.close()


def test_trouble_of_a_worker_is_told(client: Any, tmp_path) -> None:
    problem = Misbehaving(folder=str(tmp_path))
    for number in range(40):
        (tmp_path / f"disk-{number}").touch()
    with pytest.raises(WorkersError, match=r"in vain.*No space left on device$"):
        evolve(*parts(problem), generations=1, executor=client.get_executor())


def test_a_scheduler_that_is_gone_is_told(client: Any) -> None:
    crew = open_crew(client.get_executor())
    client.close()
    with pytest.raises(WorkersError, match="cannot be reached any more"):
        crew.submit(sleep, 0.0)


def test_a_scheduler_that_is_not_there_is_told(monkeypatch) -> None:
    monkeypatch.setattr("substrax.workers._names.CONNECT_SECONDS", 0.5)
    with pytest.raises(WorkersError, match=r"scheduler at 127\.0\.0\.1:9 cannot be"):
        open_crew("dask://127.0.0.1:9")


@pytest.mark.parametrize("address", ["127.0.0.1:9", "nowhere.invalid:9"])
def test_a_scheduler_that_is_not_there_is_told_before_a_directory_is_made(
    monkeypatch, tmp_path, address
) -> None:
    monkeypatch.setattr("substrax.workers._names.CONNECT_SECONDS", 0.1)
    place = tmp_path / "run"
    with pytest.raises(OSError, match=f"scheduler at {address} cannot be reached"):
        sx.evolve("xor", executor=f"dask://{address}", directory=place)
    assert not place.exists()


def test_a_name_that_means_nothing_is_not_looked_for_by_dask() -> None:
    with pytest.raises(
        WorkersError, match=r"nowhere\.invalid:9 cannot be reached \(\["
    ):
        open_crew("dask://nowhere.invalid:9")


@pytest.fixture
def certificate(tmp_path: Path) -> dict[str, str]:
    """Of our own making, as Dask's configuration has it."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here")
    key, cert = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    words += ["-subj", "/CN=here", "-keyout", key, "-out", cert]
    subprocess.run(["openssl", *words], check=True, capture_output=True)
    found = {"ca-file": cert}
    for who in ("client", "scheduler", "worker"):
        found |= {f"{who}.key": key, f"{who}.cert": cert}
    return {f"distributed.comm.tls.{name}": file for name, file in found.items()}


def test_a_scheduler_with_certificates_gives_the_same_bits(
    certificate: dict[str, str], monkeypatch
) -> None:
    """Those of Dask's own configuration; without them nobody gets in."""
    import dask.config

    monkeypatch.setattr("substrax.workers._names.CONNECT_SECONDS", 3.0)
    with dask.config.set(certificate), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            dashboard_address=None,
            host="127.0.0.1",
            protocol="tls://",
            security=distributed.Security(require_encryption=True),
        )
        address = cluster.scheduler_address
        assert address.startswith("tls://127.0.0.1:")
        try:
            shared = evolve(*parts(Weights()), seed=3, generations=2, executor=address)
            with (
                dask.config.set({"distributed.comm.tls.client.cert": None}),
                pytest.raises(WorkersError, match=f"scheduler at {address} cannot be"),
            ):
                open_crew(address)
            with pytest.raises(WorkersError, match="cannot be reached"):
                open_crew(address.replace("tls://", "dask://"))
        finally:
            cluster.close()
    alone = evolve(*parts(Weights()), seed=3, generations=2)
    assert timeless(alone.history) == timeless(shared.history)
