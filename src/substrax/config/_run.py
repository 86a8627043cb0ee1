"""The section `run`."""

import dataclasses
from typing import Any

from .._resources import ENGINES, Resources
from .._types import chosen
from ..evolution import MAX_CACHED_BYTES


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """The section `run`: the seed, when to stop, and what may be used. See `evolve`
    and `Resources`."""

    seed: int = 0
    generations: int = 100
    target: float | None = None
    seconds: float | None = None
    patience: int | None = None
    checkpoint_every: int = 1
    max_cached_bytes: int = MAX_CACHED_BYTES
    memory_budget: str = "auto"
    threads: int | None = None
    engine: str = chosen("auto", ENGINES)

    @property
    def resources(self) -> Resources:
        """What the run may take; none of it changes results."""
        return Resources(self.memory_budget, self.threads, engine=self.engine)

    @property
    def limits(self) -> dict[str, Any]:
        """The other arguments of `evolve`."""
        values = dataclasses.asdict(self)
        for name in ("memory_budget", "threads", "engine"):
            del values[name]
        return values


CHANGEABLE = tuple(f.name for f in dataclasses.fields(RunSettings) if f.name != "seed")
"""What a run that goes on may have another value of."""
