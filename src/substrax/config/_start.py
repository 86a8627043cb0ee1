"""The section `start`: the genome that the first population is made of."""

import dataclasses
import os
from pathlib import Path
from typing import Any

from .._suggest import suggest
from .._types import check_threshold, shown
from ..decoders import (
    SEED_ACTIVATIONS,
    SEEDS,
    AbstractCPPNDecoder,
    AbstractDecoder,
    seed_genome,
)
from ..neat import Genome, GenomeData
from ..settings import NONE

GIVEN = "given"
"""The genome is what `start.nodes` and `start.links` say."""


@dataclasses.dataclass(frozen=True)
class StartSettings:
    """Where evolution starts.

    `genome` is `none` (a first population as NEAT makes it), the name of a seed, or
    `given`: then `nodes` and `links` say what it is, and `origin` where it is from. See
    `Start` for `jitter`. Where a person writes a file or the directory of a run as
    `genome`, it is read at once and becomes `given`.
    """

    genome: str = NONE
    jitter: float = 0.1
    nodes: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    origin: str = ""

    def __post_init__(self) -> None:
        check_threshold("start.jitter", self.jitter)

    @property
    def activations(self) -> tuple[str, ...]:
        """Functions that the genome's nodes have."""
        if self.genome == NONE:
            return ()
        if self.genome != GIVEN:
            return SEED_ACTIVATIONS
        nodes = GenomeData.read(self.nodes, ()).nodes
        return tuple(dict.fromkeys(node.activation for node in nodes))


def is_place(genome: str) -> bool:
    """Whether a genome is to be read from a file or a run."""
    return genome not in (NONE, GIVEN, *SEEDS)


def given_settings(data: GenomeData, origin: str) -> dict[str, Any]:
    """Settings under their keys, for a genome that was read."""
    return {
        "start.genome": GIVEN,
        "start.nodes": tuple(data.node_lines),
        "start.links": tuple(data.link_lines),
        "start.origin": origin,
    }


def read_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Settings for a genome in a file."""
    place = Path(path)
    # (pathlib's own would raise for a name that is too long)
    if place.suffix not in (".json", ".toml") or not os.path.isfile(place):
        raise ValueError(
            f"start.genome is {shown(str(path))}{suggest(str(path), (NONE, *SEEDS))}, "
            f"but there is no such seed (there are {', '.join(SEEDS)}), no file of "
            "that name that ends in .json or .toml, and no directory of a run."
        )
    return given_settings(GenomeData.load(place), str(place))


def start_genome(
    settings: StartSettings, decoder: AbstractDecoder, default_activation: str
) -> Genome | None:
    """The genome for a decoder, None if the first population is not given."""
    if settings.genome == NONE:
        if settings.links:
            raise ValueError(
                "start.links are given, but start.genome is none. Set it to "
                f'"{GIVEN}", or leave out the links.'
            )
        return None
    if settings.genome != GIVEN:
        if not isinstance(decoder, AbstractCPPNDecoder):
            raise ValueError(
                f"the seed {settings.genome} is a CPPN, but this decoder takes genomes "
                "for networks. Set start.genome to none (--start-from none)."
            )
        reading = decoder.reading
        data = seed_genome(settings.genome, reading.coordinates, reading.outputs)
    else:
        data = GenomeData.read(settings.nodes, settings.links)
    return data.genome(
        decoder.genome_inputs,
        decoder.genome_outputs,
        default_activation=default_activation,
    )
