"""From settings to objects."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._types import shown
from ..decoders import (
    MAKERS,
    AbstractDecoder,
    CPPNReading,
    Direct,
    FixedSubstrate,
    HyperNEAT,
    check_num_links,
)
from ..neat import NEAT, NEATConfig, first_capacities
from ..problems import PROBLEMS, AbstractProblem
from ..substrate import MAX_POINTS, RULES, Layout, WeightMap, line
from ._settings import Section
from ._start import StartSettings, start_genome

_READING = ("dialect", "coordinates", "outputs", "precision")
_NETWORK = ("bias_scale", "hidden_activation", "output_activation", "steps")


def _some(settings: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: settings[name] for name in names}


def _fields(cls: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in dataclasses.fields(cls)}
    return {name: value for name, value in settings.items() if name in names}


def build_problem(section: Section) -> AbstractProblem:
    """The problem with its settings."""
    return PROBLEMS[section.name](**section.settings)


def genome_activations(neat: Section, start: StartSettings) -> tuple[str, ...]:
    """Every activation that a genome may have."""
    settings = neat.settings
    also = (settings["activation_default"], settings["output_activation"])
    names = dict.fromkeys([*settings["activation_options"], *also, *start.activations])
    return tuple(name for name in names if name is not None)


def build_decoder(
    section: Section, neat: Section, start: StartSettings, layout: Layout
) -> AbstractDecoder:
    """The decoder, for a problem's layout and the genomes of a NEAT."""
    settings = section.settings
    activations = genome_activations(neat, start)
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
    layers = [_layer_size(text) for text in settings["hidden_layers"]]
    sizes = [columns * (rows or 1) for columns, rows in layers]
    if sum(sizes) > MAX_POINTS:
        raise ValueError(
            f"hidden_layers have {shown(sum(sizes))} nodes; they may have at most "
            f"{MAX_POINTS:,}. Choose fewer."
        )
    check_num_links([len(layout.inputs), *sizes, len(layout.outputs)])
    # Rows at equal heights, all layers together.
    num_rows = sum(rows or 1 for _, rows in layers)
    heights = low + (high - low) * np.arange(1, num_rows + 1) / (num_rows + 1)
    points, first = [], 0
    for columns, rows in layers:
        x = line(columns, 0.0)[:, 0]
        if rows is not None:
            x = (2 * np.arange(columns) + 1) / columns - 1
        y = heights[first : first + (rows or 1)]
        points.append(np.column_stack([np.tile(x, y.size), np.repeat(y, columns)]))
        first += y.size
    return FixedSubstrate.layered([layout.inputs, *points, layout.outputs])


def _layer_size(text: str) -> tuple[int, int | None]:
    """Columns and rows of a layer: `8` nodes in one row from edge to edge (no number of
    rows is given), or `4x2`, the middles of 4 columns in 2 rows."""
    words = text.split("x")
    try:
        columns, num_rows = int(words[0]), int(words[1]) if len(words) == 2 else 1
    except ValueError:
        columns, num_rows = 0, 0
    if min(columns, num_rows) < 1 or len(words) > 2:
        raise ValueError(
            f"hidden_layers has {shown(text)}; a layer is a number of nodes, such as "
            "8, or of columns and rows, such as 4x2."
        )
    return columns, num_rows if len(words) == 2 else None


def build_neat(
    section: Section, start: StartSettings, decoder: AbstractDecoder
) -> NEAT:
    """NEAT for the genomes that a decoder reads, from a first population on."""
    defaults = NEATConfig()
    whole: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    for key, value in section.settings.items():
        part, _, name = key.rpartition(".")
        (parts.setdefault(part, {}) if part else whole)[name] = value
    for part, values in parts.items():
        try:
            whole[part] = type(getattr(defaults, part))(**values)
        except ValueError as error:
            raise ValueError(f"{part}: {error}") from error
    is_recurrent = isinstance(decoder, Direct) and decoder.is_recurrent
    config = NEATConfig(
        num_inputs=decoder.num_genome_inputs,
        num_outputs=decoder.num_genome_outputs,
        feed_forward=not is_recurrent,
        **whole,
    )
    # What an output does of which a given genome says nothing.
    names = (config.output_activation, config.activation_default)
    default = next((n for n in names if n is not None), config.activation_options[0])
    genome = start_genome(start, decoder, default)
    if genome is None:
        first_capacities(config)  # raises if there is no room
    return NEAT(config, genome, start.jitter)
