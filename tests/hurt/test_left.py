"""What is counted as left behind is found."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.workers.support import wait_until_gone

from ._left import MARK, files_below, marked, still_there

GRANDPARENT = """
import subprocess, sys
sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"],
                           stdout=subprocess.DEVNULL, start_new_session=True)
print(sleeper.pid, flush=True)
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks by /proc")
def test_a_process_whose_parents_are_gone_is_found() -> None:
    words = [sys.executable, "-c", GRANDPARENT]
    environment = os.environ | {MARK: "of this test"}
    found = subprocess.run(words, env=environment, stdout=subprocess.PIPE, check=True)
    pid = int(found.stdout)
    try:
        # (the system shows the environment of a process a moment after it has begun)
        end = time.monotonic() + 10.0
        while not marked("of this test") and time.monotonic() < end:
            time.sleep(0.01)
        assert marked("of this test") == [pid] == still_there("of this test", 0.0)
        assert marked("of another test") == []
    finally:
        os.kill(pid, signal.SIGKILL)
        wait_until_gone([pid])
    assert still_there("of this test") == []


def test_files_are_found_but_for_the_locks_of_dask(tmp_path: Path) -> None:
    place = tmp_path / "dask-scratch-space" / "worker-1"
    (place / "storage").mkdir(parents=True)
    place.with_suffix(".dirlock").touch()
    (place.parent / "global.lock").touch()
    assert files_below(tmp_path) == [] == files_below(tmp_path / "nothing")
    (place / "scratch").touch()
    assert files_below(tmp_path) == [place / "scratch"]
