"""The section `run`."""

import dataclasses
from typing import Any

from .._resources import ENGINES, Resources
from .._types import chosen
from ..evolution import MAX_CACHED_BYTES, SLICE_TIMEOUT


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
    devices: int | None = None
    executor: str | None = None
    slice_timeout: float | None = SLICE_TIMEOUT

    @property
    def resources(self) -> Resources:
        """What the run may take; of it, only the engine may change a last bit."""
        return Resources(**{name: getattr(self, name) for name in _RESOURCES})

    @property
    def limits(self) -> dict[str, Any]:
        """The other arguments of `evolve`."""
        values = dataclasses.asdict(self)
        others = _RESOURCES | _SHARING
        return {name: values[name] for name in values if name not in others}


_SHARING = {"executor", "slice_timeout"}
_RESOURCES = {f.name for f in dataclasses.fields(RunSettings)} & {
    f.name for f in dataclasses.fields(Resources)
}
