"""How much time JAX has spent compiling, so that run time can be told apart from it."""

import contextlib
import threading
import time
from collections.abc import Iterator

import jax

_PREFIX = "/jax/core/compile/"
_BY_XLA = _PREFIX + "backend_compile_duration"
"""The part that XLA takes; next to nothing where it finds the program in its cache."""


class _Clock:
    """Adds up the time that lies within at least one event of tracing or compiling.

    Events nest (a function is traced within another, and compiled within both) and are
    told when they end, the inner ones first. So the spans that the last one covers are
    taken out before it is added.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spans: list[tuple[float, float]] = []
        self._total = self._by_xla = 0.0
        self._begun: tuple[float, float] | None = None

    def __call__(self, event: str, duration_secs: float, **kwargs: str | int) -> None:
        if not event.startswith(_PREFIX):
            return
        stop = time.perf_counter()
        start = stop - duration_secs
        with self._lock:
            if event == _BY_XLA:
                self._by_xla += duration_secs
            # Those that began within this one: it contains them.
            while self._spans and self._spans[-1][0] >= start:
                self._total -= self._spans[-1][1]
                self._spans.pop()
            if self._spans:
                # threads that compile at the same time overlap in part
                last_start, last_length = self._spans[-1]
                start = max(start, last_start + last_length)
            length = max(stop - start, 0.0)
            self._spans.append((start, length))
            self._total += length
            # nothing that is still to end began before the last thousand spans did
            del self._spans[:-1000]

    @property
    def total(self) -> float:
        with self._lock:
            return self._total

    @property
    def by_xla(self) -> float:
        """What XLA has taken; and, if something is being compiled, the time since."""
        with self._lock:
            if self._begun is None:
                return self._by_xla
            began, before = self._begun
            return max(self._by_xla, before + time.perf_counter() - began)

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        with self._lock:
            self._begun = time.perf_counter(), self._by_xla
        try:
            yield
        finally:
            with self._lock:
                self._begun = None


_clock = _Clock()
_registration = threading.Lock()
_is_registered = False


def _listening() -> _Clock:
    global _is_registered
    with _registration:
        if not _is_registered:
            jax.monitoring.register_event_duration_secs_listener(_clock)
            _is_registered = True
    return _clock


def compile_seconds() -> float:
    """Seconds spent compiling in this process since a function here was first called.

    Tracing counts, too.
    """
    return _listening().total


def xla_seconds() -> float:
    """Those of them that XLA has taken, hardly any where it has a cache; within
    `compiling`, all up to this moment."""
    return _listening().by_xla


def compiling() -> contextlib.AbstractContextManager[None]:
    """Within it something is compiled that takes long, and is to be told of."""
    return _clock.compiling()
