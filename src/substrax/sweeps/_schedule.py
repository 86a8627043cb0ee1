"""Many jobs on few workers: each once, whatever fails, and all of it stoppable.

A job is a document of plain values, and the function that does it is known by its name:
processes and hosts need nothing else of one another. What a job leaves behind is its
own matter: the scheduler asks `look_fn` whether there is a result already.
"""

import collections
import contextlib
import dataclasses
import json
import math
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import IO, Any, Protocol, runtime_checkable

from .._resources import num_cores
from ._worker import GRACE_SECONDS, call

DONE = "done"
"""The `status` of a result: the job is done."""
BUSY = "busy"
"""The `status` of a result: another process is at it; it is looked at again."""
FAILED = "failed"
"""The `status` of a result: it failed, and `error` says why."""
INTERRUPTED = "interrupted"
"""The `status` of a result: it was told to stop."""

MAX_DEATHS = 3
"""So often a job may take its process with it."""

_LOOK_AGAIN_SECONDS = 1.0
_TICK_SECONDS = 0.2
_PATIENCE_SECONDS = 3.0
"""How much longer than its grace a process is waited for."""
_MAX_JOBS = 50
"""Jobs that one process does, one after the other: JAX is imported once for them, and
most is compiled once. Then another one takes over, with empty memory."""


@dataclasses.dataclass(frozen=True)
class Job:
    """Something to be done once."""

    key: str
    title: str
    """For a person."""
    group: str
    """Jobs of one group take about as long as one another."""
    document: Mapping[str, Any]
    """All that is needed to do it, as plain values."""
    is_alone: bool = False
    """Whether nothing may run beside it, in a process of its own with all cores."""


@dataclasses.dataclass(frozen=True)
class Progress:
    """Where things stand."""

    jobs: Sequence[Job]
    results: Mapping[str, Mapping[str, Any]]
    """Of those that are done, by key."""
    num_reused: int
    """How many of them were done before."""
    failures: Mapping[str, str]
    running: Sequence[Job]
    elsewhere: Sequence[Job]
    """Those that another process is at."""
    seconds: float
    seconds_left: float | None
    """None while nothing is known."""
    is_stopping: bool = False

    @property
    def num_done(self) -> int:
        return len(self.results)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of jobs."""

    results: dict[str, dict[str, Any]]
    failures: dict[str, str]
    """Why those without a result failed, by key."""
    left: tuple[Job, ...] = ()
    """Those that were not done, since there was no time or somebody wanted to stop."""
    warnings: dict[str, list[str]] = dataclasses.field(default_factory=dict)


class Stop:
    """Asks for an end: the first time, after what is under way; then at once."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1

    def __bool__(self) -> bool:
        return self.times > 0


@runtime_checkable
class Workers(Protocol):
    """Where jobs are done."""

    def start(self, events: "queue.SimpleQueue[Event]") -> None: ...
    def has_room(self, job: Job) -> bool: ...
    def submit(self, job: Job) -> None: ...
    def stop(self) -> None:
        """What runs ends soon; nothing else begins."""
        ...

    def kill(self) -> None: ...
    @property
    def at_a_time(self) -> int: ...


@dataclasses.dataclass(frozen=True)
class Event:
    """A job's result; None if its worker died."""

    key: str
    result: dict[str, Any] | None
    error: str = ""


def run_jobs(
    jobs: Sequence[Job],
    workers: Workers,
    *,
    look_fn: Callable[[Job], dict[str, Any] | None] = lambda job: None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    stop: Stop | None = None,
    max_seconds: float | int = math.inf,
) -> Outcome:
    """Does every job that has no result yet.

    A job that fails does not stop the others. Ctrl-C, or `stop`, ends what is under way
    and begins nothing new; a second one ends all processes at once.

    **Arguments:**

    - `look_fn`: the result of a job that is done already, or None; asked before a job
      begins, as another process may have done it meanwhile.
    - `max_seconds`: no job begins after so long.
    """
    return _Schedule(
        jobs, workers, look_fn, on_progress, Stop() if stop is None else stop
    ).run(max_seconds)


class _Schedule:
    """The state of `run_jobs`."""

    def __init__(
        self,
        jobs: Sequence[Job],
        workers: Workers,
        look_fn: Callable[[Job], dict[str, Any] | None],
        on_progress: Callable[[Progress], None],
        stop: Stop,
    ) -> None:
        ordered = sorted(jobs, key=lambda job: job.is_alone)
        self.jobs: dict[str, Job] = {job.key: job for job in ordered}
        self.workers, self.look_fn = workers, look_fn
        self.on_progress, self.stop = on_progress, stop
        self.results: dict[str, dict[str, Any]] = {}
        self.failures: dict[str, str] = {}
        self.warnings: dict[str, list[str]] = {}
        self.running: dict[str, float] = {}
        self.busy: dict[str, float] = {}
        self.deaths: collections.Counter[str] = collections.Counter()
        self.waiting: collections.deque[Job] = collections.deque()
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.clock = _Clock()
        self.began = time.monotonic()

    def run(self, max_seconds: float | int) -> Outcome:
        for job in self.jobs.values():
            if not self._is_found(job):
                self.waiting.append(job)
        num_reused = len(self.results)
        stop_at, kill_at = self.began + max_seconds, math.inf
        tell = lambda: self.on_progress(self._progress(num_reused))
        if max_seconds <= 0:
            tell()
            return self._outcome()
        self.workers.start(self.events)
        is_stopped = False
        try:
            while self.waiting or self.running or self.busy:
                try:
                    now = time.monotonic()
                    if self.stop and not is_stopped:
                        is_stopped = True
                        kill_at = now + GRACE_SECONDS + _PATIENCE_SECONDS
                        self.workers.stop()
                    if self.stop.times > 1 or now > kill_at:
                        break
                    if is_stopped and not self.running:
                        break
                    if now > stop_at and not self.running:
                        break
                    if not is_stopped and now <= stop_at:
                        self._begin(now)
                    tell()
                    self._wait()
                except KeyboardInterrupt:  # where nobody else listens to it
                    self.stop()
        finally:
            if self.running:
                self.workers.kill()
            else:
                self.workers.stop()
        while not self.events.empty():  # what was told last
            self._take(self.events.get())
        tell()
        return self._outcome()

    def _is_found(self, job: Job) -> bool:
        try:
            result = self.look_fn(job)
        except (ValueError, OSError) as error:
            self.failures[job.key] = str(error)
            return True
        if result is not None:
            self.results[job.key] = result
            self.clock.add(job, result)
        return result is not None

    def _begin(self, now: float) -> None:
        """Gives workers what they have room for."""
        for key, since in list(self.busy.items()):
            if now - since >= _LOOK_AGAIN_SECONDS:
                del self.busy[key]
                self.waiting.append(self.jobs[key])
        while self.waiting:
            job = self.waiting[0]
            alone = [k for k in self.running if self.jobs[k].is_alone]
            if alone or (job.is_alone and self.running):
                return
            if not self.workers.has_room(job):
                return
            self.waiting.popleft()
            if self._is_found(job):
                continue
            self.running[job.key] = now
            self.workers.submit(job)

    def _wait(self) -> None:
        with contextlib.suppress(queue.Empty):
            self._take(self.events.get(timeout=_TICK_SECONDS))
            while True:
                self._take(self.events.get_nowait())

    def _take(self, event: Event) -> None:
        began = self.running.pop(event.key, None)
        if began is None:
            return
        job, result = self.jobs[event.key], event.result
        if result is None:
            self.deaths[job.key] += 1
            if self.stop:
                self.waiting.append(job)
            elif self.deaths[job.key] >= MAX_DEATHS:
                self.failures[job.key] = event.error
            else:
                self.waiting.appendleft(job)
            return
        if result.get("warnings"):
            self.warnings[job.key] = result["warnings"]
        status = result.get("status", DONE)
        if status == DONE:
            self.results[job.key] = result
            self.clock.add(job, {"seconds": time.monotonic() - began, **result})
        elif status == BUSY:
            self.busy[job.key] = time.monotonic()
        elif status == INTERRUPTED:
            self.waiting.append(job)
        else:
            self.failures[job.key] = result.get("error") or "it failed without a word"

    def _progress(self, num_reused: int) -> Progress:
        rest = [*self.waiting, *(self.jobs[key] for key in (*self.running, *self.busy))]
        return Progress(
            jobs=list(self.jobs.values()),
            results=self.results,
            num_reused=num_reused,
            failures=self.failures,
            running=[self.jobs[key] for key in self.running],
            elsewhere=[self.jobs[key] for key in self.busy],
            seconds=time.monotonic() - self.began,
            seconds_left=self.clock.left(rest, self.workers.at_a_time),
            is_stopping=bool(self.stop),
        )

    def _outcome(self) -> Outcome:
        known = self.results.keys() | self.failures.keys()
        left = tuple(job for key, job in self.jobs.items() if key not in known)
        return Outcome(self.results, self.failures, left, self.warnings)


class _Clock:
    """Guesses the time that is left from jobs that are done."""

    def __init__(self) -> None:
        self._seconds: dict[str | None, list[float]] = collections.defaultdict(list)

    def add(self, job: Job, result: Mapping[str, Any]) -> None:
        seconds = result.get("seconds")
        if isinstance(seconds, int | float) and math.isfinite(seconds):
            self._seconds[job.group].append(float(seconds))
            self._seconds[None].append(float(seconds))

    def left(self, jobs: Sequence[Job], at_a_time: int) -> float | None:
        if not self._seconds:
            return None
        total = 0.0
        for job in jobs:
            known = self._seconds.get(job.group) or self._seconds[None]
            total += statistics.fmean(known) / (1 if job.is_alone else at_a_time)
        return total


class Processes:
    """Workers on this machine, started anew, each with its share of the cores.

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
            process = _Process(self.work, cores, self._events)
            self._slots[place] = process
        process.submit(job)

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
        self, work: str, cores: Sequence[int], events: "queue.SimpleQueue[Event]"
    ) -> None:
        words = [sys.executable, "-c", _BEGIN, work]
        if cores:
            words += ["--cores", ",".join(map(str, cores))]
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
            self._end(GRACE_SECONDS + _PATIENCE_SECONDS)

    def kill(self) -> None:
        self._process.kill()
        self._end(_PATIENCE_SECONDS)

    def _end(self, seconds: float) -> None:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(_PATIENCE_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout, self._log):
            assert pipe is not None
            with contextlib.suppress(OSError):  # what was never read by a dead one
                pipe.close()


class OnExecutor:
    """Workers of any `concurrent.futures.Executor`.

    Whoever they are, they find `work` by its name, and what a document names (folders,
    for example) at the same place.
    """

    def __init__(self, work: str, executor: Executor, at_a_time: int = 1) -> None:
        self.work, self.executor = work, executor
        self._at_a_time = max(1, at_a_time)
        self._futures: dict[str, Future[dict[str, Any]]] = {}
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()

    @property
    def at_a_time(self) -> int:
        return self._at_a_time

    def start(self, events: "queue.SimpleQueue[Event]") -> None:
        self._events = events

    def has_room(self, job: Job) -> bool:
        return True  # the executor has a queue of its own

    def submit(self, job: Job) -> None:
        try:
            future = self.executor.submit(call, self.work, dict(job.document))
        except Exception as error:
            self._events.put(Event(job.key, None, _broken(error)))
            return
        self._futures[job.key] = future
        future.add_done_callback(lambda future: self._take(job.key, future))

    def _take(self, key: str, future: "Future[dict[str, Any]]") -> None:
        self._futures.pop(key, None)
        if future.cancelled():
            self._events.put(Event(key, {"status": INTERRUPTED}))
            return
        error = future.exception()
        if error is None:
            self._events.put(Event(key, future.result()))
        else:
            self._events.put(Event(key, None, _broken(error)))

    def stop(self) -> None:
        """Takes back what has not begun; what has ends by itself, and is kept."""
        for key, future in list(self._futures.items()):
            if not future.cancel():
                self._futures.pop(key, None)
                self._events.put(Event(key, {"status": INTERRUPTED}))

    kill = stop


def _broken(error: BaseException) -> str:
    text = " ".join(str(error).split())[:300]
    return f"the executor could not do it: {type(error).__name__}: {text}"


@contextlib.contextmanager
def open_executor(place: str) -> Iterator[tuple[Executor, int]]:
    """The executor that `dask://host:8786` means, and its number of workers.

    `tls://host:8786` is the same with TLS, as Dask's own configuration says.
    """
    from .._extra import import_extra

    scheme, separator, address = place.partition("://")
    if not separator or scheme not in ("dask", "tls") or not address:
        raise ValueError(
            f"there is no executor {place!r}. Say dask://HOST:PORT, the address of a "
            "Dask scheduler (tls://HOST:PORT with TLS); for processes on this machine "
            "there is --jobs N."
        )
    distributed = import_extra("distributed", "dask")
    real = f"{'tls' if scheme == 'tls' else 'tcp'}://{address}"
    try:
        client = distributed.Client(real, timeout=10)
    except (OSError, TimeoutError) as error:
        raise OSError(
            f"no Dask scheduler answers at {real} ({error}). Start one with `dask "
            "scheduler`, and workers with `dask worker`, or look at the address"
        ) from error
    with client:
        num = sum(client.nthreads().values())
        yield client.get_executor(pure=False, retries=0), max(1, num)


def default_jobs() -> int:
    """As many as there are cores."""
    return num_cores()
