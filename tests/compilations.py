"""Counting what JAX compiles."""

from collections.abc import Iterator
from contextlib import contextmanager

import jax

_EVENT = "/jax/core/compile/backend_compile_duration"


class Compilations:
    """What was compiled within a `with`: the name of each function, in order.

    What comes from JAX's persistent cache counts as well: whether it is there depends
    on runs before this one.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._is_open = True

    def __len__(self) -> int:
        return len(self.names)

    def close(self) -> None:
        """Counts no further."""
        self._is_open = False

    def __call__(self, event: str, duration_secs: float, **facts: str | int) -> None:
        """Takes what JAX reports."""
        if self._is_open and event == _EVENT:
            self.names.append(str(facts.get("fun_name", "?")))


@contextmanager
def counted_compilations() -> Iterator[Compilations]:
    """Counts from here on; JAX cannot forget a listener, so that it is closed."""
    compilations = Compilations()
    jax.monitoring.register_event_duration_secs_listener(compilations)
    try:
        yield compilations
    finally:
        compilations.close()
