"""Workers from the front door and the command line."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import substrax as sx
from substrax.cli import main
from substrax.config import load_experiment, load_run
from tests.evolution.support import timeless
from tests.workers.support import is_alive, wait_until_gone

SMALL = {"population": 24, "generations": 3, "method": "neat", "target": 9.0}
SCRIPT = """
import jax.numpy as jnp
import numpy as np
import substrax as sx

def simulate(networks, key):
    print("simulating", flush=True)
    return networks.link_weight.sum() * 0 - np.abs(networks.num_links - 7.0)

def fitness(network):
    x = jnp.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    return 1 - jnp.mean((network(x)[:, 0] - jnp.array([0.0, 1.0, 1.0, 0.0])) ** 2)

problem = sx.HostProblem(simulate, sx.Layout.spread(2, 1))
options = dict(method="neat", population=24, generations=3, progress=False)
for one in (problem, sx.FunctionProblem(fitness, sx.Layout.spread(2, 1), block_size=8)):
    alone = sx.evolve(one, **options)
    shared = sx.evolve(one, executor="processes:2", **options)
    assert alone.best_fitness == shared.best_fitness
    means = [[r.mean_fitness for r in run.history] for run in (alone, shared)]
    assert means[0] == means[1], means
print("the same")
"""


def test_a_program_without_a_guard_shares_what_it_defines(tmp_path: Path) -> None:
    """Its workers read the file for its functions, and do not run it again."""
    script = tmp_path / "mine.py"
    script.write_text(SCRIPT)
    found = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.endswith("the same\n")
    assert "simulating" in found.stderr  # where workers print


GUARDED = """
from substrax.config._own import named
import substrax as sx

if __name__ == "__main__":
    from mine import problem
    below = sx.HostProblem(len, sx.Layout.spread(2, 1))
    print(named(problem)[0])
"""


def test_what_a_program_imports_or_makes_below_its_guard(tmp_path: Path) -> None:
    """A worker finds what was imported there; what was made there is told."""
    (tmp_path / "mine.py").write_text(
        "import substrax as sx\n"
        "def links(networks):\n    return networks.num_links\n"
        "problem = sx.HostProblem(links, sx.Layout.spread(2, 1))\n"
    )
    script = tmp_path / "program.py"
    script.write_text(GUARDED)
    found = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120
    )
    assert found.stdout == "mine:problem\n", found.stderr
    guard = r"Names defined below `if __name__ == .* cannot be imported; move"
    with pytest.raises(ValueError, match=rf"no below in .*program\.py.*{guard}"):
        sx.evolve(f"{script}:below", directory=tmp_path / "run")
    with pytest.raises(ValueError, match=r"no nothing in .*program\.py\.$"):
        sx.evolve(f"{script}:nothing", directory=tmp_path / "run")


@pytest.mark.parametrize("problem", ["xor", "cartpole", "data"])
def test_experiments_and_data_are_the_same_with_workers(problem: str) -> None:
    given, settings = problem, dict(SMALL)
    if problem == "cartpole":
        settings |= {"num_episodes": 2, "max_steps": 40}
    if problem == "data":
        rng = np.random.default_rng(0)
        x = rng.normal(size=(40, 3))
        given = (x, x[:, 0] * x[:, 1])
        settings["samples_per_generation"] = 20
    alone = sx.evolve(given, progress=False, **settings)
    with ThreadPoolExecutor(2) as executor:
        shared = sx.evolve(given, progress=False, executor=executor, **settings)
    assert timeless(alone.history) == timeless(shared.history)
    assert np.array_equal(
        alone.best.network.link_weight, shared.best.network.link_weight
    )


@pytest.mark.slow
def test_engine_device_is_the_same_with_workers() -> None:
    settings = SMALL | {"method": "emr", "depth": 1, "engine": "device"}
    alone = sx.evolve("xor", progress=False, **settings)
    with ThreadPoolExecutor(2) as executor:
        shared = sx.evolve("xor", progress=False, executor=executor, **settings)
    assert timeless(alone.history) == timeless(shared.history)


def test_a_name_is_kept_as_a_setting_and_may_change(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    with ThreadPoolExecutor(2) as executor:
        sx.evolve(
            "xor", directory=directory, progress=False, executor=executor, **SMALL
        )
        assert load_run(directory)[0].run.executor is None
        sx.resume(directory, generations=4, executor=executor, progress=False)
    experiment = load_experiment("xor").with_settings({"executor": "processes:2"})
    assert experiment.run.executor == "processes:2"
    assert experiment.with_settings({"executor": "none"}).run.executor is None
    experiment.check_continues(load_experiment("xor"))
    alone = sx.evolve("xor", progress=False, **{**SMALL, "generations": 4})
    again = sx.resume(directory, progress=False)
    assert timeless(again.history) == timeless(alone.history)


def test_what_exists_in_one_program_only_is_refused_before_anything_is_made(
    tmp_path: Path,
) -> None:
    fitness = lambda network: 0.0
    place = tmp_path / "run"
    with ThreadPoolExecutor(1) as executor:
        for given in (executor, "processes:2"):
            with pytest.raises(
                ValueError, match=r"exists only in this program.*a file"
            ):
                sx.evolve(fitness, inputs=2, outputs=1, executor=given, directory=place)
    with pytest.raises(ValueError, match=r"\[run\] executor is 'process:2'"):
        sx.evolve("xor", executor="process:2", directory=place)
    assert not place.exists()


def test_blocks_of_a_function_are_a_setting() -> None:
    from .own import fitness

    run = sx.evolve(fitness, inputs=2, outputs=1, block_size=8, progress=False, **SMALL)
    assert run.experiment.problem.block_size == 8
    assert run.experiment.values["problem.block_size"] == 8


def test_dask_is_asked_for_by_its_extra(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    words = ["run", "xor", "--executor", "dask://127.0.0.1:1", "--out"]
    assert main([*words, str(tmp_path / "run")]) == 1
    assert "pip install 'substrax[dask]'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def start(*words: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "substrax.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"SUBSTRAX_CACHE": "off"},
    )


def children_of(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in path.read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks by /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_ended_leaves_no_process_behind(tmp_path, number) -> None:
    words = ["run", "xor", "--generations", "100000", "--target", "9", "--json"]
    words += ["--population", "60", "--executor", "processes:2", "--out"]
    process = start(*words, str(tmp_path / "run"))
    assert process.stdout is not None
    for _ in range(3):
        line = process.stdout.readline()
        assert line, process.communicate()[1]
    tasks = Path(f"/proc/{process.pid}/task")
    workers = [
        int(pid)
        for task in tasks.iterdir()
        for pid in (task / "children").read_text().split()
    ]
    assert workers and all(map(is_alive, workers))
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == (-9 if number == signal.SIGKILL else 128 + number)
    wait_until_gone(workers)
    if number != signal.SIGKILL:
        facts = json.loads((tmp_path / "run" / "run.json").read_text())
        assert facts["stopped"] == "interrupted", errors
    assert sx.load(tmp_path / "run") is not None
