"""A run of ours: an experiment with settings, and a seed."""

from typing import Any

import jax

from substrax.config import Experiment, load_experiment
from substrax.evolution import Result
from substrax.problems import VisualDiscrimination

FINER = (33, 55)


def run_experiment(work: dict[str, Any], seed: int) -> dict[str, Any]:
    settings = {**work["settings"], "seed": seed}
    experiment = load_experiment(work["experiment"]).with_settings(settings)
    result = experiment.evolve()
    population = experiment.neat.population_size
    solved_at = result.solved_at
    runs = result.generations if solved_at is None else solved_at + 1
    return {
        "solved_at": solved_at,
        "generations": result.generations,
        "evaluations": runs * population,
        "best": result.best_fitness if result.best_fitness is not None else -1.0,
        "measures": measures_of(experiment, result)
        if work.get("measures", True)
        else {},
    }


def measures_of(experiment: Experiment, result: Result) -> dict[str, float]:
    """What the problem says about the best network, and about finer fields."""
    problem, network = experiment.build().problem, result.best_network
    if network is None:
        return {}
    measures = problem.measures(network)
    if isinstance(problem, VisualDiscrimination):
        measures |= finer_measures(experiment, result)
    return measures


def finer_measures(experiment: Experiment, result: Result) -> dict[str, float]:
    """The same genome, decoded for fields of more pixels, without further evolution."""
    genomes = jax.tree.map(lambda x: x[None], result.best_genome)
    measures = {}
    for resolution in FINER:
        there = experiment.with_settings({"resolution": resolution}).build()
        network = there.decoder.decode(genomes)
        fitness = there.problem.fitness(network, key=jax.random.key(0))
        hits = there.problem.measures(network)["hit_rate"]
        measures[f"fitness at {resolution}"] = float(fitness[0])
        measures[f"hit rate at {resolution}"] = hits
    return measures
