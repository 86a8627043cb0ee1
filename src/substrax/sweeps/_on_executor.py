"""Jobs on the workers of an executor, such as those of a Dask cluster."""

import logging
import queue
import time
from concurrent.futures import CancelledError, Executor, Future
from typing import Any

from ..workers import open_crew
from ._jobs import INTERRUPTED, Event, Job
from ._worker import call

_log = logging.getLogger("substrax")

_EACH = 2
"""Jobs for each worker: one that it does, and one that waits for it."""
_TELL_SECONDS = 60.0
"""How often it is said that nobody is there."""


class OnExecutor:
    """Workers of any `concurrent.futures.Executor`, or of one with a name; see
    `substrax.workers.check_executor`.

    Whoever they are, they find `work` by its name, and what a document names (folders,
    for example) at the same place. Raises a `WorkersError` if nobody is there any more.
    """

    def __init__(self, work: str, executor: Executor | str) -> None:
        self.work, self.crew = work, open_crew(executor)
        self._futures: dict[str, Future[dict[str, Any]]] = {}
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._seen = time.monotonic()

    @property
    def at_a_time(self) -> int:
        return max(1, self.crew.num_workers())

    def start(self, events: "queue.SimpleQueue[Event]") -> None:
        self._events = events

    def has_room(self, job: Job) -> bool:
        return len(self._futures) < _EACH * self.at_a_time

    def submit(self, job: Job) -> None:
        future = self.crew.submit(call, self.work, dict(job.document))
        self._futures[job.key] = future

    def look(self) -> None:
        for key, future in list(self._futures.items()):
            is_forgotten = not future.done() and self.crew.is_forgotten(future)
            if future.done() or is_forgotten:
                del self._futures[key]
                self._events.put(self._event(key, future))
        if self.crew.num_workers():
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > _TELL_SECONDS:
            self._seen = time.monotonic()
            _log.warning("no worker is there; waiting for one.")

    def _event(self, key: str, future: "Future[dict[str, Any]]") -> Event:
        again = Event(key, {"status": INTERRUPTED})
        if not future.done():
            return again
        try:
            return Event(key, future.result())
        except CancelledError:
            return again
        except Exception as error:
            if self.crew.is_forgotten(future):
                return again
            return Event(key, None, _broken(error))

    def stop(self) -> None:
        """Takes back what has not begun; what has ends by itself, and is kept."""
        for key, future in self._futures.items():
            event = Event(key, {"status": INTERRUPTED})
            if not future.done():
                future.cancel()
            elif not future.cancelled() and future.exception() is None:
                event = Event(key, future.result())
            self._events.put(event)
        self._futures.clear()

    kill = stop

    def close(self) -> None:
        """Ends the connection, if it was made here."""
        self.crew.close()


def _broken(error: BaseException) -> str:
    text = " ".join(str(error).split())[:300]
    return f"the executor could not do it: {type(error).__name__}: {text}"
