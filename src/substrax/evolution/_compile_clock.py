"""How much time JAX has spent compiling, so that run time can be told apart from it."""

import threading
import time

import jax

_PREFIX = "/jax/core/compile/"


class _Clock:
    """Adds up the time that lies within at least one event of tracing or compiling.

    Events nest (a function is traced within another, and compiled within both) and are
    told when they end, the inner ones first. So the spans that the last one covers are
    taken out before it is added.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spans: list[tuple[float, float]] = []
        self._total = 0.0

    def __call__(self, event: str, duration_secs: float, **kwargs: str | int) -> None:
        if not event.startswith(_PREFIX):
            return
        stop = time.perf_counter()
        start = stop - duration_secs
        with self._lock:
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


_clock = _Clock()
_registration = threading.Lock()
_is_registered = False


def compile_seconds() -> float:
    """Seconds spent compiling in this process since the first call of this function."""
    global _is_registered
    with _registration:
        if not _is_registered:
            jax.monitoring.register_event_duration_secs_listener(_clock)
            _is_registered = True
    return _clock.total
