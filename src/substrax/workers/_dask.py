"""Dask: a scheduler somewhere, and workers that may join and leave while we work."""

import contextlib
import itertools
import os
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from .._extra import import_extra
from . import _names
from ._crew import AbstractCrew
from ._errors import WorkersError
from ._names import unreachable

_LOOK_SECONDS = 2.0
"""How often the scheduler is asked who is there."""

_numbers = itertools.count()


class DaskCrew(AbstractCrew):
    """The workers of a Dask cluster.

    What Dask does about the dead and the departed it does by itself: it gives their
    work to others. Here is what remains: workers that hang, and a scheduler that is
    gone.
    """

    def __init__(self, client: Any, executor: Executor, is_ours: bool = False) -> None:
        self.executor, self._client, self._is_ours = executor, client, is_ours
        self._keys: weakref.WeakKeyDictionary[Future, str] = weakref.WeakKeyDictionary()
        self._comms: weakref.WeakKeyDictionary[Future, Any] = (
            weakref.WeakKeyDictionary()
        )
        self._num, self._looked = 0, float("-inf")

    @staticmethod
    def connect(name: str) -> "DaskCrew":
        """A client of the scheduler that an executor's name means, with the
        certificates that Dask's own configuration names. It listens nowhere: it calls
        the scheduler."""
        distributed = import_extra("distributed", "dask")
        # Dask would look for a name that means nothing until its time is over.
        _names.check_reachable(name)
        address = _names.read_name(name).address
        assert address is not None
        client = distributed.Client.__new__(distributed.Client)
        seconds = _names.CONNECT_SECONDS
        try:
            client.__init__(address, timeout=seconds, set_as_default=False)
        except (OSError, TimeoutError, ValueError, RuntimeError, TypeError) as error:
            # Half made, it would be closed by Python some day, and wait for a minute.
            client.status = "closed"
            raise unreachable(address, error) from error
        return DaskCrew(client, client.get_executor(), is_ours=True)

    def submit(self, fn: Callable[..., Any], *args: Any) -> Future:
        self._wait_for_scheduler()
        # A name of its own: Dask takes two calls of one name for one call.
        key = f"substrax-{os.getpid()}-{id(self):x}-{next(_numbers)}"
        comm = self._client.scheduler_comm
        try:
            # (Dask's executor passes these on to its client)
            future = self.executor.submit(fn, *args, key=key, pure=False)
        except Exception as error:
            raise self._gone(error) from error
        self._keys[future], self._comms[future] = key, comm
        return future

    def _wait_for_scheduler(self) -> None:
        """A connection that is lost is made again by Dask, for a while."""
        end = time.monotonic() + 2 * _names.CONNECT_SECONDS
        while self._client.status != "running":
            if self._client.status != "connecting" or time.monotonic() > end:
                raise self._gone(None)
            time.sleep(0.1)

    def _gone(self, error: Exception | None) -> WorkersError:
        why = "" if error is None else f" ({' '.join(str(error).split())})"
        return WorkersError(
            f"the Dask scheduler cannot be reached any more{why}. Start it again, or "
            "continue the run without an executor, or with another one"
        )

    def num_workers(self) -> int:
        now = time.monotonic()
        if now - self._looked >= _LOOK_SECONDS:
            self._looked = now
            # If it does not answer, what was known before is the best guess.
            with contextlib.suppress(Exception):
                self._num = sum(self._client.nthreads().values())
        return self._num

    def is_forgotten(self, future: Future) -> bool:
        # With its connection a client loses all that it has asked for.
        self._wait_for_scheduler()
        return self._comms.get(future) is not self._client.scheduler_comm

    def give_up(self, future: Future) -> None:
        key = self._keys.get(future)
        if key is None or future.done():
            return
        with contextlib.suppress(Exception):
            busy = [
                worker
                for worker, keys in self._client.processing().items()
                if key in map(str, keys)
            ]
            future.cancel()
            # A thread of a worker cannot be ended, but the worker, by its nanny, can.
            if busy:
                self._client.restart_workers(busy, timeout=10, raise_for_error=False)
        future.cancel()

    def close(self) -> None:
        if self._is_ours:
            with contextlib.suppress(Exception):
                self._client.close(timeout=5)
