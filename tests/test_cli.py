"""The command line as a person meets it."""

import copy
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from substrax._extra import TRACKER_LIBRARIES
from substrax.cli import main
from substrax.cli._flags import take_settings
from substrax.cli._main import _parser
from substrax.settings import tables

VECTORS = Path(__file__).parent / "data" / "pureples.json"


@pytest.fixture(scope="module")
def cases():
    """Few cases: small, with links, one of them on coordinates inside the plane."""
    every = json.loads(VECTORS.read_text())["cases"]
    small = [c for c in every if 0 < len(c["connections"]) < 40]
    inside = [c for c in small if c["substrate"] == "inside"]
    elsewhere = [c for c in small if c["substrate"] != "inside"]
    return [*elsewhere[:2], inside[0]]


@pytest.fixture
def write(tmp_path):
    def write(cases) -> str:
        path = tmp_path / "vectors.json"
        path.write_text(json.dumps({"cases": cases}))
        return str(path)

    return write


@pytest.mark.parametrize("strategy", ["auto", "eager", "frontier"])
def test_verify_counts_matching_cases(cases, write, capsys, strategy):
    assert main(["verify", write(cases), "--strategy", strategy]) == 0
    assert "3 of 3 cases match" in capsys.readouterr().out


def test_verify_says_which_case_differs_and_how(cases, write, capsys):
    changed = copy.deepcopy(cases)
    del changed[1]["connections"][0]
    changed[2]["connections"][0][4] += 0.5
    assert main(["verify", write(changed)]) == 1
    out = capsys.readouterr().out
    assert f"case {changed[1]['case']}: 1 links too many" in out
    assert f"case {changed[2]['case']}: a weight differs by 0.5" in out
    assert "1 of 3 cases match" in out


def test_verify_sees_wrong_settled_outputs(cases, write, capsys):
    changed = copy.deepcopy([c for c in cases if c["settle_outputs"]][:1])
    changed[0]["settle_outputs"][0][0] += 0.25
    assert main(["verify", write(changed)]) == 1
    assert "a settled output differs by 0.25" in capsys.readouterr().out


def test_verify_takes_a_nan_for_a_difference(cases, write, capsys):
    with_outputs = [c for c in cases if c["settle_outputs"] and c["connections"]][:1]
    for place in ("connections", "settle_outputs"):
        changed = copy.deepcopy(with_outputs)
        changed[0][place][0][-1] = float("nan")
        assert main(["verify", write(changed)]) == 1
        assert "differs by nan" in capsys.readouterr().out


def test_verify_names_what_is_wrong_with_a_case(cases, write, capsys):
    for change, message in (
        ({"settle_outputs": [[0.0]]}, "settle_outputs has the shape"),
        ({"hidden": None}, "case xor-3 of"),
        ({"hidden": [["1", "2"]]}, "hidden must be rows of numbers"),
        ({"connections": [[1, 2, 3]]}, "connections must be rows of 5 numbers"),
        ({"cppn": {"nodes": 3}}, "case xor-3 of"),
        ({"params": []}, "case xor-3 of"),
    ):
        changed = copy.deepcopy([c for c in cases if c["settle_outputs"]][:1])
        changed[0].update(change, case="xor-3")
        assert main(["verify", write(changed)]) == 2
        assert message in capsys.readouterr().err


def test_verify_prints_json(cases, write, capsys):
    assert main(["verify", write(cases[:1]), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == {"cases": 1, "matching": 1, "different": {}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no json", "is not JSON"),
        ("[]", "is no vector file"),
        ("[" * 100_000, "is nested too deeply"),
        ('{"cases": [3]}', "case 0 .* is 3, but must be a table"),
        ('{"cases": []}', "is no vector file"),
        ('{"cases": [{"case": 7}]}', "case 7 .* incomplete: 'params' is missing"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path, capsys, content, message):
    path = tmp_path / "broken.json"
    path.write_text(content)
    assert main(["verify", str(path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("substrax: ")
    assert re.search(message, error)


def test_a_missing_file_is_named(capsys):
    assert main(["verify", "nowhere.json"]) == 2
    assert "cannot read nowhere.json" in capsys.readouterr().err


def test_an_unknown_activation_in_a_case_gets_a_suggestion(cases, write, capsys):
    changed = copy.deepcopy(cases[:1])
    changed[0]["cppn"]["nodes"][0]["activation"] = "tanhh"
    assert main(["verify", write(changed)]) == 2
    assert "did you mean 'tanh'" in capsys.readouterr().err


def answer(words: list[str], folder: Path) -> tuple[int, str, str, set[str]]:
    """Status, what is said by a new process in a folder, and the modules it needed."""
    program = (
        "import sys; from substrax.cli import main\n"
        "sys.modules['wandb'] = None\n"  # as if it were not installed
        "try:\n    status = main(sys.argv[1:])\n"
        "except SystemExit as end:\n    status = end.code\n"
        "print()\nprint(status, *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    *said, last = done.stdout.splitlines()
    status, *modules = last.split()
    return int(status), "\n".join(said), done.stderr, set(modules)


MINE = """
import nowhere
problem = nowhere.Problem(3)
first, number = 1, 2
def fitness(network): ...
def _helper(): ...
class Maze(nowhere.Problem): ...
def main(): ...
"""


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("run xorr", 2, "there is no experiment 'xorr' (did you mean 'xor'?)"),
        ("resume nowhere", 2, "nowhere does not exist."),
        ("resume nowhere --generations 3", 2, "nowhere does not exist."),
        ("run mine.py", 2, "as mine.py:NAME; NAME may be problem, fitness, Maze."),
        ("list mine.py", 2, "as mine.py:NAME; NAME may be problem, fitness, Maze."),
        ("run broken.py", 2, "as broken.py:NAME."),
        ("run xor --track wandbb", 2, "no tracker 'wandbb' (did you mean 'wandb'?)"),
        ("run xor --track tensorboard --track tensorboard", 2, "given twice"),
        ("run xor --track wandb", 1, "pip install 'substrax[wandb]'"),
        ("run xor --populatoin 3", 2, "did you mean 'population'"),
        ("run xor --out", 2, "argument --out: expected one argument"),
    ],
)
def test_what_is_wrong_is_told_before_jax_is_imported(words, status, said, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "broken.py").write_text("def fitness(")
    found, _, error, modules = answer(words.split(), tmp_path)
    assert found == status
    assert said in " ".join(error.split())
    assert "jax" not in modules


def test_a_misspelt_experiment_is_told_before_numpy_is_imported(tmp_path):
    assert "numpy" not in answer(["run", "xorr"], tmp_path)[3]


def test_help_follows_from_the_settings_and_does_not_wait_for_jax(tmp_path):
    status, said, _, modules = answer(["run", "--help"], tmp_path)
    assert status == 0 and "jax" not in modules
    known = tables()
    assert f"--method NAME         {', '.join(known.methods)}\n" in said
    assert f"{', '.join(known.connections)} (emr)" in said
    assert "depth of the grid (es, emr)" in said
    assert "file.py:name" in said
    assert all(name in said for name in TRACKER_LIBRARIES)
    status, said, _, modules = answer(["resume", "--help"], tmp_path)
    assert status == 0 and "jax" not in modules
    for name in (*(k for k in known.run if k != "run.seed"), "method.strategy"):
        assert f"--{name.rpartition('.')[2]}" in said
    assert "--seed " not in said


def test_flags_with_and_without_values_are_those_of_the_parser():
    _, flags = _parser()
    assert {name for name, takes_value in flags.items() if takes_value} == {
        "--out",
        "--seeds",
        "--track",
    }
    assert {"--help", "-h", "--json", "--quiet", "--report"} <= flags.keys()
    words = ["run", "xor", "--out", "--x", "--depth", "3", "--quiet", "--track=wandb"]
    assert take_settings(words, flags) == (
        ["run", "xor", "--out", "--x", "--quiet", "--track=wandb"],
        {"depth": "3"},
    )
