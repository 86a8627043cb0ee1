"""Runs that programs begin, and others continue: problems are found by their files."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import pytest

import substrax as sx
from substrax.cli import main
from substrax.problems import AbstractProblem
from substrax.substrate import Layout

SMALL = "method='neat', population=16, generations=2, max_nodes=16, max_links=32"

FITNESS = """
import jax.numpy as jnp
import substrax as sx

def fitness(network):
    return -jnp.abs(network(jnp.ones((1, 2))) - 0.3).sum()
"""

HOST = """
import numpy as np
import substrax as sx
from substrax.network import evaluate

def fitness(networks, key):
    rows = np.ones((1, 2), np.float32)
    return -np.abs(evaluate(networks, rows)[:, 0, 0] - 0.3)

problem = sx.HostProblem(fitness, sx.Layout.spread(2, 1))
"""

PROGRAMS = {
    "guarded": FITNESS
    + f"""
if __name__ == "__main__":
    sx.evolve(fitness, inputs=2, outputs=1, directory="run", {SMALL})
""",
    "not guarded": FITNESS
    + f"""
try:
    sx.evolve(fitness, inputs=2, outputs=1, directory="run", {SMALL})
except Exception as error:
    raise SystemExit(str(error))
""",
    "an object": HOST + f"sx.evolve(problem, directory='run', {SMALL})",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_run_of_a_program_is_continued_by_the_command_line(
    tmp_path, monkeypatch, capsys, program: str
):
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(program)
    subprocess.run([sys.executable, "program.py"], check=True, capture_output=True)
    assert main(["resume", "run", "--generations", "4", "--quiet"]) == 0
    assert main(["report", "run"]) == 0
    assert sx.resume("run", generations=5).generations == 5
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("method", ["neat", "hyperneat", "es", "emr"])
def test_a_fitness_in_a_file_is_run_with_its_sizes(tmp_path, capsys, method: str):
    file = tmp_path / "fit.py"
    file.write_text(FITNESS)
    flags = ["--inputs", "2", "--outputs", "1", "--generations", "1"]
    flags += ["--population", "10", "--method", method, "--quiet"]
    command = ["run", f"{file}:fitness", *flags, "--out", str(tmp_path / "run")]
    assert main(command) == 0, capsys.readouterr().err


def test_a_fitness_goes_on_where_it_was_made(tmp_path):
    near: Any = lambda network: -jnp.abs(network(jnp.ones((1, 2)))).sum()
    sizes: dict[str, Any] = {"inputs": 2, "outputs": 1}
    small: dict[str, Any] = {
        "method": "neat",
        "population": 16,
        "max_nodes": 16,
        "max_links": 32,
    }
    sx.evolve(near, directory=tmp_path / "run", generations=1, **sizes, **small)
    more = sx.resume(tmp_path / "run", problem=near, **sizes, generations=2)
    assert more.generations == 2


def test_a_problem_need_not_suggest_anything():
    class Plain(AbstractProblem):
        name = "plain"
        target = 0.0
        layout = Layout.spread(1, 1)

        def fitness(self, networks, *, key, resources=None):
            return -networks.num_links.astype(float)

        def measures(self, network):
            return {}

    run = sx.evolve(Plain(), method="neat", population=8, generations=1)
    assert run.generations == 1


def test_code_that_has_changed_is_told(tmp_path, monkeypatch, caplog, capsys):
    """A fault may have been mended, so a run goes on; but not without a word."""
    monkeypatch.chdir(tmp_path)
    file = Path("program.py")
    file.write_text(PROGRAMS["guarded"])
    subprocess.run([sys.executable, "program.py"], check=True, capture_output=True)
    file.write_text(PROGRAMS["guarded"].replace("def fitness", "# a word\ndef fitness"))
    _resume_elsewhere(3)
    assert "code" not in capsys.readouterr().out
    file.write_text(PROGRAMS["guarded"].replace("0.3", "0.4"))
    said = _resume_elsewhere(4)
    assert "the code of fitness is not what it was" in said
    assert main(["show", "run"]) == 0
    assert "changed before generation 3" in capsys.readouterr().out


def _resume_elsewhere(generations: int) -> str:
    """In another process, which reads the file anew."""
    words = ["-m", "substrax.cli", "resume", "run", "--generations", str(generations)]
    done = subprocess.run(
        [sys.executable, *words], check=True, capture_output=True, text=True
    )
    return done.stderr


BOOM = "def boom(network):\n    "
FAULTS = {
    "return undefined": "boom, in bad.py, line 2, failed: NameError",
    "return 1 +": "bad.py, line 2, failed: SyntaxError",
    "raise ValueError('mine')": "mine (raised in boom, in bad.py",
    "pass": "gave nothing (None)",
    "return network([[1.0]])": "boom, in bad.py, line 2, failed",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_own_code_are_told_as_such(tmp_path, capsys, fault: str):
    """And a run that failed before its first generation was over stands in no way."""
    file, run = tmp_path / "bad.py", str(tmp_path / "run")
    file.write_text(BOOM + fault)
    flags = ["--inputs", "2", "--generations", "1", "--population", "10"]
    command = ["run", f"{file}:boom", *flags, "--method", "neat", "--out", run]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert FAULTS[fault] in said
    assert "Please report" not in said
    file.write_text(FITNESS.replace("fitness", "mended"))
    command[1] = f"{file}:mended"
    again = [sys.executable, "-m", "substrax.cli", *command]  # which reads it anew
    subprocess.run(again, check=True, capture_output=True)
    assert b"already holds a run" in subprocess.run(again, capture_output=True).stderr


def test_a_file_finds_what_lies_beside_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside_it.py").write_text("WANTED = 0.3")
    file = tmp_path / "mine.py"
    file.write_text(FITNESS.replace("0.3", "WANTED") + "from beside_it import WANTED\n")
    monkeypatch.chdir(tmp_path)
    flags = ["--inputs", "2", "--generations", "1", "--population", "10"]
    assert main(["run", f"{file}:fitness", *flags, "--method", "neat"]) == 0
    assert "directory: runs/mine-fitness-seed0" in capsys.readouterr().out


def test_a_run_without_any_number_says_so(tmp_path, capsys):
    file = tmp_path / "nothing.py"
    file.write_text("def fitness(network):\n    return float('nan')")
    flags = ["--inputs", "2", "--generations", "1", "--population", "10"]
    out = ["--out", str(tmp_path / "run")]
    assert main(["run", f"{file}:fitness", *flags, "--method", "neat", *out]) == 0
    assert "every fitness was NaN or infinite" in capsys.readouterr().out
