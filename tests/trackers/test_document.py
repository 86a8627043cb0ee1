"""Every recipe of the page on tracking runs, in a folder of its own."""

from pathlib import Path

import pytest

from tests.pages import python_of

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "tracking.md"


# Slow, as the other documents that evolve something are. What real libraries warn of
# is theirs to change.
@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_recipes_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(python_of(DOCUMENT), str(DOCUMENT), "exec"), {})
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
