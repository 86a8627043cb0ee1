"""Which settings there are. They come from the classes that they configure."""

import dataclasses
import typing
from typing import Any

from .._resources import ENGINES, Resources
from .._suggest import suggest
from .._types import shown
from ..cppn import COORDINATES, DIALECTS
from ..decoders import (
    MAKERS,
    OUTPUTS,
    CPPNReading,
    Direct,
    FixedSubstrate,
    HyperNEAT,
)
from ..evolution import MAX_CACHED_BYTES
from ..neat import NEATConfig, presets
from ..problems import PROBLEMS
from ..substrate import CONFIGURATIONS, STRATEGIES, Layout, line
from ._settings import Setting, setting_of
from ._start import StartSettings

DECODERS = ("direct", "hyperneat", *MAKERS)
"""Names of decoders."""

DEFAULT_DECODER, DEFAULT_PRESET = "emr", "substrax"

_PRECISIONS = ("f32", "f64")
_WEIGHT_MAPS = ("deadzone", "linear")
_DERIVED = {"num_inputs", "num_outputs", "maximise", "feed_forward"}
"""Fields of `NEATConfig` that follow from problem and decoder."""


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
    engine: str = "auto"

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


def _of_fields(prefix: str, cls: type, values: Any) -> dict[str, Setting]:
    """Settings for the plain fields of a dataclass; `values` has their defaults."""
    hints = typing.get_type_hints(cls)
    settings = {}
    for field in dataclasses.fields(cls):
        default = getattr(values, field.name, None)
        setting = setting_of(prefix + field.name, hints[field.name], default)
        if setting is not None and field.init:
            settings[setting.key] = setting
    return settings


def run_settings() -> dict[str, Setting]:
    """The section `run`."""
    settings = _of_fields("run.", RunSettings, RunSettings())
    engine = settings["run.engine"]
    return settings | {"run.engine": dataclasses.replace(engine, choices=ENGINES)}


def start_settings() -> dict[str, Setting]:
    """The section `start`."""
    return _of_fields("start.", StartSettings, StartSettings())


def problem_settings(name: str) -> dict[str, Setting]:
    """The section `problem`, for the problem of this name."""
    if name not in PROBLEMS:
        raise ValueError(
            f"there is no problem {shown(name)}{suggest(name, PROBLEMS)}. Known are "
            f"{', '.join(PROBLEMS)}; `substrax list` explains them."
        )
    cls: Any = PROBLEMS[name]
    defaults: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        if field.default is not dataclasses.MISSING:
            defaults[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            defaults[field.name] = field.default_factory()
    return _of_fields("problem.", cls, _Values(defaults))


def suggested(name: str) -> dict[str, object]:
    """Settings of a decoder that fit a problem."""
    return PROBLEMS[name].suggested


class _Values:
    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__ |= values


def _reading_settings(reading: CPPNReading) -> list[Setting]:
    key = "decoder.".__add__
    return [
        Setting(key("dialect"), str, reading.dialect, DIALECTS),
        Setting(key("coordinates"), str, reading.coordinates, tuple(COORDINATES), True),
        Setting(key("outputs"), str, reading.outputs, OUTPUTS, True),
        Setting(key("precision"), str, reading.precision, _PRECISIONS),
    ]


def _network_settings(decoder: Any) -> list[Setting]:
    key = "decoder.".__add__
    return [
        Setting(key("weight_map"), str, decoder.weight_map.name, _WEIGHT_MAPS),
        Setting(key("max_weight"), float, decoder.weight_map.max_weight),
        Setting(key("bias_scale"), float, decoder.bias_scale, is_optional=True),
        Setting(key("hidden_activation"), str, decoder.hidden_activation),
        Setting(key("output_activation"), str, decoder.output_activation),
        Setting(key("steps"), int, decoder.steps),
    ]


def decoder_settings(name: str) -> dict[str, Setting]:
    """The section `decoder`, for the decoder of this name."""
    if name not in DECODERS:
        raise ValueError(
            f"there is no decoder {shown(name)}{suggest(name, DECODERS)}. Choose one "
            f"of {', '.join(DECODERS)}."
        )
    key = "decoder.".__add__
    if name == "direct":
        default = Direct(1, 1)
        fields = _of_fields("decoder.", Direct, default)
        for derived in ("num_inputs", "num_outputs", "activations"):
            del fields[key(derived)]
        fields[key("dialect")] = Setting(key("dialect"), str, default.dialect, DIALECTS)
        return fields
    if name == "hyperneat":
        settings = [
            Setting(key("substrate"), str, "layered", ("layered", "grid")),
            Setting(key("hidden_layers"), str, ("4",), is_list=True),
            Setting(key("columns"), int, 4),
            Setting(key("rows"), int, 3),
            Setting(key("weight_threshold"), float, 0.0),
        ]
        default = HyperNEAT(FixedSubstrate.layered([line(1, -1.0), line(1, 1.0)]))
    else:
        default = MAKERS[name](Layout.spread(1, 1))
        of_rule = _of_fields("decoder.", type(default.rule), default.rule)
        settings = [_with_choices(setting) for setting in of_rule.values()]
        settings += [
            Setting(key("strategy"), str, default.strategy, STRATEGIES),
        ]
    every = [
        *settings,
        *_reading_settings(default.reading),
        *_network_settings(default),
    ]
    return {setting.key: setting for setting in every}


def _with_choices(setting: Setting) -> Setting:
    choices = {
        "decoder.connections": tuple(CONFIGURATIONS),
        "decoder.field": ("output", "weight"),
    }
    return dataclasses.replace(setting, choices=choices.get(setting.key, ()))


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
