"""Many jobs on few workers: each once, whatever fails, and all of it stoppable.

The scheduler knows nothing of what a job leaves behind: it asks `look_fn` whether there
is a result already.
"""

import collections
import contextlib
import math
import queue
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._jobs import (
    BUSY,
    DONE,
    INTERRUPTED,
    MAX_DEATHS,
    PATIENCE_SECONDS,
    Event,
    Job,
    Outcome,
    Progress,
    Stop,
    Workers,
)
from ._worker import GRACE_SECONDS

_LOOK_AGAIN_SECONDS = 1.0
_TICK_SECONDS = 0.2


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
                        kill_at = now + GRACE_SECONDS + PATIENCE_SECONDS
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
        self.workers.look()
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
