"""NEAT on XOR: from two inputs and an output to a network with a hidden node.

XOR cannot be computed without a hidden node, so it is the smallest problem on which
NEAT has to invent structure. Run it with `make demo`, or by itself:
`python examples/xor_neat.py --seed 1`.
"""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

from substrax.cppn import ACTIVATION_NAMES
from substrax.decoders import Direct
from substrax.neat import NEAT, Genome, presets, tell_growing
from substrax.network import evaluate

INPUTS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
TARGETS = np.array([0, 1, 1, 0], np.float32)
DECODER = Direct(
    num_inputs=2, num_outputs=1, dialect="neat-python", activations=("sigmoid",)
)
SOLVED = 3.9
"""Fitness at which XOR counts as solved: a squared error of 0.1 in all."""


def outputs(genomes: Genome) -> np.ndarray:
    """What each genome, read as a network, answers to the four inputs."""
    return evaluate(DECODER.decode(genomes), INPUTS)[:, :, 0]


def fitness_of(answers: np.ndarray) -> np.ndarray:
    """Four minus the squared error over the truth table; 4 is perfect."""
    return 4.0 - ((answers - TARGETS) ** 2).sum(axis=1)


def describe(genome: Genome) -> str:
    """One genome as text, a line for each node that computes and for each link."""
    names = {0: "input a", 1: "input b", 2: "output"}
    name = lambda node_id: names.get(node_id, f"hidden {node_id}")
    lines = []
    for slot in np.flatnonzero(genome.node_mask):
        node_id = int(genome.node_id[slot])
        if node_id > 1:
            activation = ACTIVATION_NAMES[int(genome.node_activation[slot])]
            bias = float(genome.node_bias[slot])
            lines.append(f"  {name(node_id):<12} {activation}, bias {bias:+.3f}")
    for slot in np.flatnonzero(genome.link_mask):
        ends = (int(genome.link_source[slot]), int(genome.link_target[slot]))
        weight = float(genome.link_weight[slot])
        state = "" if genome.link_enabled[slot] else "  (disabled)"
        arrow = f"{name(ends[0])} -> {name(ends[1])}"
        lines.append(
            f"  link {int(genome.link_id[slot]):<5} {arrow:<24} {weight:+.3f}{state}"
        )
    return "\n".join(lines)


def main(seed: int, population_size: int, max_generations: int) -> bool:
    """Evolve, print how it went, and say whether XOR was solved."""
    config = presets.neat_python(
        num_inputs=2,
        num_outputs=1,
        population_size=population_size,
        # Room enough for this problem; more would be made, but compiled for again.
        max_nodes=32,
        max_links=64,
    )
    neat = NEAT(config)
    key_init, key_run = jax.random.split(jax.random.key(seed))
    tell = jax.jit(neat.tell)

    print(f"NEAT on XOR: {population_size} genomes, seed {seed}.")
    print("Compiling for the first generation takes a while ...", flush=True)
    start = time.perf_counter()
    state = jax.jit(neat.init)(key=key_init)
    print("\ngeneration   best   mean  species  nodes  links   seconds")
    is_solved = False
    for generation in range(max_generations):
        fitness = fitness_of(outputs(neat.ask(state)))
        state, info = tell_growing(
            neat,
            state,
            jnp.asarray(fitness),
            key=jax.random.fold_in(key_run, generation),
            tell_fn=tell,
        )
        is_solved = bool(info.best_fitness >= SOLVED)
        if is_solved or generation % 5 == 0:
            print(
                f"{generation:10d} {info.best_fitness:6.3f}"
                f" {info.mean_fitness:6.3f} {info.num_species:8d}"
                f" {info.mean_nodes:6.2f} {info.mean_links:6.2f}"
                f" {time.perf_counter() - start:9.2f}",
                flush=True,
            )
        if is_solved:
            break

    best = state.best_genome
    answers = outputs(jax.tree.map(lambda x: x[None], best))[0]
    outcome = (
        f"Solved at generation {state.last_improved}" if is_solved else "Not solved"
    )
    print(f"\n{outcome}: best fitness {state.best_score:.3f} of 4.")
    print("\n a  b   XOR   network")
    for (a, b), target, answer in zip(INPUTS, TARGETS, answers, strict=True):
        print(f" {a:.0f}  {b:.0f}    {target:.0f}     {answer:.3f}")
    print(f"\nThe network:\n{describe(best)}")
    return is_solved


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Evolve a network for XOR.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--population-size", type=int, default=500)
    parser.add_argument("--max-generations", type=int, default=300)
    arguments = parser.parse_args()
    if not main(**vars(arguments)):
        raise SystemExit("Try another --seed, or more --max-generations.")
