"""Jobs in processes of this machine."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from typing import IO

from .._resources import num_cores
from ._jobs import MAX_DEATHS, PATIENCE_SECONDS, Event, Job
from ._worker import GRACE_SECONDS

_MAX_JOBS = 50
"""Jobs that one process does, one after the other: JAX is imported once for them, and
most is compiled once. Then another one takes over, with empty memory."""


class Processes:
    """Workers on this machine, started anew, each with its share of the cores and of
    the memory that is free.

    **Arguments:**

    - `work`: the function that does a job, `module:function`.
    - `num`: how many at a time.
    """

    def __init__(self, work: str, num: int) -> None:
        if num < 1:
            raise ValueError(f"jobs is {num}. Choose at least 1.")
        self.work, self.num = work, num
        self._slots: list[_Process | None] = [None] * num
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()

    @property
    def at_a_time(self) -> int:
        return self.num

    def start(self, events: "queue.SimpleQueue[Event]") -> None:
        self._events = events

    def has_room(self, job: Job) -> bool:
        return any(slot is None or slot.is_idle for slot in self._slots)

    def submit(self, job: Job) -> None:
        idle = [k for k, slot in enumerate(self._slots) if slot and slot.is_idle]
        place = idle[0] if idle else self._slots.index(None)
        process = self._slots[place]
        if process is not None and (
            job.is_alone or process.num_jobs >= _MAX_JOBS or process.has_ended
        ):
            process.close()
            process = None
        if process is None:
            cores = [] if job.is_alone else shared_cores(place, self.num)
            sharing = 1 if job.is_alone else self.num
            process = _Process(self.work, cores, sharing, self._events)
            self._slots[place] = process
        process.submit(job)

    def look(self) -> None:
        return None  # each process has a thread that tells

    def stop(self) -> None:
        for process in filter(None, self._slots):
            process.close()

    def kill(self) -> None:
        for process in filter(None, self._slots):
            process.kill()


def shared_cores(slot: int, num: int) -> list[int]:
    """The cores that one of several workers keeps to; empty: it has them all."""
    if num == 1 or not hasattr(os, "sched_getaffinity"):
        return []
    every = sorted(os.sched_getaffinity(0))
    share = max(1, len(every) // num)
    return [every[(slot * share + k) % len(every)] for k in range(share)]


# Not by `-m`, which would make a second module of it; and the time comes first.
_BEGIN = (
    "import time; started = time.perf_counter(); import sys; "
    "from substrax.sweeps import _worker; _worker.STARTED = started; "
    "sys.exit(_worker.main(sys.argv[1:]))"
)


class _Process:
    """A worker. A thread reads what it answers."""

    def __init__(
        self,
        work: str,
        cores: Sequence[int],
        num_sharing: int,
        events: "queue.SimpleQueue[Event]",
    ) -> None:
        words = [sys.executable, "-c", _BEGIN, work]
        if cores:
            words += ["--cores", ",".join(map(str, cores))]
        words += ["--processes", str(num_sharing)]
        # Without a name: nothing is left of it, however this process ends.
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            # Signals of the terminal are for the first process alone.
            start_new_session=True,
        )
        self._events = events
        self._job: Job | None = None
        self.num_jobs = 0
        self.has_ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def is_idle(self) -> bool:
        return self._job is None

    def submit(self, job: Job) -> None:
        self._job = job
        self.num_jobs += 1
        line = json.dumps({"key": job.key, "document": dict(job.document)}) + "\n"
        assert self._process.stdin is not None
        # One that has died is told of by the thread.
        with contextlib.suppress(OSError):
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        if self.has_ended:
            self._tell_death()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                answer = json.loads(line)
            except ValueError:
                continue  # half a line of a process that died
            self._job = None
            self._events.put(Event(answer["key"], answer["result"]))
        self._process.wait()
        self.has_ended = True
        self._tell_death()

    def _tell_death(self) -> None:
        job, self._job = self._job, None
        if job is not None:
            self._events.put(Event(job.key, None, self._last_words()))

    def _last_words(self) -> str:
        status = self._process.returncode
        how = f"exit status {status}"
        if status is not None and status < 0:
            how = f"signal {-status}" + (
                ", as the system does when memory is used up" if status == -9 else ""
            )
        text = f"its process died ({how}), {MAX_DEATHS} times"
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - 2000))
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return f"{text}; the last it said: {lines[-1][:300]}" if lines else text

    def close(self) -> None:
        """Ends it after the job that it is at, which is told to stop."""
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        if self.is_idle:
            self._end(GRACE_SECONDS + PATIENCE_SECONDS)

    def kill(self) -> None:
        self._process.kill()
        self._end(PATIENCE_SECONDS)

    def _end(self, seconds: float) -> None:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(PATIENCE_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout, self._log):
            assert pipe is not None
            with contextlib.suppress(OSError):  # what was never read by a dead one
                pipe.close()


def default_jobs() -> int:
    """As many as there are cores."""
    return num_cores()
