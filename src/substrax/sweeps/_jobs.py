"""What jobs are, where they are done, and what is told of them.

A job is a document of plain values, and the function that does it is known by its name:
processes and hosts need nothing else of one another. What a job leaves behind is its
own matter.
"""

import dataclasses
import queue
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

DONE = "done"
"""The `status` of a result: the job is done."""
BUSY = "busy"
"""The `status` of a result: another process is at it; it is looked at again."""
FAILED = "failed"
"""The `status` of a result: it failed, and `error` says why."""
INTERRUPTED = "interrupted"
"""The `status` of a result: it was told to stop."""

MAX_DEATHS = 3
"""So often a job may take its process with it."""

PATIENCE_SECONDS = 3.0
"""How much longer than its grace a process is waited for."""


@dataclasses.dataclass(frozen=True)
class Job:
    """Something to be done once."""

    key: str
    title: str
    """For a person."""
    group: str
    """Jobs of one group take about as long as one another."""
    document: Mapping[str, Any]
    """All that is needed to do it, as plain values."""
    is_alone: bool = False
    """Whether nothing may run beside it, in a process of its own with all cores."""


@dataclasses.dataclass(frozen=True)
class Progress:
    """Where things stand."""

    jobs: Sequence[Job]
    results: Mapping[str, Mapping[str, Any]]
    """Of those that are done, by key."""
    num_reused: int
    """How many of them were done before."""
    failures: Mapping[str, str]
    running: Sequence[Job]
    elsewhere: Sequence[Job]
    """Those that another process is at."""
    seconds: float
    seconds_left: float | None
    """None while nothing is known."""
    is_stopping: bool = False

    @property
    def num_done(self) -> int:
        return len(self.results)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of jobs."""

    results: dict[str, dict[str, Any]]
    failures: dict[str, str]
    """Why those without a result failed, by key."""
    left: tuple[Job, ...] = ()
    """Those that were not done, since there was no time or somebody wanted to stop."""
    warnings: dict[str, list[str]] = dataclasses.field(default_factory=dict)


class Stop:
    """Asks for an end: the first time, after what is under way; then at once."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1

    def __bool__(self) -> bool:
        return self.times > 0


@runtime_checkable
class Workers(Protocol):
    """Where jobs are done."""

    def start(self, events: "queue.SimpleQueue[Event]") -> None: ...
    def has_room(self, job: Job) -> bool: ...
    def submit(self, job: Job) -> None: ...
    def look(self) -> None:
        """Tells, by events, what nobody else would tell; called now and then."""
        ...

    def stop(self) -> None:
        """What runs ends soon; nothing else begins."""
        ...

    def kill(self) -> None: ...
    @property
    def at_a_time(self) -> int: ...


@dataclasses.dataclass(frozen=True)
class Event:
    """A job's result; None if its worker died."""

    key: str
    result: dict[str, Any] | None
    error: str = ""
