"""`--track`, as a person meets it."""

import os
import signal
import subprocess
import sys
import time

import pytest

from substrax._extra import TRACKER_LIBRARIES
from substrax.cli import main
from substrax.trackers import TRACKERS, TensorBoardTracker

from .support import tags, values

SMALL = [
    "--depth", "2", "--population", "16", "--max_nodes", "16", "--max_links", "32",
    "--target", "2", "--quiet",
]  # fmt: skip


def test_run_and_resume_are_tracked(tmp_path):
    path = tmp_path / "run"
    words = ["run", "xor", *SMALL, "--generations", "2", "--out", str(path)]
    assert main([*words, "--track", "tensorboard"]) == 0
    more = ["resume", str(path), "--generations", "3", "--quiet"]
    assert main([*more, "--track=tensorboard"]) == 0
    curve = values(path / "tensorboard", "fitness/best_ever")
    assert sorted(step for step, _ in curve) == [0, 1, 2]
    assert "best_network" in tags(path / "tensorboard")


@pytest.mark.parametrize(
    ("names", "status", "said"),
    [
        (["tensorbord"], 2, "no tracker 'tensorbord' (did you mean 'tensorboard'?)"),
        (["tensorboard", "tensorboard"], 2, "the tracker 'tensorboard' is given twice"),
        (["wandb"], 1, "pip install 'substrax[wandb]'"),
        (["mlflow"], 1, "pip install 'substrax[mlflow]'"),
    ],
)
def test_what_is_wrong_is_said_before_a_directory_is_made(
    names, status, said, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "wandb", None)
    monkeypatch.setitem(sys.modules, "mlflow", None)
    words = ["run", "xor", *SMALL, "--out", str(tmp_path / "run")]
    for name in names:
        words += ["--track", name]
    assert main(words) == status
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_tracker_that_cannot_start_says_how_to_go_on(tmp_path, capsys):
    path = tmp_path / "run"
    words = ["run", "xor", *SMALL, "--generations", "1", "--out", str(path)]
    assert main(words) == 0
    (path / "tensorboard").write_text("a file in its place")
    more = ["resume", str(path), "--generations", "2", "--track", "tensorboard"]
    assert main([*more, "--quiet"]) == 1
    said = capsys.readouterr().err
    assert "substrax: TensorBoardTracker could not be started:" in said
    assert f"`substrax resume {path}` goes on from there" in said


def test_a_new_run_whose_tracker_cannot_start_leaves_nothing(
    tmp_path, capsys, monkeypatch
):
    def no_key(*arguments):
        raise RuntimeError("no API key configured")

    monkeypatch.setattr(TensorBoardTracker, "start", no_key)
    words = ["run", "xor", *SMALL, "--out", str(tmp_path / "run")]
    assert main([*words, "--track", "tensorboard", "--quiet"]) == 1
    said = capsys.readouterr().err
    assert "could not be started: no API key configured" in said
    assert "saved" not in said
    assert not (tmp_path / "run").exists()


def test_every_tracker_has_a_library():
    assert TRACKERS.keys() == TRACKER_LIBRARIES.keys()


SLOW_TO_FINISH = """
import sys, time
import substrax.trackers._registry as registry
from substrax.cli import _interruption, main
_interruption.GRACE, _interruption.PATIENCE = 2.0, 2.5

class Slow:
    def start(self, run): pass
    def generation(self, generation): print(generation.number, flush=True)
    def finish(self, result):
        time.sleep(3.5)
        print("finished", result is not None, flush=True)

registry.TRACKERS["tensorboard"] = Slow
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_ctrl_c_waits_for_trackers_to_finish(tmp_path):
    words = ["run", "xor", *SMALL, "--generations", "100000"]
    words += ["--track", "tensorboard"]
    with subprocess.Popen(
        [sys.executable, "-c", SLOW_TO_FINISH, *words, "--out", str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "0\n"
            assert process.stdout.readline() == "1\n"
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert out.endswith("finished True\n")
    assert process.returncode == 128 + signal.SIGINT
