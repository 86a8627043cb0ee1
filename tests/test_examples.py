"""Every example and every piece of Python in the documents runs.

They all build the same NEAT (population 150, the same capacities), and run in one
worker, so that it is compiled once.
"""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.pages import PAGES, python_of
from tests.trackers.conftest import stay_here as stay_here

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_example_runs_and_tells_what_it_found(name, capsys):
    load(name).main(seed=0, population=150, generations=2)
    printed = capsys.readouterr().out
    assert re.search(r"generation +(0|best)", printed)
    assert "hidden node" in printed


@pytest.mark.slow
def test_the_loop_by_hand_solves_xor():
    assert load("ask_and_tell").main(seed=0, population=500, generations=300) > 3.9


TRACKING = ROOT / "docs" / "tracking.md"
DOCUMENTS = [page for page in PAGES if page != TRACKING and python_of(page)]


def run_python_of(document: Path) -> None:
    """The blocks of one document are one program, run from top to bottom."""
    program = compile(python_of(document), str(document), "exec")
    exec(program, {"__name__": "__main__"})


@pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT))
)
def test_python_in_documents_runs(document, capsys, tmp_path, monkeypatch):
    # some of them save what they made, some read an example's file, some that of a
    # person who comes from neat-python
    (tmp_path / "examples").symlink_to(EXAMPLES)
    (tmp_path / "config-feedforward").symlink_to(EXAMPLES / "neat_python_xor.ini")
    monkeypatch.chdir(tmp_path)
    run_python_of(document)
    capsys.readouterr()


# Here rather than with the other tests of trackers, where its runs would be compiled
# once more. What the libraries themselves warn of is theirs to change.
@pytest.mark.filterwarnings("default")
def test_the_recipes_for_tracking_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_python_of(TRACKING)
    assert "species 0: " in capsys.readouterr().out
    for path in (
        "best-10.safetensors",
        "runs/xor/tensorboard",
        "logs/xor-seed0",
        "runs/xor-wandb/trackers.json",
        "runs/xor-mlflow/trackers.json",
    ):
        assert (tmp_path / path).exists()
    curve = (tmp_path / "runs" / "xor-csv" / "curve.csv").read_text()
    assert curve.startswith("0,")
