"""Ctrl-C and SIGTERM: a run ends after its generation, or soon."""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from ..evolution import Generation, Result, RunInfo, StopReason

GRACE = 4.0
"""Seconds that a generation may still take once the run is to stop."""

PATIENCE = 8.0
"""Seconds after which a process that has not stopped by itself is ended."""


class Interruption:
    """A signal asks the run to end after its generation; a second one, at once.

    A generation that takes longer than some seconds more is given up: the run goes on
    from the checkpoint before it. Python hears signals between two of its steps; where
    it is held up by compiled code that does not come back, a thread ends the process.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.signal: int | None = None
        self._is_over = False

    def __call__(self, number: int, frame: Any) -> None:
        # Our own alarm comes here, too, as a second signal.
        if self.signal is not None or self._is_over:
            raise KeyboardInterrupt
        self.signal = number
        if hasattr(signal, "setitimer"):
            # Again and again: what is raised within a callback of JAX gets lost.
            signal.setitimer(signal.ITIMER_REAL, GRACE, 1.0)
        print(
            "\nsubstrax: stopping after this generation (again, or if that takes "
            "longer: at once) ...",
            file=sys.stderr,
            flush=True,
        )

    # A tracker, and the last one that is started, so that it is finished before others
    # close their connections: that may take as long as it needs.

    def start(self, run: RunInfo) -> None:
        return None

    def generation(self, generation: Generation) -> StopReason | None:
        return None if self.signal is None else StopReason.INTERRUPTED

    def finish(self, result: Result | None) -> None:
        self._is_over = True
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def exit(self) -> NoReturn:
        """Ends the process as it is; what is on the disk is whole at any moment."""
        where = "while trackers were finishing" if self._is_over else "in a generation"
        print(
            f"substrax: stopped {where}. All before it is saved: `substrax resume "
            f"{self.directory}` goes on from there.",
            file=sys.stderr,
        )
        # A kernel may still be running, and would find its memory gone.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(128 + (self.signal or signal.SIGINT))

    @contextmanager
    def watch(self) -> Iterator[None]:
        numbers = [signal.SIGINT, signal.SIGTERM]
        if hasattr(signal, "SIGALRM"):
            numbers.append(signal.SIGALRM)
        before = {n: signal.signal(n, self) for n in numbers}
        ours, theirs = socket.socketpair()
        # Python demands it: a handler that waits would hold up the process.
        theirs.setblocking(False)
        # Written by C's handler, also while Python itself waits for compiled code.
        earlier = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._end_if_held_up, args=(ours,), daemon=True).start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(earlier)
            theirs.close()  # ends the thread
            if hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end_if_held_up(self, signals: socket.socket) -> None:
        """Waits for a signal, which the system writes here at once, then for the end.

        The run may be over before, and closes the other side.
        """
        with signals:
            number = signals.recv(1)
            if not number:
                return
            end = time.monotonic() + PATIENCE
            try:
                while True:
                    signals.settimeout(max(end - time.monotonic(), 1e-3))
                    # Nothing: it is over. Else another one, such as our own alarms.
                    if not signals.recv(1):
                        return
                    if time.monotonic() >= end:
                        break
            except TimeoutError:
                pass
            if self._is_over:
                return
            self.signal = self.signal or number[0]
            self.exit()
