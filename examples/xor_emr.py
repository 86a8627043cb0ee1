"""XOR with EMR-HyperNEAT, in ten lines: what `make demo` does, from Python.

A CPPN paints the weights of links over a plane; where its pattern varies, hidden nodes
appear. Run it by itself: `python examples/xor_emr.py`.
"""

import argparse

from substrax.config import load_experiment
from substrax.evolution import Generation
from substrax.network import describe, evaluate


def main(seed: int, population_size: int, generations: int) -> bool:
    """Evolve, print how it went, and say whether XOR was solved."""
    experiment = load_experiment("xor").with_settings(
        {
            "seed": seed,
            "population": population_size,
            "generations": generations,
            "depth": 4,
            "connections": "feedforward",
        }
    )

    def show(generation: Generation) -> None:
        record = generation.record
        print(f"generation {record.generation:3d}: {record.best_ever:.4f}")

    result = experiment.evolve(callbacks=[show])
    assert result.best_network is not None
    print(f"{result.reason.sentence}; best fitness {result.best_fitness:.4f}")
    print(describe(result.best_network))
    rows = [[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]]  # the third input is a bias
    for (a, b, _), answer in zip(
        rows, evaluate(result.best_network, rows)[0, :, 0], strict=True
    ):
        print(f"{a} xor {b}: {answer:.3f}")
    return result.is_solved


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="XOR with EMR-HyperNEAT.")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--population-size", type=int, default=300)
    parser.add_argument("--generations", type=int, default=100)
    if not main(**vars(parser.parse_args())):
        raise SystemExit("Not solved. Try another --seed, or more --generations.")
