"""Which settings there are: they come from the classes that they configure.

`python -m substrax.config` writes them down, for those who cannot wait for JAX.
"""

import dataclasses
import json
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import settings
from .._files import write_atomically
from .._types import CHOICES
from ..decoders import SEEDS
from ..methods import METHODS, EMRHyperNEAT
from ..neat import NEATConfig, presets
from ..problems import PROBLEMS
from ..settings import FILE, Setting, Tables, setting_of
from ..substrate import CONFIGURATIONS
from ._experiment import suggests_by_data
from ._run import RunSettings
from ._start import StartSettings

_DERIVED = {"num_inputs", "num_outputs", "maximise", "feed_forward"}
"""Fields of `NEATConfig` that follow from problem and method."""


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


def _of_preset(name: str) -> dict[str, Setting]:
    """NEAT's settings, with the numbers of a preset as defaults."""
    # (any numbers: they are derived, and taken out below)
    config = presets.PRESETS[name](num_inputs=1, num_outputs=1)
    found = _of_fields("neat.", NEATConfig, config)
    for derived in _DERIVED:
        del found[f"neat.{derived}"]
    for field in dataclasses.fields(NEATConfig):
        part = getattr(config, field.name)
        if dataclasses.is_dataclass(part):
            found |= _of_fields(f"neat.{field.name}.", type(part), part)
    return found


def _described(things: Mapping[str, Any]) -> dict[str, str]:
    """The first line that each of them says of itself."""
    return {
        name: (thing.__doc__ or "").strip().partition("\n")[0]
        for name, thing in things.items()
    }


def make_tables() -> Tables:
    """All settings, from the classes."""
    return Tables(
        run=_of_fields("run.", RunSettings),
        start=_of_fields("start.", StartSettings),
        problems={name: _of_fields("problem.", p) for name, p in PROBLEMS.items()},
        methods={name: _of_fields("method.", m) for name, m in METHODS.items()},
        presets={name: _of_preset(name) for name in presets.PRESETS},
        suggested={
            name: {} if suggests_by_data(problem) else dict(problem.suggested)
            for name, problem in PROBLEMS.items()
        },
        descriptions={
            "problems": _described(PROBLEMS),
            "presets": _described(presets.PRESETS),
        },
        seeds=tuple(SEEDS),
        connections=tuple(CONFIGURATIONS),
        default_method=EMRHyperNEAT.name,
        default_preset="substrax",
    )


def write_tables() -> Path:
    """Writes them where `substrax.settings` finds them."""
    path = Path(settings.__file__).with_name(FILE)
    write_atomically(path, json.dumps(make_tables().to_document(), indent=1) + "\n")
    return path
