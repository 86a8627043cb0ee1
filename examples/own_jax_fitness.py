"""A fitness of your own in JAX: written for one network, run for all at once.

A sledge on ice is to stop at a mark. The network sees how far the mark is and how fast
the sledge goes, and pushes; each episode starts elsewhere. The function below is plain
JAX for one network; `FunctionProblem` compiles it and runs the whole population in one
go. Run it by itself: `python examples/own_jax_fitness.py`.
"""

import argparse

import jax
import jax.numpy as jnp

from substrax.decoders import CPPNReading, emr_hyperneat
from substrax.evolution import Generation, evolve
from substrax.neat import NEAT, presets
from substrax.network import describe
from substrax.problems import FunctionProblem, NetworkFunction
from substrax.substrate import EMRRule, Layout

NUM_EPISODES, NUM_STEPS, SECONDS = 8, 80, 0.1


def sledge(network: NetworkFunction, key: jax.Array) -> jax.Array:
    """1 minus the mean distance from the mark in the second half of the episodes."""
    start = jax.random.uniform(key, (NUM_EPISODES,), minval=-1.0, maxval=1.0)

    def step(carry, _):
        place, speed, memory = carry
        seen = jnp.stack([place, speed, jnp.ones_like(place)], axis=1)
        memory, outputs = network.step(memory, seen)
        speed = speed + SECONDS * outputs[:, 0]
        place = jnp.clip(place + SECONDS * speed, -2.0, 2.0)
        return (place, speed, memory), jnp.abs(place)

    carry = (start, jnp.zeros(NUM_EPISODES), network.start(NUM_EPISODES))
    _, distance = jax.lax.scan(step, carry, length=NUM_STEPS)
    return 1.0 - distance[NUM_STEPS // 2 :].mean()


def main(seed: int, population_size: int, generations: int) -> float:
    """Evolve, print how it went, and return the best fitness."""
    # Place, speed and a bias along the lower edge; the push above.
    layout = Layout([(-1, -1), (1, -1), (0, -1)], [(0, 1)])
    problem = FunctionProblem(sledge, layout, target=0.95)
    config = presets.pureples(
        num_inputs=5, num_outputs=1, population_size=population_size
    )
    decoder = emr_hyperneat(
        layout,
        EMRRule(depth=2, connections="hidden"),
        reading=CPPNReading(activations=config.activation_options),
        output_activation="tanh",
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
    assert result.best_network is not None and result.best_fitness is not None
    print(f"\nfitness {result.best_fitness:.3f}")
    print(describe(result.best_network))
    return result.best_fitness


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Evolve the driver of a sledge.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--population-size", type=int, default=150)
    parser.add_argument("--generations", type=int, default=50)
    main(**vars(parser.parse_args()))
