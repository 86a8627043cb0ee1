"""What is known of a generation, and why a run ended."""

import dataclasses
import enum
import math
import reprlib
from collections.abc import Callable
from typing import Any


class StopReason(enum.Enum):
    """Why a run ended."""

    TARGET = "target"
    GENERATIONS = "generations"
    SECONDS = "seconds"
    PATIENCE = "patience"
    CALLBACK = "callback"
    INTERRUPTED = "interrupted"
    ERROR = "error"

    @property
    def sentence(self) -> str:
        """The reason in words."""
        return _SENTENCES[self]

    @staticmethod
    def read(value: str) -> "StopReason":
        """What a file says; a reason that only a later release knows counts as what a
        callback asked for."""
        try:
            return StopReason(value)
        except ValueError:
            return StopReason.CALLBACK


_SENTENCES = {
    StopReason.TARGET: "the target was reached",
    StopReason.GENERATIONS: "all generations were run",
    StopReason.SECONDS: "the time was used up",
    StopReason.PATIENCE: "the best fitness had not improved for as long as was allowed",
    StopReason.CALLBACK: "a callback asked for it",
    StopReason.INTERRUPTED: "it was interrupted",
    StopReason.ERROR: "of an error",
}

TIMES = ("seconds", "compile_seconds", "num_cached")
"""The fields of a record that differ between two equal runs: times, and what saved
some of it (a run that goes on starts with an empty cache)."""


@dataclasses.dataclass(frozen=True)
class GenerationRecord:
    """One line of `metrics.jsonl`.

    `best_fitness` is that of this generation (None if every evaluation failed),
    `best_ever` that of the run so far. `species_size` has one entry for each living
    species, oldest first. `num_on_host` counts genomes that no device had room for: the
    native engine judged them. `num_empty` counts networks without a hidden node,
    `num_unlinked` those without a link, `fitness_spread` is the standard deviation of
    the fitnesses that are numbers (None if there are none), `num_failed` counts those
    that were NaN or infinite. `threshold` is the compatibility threshold that the next
    generation was placed into species with. `seconds` is the whole time of the
    generation, `compile_seconds` the part of it spent compiling. `num_cached` counts
    networks that were not built, because the same genome had been decoded before,
    `num_grown` genomes that needed more room on a device than there was at first,
    `num_steps` the steps of all environments, for problems that are environments.
    """

    generation: int
    best_fitness: float | None
    best_ever: float | None
    mean_fitness: float | None
    num_species: int
    species_size: tuple[dict[str, int], ...]
    mean_genome_nodes: float
    mean_genome_links: float
    mean_hidden: float
    mean_network_links: float
    best_hidden: int
    best_network_links: int
    threshold: float
    num_failed: int
    num_empty: int
    seconds: float
    compile_seconds: float
    num_cached: int = 0
    num_on_host: int = 0
    num_unlinked: int = 0
    fitness_spread: float | None = None
    num_grown: int = 0
    num_steps: int = 0

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers and lists, ready for JSON."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return values | {"species_size": list(self.species_size)}

    @staticmethod
    def from_dict(values: dict[str, Any]) -> "GenerationRecord":
        """From one line of `metrics.jsonl`; a `ValueError` names what does not fit."""
        fields = {field.name: field for field in dataclasses.fields(GenerationRecord)}
        for name, field in fields.items():
            # Fields with a default were added later, and old lines lack them.
            if name not in values and field.default is dataclasses.MISSING:
                raise ValueError(f"a record of metrics has no {name}.")
        for name, value in values.items():
            if name not in fields:
                raise ValueError(f"a record of metrics has an unknown entry {name!r}.")
            if not _KINDS[fields[name].type](value):
                raise ValueError(
                    f"{name} of a record of metrics is {reprlib.repr(value)}."
                )
        species_size = tuple(values["species_size"])
        return GenerationRecord(**{**values, "species_size": species_size})


def _is_whole(value: Any) -> bool:
    return type(value) is int


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _are_species(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(entry, dict)
        and entry.keys() == {"id", "size"}
        and all(map(_is_whole, entry.values()))
        for entry in value
    )


_KINDS: dict[Any, Callable[[Any], bool]] = {
    int: _is_whole,
    float: _is_number,
    float | None: lambda value: value is None or _is_number(value),
    tuple[dict[str, int], ...]: _are_species,
}
"""How the values of each type of field are told."""


def finite_or_none(value: Any) -> float | None:
    """A number for JSON, which knows neither NaN nor infinity."""
    number = float(value)
    return number if math.isfinite(number) else None
