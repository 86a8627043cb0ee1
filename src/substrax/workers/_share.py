"""Sharing out: slices are cut, given to workers, and given again if they are lost."""

import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from typing import Any, NamedTuple

from ._crew import AbstractCrew
from ._errors import WorkersError
from ._sizes import Sizes

_log = logging.getLogger("substrax")

MOST_ATTEMPTS = 3
_TICK = 0.2
"""Seconds between two looks at the clock."""
_AHEAD = 1
"""Slices that wait at each worker for the one before, so that it need not wait."""
_TELL_SECONDS = 60.0


class Span(NamedTuple):
    """Items `begin` to `stop`, exclusive."""

    begin: int
    stop: int


class Answer(NamedTuple):
    """What a worker says: a value, or that it needs to be told more.

    `error` is a failure of the work itself, that every worker would have; `trouble` is
    one of this worker's, such as too little memory, that another may not have.
    """

    value: Any = None
    seconds: float = 0.0
    is_settled: bool = True
    """Whether `seconds` are what such a slice takes from now on."""
    needs_source: bool = False
    error: Exception | None = None
    trouble: str | None = None


class _Try(NamedTuple):
    span: Span
    troubles: tuple[str, ...]
    is_full: bool
    since: float


class Share:
    """One piece of work of many items, shared out among a crew.

    **Arguments:**

    - `crew`: who works.
    - `ask`: given a span, and whether the worker is to be told everything, the function
      and the arguments to call it with.
    - `timeout`: seconds after which a slice counts as lost; None waits for ever.
    - `step`: spans begin at multiples of it, and none is smaller.
    - `is_compiled`: whether each size costs a compilation, so that there should be few.
    """

    def __init__(
        self,
        crew: AbstractCrew,
        ask: Callable[[Span, bool], tuple[Callable[..., Answer], tuple]],
        *,
        sizes: Sizes,
        timeout: float | None = None,
        step: int = 1,
        is_compiled: bool = False,
    ) -> None:
        self.crew, self.ask, self.sizes, self.timeout = crew, ask, sizes, timeout
        self.step, self.is_compiled = step, is_compiled
        self.num_redone = 0
        """Slices that were given to a worker once more."""

    def run(self, total: int) -> list[tuple[Span, Any]]:
        """The values of all spans that were cut; they cover all items, some perhaps
        twice."""
        found: list[tuple[Span, Any]] = []
        again: deque[_Try] = deque()
        pending: dict[Future, _Try] = {}
        begin, told = 0, time.monotonic()
        try:
            while begin < total or again or pending:
                num_workers = self.crew.num_workers()
                while len(pending) < (1 + _AHEAD) * max(num_workers, 1):
                    if again:
                        one = again.popleft()
                    elif begin < total:
                        span = self.cut(begin, total, num_workers)
                        one, begin = _Try(span, (), False, 0.0), span.stop
                    else:
                        break
                    fn, args = self.ask(one.span, one.is_full)
                    future = self.crew.submit(fn, *args)
                    pending[future] = one._replace(since=time.monotonic())
                done, _ = wait(pending, timeout=_TICK, return_when=FIRST_COMPLETED)
                for future in done:
                    self._take(future, pending.pop(future), found, again)
                    told = time.monotonic()
                if not done:
                    self._look(pending, again, num_workers)
                    if not num_workers and time.monotonic() - told > _TELL_SECONDS:
                        told = time.monotonic()
                        _log.warning("no worker is there; waiting for one.")
        finally:
            for future in pending:
                future.cancel()
        return found

    def cut(self, begin: int, total: int, num_workers: int) -> Span:
        """The next span."""
        size = self.sizes.size(total, num_workers)
        if self.step > 1:
            size = -(-size // self.step) * self.step
            stop = begin + size
            # What is left over would be smaller than a step.
            return Span(begin, stop if total - stop >= self.step else total)
        if self.is_compiled and total > 1:
            # One of few sizes; the last of them reaches back to items that are done.
            size = 1 << (min(size, total).bit_length() - 1)
            return Span(max(0, min(begin, total - size)), min(begin + size, total))
        return Span(begin, min(begin + size, total))

    def _take(
        self,
        future: Future,
        one: _Try,
        found: list[tuple[Span, Any]],
        again: deque[_Try],
    ) -> None:
        """What has come of a slice."""
        try:
            answer = future.result()
        except WorkersError:
            raise
        except (Exception, CancelledError) as error:
            if self.crew.is_forgotten(future):
                self.num_redone += 1
                again.append(one)
                return
            answer = Answer(trouble=_words(error))
        if answer.error is not None:
            raise answer.error
        if answer.needs_source:
            again.append(one._replace(is_full=True))
        elif answer.trouble is not None:
            self._redo(one, answer.trouble, again)
        else:
            if answer.is_settled:
                self.sizes.learn(one.span.stop - one.span.begin, answer.seconds)
            found.append((one.span, answer.value))

    def _redo(self, one: _Try, trouble: str, again: deque[_Try]) -> None:
        troubles = (*one.troubles, trouble)
        if len(troubles) >= MOST_ATTEMPTS:
            raise WorkersError(
                f"genomes {one.span.begin} to {one.span.stop - 1} were given to a "
                f"worker {MOST_ATTEMPTS} times, in vain. The last time: {trouble}"
            )
        self.num_redone += 1
        _log.info("a slice is done again: %s", trouble)
        # Whoever gets it now may be new.
        again.append(one._replace(troubles=troubles, is_full=True))

    def _look(
        self, pending: dict[Future, _Try], again: deque[_Try], num_workers: int
    ) -> None:
        """Slices that nobody will ever send back."""
        now = time.monotonic()
        for future, one in list(pending.items()):
            if not future.done() and self.crew.is_forgotten(future):
                del pending[future]
                self.num_redone += 1
                again.append(one)
        # The first ones that were given out are those that are worked on.
        for number, (future, one) in enumerate(list(pending.items())):
            if number >= num_workers or self.crew.is_waiting(future):
                pending[future] = one._replace(since=now)
            elif self.timeout is not None and now - one.since > self.timeout:
                del pending[future]
                self.crew.give_up(future)
                self._redo(
                    one,
                    f"it took more than {self.timeout:g} seconds (slice_timeout)",
                    again,
                )


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    return text or type(error).__name__
