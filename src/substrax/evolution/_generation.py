"""What callbacks are given: the run, and each of its generations."""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from .._documents import parse_toml
from .._resources import Resources
from ..decoders import AbstractDecoder
from ..neat import NEAT, Genome, NEATInfo, NEATState
from ..network import Networks
from ..problems import AbstractProblem
from ..runs import CONFIG, GenerationRecord
from ..settings import flatten
from ._best import Best
from ._directory import RunDirectory
from ._identity import identity_of


@dataclasses.dataclass(frozen=True, eq=False)
class RunInfo:
    """What is known of a run before it begins, or goes on.

    `generations` and `target` are when it stops, `history` are the records of the
    generations before, if it goes on.
    """

    algorithm: NEAT
    decoder: AbstractDecoder
    problem: AbstractProblem
    seed: int
    generations: int
    target: float
    history: tuple[GenerationRecord, ...]
    run_directory: RunDirectory | None
    config_text: str
    """The configuration; empty if the run was made without one."""

    @property
    def directory(self) -> Path | None:
        """Where the run is saved, if it is."""
        return None if self.run_directory is None else self.run_directory.path

    @property
    def name(self) -> str:
        """That of the directory, or else of the problem, with the seed."""
        if self.directory is not None:
            return self.directory.resolve().name
        return f"{self.problem.name}-seed{self.seed}"

    @functools.cached_property
    def settings(self) -> Mapping[str, Any]:
        """All settings under dotted keys: those of the configuration or, without one,
        those that the results depend on."""
        if self.config_text:
            return flatten(parse_toml(self.config_text, CONFIG))
        return identity_of(self.algorithm, self.decoder, self.problem, self.seed)

    def notes(self, tracker: str) -> dict[str, Any]:
        """What a tracker of this name has noted when the run was begun; empty if it has
        noted nothing, or if the run is not saved."""
        return {} if self.run_directory is None else self.run_directory.notes(tracker)

    def write_notes(self, tracker: str, notes: Mapping[str, Any]) -> None:
        """Keeps what a tracker needs to go on later, as plain values for JSON. Does
        nothing if the run is not saved."""
        if self.run_directory is not None:
            self.run_directory.write_notes(tracker, notes)


class HeldNetworks:
    """Networks that are at hand for a while, and are made again afterwards.

    Whoever keeps a generation does not keep its networks: a population may take most of
    the memory.
    """

    def __init__(
        self,
        networks: Networks | None,
        decoder: AbstractDecoder,
        genomes: Genome,
        resources: Resources,
    ) -> None:
        self._held = networks
        self._decode = lambda: decoder.decode(genomes, resources)

    def get(self) -> Networks:
        return self._decode() if self._held is None else self._held

    def release(self) -> None:
        self._held = None


@dataclasses.dataclass(frozen=True, eq=False)
class Generation:
    """A generation that was evaluated.

    `record` has its numbers, one line of `metrics.jsonl`. `state` is the state that was
    evaluated: `state.population`, `fitness` and `networks` are in the same order, and
    `info.species_index` says which species each genome belongs to. `next_state` has
    their offspring. `best` is the best of the run so far, None if no evaluation has
    succeeded. A fitness that is NaN or infinite failed.

    Nothing here can be changed, and nothing is computed that nobody asks for.
    """

    run: RunInfo
    record: GenerationRecord
    state: NEATState
    next_state: NEATState
    info: NEATInfo
    fitness: Float[np.ndarray, " population"]
    best: Best | None
    _networks: HeldNetworks

    @property
    def number(self) -> int:
        """The first generation is 0."""
        return self.record.generation

    @property
    def is_improved(self) -> bool:
        """Whether this generation has found a new best."""
        return self.best is not None and self.best.generation == self.number

    @property
    def networks(self) -> Networks:
        """The networks of the population.

        They are at hand while callbacks are called. If you keep the generation and ask
        later, they are decoded again, each time, to the same bits.
        """
        return self._networks.get()

    def release(self) -> None:
        """Lets go of the networks; the loop does that when all callbacks have been."""
        self._networks.release()
