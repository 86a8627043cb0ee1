"""Every example and every piece of Python in the documents runs.

They all build the same NEAT (population 150, the same capacities), and run in one
worker, so that it is compiled once.
"""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


QUICK = {
    "hyperneat_substrate": {"population_size": 150, "generations": 2},
    "import_neat_python": {"population_size": 150, "generations": 2},
    "own_dataset": {"population_size": 150, "generations": 2},
    "own_host_fitness": {"population_size": 150, "generations": 2},
    "own_jax_fitness": {"population_size": 150, "generations": 2},
    "recurrent_cartpole": {"population_size": 150, "generations": 2},
    "xor_emr": {"population_size": 150, "generations": 2},
}
"""Examples whose `main` is run for a moment, with these settings."""


def test_every_example_is_tested():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {"xor_neat", *QUICK}


# Each compiles NEAT for sizes of its own.
QUICK_ENOUGH = {"xor_emr"}
SLOW_DOCUMENTS = {
    "index.md",
    "running.md",
    "problems.md",
    "report.md",
    "neat.md",
    "decoders.md",
}


def marks(is_slow: bool) -> list[pytest.MarkDecorator]:
    return [pytest.mark.slow] if is_slow else []


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=marks(name not in QUICK_ENOUGH)) for name in QUICK],
)
def test_example_runs_and_tells_what_it_found(name, capsys):
    load(name).main(seed=0, **QUICK[name])
    printed = capsys.readouterr().out
    assert "generation   1" in printed
    assert "hidden node" in printed


@pytest.mark.slow
def test_xor_example_reports_an_unsolved_run_as_such(capsys):
    example = load("xor_neat")
    assert not example.main(seed=0, population_size=150, max_generations=2)
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


def python_blocks(document: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", document.read_text(), re.S | re.M)


# tests/trackers runs the page on tracking, in a folder of its own
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DOCUMENTS.remove(ROOT / "docs" / "tracking.md")


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(document, marks=marks(document.name in SLOW_DOCUMENTS))
        for document in DOCUMENTS
        if python_blocks(document)
    ],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_python_in_documents_runs(document, capsys):
    """The blocks of one document are one program, run from top to bottom."""
    exec(compile("\n".join(python_blocks(document)), str(document), "exec"), {})
    capsys.readouterr()
