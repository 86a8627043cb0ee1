"""The notebooks run from top to bottom, as scripts; `make docs` shows their outputs."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.py"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, capsys, monkeypatch, tmp_path):
    plt.switch_backend("agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    monkeypatch.setattr("tempfile.mkdtemp", lambda: str(tmp_path))
    exec(compile(path.read_text(), str(path), "exec"), {"__name__": path.stem})
    plt.close("all")
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_in_the_navigation_and_begins_with_its_title(path):
    """The page that is made of it has a title, and is found."""
    assert f"notebooks/{path.stem}.md\n" in (ROOT / "mkdocs.yml").read_text()
    cells = re.split(r"^# %%", path.read_text(), flags=re.M)
    assert cells[1].startswith(" [markdown]\n# # ")
