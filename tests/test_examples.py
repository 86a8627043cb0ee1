"""Every example runs, and does what it says."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_tested():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {"xor_neat"}


def test_xor_example_reports_an_unsolved_run_as_such(capsys):
    example = load("xor_neat")
    assert not example.main(seed=0, population_size=20, max_generations=2)
    printed = capsys.readouterr().out
    assert "Not solved" in printed
    assert "a  b   XOR   network" in printed


@pytest.mark.slow
def test_xor_example_solves_xor(capsys):
    example = load("xor_neat")
    assert example.main(seed=0, population_size=500, max_generations=300)
    printed = capsys.readouterr().out
    assert "Solved at generation" in printed
    assert "hidden" in printed.partition("The network:")[2]
