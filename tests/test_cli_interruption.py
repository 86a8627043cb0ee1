"""A stop that is asked for is obeyed, also while compiled code does not come back."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from substrax.cli._interruption import Interruption

HELD_UP = """
import ctypes, sys
from pathlib import Path
from substrax.cli import _interruption as interruption
interruption.PATIENCE = 0.5
interruption.GRACE = 0.1
libc = ctypes.CDLL(None)
mutex = ctypes.create_string_buffer(128)
with interruption.Interruption(Path("somewhere")).watch():
    libc.pthread_mutex_lock(mutex)
    print("held up", flush=True)
    libc.pthread_mutex_lock(mutex)  # no signal gets it out of there
"""


@pytest.mark.skipif(os.name != "posix", reason="needs pthreads")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_that_is_held_up_is_ended(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HELD_UP],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held up\n"
        process.send_signal(number)
        try:
            _, told = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 128 + number
    assert "`substrax resume somewhere` goes on from there" in told


def test_what_ends_in_time_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    interruption = Interruption(Path("somewhere"))
    before = signal.getsignal(signal.SIGINT)
    with interruption.watch():
        os.kill(os.getpid(), signal.SIGINT)
        while interruption.signal is None:
            time.sleep(0.001)
    assert "stopping after this generation" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before
