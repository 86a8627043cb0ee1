"""A configuration of neat-python, used here as it is.

`from_neat_python_config` reads the INI file and says which options have no counterpart.
The decoder `Direct` turns its genomes into the networks that neat-python would build.
Run it with `python examples/import_neat_python.py [INI]`.
"""

import dataclasses
import sys
from pathlib import Path

from substrax.decoders import Direct
from substrax.evolution import Generation, evolve
from substrax.neat import NEAT, from_neat_python_config
from substrax.network import describe
from substrax.problems import XOR

EXAMPLE = Path(__file__).parent / "neat_python_xor.ini"


def main(
    ini: Path = EXAMPLE, seed: int = 0, population: int = 150, generations: int = 300
) -> bool:
    """Evolve, print how it went, and say whether XOR was solved."""
    config, messages = from_neat_python_config(ini)
    print(*messages, sep="\n")
    config = dataclasses.replace(config, population_size=population)
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
    main(ini=Path(sys.argv[1]) if sys.argv[1:] else EXAMPLE)
