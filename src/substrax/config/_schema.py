"""Which settings there are. They come from the classes that they configure."""

import dataclasses
import typing
from typing import Any

from .._resources import ENGINES, Resources
from .._suggest import suggest
from .._types import CHOICES, chosen, shown
from ..evolution import MAX_CACHED_BYTES
from ..experiments import is_own
from ..methods import METHODS, EMRHyperNEAT
from ..neat import NEATConfig, presets
from ..problems import PROBLEMS
from ._own import IN_PYTHON, own_problem
from ._settings import Setting, setting_of
from ._start import StartSettings

DEFAULT_METHOD, DEFAULT_PRESET = EMRHyperNEAT.name, "substrax"

_DERIVED = {"num_inputs", "num_outputs", "maximise", "feed_forward"}
"""Fields of `NEATConfig` that follow from problem and method."""


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


def _of_fields(
    prefix: str, cls: Any, values: Any = dataclasses.MISSING
) -> dict[str, Setting]:
    """Settings for the plain fields of a dataclass, by dotted key.

    `values` is an object with their defaults; left out, those of the class count.
    """
    hints = typing.get_type_hints(cls)
    settings = {}
    for field in dataclasses.fields(cls):
        if not field.init:
            continue
        if values is not dataclasses.MISSING:
            default = getattr(values, field.name)
        elif field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        else:
            has_none = field.default is dataclasses.MISSING
            default = None if has_none else field.default
        setting = setting_of(
            prefix + field.name,
            hints[field.name],
            default,
            field.metadata.get(CHOICES, ()),
        )
        if setting is not None:
            settings[setting.key] = setting
    return settings


def run_settings() -> dict[str, Setting]:
    """The section `run`."""
    return _of_fields("run.", RunSettings)


def start_settings() -> dict[str, Setting]:
    """The section `start`."""
    return _of_fields("start.", StartSettings)


def problem_settings(name: str) -> dict[str, Setting]:
    """The section `problem`, for the problem of this name."""
    if name == IN_PYTHON:
        return {}
    if is_own(name):
        return dict(own_problem(name).settings)
    if name not in PROBLEMS:
        raise ValueError(
            f"there is no problem {shown(name)}{suggest(name, PROBLEMS)}. Known are "
            f"{', '.join(PROBLEMS)}; `substrax list` explains them."
        )
    return _of_fields("problem.", PROBLEMS[name])


def suggested(name: str) -> dict[str, object]:
    """Settings of a method that fit a problem."""
    if name == IN_PYTHON:
        return {}
    return dict(
        own_problem(name).suggested if is_own(name) else PROBLEMS[name].suggested
    )


def method_settings(name: str) -> dict[str, Setting]:
    """The section `method`, for the method of this name."""
    if name not in METHODS:
        raise ValueError(
            f"there is no method {shown(name)}{suggest(name, METHODS)}. Choose one "
            f"of {', '.join(METHODS)}."
        )
    return _of_fields("method.", METHODS[name])


def neat_settings(preset: str) -> dict[str, Setting]:
    """The section `neat`, with the numbers of a preset as defaults."""
    if preset not in presets.PRESETS:
        raise ValueError(
            f"there is no preset {shown(preset)}{suggest(preset, presets.PRESETS)}. "
            f"Choose one of {', '.join(presets.PRESETS)}."
        )
    config = presets.PRESETS[preset](num_inputs=1, num_outputs=1)
    settings = _of_fields("neat.", NEATConfig, config)
    for name in _DERIVED:
        del settings[f"neat.{name}"]
    for field in dataclasses.fields(NEATConfig):
        part = getattr(config, field.name)
        if dataclasses.is_dataclass(part):
            settings |= _of_fields(f"neat.{field.name}.", type(part), part)
    return settings
