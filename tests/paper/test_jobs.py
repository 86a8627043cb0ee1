"""Runs of a plan in processes: each once, several at a time, after a kill as well."""

import dataclasses
import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paper import jobs
from paper.plan import Task
from substrax.evolution import RunLockedError, lock

ROOT = Path(__file__).parents[2]

run_tasks = functools.partial(jobs.run_tasks, work="tests.paper.small_work:work")


@pytest.fixture(autouse=True)
def found(monkeypatch):
    """Processes find the functions of tests."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def make_task(seed: int, **options) -> Task:
    config = f"seed = {seed}"
    return Task(
        "evolve", config, options, "arm", "all", {"depth": 1}, seed, True, seed == 0
    )


def untimed(seed: int, **options) -> Task:
    return dataclasses.replace(make_task(seed, **options), is_timed=False)


def starts(runs: Path, task: Task) -> list[str]:
    path = runs / task.key / "starts"
    return path.read_text().splitlines() if path.exists() else []


def test_what_is_complete_is_not_run_again(tmp_path):
    tasks = [make_task(seed) for seed in range(3)]
    runs = tmp_path / "runs"
    first, outcome = (run_tasks(tasks, runs, jobs=2) for _ in range(2))
    assert first.results.keys() == {task.key for task in tasks}
    assert first == outcome and not outcome.failures
    assert [len(starts(runs, task)) for task in tasks] == [1, 1, 1]
    assert outcome.results[tasks[0].key]["is_cold"]
    assert not outcome.results[tasks[1].key]["is_cold"]


def test_a_failed_run_is_named_and_tried_again(tmp_path):
    tasks = [make_task(0, fails=True), make_task(1)]
    runs = tmp_path / "runs"
    for number in (1, 2):
        outcome = run_tasks(tasks, runs, jobs=1)
        assert list(outcome.results) == [tasks[1].key]
        message = outcome.failures[tasks[0].key]
        assert "arm: depth 1, seed 0: it was asked for" in message
        assert len(starts(runs, tasks[0])) == number


def test_progress_is_told_with_an_estimate(tmp_path):
    seen = []
    tasks = [make_task(seed) for seed in range(2)]
    tell = lambda p: seen.append((p.num_done, p.num_reused, p.seconds_left))
    run_tasks(tasks, tmp_path / "runs", jobs=1, on_progress=tell)
    assert list(dict.fromkeys(seen)) == [(0, 0, None), (1, 0, 1.0), (2, 0, 0.0)]
    run_tasks(tasks, tmp_path / "runs", jobs=1, on_progress=tell)
    assert seen[-1] == (2, 2, 0.0)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_after_a_kill_the_rest_is_run(tmp_path):
    runs = tmp_path / "runs"
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.paper.test_jobs import make_task, run_tasks\n"
        "tasks = [make_task(s, seconds=60 * s) for s in range(2)]\n"
        "run_tasks(tasks, Path(sys.argv[1]), jobs=1)"
    )
    tasks = [make_task(s, seconds=60 * s) for s in range(2)]
    process = subprocess.Popen([sys.executable, "-c", code, str(runs)], cwd=ROOT)
    while not starts(runs, tasks[1]):
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (worker,) = starts(runs, tasks[1])
    end = time.monotonic() + 30
    while Path(f"/proc/{worker}").exists():  # it notices, and ends
        assert time.monotonic() < end
        time.sleep(0.05)
    assert json.loads((runs / tasks[0].key / "result.json").read_text())
    quick = [dataclasses.replace(task, options=task.options) for task in tasks]
    outcome = run_tasks(quick, runs, jobs=1, max_seconds=0)
    assert list(outcome.results) == [tasks[0].key]


def test_no_jobs_is_a_mistake(tmp_path):
    with pytest.raises(ValueError, match="jobs is 0"):
        run_tasks([], tmp_path, jobs=0)


def test_timed_runs_come_last_and_one_by_one_with_all_cores(tmp_path):
    timed = [make_task(seed, seconds=0.3) for seed in (0, 1)]
    others = [untimed(seed) for seed in (2, 3, 4)]
    seen = []
    outcome = run_tasks(
        [*timed, *others],
        tmp_path / "runs",
        jobs=2,
        on_progress=lambda p: seen.append((p.num_done, [j.key for j in p.running])),
    )
    if hasattr(os, "sched_getaffinity"):
        every = sorted(os.sched_getaffinity(0))
        assert all(outcome.results[task.key]["cores"] == every for task in timed)
    keys = {task.key for task in timed}
    assert all(len(running) == 1 for _, running in seen if keys & set(running))
    assert all(done >= len(others) for done, running in seen if keys & set(running))
    processes = [starts(tmp_path / "runs", task)[0] for task in timed]
    assert processes[0] != processes[1]


def test_timed_runs_can_be_left_for_a_quiet_hour(tmp_path):
    tasks = [make_task(0), untimed(1)]
    runs = tmp_path / "runs"
    first = run_tasks(tasks, runs, jobs=1, with_timed=False)
    assert list(first.results) == [tasks[1].key]
    assert len(run_tasks(tasks, runs, jobs=1).results) == 2


def test_no_run_starts_after_the_time_is_over(tmp_path):
    tasks = [make_task(seed) for seed in range(2)]
    outcome = run_tasks(tasks, tmp_path / "runs", jobs=1, max_seconds=0.0)
    assert not outcome.results and not outcome.failures
    slow = [untimed(seed, seconds=1.0) for seed in range(3)]
    outcome = run_tasks(slow, tmp_path / "slow", jobs=1, max_seconds=0.5)
    assert len(outcome.results) == 1 and not outcome.failures


def test_runs_that_are_not_timed_share_a_process(tmp_path):
    tasks = [untimed(seed) for seed in range(4)]
    runs = tmp_path / "runs"
    assert len(run_tasks(tasks, runs, jobs=1).results) == 4
    assert len({starts(runs, task)[0] for task in tasks}) == 1


def test_one_that_fails_stops_none_of_its_process(tmp_path):
    tasks = [untimed(0), untimed(1, fails=True), untimed(2), untimed(3)]
    outcome = run_tasks(tasks, tmp_path / "runs", jobs=1)
    assert outcome.results.keys() == {tasks[k].key for k in (0, 2, 3)}
    assert "seed 1: it was asked for" in outcome.failures[tasks[1].key]


def test_one_command_at_a_time_uses_a_folder(tmp_path):
    runs = tmp_path / "runs"
    runs.mkdir()
    with lock(runs / ".lock"):
        with pytest.raises(RunLockedError, match=r"in use by process \d+"):
            run_tasks([make_task(0)], runs, jobs=1)
        # what is complete can be looked at meanwhile
        run_tasks([make_task(0)], runs, jobs=1, max_seconds=0.0)
    assert run_tasks([make_task(0)], runs, jobs=1).results


def test_the_keys_of_runs_are_what_they_were():
    """Results that are kept are found by them."""
    task = Task("evolve", "seed = 3\n", {}, "arm", "all", {"depth": 1}, 3, False)
    assert task.key == "1c607dccb3e57f6e4614"
    assert dataclasses.replace(task, is_timed=True).key != task.key
