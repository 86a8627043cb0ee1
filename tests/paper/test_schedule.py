"""Runs in processes: each once, several at a time, after a kill as well.

The workers here are small scripts, so that nothing is compiled.
"""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paper.plan import Task
from paper.schedule import run_tasks
from substrax.evolution import RunLockedError, lock

WORKER = """
import json, os, sys, time
from pathlib import Path
for folder in [Path(word) for word in sys.argv[1:] if "/" in word]:
    if not (folder / "task.json").exists():
        continue
    task = json.loads((folder / "task.json").read_text())
    with open(folder / "starts", "a") as file:
        file.write(f"{os.getpid()}\\n")
    if task["options"].get("fails"):
        sys.exit("ValueError: it was asked for")
    time.sleep(task["options"].get("seconds", 0))
    result = {"process_seconds": 1.0, "words": sys.argv[2:]}
    (folder / "result.json").write_text(json.dumps(result))
"""


def make_task(seed: int, **options) -> Task:
    config = f"seed = {seed}"
    return Task(
        "evolve", config, options, "arm", "all", {"depth": 1}, seed, True, seed == 0
    )


@pytest.fixture
def command(tmp_path):
    path = tmp_path / "worker.py"
    path.write_text(WORKER)
    return [sys.executable, str(path)]


def starts(runs: Path, task: Task) -> int:
    path = runs / task.key / "starts"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_what_is_complete_is_not_run_again(tmp_path, command):
    tasks = [make_task(seed) for seed in range(3)]
    runs = tmp_path / "runs"
    first, outcome = (run_tasks(tasks, runs, command=command, jobs=2) for _ in range(2))
    assert first.results.keys() == {task.key for task in tasks}
    assert first == outcome and not outcome.failures
    assert [starts(runs, task) for task in tasks] == [1, 1, 1]
    assert "--no-cache" in outcome.results[tasks[0].key]["words"]
    assert "--no-cache" not in outcome.results[tasks[1].key]["words"]


def test_a_failed_run_is_named_and_tried_again(tmp_path, command):
    tasks = [make_task(0, fails=True), make_task(1)]
    runs = tmp_path / "runs"
    for number in (1, 2):
        outcome = run_tasks(tasks, runs, command=command, jobs=1)
        assert list(outcome.results) == [tasks[1].key]
        message = outcome.failures[tasks[0].key]
        assert "arm: depth 1, seed 0: ValueError: it was asked for" in message
        assert starts(runs, tasks[0]) == number


def test_progress_is_told_with_an_estimate(tmp_path, command):
    seen = []
    tasks = [make_task(seed) for seed in range(2)]
    run_tasks(
        tasks, tmp_path / "runs", command=command, jobs=1, on_progress=seen.append
    )
    assert list(dict.fromkeys(p.done for p in seen)) == [0, 1, 2]
    assert list(dict.fromkeys(p.seconds_left for p in seen)) == [None, 1.0, 0.0]
    assert "seed 0" in seen[0].running[0]
    run_tasks(
        tasks, tmp_path / "runs", command=command, jobs=1, on_progress=seen.append
    )
    assert (seen[-1].done, seen[-1].reused) == (2, 2)


def test_several_run_at_a_time(tmp_path, command):
    tasks = [
        dataclasses.replace(make_task(seed, seconds=1.0), is_timed=False)
        for seed in range(2)
    ]
    began = time.perf_counter()
    run_tasks(tasks, tmp_path / "a", command=command, jobs=2)
    together = time.perf_counter() - began
    assert together < 2.0


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_after_a_kill_the_rest_is_run(tmp_path, command):
    runs = tmp_path / "runs"
    code = (
        "import sys, json; from pathlib import Path\n"
        "from paper.schedule import run_tasks\n"
        "from paper.plan import Task\n"
        "tasks = [Task('evolve', f'seed = {s}', {'seconds': 60 * s}, 'arm', 'all',"
        " {'depth': 1}, s, True, s == 0) for s in range(2)]\n"
        "run_tasks(tasks, Path(sys.argv[1]), command=sys.argv[2:], jobs=1)"
    )
    tasks = [make_task(s, seconds=60 * s) for s in range(2)]
    process = subprocess.Popen([sys.executable, "-c", code, str(runs), *command])
    while not starts(runs, tasks[1]):
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    worker = int((runs / tasks[1].key / "starts").read_text())
    os.kill(worker, signal.SIGKILL)
    assert json.loads((runs / tasks[0].key / "result.json").read_text())
    (tmp_path / "worker.py").write_text(WORKER.replace("time.sleep", "abs"))
    outcome = run_tasks(tasks, runs, command=command, jobs=1)
    assert len(outcome.results) == 2
    assert [starts(runs, task) for task in tasks] == [1, 2]


def test_no_jobs_is_a_mistake(tmp_path, command):
    with pytest.raises(ValueError, match="jobs is 0"):
        run_tasks([], tmp_path, command=command, jobs=0)


def test_timed_runs_come_last_and_one_by_one_with_all_cores(tmp_path, command):
    timed = [make_task(seed, seconds=0.3) for seed in (0, 1)]
    others = [
        dataclasses.replace(make_task(seed), is_timed=False) for seed in (2, 3, 4)
    ]
    seen = []
    outcome = run_tasks(
        [*timed, *others],
        tmp_path / "runs",
        command=command,
        jobs=2,
        on_progress=seen.append,
    )
    words = {k: outcome.results[k]["words"] for k in outcome.results}
    assert all("--cores" not in words[task.key] for task in timed)
    assert all(len(p.running) <= 1 for p in seen if p.done >= len(others))


def test_timed_runs_can_be_left_for_a_quiet_hour(tmp_path, command):
    tasks = [make_task(0), dataclasses.replace(make_task(1), is_timed=False)]
    runs = tmp_path / "runs"
    first = run_tasks(tasks, runs, command=command, jobs=1, with_timed=False)
    assert list(first.results) == [tasks[1].key]
    assert len(run_tasks(tasks, runs, command=command, jobs=1).results) == 2


def test_no_run_starts_after_the_time_is_over(tmp_path, command):
    tasks = [make_task(seed) for seed in range(2)]
    outcome = run_tasks(
        tasks, tmp_path / "runs", command=command, jobs=1, max_seconds=0.0
    )
    assert not outcome.results and not outcome.failures


def untimed(seed: int, **options) -> Task:
    return dataclasses.replace(make_task(seed, **options), is_timed=False)


def test_runs_that_are_not_timed_share_a_process(tmp_path, command):
    tasks = [untimed(seed) for seed in range(4)]
    runs = tmp_path / "runs"
    outcome = run_tasks(tasks, runs, command=command, jobs=2)
    assert len(outcome.results) == 4
    processes = {(runs / task.key / "starts").read_text() for task in tasks}
    assert len(processes) == 2


def test_one_that_fails_stops_none_of_its_process(tmp_path, command):
    tasks = [untimed(0), untimed(1, fails=True), untimed(2), untimed(3)]
    outcome = run_tasks(tasks, tmp_path / "runs", command=command, jobs=1)
    assert outcome.results.keys() == {tasks[k].key for k in (0, 2, 3)}
    assert "seed 1: ValueError" in outcome.failures[tasks[1].key]


def test_a_process_ends_after_the_run_that_it_is_at_when_time_is_over(
    tmp_path, command
):
    tasks = [untimed(seed, seconds=1.0) for seed in range(3)]
    outcome = run_tasks(
        tasks, tmp_path / "runs", command=command, jobs=1, max_seconds=0.5
    )
    assert len(outcome.results) == 1
    assert "seed 1" not in str(outcome.failures)


def test_one_command_at_a_time_uses_a_folder(tmp_path, command):
    runs = tmp_path / "runs"
    runs.mkdir()
    with lock(runs / ".lock"):
        with pytest.raises(RunLockedError, match=r"in use by process \d+"):
            run_tasks([make_task(0)], runs, command=command, jobs=1)
        # what is complete can be looked at meanwhile
        run_tasks([make_task(0)], runs, command=command, jobs=1, max_seconds=0.0)
    assert run_tasks([make_task(0)], runs, command=command, jobs=1).results
