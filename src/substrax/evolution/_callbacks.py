"""Callbacks: functions that are told of each generation, and trackers."""

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from .._types import brief, shown
from ..runs import StopReason
from ._errors import TrackerError
from ._generation import Generation, RunInfo
from ._record import Result

_log = logging.getLogger("substrax")


@runtime_checkable
class Tracker(Protocol):
    """Follows a run from its start to its end: writes a log, talks to a server.

    What `start` raises ends the run before its first generation. Later the evolution is
    worth more than its log: if `generation` or `finish` raises an `Exception`, a
    warning says so, the run goes on, and the tracker is told of no more generations.
    """

    def start(self, run: RunInfo) -> None:
        """Called before the first generation, also of a run that goes on."""
        ...

    def generation(self, generation: Generation) -> object:
        """Called after each generation; True, or a reason, ends the run."""
        ...

    def finish(self, result: Result | None) -> None:
        """Called once if `start` has succeeded, however the run ends; the result is
        None if that was by an error or by Ctrl-C. Close here what you have opened."""
        ...


Callback = Callable[[Generation], object] | Tracker
"""A function that is called after each generation, or a `Tracker`.

True, or a reason, ends the run, after all callbacks have been called and the generation
is saved. What a function raises ends the run, too; it can be continued.
"""


def check_callbacks(callbacks: Iterable[Callback]) -> tuple[Callback, ...]:
    """The callbacks; a `ValueError` says which of them is none."""
    if not isinstance(callbacks, Iterable):
        raise ValueError(
            f"callbacks is {shown(callbacks)}; give a list of functions and trackers, "
            "such as callbacks=[function]."
        )
    checked = tuple(callbacks)
    for callback in checked:
        # A class of trackers has their methods, and would pass for one below.
        if isinstance(callback, type):
            raise ValueError(
                f"the callback {callback.__name__} is a class; give an object of it, "
                f"{callback.__name__}()."
            )
        if not (isinstance(callback, Tracker) or callable(callback)):
            raise ValueError(
                "a callback is a function of a generation, or a tracker with the "
                f"methods start, generation and finish; {shown(callback)} is neither."
            )
    return checked


class Watch:
    """The callbacks of a run that goes on. `result` is told to those that finish."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self._callbacks = callbacks
        self._failed: list[Tracker] = []
        self.result: Result | None = None

    def generation(self, generation: Generation) -> StopReason | None:
        """Tells all of them; the first answer that ends the run."""
        asked = None
        for callback in self._callbacks:
            answer = self._tell(callback, generation)
            if answer and asked is None:
                is_reason = isinstance(answer, StopReason)
                asked = answer if is_reason else StopReason.CALLBACK
        return asked

    def _tell(self, callback: Callback, generation: Generation) -> object:
        if not isinstance(callback, Tracker):
            return callback(generation)
        # By identity: trackers are other people's, and may be equal or have no hash.
        if any(callback is failed for failed in self._failed):
            return None
        try:
            return callback.generation(generation)
        except Exception as error:
            self._failed.append(callback)
            _log.warning(
                "%s has failed in generation %d: %s. The run goes on without it.",
                type(callback).__name__,
                generation.number,
                _said(error),
            )
            return None

    def finish(self, tracker: Tracker) -> None:
        try:
            tracker.finish(self.result)
        except Exception as error:
            _log.warning(
                "%s could not be finished: %s. What the run has saved is whole.",
                type(tracker).__name__,
                _said(error),
            )


@contextlib.contextmanager
def watching(callbacks: Sequence[Callback], run: RunInfo) -> Iterator[Watch]:
    """Starts the trackers, and finishes those that were started, the last one first."""
    watch = Watch(callbacks)
    with contextlib.ExitStack() as stack:
        for callback in callbacks:
            if isinstance(callback, Tracker):
                _start(callback, run)
                # Once it has started: if a later one cannot, those before it are
                # finished.
                stack.callback(watch.finish, callback)
        yield watch


def _start(tracker: Tracker, run: RunInfo) -> None:
    try:
        tracker.start(run)
    except Exception as error:
        raise TrackerError(
            f"{type(tracker).__name__} could not be started: {_said(error)}"
        ) from error


def _said(error: Exception) -> str:
    """An error, and what was noted about it, as a part of a sentence."""
    what = brief(error, 500) or type(error).__name__
    notes = [brief(note, 500) for note in getattr(error, "__notes__", ())]
    return ". ".join([what, *notes])
