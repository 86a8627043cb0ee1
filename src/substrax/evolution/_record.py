"""What is known of a generation and, in the end, of a run."""

import dataclasses

import numpy as np

from ..neat import Genome, NEATInfo, NEATState
from ..network import Networks
from ..runs import GenerationRecord, StopReason, finite_or_none
from ..worlds import Statistics
from ._judge import Judged


@dataclasses.dataclass(frozen=True)
class Result:
    """What a run came to.

    `best_genome`, `best_network` and `best_fitness` are the best of all generations;
    they are None if no evaluation succeeded. `generations` is how many were run,
    `solved_at` the first whose best reached the target (None: none did). `state` is
    what the next generation would start from, `history` a record for each generation.
    """

    reason: StopReason
    best_fitness: float | None
    best_genome: Genome | None
    best_network: Networks | None
    generations: int
    solved_at: int | None
    state: NEATState
    history: tuple[GenerationRecord, ...]
    statistics: Statistics | None = None
    """Of what networks had seen when the best was evaluated, if the problem keeps
    any."""

    @property
    def is_solved(self) -> bool:
        """Whether the target was reached."""
        return self.solved_at is not None

    def found(self) -> tuple[Genome, Networks]:
        """The best genome and its network; a `ValueError` says why there is none."""
        if self.best_genome is None or self.best_network is None:
            raise ValueError(
                "this run has no best network: "
                + (
                    "no generation was finished."
                    if not self.generations
                    else "no evaluation succeeded, every fitness was NaN or infinite."
                )
            )
        return self.best_genome, self.best_network


def make_record(
    next_state: NEATState,
    info: NEATInfo,
    judged: Judged,
    num_cached: int,
    seconds: float,
    compile_seconds: float,
) -> GenerationRecord:
    """The record of the generation that `info` is about."""
    num_species = int(info.num_species)
    ids = np.asarray(info.species_id)[:num_species].tolist()
    sizes = np.asarray(info.species_size)[:num_species].tolist()
    best = int(info.best_index)
    fitness, num_hidden, num_links = judged.fitness, judged.num_hidden, judged.num_links
    return GenerationRecord(
        generation=int(info.generation),
        best_fitness=finite_or_none(info.best_fitness),
        best_ever=finite_or_none(next_state.best_score),
        mean_fitness=_mean(fitness),
        num_species=num_species,
        species_size=tuple(
            {"id": i, "size": n} for i, n in zip(ids, sizes, strict=True)
        ),
        mean_genome_nodes=float(info.mean_nodes),
        mean_genome_links=float(info.mean_links),
        mean_hidden=float(num_hidden.mean()),
        mean_network_links=float(num_links.mean()),
        best_hidden=int(num_hidden[best]),
        best_network_links=int(num_links[best]),
        threshold=float(info.threshold),
        num_on_host=judged.num_on_host,
        num_failed=int(info.num_failed),
        num_empty=int((num_hidden == 0).sum()),
        seconds=round(seconds, 6),
        compile_seconds=round(min(compile_seconds, seconds), 6),
        num_cached=num_cached,
        num_unlinked=int((num_links == 0).sum()),
        fitness_spread=_spread(fitness),
        num_grown=judged.num_grown,
        num_steps=0 if judged.num_steps is None else int(judged.num_steps.sum()),
    )


def _numbers(fitness: np.ndarray) -> np.ndarray:
    return fitness[np.isfinite(fitness)].astype(np.float64)


def _mean(fitness: np.ndarray) -> float | None:
    numbers = _numbers(fitness)
    if not numbers.size:
        return None
    # The sum of the largest would overflow; their mean does not.
    return finite_or_none((numbers / numbers.size).sum())


def _spread(fitness: np.ndarray) -> float | None:
    numbers = _numbers(fitness)
    if not numbers.size:
        return None
    if numbers.min() == numbers.max():  # whatever rounding makes of their mean
        return 0.0
    scale = float(np.abs(numbers).max())  # squares of the largest would overflow
    return finite_or_none(scale * (numbers / scale).std())
