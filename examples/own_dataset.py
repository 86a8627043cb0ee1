"""A data set of your own: give arrays, get a classifier that grew by itself.

Two half moons, which no straight line separates, half of the points held back as a
test. `ArrayProblem` is all that is needed. Run it by itself:
`python examples/own_dataset.py`.
"""

import argparse

import numpy as np

from substrax.decoders import CPPNReading, emr_hyperneat
from substrax.evolution import Generation, evolve
from substrax.neat import NEAT, presets
from substrax.network import describe
from substrax.problems import ArrayProblem
from substrax.substrate import EMRRule


def moons(num: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points on two arcs that reach into each other, with noise; and which arc."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, num)
    angle = rng.uniform(0, np.pi, num)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([1 - np.cos(angle), 0.5 - np.sin(angle)])
    points = np.where(y[:, None] == 1, lower, upper) - [0.5, 0.25]
    return points + rng.normal(scale=0.1, size=points.shape), y


def main(seed: int, population_size: int, generations: int) -> float:
    """Evolve, print how it went, and return the accuracy on the test."""
    X, y = moons(200, seed=0)
    X_test, y_test = moons(200, seed=1)
    problem = ArrayProblem(
        X, y, has_bias=True, X_test=X_test, y_test=y_test, target=0.97
    )

    config = presets.pureples(
        num_inputs=5, num_outputs=1, population_size=population_size
    )
    decoder = emr_hyperneat(
        problem.layout,
        EMRRule(depth=3, connections="hidden"),
        reading=CPPNReading(activations=config.activation_options),
    )

    def show(generation: Generation) -> None:
        record = generation.record
        if record.best_ever is not None:
            print(f"generation {record.generation:3d}: fitness {record.best_ever:.3f}")

    result = evolve(
        NEAT(config),
        decoder,
        problem,
        seed=seed,
        generations=generations,
        callbacks=[show],
    )
    assert result.best_network is not None
    measures = problem.measures(result.best_network)
    print(f"\n{describe(result.best_network)}")
    print(f"accuracy on what it learnt from: {measures['accuracy']:.3f}")
    print(f"accuracy on the test:            {measures['test_accuracy']:.3f}")
    return measures["test_accuracy"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Evolve a classifier of moons.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--population-size", type=int, default=150)
    parser.add_argument("--generations", type=int, default=50)
    main(**vars(parser.parse_args()))
