"""From settings to NEAT."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..decoders import AbstractDecoder, Direct
from ..neat import NEAT, NEATConfig, first_capacities
from ._start import StartSettings, start_genome


def build_config(settings: Mapping[str, Any]) -> NEATConfig:
    """NEAT's settings, for genomes of any numbers of inputs and outputs."""
    defaults = NEATConfig()
    whole: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    for key, value in settings.items():
        # `weight.init_mean` is a setting of a part, `population_size` one of the whole.
        part, _, name = key.rpartition(".")
        (parts.setdefault(part, {}) if part else whole)[name] = value
    for part, values in parts.items():
        try:
            whole[part] = type(getattr(defaults, part))(**values)
        except ValueError as error:
            raise ValueError(f"{part}: {error}") from error
    return NEATConfig(**whole)


def genome_activations(config: NEATConfig, start: StartSettings) -> tuple[str, ...]:
    """Every activation that a genome may have."""
    also = (config.activation_default, config.output_activation)
    names = dict.fromkeys([*config.activation_options, *also, *start.activations])
    return tuple(name for name in names if name is not None)


def build_neat(
    config: NEATConfig, start: StartSettings, decoder: AbstractDecoder
) -> NEAT:
    """NEAT for the genomes that a decoder reads, from a first population on."""
    is_recurrent = isinstance(decoder, Direct) and decoder.is_recurrent
    config = dataclasses.replace(
        config,
        num_inputs=decoder.num_genome_inputs,
        num_outputs=decoder.num_genome_outputs,
        feed_forward=not is_recurrent,
    )
    # What an output does of which a given genome says nothing.
    names = (config.output_activation, config.activation_default)
    default = next((n for n in names if n is not None), config.activation_options[0])
    genome = start_genome(start, decoder, default)
    if genome is None:
        first_capacities(config)  # raises if there is no room
    return NEAT(config, genome, start.jitter)
