"""From settings to objects."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..decoders import (
    MAKERS,
    AbstractDecoder,
    CPPNReading,
    Direct,
    FixedSubstrate,
    HyperNEAT,
)
from ..neat import NEAT, NEATConfig
from ..problems import PROBLEMS, AbstractProblem
from ..substrate import RULES, Layout, WeightMap, line
from ._settings import Section

_READING = ("dialect", "coordinates", "leo", "precision")
_NETWORK = ("hidden_activation", "output_activation", "steps")


def _some(settings: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: settings[name] for name in names}


def _fields(cls: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in dataclasses.fields(cls)}
    return {name: value for name, value in settings.items() if name in names}


def build_problem(section: Section) -> AbstractProblem:
    """The problem with its settings."""
    return PROBLEMS[section.name](**section.settings)


def genome_activations(neat: Section) -> tuple[str, ...]:
    """Every activation that a genome may have."""
    settings = neat.settings
    also = (settings["activation_default"], settings["output_activation"])
    names = dict.fromkeys([*settings["activation_options"], *also])
    return tuple(name for name in names if name is not None)


def build_decoder(section: Section, neat: Section, layout: Layout) -> AbstractDecoder:
    """The decoder, for a problem's layout and the genomes of a NEAT."""
    settings = section.settings
    activations = genome_activations(neat)
    if section.name == "direct":
        return Direct(
            len(layout.inputs),
            len(layout.outputs),
            activations=activations,
            **settings,
        )
    common: dict[str, Any] = _some(settings, _NETWORK)
    common["reading"] = CPPNReading(
        **_some(settings, _READING), activations=activations
    )
    common["weight_map"] = WeightMap(settings["weight_map"], settings["max_weight"])
    if section.name == "hyperneat":
        return HyperNEAT(
            fixed_substrate(settings, layout),
            weight_threshold=settings["weight_threshold"],
            **common,
        )
    rule = RULES[section.name]
    return MAKERS[section.name](
        layout,
        rule(**_fields(rule, settings)),
        strategy=settings["strategy"],
        **common,
    )


def fixed_substrate(settings: Mapping[str, Any], layout: Layout) -> FixedSubstrate:
    """Hidden nodes between the problem's inputs and outputs: in layers, or a grid."""
    if settings["substrate"] == "grid":
        return FixedSubstrate.grid(layout, settings["columns"], settings["rows"])
    low, high = layout.inputs[:, 1].max(), layout.outputs[:, 1].min()
    if low >= high:
        raise ValueError(
            "hidden layers lie between inputs and outputs, but some input of this "
            "problem is not below all outputs. Use decoder.substrate grid."
        )
    sizes = settings["hidden_layers"]
    height = lambda k: float(low + (high - low) * (k + 1) / (len(sizes) + 1))
    hidden = [line(size, height(k)) for k, size in enumerate(sizes)]
    return FixedSubstrate.layered([layout.inputs, *hidden, layout.outputs])


def build_neat(section: Section, decoder: AbstractDecoder) -> NEAT:
    """NEAT for the genomes that a decoder reads."""
    defaults = NEATConfig()
    whole: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    for key, value in section.settings.items():
        part, _, name = key.rpartition(".")
        (parts.setdefault(part, {}) if part else whole)[name] = value
    for part, values in parts.items():
        whole[part] = type(getattr(defaults, part))(**values)
    is_recurrent = isinstance(decoder, Direct) and decoder.is_recurrent
    return NEAT(
        NEATConfig(
            num_inputs=decoder.num_genome_inputs,
            num_outputs=decoder.num_genome_outputs,
            feed_forward=not is_recurrent,
            **whole,
        )
    )
