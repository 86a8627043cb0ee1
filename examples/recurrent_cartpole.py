"""Cart-pole without seeing velocities: a recurrent substrate with a memory.

The network sees where the cart is and how the pole leans, not how fast they change; it
has to remember what it saw. The substrate has links that run backwards, and the state
of its nodes is carried from one step of the cart to the next. Weights are small, 1 at
most: with larger ones the loops of most networks drown what they saw. With
`--see-velocities` it sees the velocities as well. Run it by itself:
`python examples/recurrent_cartpole.py`.
"""

import argparse

from substrax.decoders import CPPNReading, emr_hyperneat
from substrax.evolution import Generation, evolve
from substrax.neat import NEAT, presets
from substrax.network import describe
from substrax.problems import CartPole
from substrax.substrate import EMRRule, WeightMap


def main(
    seed: int, population_size: int, generations: int, see_velocities: bool = False
) -> float:
    """Evolve, print how it went, and return the steps that the best one lasts."""
    problem = CartPole(has_velocities=see_velocities)
    config = presets.pureples(
        num_inputs=5, num_outputs=1, population_size=population_size
    )
    decoder = emr_hyperneat(
        problem.layout,
        EMRRule(depth=2, connections="backward"),
        reading=CPPNReading(activations=config.activation_options),
        weight_map=WeightMap("linear", 1.0),
        output_activation="tanh",
        steps=1,  # updates for each step of the cart
    )

    def show(generation: Generation) -> None:
        record = generation.record
        if record.best_fitness is not None:
            steps = record.best_fitness * problem.max_steps
            print(f"generation {record.generation:3d}: upright for {steps:5.1f} steps")

    result = evolve(
        NEAT(config),
        decoder,
        problem,
        seed=seed,
        generations=generations,
        callbacks=[show],
    )
    network = result.best_network
    assert network is not None
    lasts = problem.measures(network)["mean_steps"]
    facts = describe(network)
    print(
        f"\n{facts.num_hidden} hidden nodes, {facts.num_links} links, "
        f"{facts.links['backward']} of them backward"
    )
    print(f"100 new episodes: upright for {lasts:.1f} of {problem.max_steps} steps")
    return lasts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Evolve a balancer with a memory.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--population-size", type=int, default=150)
    parser.add_argument("--generations", type=int, default=60)
    parser.add_argument("--see-velocities", action="store_true")
    main(**vars(parser.parse_args()))
