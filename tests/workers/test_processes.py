"""Processes as an executor: what they do, and how they end."""

import os
import signal
import subprocess
import sys
from concurrent.futures import BrokenExecutor
from pathlib import Path

import pytest

from substrax.workers import Processes

from .support import (
    die,
    fail,
    is_alive,
    pid_and_square,
    raise_unreadable,
    say,
    sleep,
    wait_until_gone,
)

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="looks at processes by /proc"
)


@pytest.fixture(scope="module")
def processes():
    executor = Processes(2)
    yield executor
    pids = executor.pids
    executor.kill()
    assert executor.pids == []
    wait_until_gone(pids)


def test_calls_are_done_elsewhere_and_come_back(processes: Processes) -> None:
    futures = [processes.submit(pid_and_square, n) for n in range(20)]
    answers = [future.result(timeout=60) for future in futures]
    assert [square for _, square in answers] == [n * n for n in range(20)]
    assert os.getpid() not in {pid for pid, _ in answers}


@pytest.mark.parametrize(
    ("status", "words"),
    [(-signal.SIGKILL, "SIGKILL; the memory may be used up"), (3, "with status 3")],
)
def test_a_death_costs_one_call(processes: Processes, status: int, words: str) -> None:
    futures = [processes.submit(pid_and_square, n) for n in range(3)]
    dying = processes.submit(die, status)
    futures += [processes.submit(pid_and_square, n) for n in range(3, 6)]
    with pytest.raises(BrokenExecutor, match=words):
        dying.result(timeout=60)
    assert [future.result(timeout=60)[1] for future in futures] == [
        n * n for n in range(6)
    ]


def test_a_call_that_hangs_is_ended(processes: Processes) -> None:
    hanging = processes.submit(sleep, 1000.0)
    while not hanging.running():
        pass
    processes.end(hanging)
    with pytest.raises(BrokenExecutor, match="SIGKILL"):
        hanging.result(timeout=60)
    assert processes.submit(pid_and_square, 3).result(timeout=60)[1] == 9


def test_errors_come_back_and_prints_do_not_disturb(
    processes: Processes, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="the reason"):
        processes.submit(fail, "the reason").result(timeout=60)
    with pytest.raises(RuntimeError, match="UnreadableError: 1 and 2"):
        processes.submit(raise_unreadable).result(timeout=60)
    with pytest.raises(Exception, match="pickle"):
        processes.submit(lambda: 0).result(timeout=60)
    assert processes.submit(say, "hello").result(timeout=60) == "hello"
    assert "hello" not in capfd.readouterr().out


def listening(pid: int) -> list[str]:
    """Sockets of a process that wait for somebody to connect."""
    own = {os.readlink(f) for f in Path(f"/proc/{pid}/fd").iterdir() if f.exists()}
    lines = []
    for kind in ("tcp", "tcp6"):
        table = Path(f"/proc/{pid}/net/{kind}")
        for line in table.read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in own:
                lines.append(line)
    return lines


def test_nothing_listens(processes: Processes) -> None:
    pid, _ = processes.submit(pid_and_square, 1).result(timeout=60)
    assert listening(pid) == []


PARENT = """
import os, signal, sys
from substrax.workers import Processes
from tests.workers.support import pid_and_square, sleep
processes = Processes(2)
pids = {processes.submit(pid_and_square, n).result()[0] for n in range(8)}
busy = processes.submit(sleep, 1000.0)
while not busy.running():
    pass
print(*processes.pids, flush=True)
os.kill(os.getpid(), int(sys.argv[1]))
signal.pause()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_processes_end_with_their_parent(number: int) -> None:
    found = subprocess.run(
        [sys.executable, "-c", PARENT, str(int(number))],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    assert found.returncode == -number
    pids = [int(word) for word in found.stdout.split()]
    assert len(pids) == 2 or all(map(is_alive, pids))
    wait_until_gone(pids)


def test_a_process_that_hangs_at_its_start_is_ended() -> None:
    executor = Processes(1, imports=["tests.workers.late"])
    try:
        future = executor.submit(pid_and_square, 3)
        while not executor.pids:
            pass
        assert not executor.is_at_work(future)
        executor.end(future)
        with pytest.raises(BrokenExecutor, match="SIGKILL"):
            future.result(timeout=60)
    finally:
        executor.kill()
