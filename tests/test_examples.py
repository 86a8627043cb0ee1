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


def python_blocks(document: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", document.read_text(), re.S | re.M)


# tests/trackers runs the page on tracking, in a folder of its own
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DOCUMENTS.remove(ROOT / "docs" / "tracking.md")


@pytest.mark.parametrize(
    "document",
    [document for document in DOCUMENTS if python_blocks(document)],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_python_in_documents_runs(document, capsys, tmp_path, monkeypatch):
    """The blocks of one document are one program, run from top to bottom."""
    # some of them save what they made, some read an example's file
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    exec(compile("\n".join(python_blocks(document)), str(document), "exec"), {})
    capsys.readouterr()
