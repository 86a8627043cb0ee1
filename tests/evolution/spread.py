"""A program of its own: an evolution on devices, of one process or of several.

    python -m tests.evolution.spread DIR --generations 3 --devices 2
    python -m tests.evolution.spread DIR --process 0 --of 2 --port 12345

Prints a digest of what the run came to. Other devices, or processes, need another
interpreter: JAX looks for them once.
"""

import argparse
import hashlib
import os
import signal
import sys
from pathlib import Path

import jax
import numpy as np

from substrax import Resources
from substrax.decoders import CPPNReading, Discovered
from substrax.evolution import RunDirectory, evolve
from substrax.neat import NEAT, presets
from substrax.problems import XOR
from substrax.substrate import EMRRule, Layout, WeightMap

ACTIVATIONS = ("tanh", "gauss", "identity")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--generations", type=int, default=3)
    parser.add_argument("--devices", type=int)
    parser.add_argument("--process", type=int)
    parser.add_argument("--of", type=int)
    parser.add_argument("--port", type=int)
    parser.add_argument("--max-nodes", type=int, default=16)
    parser.add_argument("--raise-after", type=int, help="an error of a callback")
    parser.add_argument("--die-after", type=int, help="of this process, by SIGKILL")
    arguments = parser.parse_args()
    if arguments.process is not None:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        address = f"127.0.0.1:{arguments.port}"
        jax.distributed.initialize(address, arguments.of, arguments.process)
        assert jax.process_count() == arguments.of
    reading = CPPNReading(activations=ACTIVATIONS)
    decoder = Discovered(
        Layout.spread(3, 1), EMRRule(depth=1), reading, WeightMap("linear", 8.0)
    )
    config = presets.substrax(
        num_inputs=decoder.num_genome_inputs,
        num_outputs=decoder.num_genome_outputs,
        population_size=37,  # divides by nothing here
        activation_options=ACTIVATIONS,
        max_nodes=arguments.max_nodes,
        max_links=2 * arguments.max_nodes,
    )
    directory = arguments.directory
    is_run = (directory / "run.json").exists()

    def last_words(generation) -> None:
        if generation.number == arguments.die_after:
            os.kill(os.getpid(), signal.SIGKILL)
        if generation.number == arguments.raise_after:
            raise ValueError("the callback has had enough.")

    result = evolve(
        NEAT(config),
        decoder,
        XOR(),
        generations=arguments.generations,
        target=2.0,
        directory=RunDirectory(directory) if is_run else directory,
        callbacks=[last_words],
        resources=Resources(engine="device", devices=arguments.devices),
        keep_compiled=False,
    )
    leaves = [np.asarray(x) for x in jax.tree.leaves(result.state)]
    digest = hashlib.sha256(b"".join(x.tobytes() for x in leaves)).hexdigest()
    sys.stdout.write(f"digest {digest} of {jax.device_count()} devices\n")


if __name__ == "__main__":
    main()
