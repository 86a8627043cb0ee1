"""A run of ours: an experiment with settings, and a seed."""

from typing import Any

from substrax.config import load_experiment


def run_experiment(name: str, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    experiment = load_experiment(name).with_settings({**settings, "seed": seed})
    result = experiment.evolve()
    population = experiment.neat.settings["population_size"]
    solved_at = result.solved_at
    runs = result.generations if solved_at is None else solved_at + 1
    return {
        "solved_at": solved_at,
        "generations": result.generations,
        "evaluations": runs * population,
        "best": result.best_fitness if result.best_fitness is not None else -1.0,
    }
