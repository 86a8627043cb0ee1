"""A fitness of your own in JAX: written for one network, run for all at once.

A sledge on ice is to stop at a mark. The network sees how far the mark is and how fast
the sledge goes, and pushes; each episode starts elsewhere. The function below is plain
JAX for one network; substrax compiles it and runs the whole population in one go. Run
it with `python examples/own_jax_fitness.py`.
"""

import jax
import jax.numpy as jnp

import substrax as sx
from substrax.problems import NetworkFunction

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


def main(**settings) -> sx.Run:
    defaults = {"depth": 2, "output_activation": "tanh", "target": 0.95}
    run = sx.evolve(sledge, inputs=3, outputs=1, progress=True, **(defaults | settings))
    print(run)
    return run


if __name__ == "__main__":
    main()
