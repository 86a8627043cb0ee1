"""A program of its own: three generations in one jit, spread over devices.

    python -m tests.tensor.spread 1 2 8
    python -m tests.tensor.spread --process 0 --of 2 --port 12345

Prints a digest of the last population for each number of devices; with several
processes, for all devices of all of them. Other devices, or processes, need another
interpreter: JAX looks for them once.
"""

import argparse
import hashlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from substrax.decoders import CPPNReading, Discovered
from substrax.neat import NEAT, presets
from substrax.substrate import EMRRule, Layout, WeightMap
from substrax.tensor import Capacity, over_genomes, population_mesh

ACTIVATIONS = ("tanh", "gauss", "identity")
SAMPLES = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


def digest(mesh: Mesh, population: int = 21, generations: int = 3) -> str:
    """Of the last population and its fitness; 21 genomes divide by nothing here."""
    reading = CPPNReading(activations=ACTIVATIONS)
    decoder = Discovered(
        Layout.spread(3, 1), EMRRule(depth=1), reading, WeightMap("linear", 8.0)
    )
    config = presets.substrax(
        num_inputs=decoder.num_genome_inputs,
        num_outputs=decoder.num_genome_outputs,
        population_size=population,
        activation_options=ACTIVATIONS,
        max_nodes=16,
        max_links=32,
    )
    neat, capacity = NEAT(config), Capacity.eager(1, 20)

    def judge(genome, key):
        network = decoder.trace(genome, capacity).network
        noise = jax.random.normal(key, SAMPLES.shape)
        return network(jnp.asarray(SAMPLES) + noise).mean()

    def generation(state, key):
        fitness = over_genomes(judge, neat.ask(state), key, block=2, mesh=mesh)
        return neat.tell(state, fitness, key=key)[0], fitness

    def everything(keys):
        state = neat.init(key=keys[0])
        state, fitness = lax.scan(generation, state, keys[1:])
        return state.population, fitness

    everywhere = NamedSharding(mesh, PartitionSpec())
    words = np.arange(2 * (generations + 1), dtype=np.uint32).reshape(-1, 2)
    words = jax.device_put(words, everywhere)
    run = jax.jit(
        lambda words: everything(jax.random.wrap_key_data(words)),
        out_shardings=everywhere,
    )
    leaves = [np.asarray(x) for x in jax.tree.leaves(run(words))]
    assert all(np.isfinite(x).all() for x in leaves if x.dtype == jnp.float32)
    return hashlib.sha256(b"".join(x.tobytes() for x in leaves)).hexdigest()


def say(mesh: Mesh) -> None:
    sys.stdout.write(f"{mesh.size} {digest(mesh)}\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("devices", nargs="*", type=int)
    parser.add_argument("--process", type=int)
    parser.add_argument("--of", type=int)
    parser.add_argument("--port", type=int)
    arguments = parser.parse_args()
    if arguments.process is not None:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        address = f"127.0.0.1:{arguments.port}"
        jax.distributed.initialize(address, arguments.of, arguments.process)
        assert jax.process_count() == arguments.of
        say(population_mesh())
    for num in arguments.devices:
        say(Mesh(np.asarray(jax.devices()[:num]), ("genomes",)))


if __name__ == "__main__":
    main()
