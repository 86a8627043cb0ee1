"""HyperNEAT on a substrate made by hand, here for XOR.

You say where nodes lie and which links there may be; the CPPN gives each link its
weight, by where its ends lie. The substrate has two hidden layers, and links that skip
the second. Run it with `python examples/hyperneat_substrate.py`.
"""

import itertools

from substrax.decoders import CPPNReading, FixedSubstrate, HyperNEAT
from substrax.evolution import Generation, evolve
from substrax.neat import NEAT, presets
from substrax.network import describe
from substrax.problems import XOR
from substrax.substrate import line

INPUTS, OUTPUTS = [0, 1, 2], [3]  # numbers of nodes; the third input is a bias
FIRST, SECOND = [4, 5, 6, 7], [8, 9, 10]


def substrate(problem: XOR) -> FixedSubstrate:
    """Nodes by their places, and the links that the CPPN may express."""
    pairs = [(INPUTS, FIRST), (FIRST, SECOND), (SECOND, OUTPUTS), (FIRST, OUTPUTS)]
    return FixedSubstrate.from_links(
        inputs=problem.layout.inputs,
        outputs=problem.layout.outputs,
        hidden=[*line(4, -0.3), *line(3, 0.3)],
        links=[link for ends in pairs for link in itertools.product(*ends)],
    )


def main(seed: int = 0, population: int = 150, generations: int = 100) -> bool:
    """Evolve, print how it went, and say whether XOR was solved."""
    problem = XOR()
    config = presets.pureples(num_inputs=5, num_outputs=1, population_size=population)
    decoder = HyperNEAT(
        substrate(problem),
        reading=CPPNReading(activations=config.activation_options),
        hidden_activation="tanh",
    )

    def show(generation: Generation) -> None:
        record = generation.record
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
    print(f"Stopped because {result.reason.sentence}.")
    print(describe(result.best_network))
    print(problem.measures(result.best_network))
    return result.is_solved


if __name__ == "__main__":
    main()
