"""The loop in your own hands: NEAT's `init`, `ask` and `tell` on XOR.

`sx.evolve` does all of this for you. Write the loop yourself when you want to decide
what happens between two generations. Run it with `python examples/ask_and_tell.py`.
"""

import jax
import jax.numpy as jnp
import numpy as np

from substrax.decoders import Direct
from substrax.neat import NEAT, presets, tell_growing
from substrax.network import describe, evaluate

INPUTS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
TARGETS = np.array([0, 1, 1, 0], np.float32)


def main(seed: int = 0, population: int = 500, generations: int = 300) -> float:
    """Evolves, prints how it goes, and returns the best fitness, 4 at most."""
    config = presets.neat_python(
        num_inputs=2,
        num_outputs=1,
        population_size=population,
        # Room enough for this problem; more would be made, but compiled for again.
        max_nodes=32,
        max_links=64,
    )
    neat = NEAT(config)
    decoder = Direct(2, 1, dialect="neat-python", activations=("sigmoid",))
    key_init, key_run = jax.random.split(jax.random.key(seed))
    tell = jax.jit(neat.tell)
    state = jax.jit(neat.init)(key=key_init)
    for generation in range(generations):
        networks = decoder.decode(neat.ask(state))
        answers = evaluate(networks, INPUTS)[:, :, 0]
        fitness = 4.0 - ((answers - TARGETS) ** 2).sum(axis=1)
        key = jax.random.fold_in(key_run, generation)
        state, info = tell_growing(
            neat, state, jnp.asarray(fitness), key=key, tell_fn=tell
        )
        if generation % 5 == 0:
            print(
                f"generation {generation:3d}: best {info.best_fitness:.3f}, mean "
                f"{info.mean_fitness:.3f}, {info.num_species} species"
            )
        if info.best_fitness > 3.9:
            break
    best = jax.tree.map(lambda x: x[None], state.best_genome)
    print(f"best fitness {state.best_score:.3f} of 4")
    print(describe(decoder.decode(best)))
    return float(state.best_score)


if __name__ == "__main__":
    main()
