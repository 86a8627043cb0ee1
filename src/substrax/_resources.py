"""What work may take, and which engine does it: one object that is handed down.

Nothing in it changes a result, but for the engine, which may round differently.
Problems and decoders say what is computed; resources say with how much memory, on how
many threads, and where files go that exceed it.
"""

import dataclasses
import functools
import os
from collections.abc import Callable
from pathlib import Path

from . import _native
from ._memory import AUTO, open_scratch, read_budget
from ._types import shown

ENGINES = (AUTO, "native", "device")
MAX_THREADS = 4096
"""More than any machine has cores."""


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far the discovery of a population is."""

    num_genomes: int
    genomes_done: int
    queries: int
    links: int
    seconds: float

    @property
    def left(self) -> float | None:
        """Seconds that remain, None as long as nobody can say."""
        if not self.genomes_done:
            return None
        rest = self.num_genomes - self.genomes_done
        return self.seconds * rest / self.genomes_done


@dataclasses.dataclass(frozen=True)
class Resources:
    """**Arguments:**

    - `memory_budget`: bytes, or a text such as `2GiB`, that discovery and evaluation
      stay below; what exceeds it goes to the disk. `auto` is half of the memory that is
      free.
    - `threads`: how many to work with; None takes all cores.
    - `scratch`: the folder for what exceeds the memory; None takes the system's folder
      for temporary files.
    - `engine`: `native` (C++, for CPUs), `device` (JAX, for accelerators), or `auto`,
      which is native where JAX runs on a CPU and the engine was built, unless `devices`
      are asked for.
    - `devices`: over how many devices engine `device` spreads a population; None takes
      all that JAX has.
    - `on_progress`: called some times a second while a discovery takes long.
    """

    memory_budget: str | int = AUTO
    threads: int | None = None
    scratch: Path | None = None
    engine: str = AUTO
    devices: int | None = None
    on_progress: Callable[[Progress], None] | None = None

    def __post_init__(self) -> None:
        read_budget(self.memory_budget)
        if self.threads is not None and (
            isinstance(self.threads, bool)
            or not isinstance(self.threads, int)
            or not 1 <= self.threads <= MAX_THREADS
        ):
            raise ValueError(
                f"threads is {shown(self.threads)}; give a whole number of at least 1 "
                f"and at most {MAX_THREADS}, or None for all cores."
            )
        if self.scratch is not None and not isinstance(self.scratch, Path):
            raise ValueError(
                f"scratch is {shown(self.scratch)}; give a folder as a pathlib.Path, "
                "or None for the system's."
            )
        if self.on_progress is not None and not callable(self.on_progress):
            raise ValueError(
                f"on_progress is {shown(self.on_progress)}; give a function, or None."
            )
        if self.devices is not None and (
            isinstance(self.devices, bool)
            or not isinstance(self.devices, int)
            or self.devices < 1
        ):
            raise ValueError(
                f"devices is {shown(self.devices)}; give a whole number of at least 1, "
                "or None for all."
            )
        if self.devices is not None and self.engine == "native":
            raise ValueError(
                "devices are for engine device; engine native has threads. Leave one "
                "of the two settings out."
            )
        if self.engine not in ENGINES:
            raise ValueError(
                f"unknown engine {shown(self.engine)}: use one of {', '.join(ENGINES)}."
            )

    @property
    def budget(self) -> int:
        """The memory budget in bytes."""
        return read_budget(self.memory_budget)

    @property
    def device_budget(self) -> int:
        """What one device may take: half of its memory, and no more than was said. On
        CPUs it is the memory budget."""
        of_device = device_memory()
        if of_device is None:
            return self.budget
        half = of_device // 2
        return half if self.memory_budget == AUTO else min(half, self.budget)

    @property
    def num_threads(self) -> int:
        return num_cores() if self.threads is None else self.threads

    def on_devices(self) -> "Resources":
        """The same, with engine `device`."""
        return dataclasses.replace(self, engine="device")

    def on_host(self) -> "Resources":
        """The same, with engine `native`."""
        return dataclasses.replace(self, engine="native", devices=None)

    @property
    def reserve(self) -> _native.Engine | None:
        """The native engine for what no device has room for. None where it was not
        built, where it is said that devices do the work, and where the room is what
        happens to be free: it has to be the same from one generation to the next."""
        is_fixed = self.memory_budget != AUTO or device_memory() is not None
        if self.engine != AUTO or self.devices is not None or not is_fixed:
            return None
        return _native.engine()

    @property
    def native(self) -> _native.Engine | None:
        """The native engine, if it is the one to use."""
        if self.engine == "device" or self.devices is not None:
            return None
        if self.engine == "native":
            return _native.required()
        return _automatic()

    @property
    def engine_name(self) -> str:
        """What does the work: `native`, or `device` and its kind."""
        if self.native is not None:
            return "native"
        import jax  # here, as it takes seconds

        return f"device {jax.default_backend()}"

    def open_scratch(self) -> int:
        """The descriptor of a new file without a name, for what exceeds the memory."""
        return open_scratch(self.scratch)


def device_memory() -> int | None:
    """Bytes that a device of JAX has for itself; None where it is the machine's."""
    import jax  # here, as it takes seconds

    if jax.default_backend() == "cpu":
        return None
    stats = jax.local_devices()[0].memory_stats() or {}
    return stats.get("bytes_limit")


@functools.cache
def _automatic() -> _native.Engine | None:
    import jax  # here, as it takes seconds

    if jax.default_backend() != "cpu":
        return None
    return _native.engine_or_warning()


def num_cores() -> int:
    """Processor cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
