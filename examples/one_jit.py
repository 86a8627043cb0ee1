"""Many generations in one jit: genomes, networks, fitness and NEAT on the device.

Nothing goes back to the host between two generations: `decoder.trace` makes a network
of a genome by JAX operations alone, a fitness in JAX judges it, and `lax.scan` runs one
generation after the other. So evolution can be a part of a larger program of yours, or
run on an accelerator as a whole.

There is no room for surprises, though: how large genomes and networks can become is
compiled in. A genome that needs more raises a flag, and this program stops with an
error instead of cutting anything off. `sx.evolve` makes room by itself.

Run it with `python examples/one_jit.py`. It evolves XOR, and then a car that has to
swing itself out of a valley. Where there are several devices, the population is spread
over them, and the results are the same. To try that on a CPU, run it with
`XLA_FLAGS=--xla_force_host_platform_device_count=8`.
"""

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh

from substrax.decoders import AbstractDecoder, CPPNReading, Discovered
from substrax.neat import NEAT, NEATState, check_info, presets
from substrax.network import TensorNetwork, describe, to_host
from substrax.substrate import EMRRule, Layout, WeightMap
from substrax.tensor import Capacity, over_genomes, population_mesh

Fitness = Callable[[TensorNetwork, jax.Array], jax.Array]
"""From a network and a key to a number, by JAX operations; larger is better."""

ACTIVATIONS = ("tanh", "sin", "gauss", "sigmoid", "identity")

XOR_INPUTS = jnp.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]], jnp.float32)
XOR_TARGETS = jnp.array([0, 1, 1, 0], jnp.float32)


def xor_fitness(network: TensorNetwork, key: jax.Array) -> jax.Array:
    """1 minus the mean squared error; the third input is always 1."""
    return 1.0 - ((network(XOR_INPUTS)[:, 0] - XOR_TARGETS) ** 2).mean()


class MountainCar(NamedTuple):
    """A car in a valley whose engine is too weak for the hill, as a pure environment.

    `reset(key)` and `step(state, action)` are all that `drive` knows of it: any
    environment written like this takes its place.
    """

    max_steps: int = 200
    force: float = 0.001
    gravity: float = 0.0025

    def reset(self, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        """State and observation: position and velocity."""
        position = jax.random.uniform(key, (), minval=-0.6, maxval=-0.4)
        state = jnp.stack([position, jnp.zeros(())])
        return state, self.observe(state)

    def step(
        self, state: jax.Array, action: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """The next state, observation, reward, and whether the flag is reached.
        Actions 0, 1 and 2 push to the left, not at all, and to the right."""
        position, velocity = state
        push = self.force * (action.astype(jnp.float32) - 1.0)
        velocity += push - self.gravity * jnp.cos(3.0 * position)
        velocity = jnp.clip(velocity, -0.07, 0.07)
        position = jnp.clip(position + velocity, -1.2, 0.6)
        velocity = jnp.where((position <= -1.2) & (velocity < 0), 0.0, velocity)
        state = jnp.stack([position, velocity])
        return state, self.observe(state), jnp.asarray(-1.0), position >= 0.5

    def observe(self, state: jax.Array) -> jax.Array:
        """Both numbers brought to about -1 to 1."""
        return jnp.stack([(state[0] + 0.3) / 0.9, state[1] / 0.07])


def drive(network: TensorNetwork, key: jax.Array, car: MountainCar) -> jax.Array:
    """How far up one drive gets, from 0 to 1; and from 1 to 2, how soon it arrives."""
    state, seen = car.reset(key)

    def step(carry, _):
        state, seen, memory, is_done, highest, steps = carry
        inputs = jnp.append(seen, 1.0)[None]
        memory, outputs = network.step(memory, inputs)
        state, seen, _, arrives = car.step(state, jnp.argmax(outputs[0]))
        highest = jnp.where(is_done, highest, jnp.maximum(highest, state[0]))
        steps += jnp.where(is_done, 0.0, 1.0)
        return (state, seen, memory, is_done | arrives, highest, steps), None

    nobody = jnp.asarray(False)
    carry = (state, seen, network.start(), nobody, state[0], jnp.zeros(()))
    (_, _, _, is_done, highest, steps), _ = lax.scan(step, carry, length=car.max_steps)
    return jnp.where(is_done, 2.0 - steps / car.max_steps, (highest + 1.2) / 1.7)


def car_fitness(network: TensorNetwork, key: jax.Array) -> jax.Array:
    """The mean of four drives, which begin at different places."""
    return jax.vmap(lambda k: drive(network, k, MountainCar()))(
        jax.random.split(key, 4)
    ).mean()


def evolve(
    neat: NEAT,
    decoder: AbstractDecoder,
    capacity: Capacity,
    fitness: Fitness,
    state: NEATState,
    keys: jax.Array,
    mesh: Mesh | None,
) -> tuple[NEATState, Any, jax.Array]:
    """As many generations as there are keys: one scan, to be compiled as a whole."""

    def judge(genome, key):
        traced = decoder.trace(genome, capacity)
        value = fitness(traced.network, key)
        # NaN is the fitness of an evaluation that failed.
        return jnp.where(traced.is_whole, value, jnp.nan), traced.exceeds

    def generation(state: NEATState, key: jax.Array):
        key_fitness, key_tell = jax.random.split(key)
        genomes = neat.ask(state)
        values, exceeds = over_genomes(judge, genomes, key_fitness, block=16, mesh=mesh)
        state, info = neat.tell(state, values, key=key_tell)
        return state, (info, exceeds.sum())

    state, (infos, num_exceeding) = lax.scan(generation, state, keys)
    return state, infos, num_exceeding


def digest(state: NEATState) -> str:
    """The same for the same population, to the last bit."""
    leaves = [np.asarray(x) for x in jax.tree.leaves(state.population)]
    return hashlib.sha256(b"".join(x.tobytes() for x in leaves)).hexdigest()[:16]


def run(
    name: str,
    layout: Layout,
    fitness: Fitness,
    *,
    seed: int,
    population: int,
    generations: int,
) -> float:
    """Evolves for one task, prints how it went, and returns the best fitness."""
    reading = CPPNReading(outputs=("weight", "bias"), activations=ACTIVATIONS)
    decoder = Discovered(layout, EMRRule(depth=1), reading, WeightMap("linear", 8.0))
    # The four cells of level 0 and the sixteen of level 1: there cannot be more.
    capacity = Capacity.eager(depth=1, hidden=20)
    neat = NEAT(
        presets.substrax(
            num_inputs=decoder.num_genome_inputs,
            num_outputs=decoder.num_genome_outputs,
            population_size=population,
            activation_options=ACTIVATIONS,
            max_nodes=32,
            max_links=64,
        )
    )
    mesh = population_mesh() if jax.device_count() > 1 else None
    key_init, key_run = jax.random.split(jax.random.key(seed))

    @jax.jit
    def everything(key_init, keys):
        state = neat.init(key=key_init)
        return evolve(neat, decoder, capacity, fitness, state, keys, mesh)

    keys = jax.random.split(key_run, generations)
    state, infos, num_exceeding = everything(key_init, keys)
    check_info(infos)  # was there room for genomes?
    if np.asarray(num_exceeding).any():
        raise RuntimeError("a network has more hidden nodes than `capacity` allows.")
    print(f"{name}:")
    for number, best in enumerate(np.asarray(infos.best_fitness)):
        print(f"  generation {number:3d}: best {best:.4f}")
    traced = jax.jit(lambda genome: decoder.trace(genome, capacity))(state.best_genome)
    alone = jax.tree.map(lambda x: x[None], traced.network)
    print(f"  best fitness {state.best_score:.4f}, population {digest(state)}")
    print(describe(to_host(alone)))
    return float(state.best_score)


def main(
    seed: int = 0, population: int = 150, generations: int = 30
) -> tuple[float, float]:
    """Evolves both tasks, and returns the best fitness of each."""
    both = {"seed": seed, "population": population, "generations": generations}
    xor = run("XOR", Layout.spread(3, 1), xor_fitness, **both)
    car = run("Mountain car", Layout.spread(3, 3), car_fitness, **both)
    return xor, car


if __name__ == "__main__":
    main()
