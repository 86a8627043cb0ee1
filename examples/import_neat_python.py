"""A configuration of neat-python, used here as it is.

`from_neat_python_config` reads the INI file and says which options have no counterpart.
What was a network there is one here with the decoder `Direct`. Run it by itself:
`python examples/import_neat_python.py [INI]`.
"""

import argparse
import dataclasses
from pathlib import Path

from substrax.decoders import Direct
from substrax.evolution import Generation, evolve
from substrax.neat import NEAT, from_neat_python_config
from substrax.network import describe
from substrax.problems import XOR

EXAMPLE = Path(__file__).parent / "neat_python_xor.ini"


def main(
    seed: int, population_size: int, generations: int, ini: Path = EXAMPLE
) -> bool:
    """Evolve, print how it went, and say whether XOR was solved."""
    config, messages = from_neat_python_config(ini)
    print(*messages, sep="\n")
    config = dataclasses.replace(config, population_size=population_size)
    decoder = Direct(
        config.num_inputs,
        config.num_outputs,
        dialect="neat-python",  # so that activation functions are neat-python's own
        activations=config.activation_options,
    )

    def show(generation: Generation) -> None:
        record = generation.record
        print(f"generation {record.generation:3d}: fitness {record.best_ever:.3f}")

    result = evolve(
        NEAT(config),
        decoder,
        XOR(),
        seed=seed,
        generations=generations,
        callbacks=[show],
    )
    assert result.best_network is not None
    print(f"Stopped because {result.reason.sentence}.")
    print(describe(result.best_network))
    return result.is_solved


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Evolve with a neat-python INI file.")
    parser.add_argument("ini", nargs="?", type=Path, default=EXAMPLE)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--population-size", type=int, default=150)
    parser.add_argument("--generations", type=int, default=300)
    main(**vars(parser.parse_args()))
