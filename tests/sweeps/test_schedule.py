"""Jobs in processes: each once, whatever fails, and nothing is left behind."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from substrax import _memory
from substrax.sweeps import (
    Job,
    OnExecutor,
    Outcome,
    Processes,
    Stop,
    _jobs,
    run_jobs,
)
from substrax.workers import WorkersError

WORK = "tests.sweeps.jobs:work"
ROOT = Path(__file__).parent.parent.parent

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")


@pytest.fixture(autouse=True)
def found(monkeypatch):
    """Processes find the functions of tests."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def jobs(folder: Path, *kinds: str, alone: tuple[int, ...] = ()) -> list[Job]:
    found = []
    for number, kind in enumerate(kinds):
        document = {"folder": str(folder), "name": str(number), "do": kind}
        is_alone = number in alone
        found.append(Job(str(number), f"job {number}", kind, document, is_alone))
    return found


def begun(folder: Path) -> dict[str, int]:
    return {p.stem: p.stat().st_size for p in sorted(folder.glob("*.begun"))}


def children() -> list[str]:
    """Processes of ours that still run."""
    text = subprocess.run(
        ["ps", "-eo", "ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    mine = [line for line in text.splitlines() if line.split()[0] == str(os.getpid())]
    return [line for line in mine if "_worker" in line or "defunct" in line]


def test_all_jobs_are_done_in_several_processes(tmp_path):
    outcome = run_jobs(jobs(tmp_path, *["echo"] * 6), Processes(WORK, 2))
    assert outcome.results.keys() == {str(k) for k in range(6)}
    assert not outcome.failures and not outcome.left
    assert 1 <= len({result["process"] for result in outcome.results.values()}) <= 2
    assert begun(tmp_path) == {str(k): 1 for k in range(6)}
    assert children() == []


def test_a_job_that_fails_or_dies_does_not_stop_the_others(tmp_path):
    kinds = ["fail", "kill", "echo", "kill once", "echo"]
    outcome = run_jobs(jobs(tmp_path, *kinds), Processes(WORK, 2))
    assert outcome.results.keys() == {"2", "3", "4"}
    assert outcome.failures["0"].startswith(
        "RuntimeError: it is broken (raised in work"
    )
    assert "signal 9" in outcome.failures["1"]
    assert "printed by a job" in outcome.failures["1"]
    assert begun(tmp_path) == {"0": 1, "1": _jobs.MAX_DEATHS, "2": 1, "3": 2, "4": 1}
    assert children() == []


def test_what_is_done_already_is_not_done_again(tmp_path):
    seen = []
    outcome = run_jobs(
        jobs(tmp_path, "echo", "echo"),
        Processes(WORK, 1),
        look_fn=lambda job: {"status": "done"} if job.key == "1" else None,
        on_progress=lambda progress: seen.append(progress.num_reused),
    )
    assert outcome.results.keys() == {"0", "1"} and set(seen) == {1}
    assert begun(tmp_path) == {"0": 1}


def test_a_result_that_cannot_be_read_is_a_failure_of_that_job(tmp_path):
    def look(job):
        if job.key == "0":
            raise ValueError("run.json is damaged")

    outcome = run_jobs(jobs(tmp_path, "echo", "echo"), Processes(WORK, 1), look_fn=look)
    assert outcome.failures == {"0": "run.json is damaged"}
    assert outcome.results.keys() == {"1"}


def test_what_another_process_is_at_is_looked_at_again(tmp_path, monkeypatch):
    monkeypatch.setattr("substrax.sweeps._schedule._LOOK_AGAIN_SECONDS", 0.1)
    seen = set()
    outcome = run_jobs(
        jobs(tmp_path, "busy", "echo"),
        Processes(WORK, 1),
        on_progress=lambda progress: seen.add(len(progress.elsewhere)),
    )
    assert outcome.results.keys() == {"0", "1"}
    assert begun(tmp_path)["0"] == 3 and 1 in seen


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity here")
def test_processes_share_the_cores_and_jobs_that_are_alone_have_them_all(tmp_path):
    every = sorted(os.sched_getaffinity(0))
    outcome = run_jobs(
        jobs(tmp_path, "echo", "echo", "echo", alone=(0,)), Processes(WORK, 2)
    )
    share = max(1, len(every) // 2)
    assert outcome.results["0"]["cores"] == every
    assert {len(outcome.results[k]["cores"]) for k in "12"} == {share}
    processes = {k: result["process"] for k, result in outcome.results.items()}
    assert processes["0"] not in (processes["1"], processes["2"])


def test_processes_share_the_memory_and_jobs_that_are_alone_have_it_all(tmp_path):
    listed = jobs(tmp_path, "echo", "echo", "echo", alone=(0,))
    outcome = run_jobs(listed, Processes(WORK, 2))
    assert [outcome.results[k]["sharing"] for k in "012"] == [1, 2, 2]


def test_a_share_of_the_free_memory_is_at_least_what_work_needs(monkeypatch):
    monkeypatch.setattr(_memory, "_free_memory_within", lambda second: 8 << 30)
    monkeypatch.setattr(_memory, "_num_sharing", 1)
    assert _memory.default_budget() == 4 << 30
    _memory.share_memory(4)
    assert _memory.default_budget() == 1 << 30
    _memory.share_memory(1000)
    assert _memory.default_budget() == _memory.LEAST_BUDGET


def stopped(tmp_path: Path, kinds: list[str], times: int = 1) -> tuple[Outcome, float]:
    """Stops once the first job has begun; the outcome, and how long that took."""
    stop, told = Stop(), []

    def on_progress(progress):
        if "0" in begun(tmp_path) and not told:
            told.append(time.monotonic())
            for _ in range(times):
                stop()

    outcome = run_jobs(
        jobs(tmp_path, *kinds), Processes(WORK, 1), on_progress=on_progress, stop=stop
    )
    return outcome, time.monotonic() - told[0]


def test_told_to_stop_jobs_end_and_nothing_new_begins(tmp_path):
    outcome, _ = stopped(tmp_path, ["wait", "echo"])
    assert [job.key for job in outcome.left] == ["0", "1"]
    assert begun(tmp_path) == {"0": 1} and children() == []


def test_told_twice_jobs_that_hang_are_ended_at_once(tmp_path):
    outcome, _ = stopped(tmp_path, ["hang", "echo"], times=2)
    assert [job.key for job in outcome.left] == ["0", "1"] and children() == []


def test_a_job_that_does_not_stop_is_ended_after_its_grace(tmp_path):
    outcome, _ = stopped(tmp_path, ["hang"])
    assert [job.key for job in outcome.left] == ["0"] and children() == []


PARENT = """
import sys
from pathlib import Path
from substrax.sweeps import Processes, run_jobs
from tests.sweeps.test_schedule import WORK, jobs

run_jobs(jobs(Path(sys.argv[1]), "wait", "hang"), Processes(WORK, 2))
"""


@pytest.mark.slow
def test_a_parent_that_is_killed_leaves_no_children(tmp_path):
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], cwd=ROOT)
    end = time.monotonic() + 60
    while len(begun(tmp_path)) < 2:
        assert time.monotonic() < end
        time.sleep(0.05)
    mark = f"{tmp_path}"  # not in the arguments of workers: they are told apart by time
    text = ["ps", "-eo", "ppid=,pid=,args="]
    lines = subprocess.run(text, capture_output=True, text=True).stdout.splitlines()
    workers = [x.split()[1] for x in lines if x.split()[0] == str(parent.pid)]
    assert len(workers) == 2, mark
    parent.kill()
    parent.wait()
    end = time.monotonic() + 30
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < end, "children of a killed process go on"
        time.sleep(0.1)


def test_no_job_begins_after_the_time_is_up(tmp_path):
    outcome = run_jobs(jobs(tmp_path, "echo"), Processes(WORK, 1), max_seconds=0)
    assert len(outcome.left) == 1 and begun(tmp_path) == {}


def test_any_executor_does_the_jobs(tmp_path):
    with ThreadPoolExecutor(2) as executor:
        outcome = run_jobs(
            jobs(tmp_path, "echo", "fail", "echo"), OnExecutor(WORK, executor)
        )
    assert outcome.results.keys() == {"0", "2"}
    assert "it is broken" in outcome.failures["1"]


def test_an_executor_that_was_shut_down_is_the_end_with_its_sentence(tmp_path):
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(WorkersError, match="cannot schedule new futures after shutdow"):
        run_jobs(jobs(tmp_path, "echo"), OnExecutor(WORK, executor))


def test_jobs_that_their_executor_forgets_are_begun_again(tmp_path, monkeypatch):
    """As Dask's does when its scheduler is another one."""
    executor, lost = ThreadPoolExecutor(2), [Future(), Future()]
    lost[1].set_exception(ConnectionError("the scheduler has gone"))
    workers, left = OnExecutor(WORK, executor), lost.copy()
    submit = workers.crew.submit

    def submit_or_lose(*args):
        return left.pop() if left else submit(*args)

    monkeypatch.setattr(workers.crew, "submit", submit_or_lose)
    monkeypatch.setattr(workers.crew, "is_forgotten", lambda future: future in lost)
    outcome = run_jobs(jobs(tmp_path, "echo", "echo"), workers)
    assert outcome.results.keys() == {"0", "1"} and not outcome.failures and not left
    executor.shutdown()


def test_without_workers_one_waits_and_says_so(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("substrax.sweeps._on_executor._TELL_SECONDS", 0.05)
    with ThreadPoolExecutor(1) as executor:
        workers, come = OnExecutor(WORK, executor), time.monotonic() + 0.7
        is_there = lambda: int(time.monotonic() > come)
        monkeypatch.setattr(workers.crew, "num_workers", is_there)
        assert run_jobs(jobs(tmp_path, "pause"), workers).results
    assert "no worker is there; waiting for one." in caplog.text


def test_an_executor_gets_two_jobs_for_each_worker(tmp_path):
    most = []
    with ThreadPoolExecutor(2) as executor:
        outcome = run_jobs(
            jobs(tmp_path, *["echo"] * 9),
            OnExecutor(WORK, executor),
            on_progress=lambda progress: most.append(len(progress.running)),
        )
    assert len(outcome.results) == 9 and max(most) == 4


def test_an_executor_told_to_stop_begins_nothing_more(tmp_path):
    stop, release = Stop(), threading.Event()
    with ThreadPoolExecutor(1) as executor:
        executor.submit(release.wait)

        def on_progress(progress):
            if progress.running:
                stop()

        workers = OnExecutor(WORK, executor)
        outcome = run_jobs(
            jobs(tmp_path, "echo", "echo"), workers, on_progress=on_progress, stop=stop
        )
        release.set()
    assert len(outcome.left) == 2 and begun(tmp_path) == {}


def test_addresses_of_executors_are_checked():
    with pytest.raises(ValueError, match=r"dask://host:8786"):
        OnExecutor(WORK, "ray://somewhere")


def test_at_least_one_process_is_needed():
    with pytest.raises(ValueError, match="at least 1"):
        Processes(WORK, 0)
