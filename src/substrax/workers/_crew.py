"""Whoever does the work: what is asked of an executor, of whatever kind."""

import abc
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import Any

from ._errors import WorkersError
from ._names import check_executor, read_name
from ._processes import Processes


class AbstractCrew(abc.ABC):
    """Workers behind an executor, whose number may change while they work."""

    executor: Executor

    def submit(self, fn: Callable[..., Any], *args: Any) -> Future:
        """Asks for `fn(*args)`; a `WorkersError` if nobody is there to be asked."""
        try:
            return self.executor.submit(fn, *args)
        except Exception as error:  # each executor says in its own way that it is over
            text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise WorkersError(
                f"the executor takes no more work ({text}). Continue the run with a "
                "new one, or without"
            ) from error

    @abc.abstractmethod
    def num_workers(self) -> int:
        """How many calls are worked on at a time, as far as that is known."""

    @abc.abstractmethod
    def give_up(self, future: Future) -> None:
        """A call that takes too long, or is not wanted any more: whoever is at it
        should be free for others."""

    def is_waiting(self, future: Future) -> bool:
        """Whether a call is known not to be worked on yet."""
        return False

    def is_forgotten(self, future: Future) -> bool:
        """Whether nobody knows of a call any more that was asked for: it was lost on
        the way, through no fault of its own."""
        return False

    def close(self) -> None:  # noqa: B027 - nothing, where the executor is somebody's
        """Ends what `open_crew` has started."""


def open_crew(
    executor: Executor | str,
    environment: Mapping[str, str] | None = None,
    imports: Sequence[str] = (),
) -> AbstractCrew:
    """The crew of an executor, or the one that a name means; see `check_executor`.

    `environment` and `imports` are for processes that are started here.
    """
    check_executor(executor)
    if isinstance(executor, Processes):
        return ProcessCrew(executor)
    if not isinstance(executor, str):
        client = getattr(executor, "_client", None)
        if client is None or not hasattr(client, "scheduler_info"):
            return AnyCrew(executor)
        from ._dask import DaskCrew

        return DaskCrew(client, executor)
    named = read_name(executor)
    if named.num is not None:
        return ProcessCrew(Processes(named.num, environment, imports), is_ours=True)
    from ._dask import DaskCrew

    return DaskCrew.connect(executor)


class ProcessCrew(AbstractCrew):
    """Processes of this machine."""

    def __init__(self, executor: Processes, is_ours: bool = False) -> None:
        self.executor: Processes = executor
        self._is_ours = is_ours

    def num_workers(self) -> int:
        return self.executor.num

    def is_waiting(self, future: Future) -> bool:
        return not self.executor.is_at_work(future)

    def give_up(self, future: Future) -> None:
        if not future.cancel():
            self.executor.end(future)

    def close(self) -> None:
        if self._is_ours:
            self.executor.kill()


_MANY = 64
"""Calls that an executor gets at a time if it does not say how many it works on."""


class AnyCrew(AbstractCrew):
    """An executor of somebody else's, who also ends it."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    def num_workers(self) -> int:
        # The pools of the standard library, and of mpi4py.
        for name in ("_max_workers", "num_workers"):
            num = getattr(self.executor, name, None)
            if isinstance(num, int) and num > 0:
                return num
        return _MANY

    def give_up(self, future: Future) -> None:
        # A thread, or a process of somebody else's, cannot be ended from here.
        future.cancel()


def this_place() -> str:
    """Where this process is, to be told with what it found."""
    import socket

    return f"{socket.gethostname()}, process {os.getpid()}"
