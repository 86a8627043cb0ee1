"""Jobs on the workers of an executor, such as those of a Dask cluster."""

import contextlib
import queue
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from typing import Any

from .._extra import import_extra
from ._jobs import INTERRUPTED, Event, Job
from ._worker import call


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
