"""What is known of a discovery while it goes on, for whoever wants to show it."""

import contextlib
import contextvars
import dataclasses
import time
from collections.abc import Callable, Iterator

from .._memory import show_bytes

LINK_BYTES = 12
"""What a link takes once it is found: two ends and a weight."""


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What the discovery of a population needs, as known before its long part.

    Under rule `emr` the positions are known by then, so `queries` is exact and `links`
    is how many there are if every weight is large enough: at most. Under `es` nobody
    knows before: positions and queries are None, and `links` is how many there are if
    hidden positions have as many as inputs have.
    """

    num_genomes: int
    positions: int | None
    queries: int | None
    links: int
    memory_budget: int
    num_known: int
    """Genomes whose positions are known; for the others the same is supposed."""

    def __str__(self) -> str:
        text = f"{self.num_genomes} genomes with "
        if self.num_known < self.num_genomes:
            text = f"judging by {self.num_known} of them, {text}"
        if self.queries is None:
            text += f"about {self.links:,} links, judging by those of the inputs"
        else:
            text += f"{self.positions:,} positions, {self.queries:,} queries, "
            text += f"at most {self.links:,} links"
        size = LINK_BYTES * self.links
        text += f" ({show_bytes(size)}; "
        if size > self.memory_budget // 4:
            text += "beyond "
        else:
            text += "within "
        return text + f"memory_budget {show_bytes(self.memory_budget)})"


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a discovery is. `left` is seconds, None as long as nobody can say.

    `share` is how much of the links that are expected belongs to genomes that are done.
    """

    num_genomes: int
    genomes_done: int
    queries: int
    links: int
    share: float
    estimate: Estimate | None
    seconds: float

    @property
    def left(self) -> float | None:
        """Seconds that remain, by the queries where their number is known."""
        total = None if self.estimate is None else self.estimate.queries
        if total and self.queries:
            return self.seconds * max(0.0, total / self.queries - 1.0)
        if self.share:
            return self.seconds * max(0.0, 1.0 / self.share - 1.0)
        if self.genomes_done:
            rest = self.num_genomes - self.genomes_done
            return self.seconds * rest / self.genomes_done
        return None


_listener: contextvars.ContextVar[Callable[[Progress], None] | None] = (
    contextvars.ContextVar("progress_listener", default=None)
)


@contextlib.contextmanager
def watch_discovery(listener: Callable[[Progress], None]) -> Iterator[None]:
    """Tells the listener, up to four times a second, how far a discovery is."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class Meter:
    """Counts for one discovery, and tells the listener if there is one."""

    def __init__(self, num_genomes: int) -> None:
        self.num_genomes = num_genomes
        self.genomes_done = self.links = self.expected_done = 0
        self.estimate: Estimate | None = None
        self._asked = self._asked_before = 0
        self._began = self._long_part = time.monotonic()
        self._told = self._began
        self._listener = _listener.get()

    def expect(self, estimate: Estimate) -> None:
        """From now on the estimate holds; what was asked before does not count."""
        self.estimate, self._asked_before = estimate, self._asked
        self._long_part = time.monotonic()
        self._tell()

    def tick(self, num: int) -> None:
        """So many queries were asked."""
        self._asked += num
        if self._listener is not None and time.monotonic() - self._told > 0.25:
            self._tell()

    def _tell(self) -> None:
        if self._listener is None:
            return
        self._told = time.monotonic()
        self._listener(
            Progress(
                self.num_genomes,
                self.genomes_done,
                self._asked - self._asked_before,
                self.links,
                self.expected_done / self.estimate.links if self.estimate else 0.0,
                self.estimate,
                self._told - self._long_part,
            )
        )
