"""A fitness of your own in plain Python: for simulators that JAX cannot trace.

A room is to be kept at 20 degrees while the weather changes. The simulator is an object
with a state, as simulators are; the networks of a population are stepped together
through `Stepper`, each in a room of its own. Run it by itself:
`python examples/own_host_fitness.py`.
"""

import argparse

import jax
import numpy as np

from substrax.decoders import Direct
from substrax.evolution import Generation, evolve
from substrax.neat import NEAT, presets
from substrax.network import Networks, Stepper, describe
from substrax.problems import HostProblem
from substrax.substrate import Layout

WANTED, NUM_HOURS = 20.0, 72


class Rooms:
    """Rooms that lose heat to the outside and are heated by 0 to 1 times 8 degrees."""

    def __init__(self, num: int) -> None:
        self.temperature = np.full(num, 12.0)

    def hour(self, heating: np.ndarray, outside: float) -> np.ndarray:
        """The temperatures after an hour."""
        loss = 0.3 * (self.temperature - outside)
        self.temperature = self.temperature + 8.0 * np.clip(heating, 0, 1) - loss
        return self.temperature


def comfort(networks: Networks, key: jax.Array) -> np.ndarray:
    """Minus the mean distance from 20 degrees, one number for each network."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    hours = np.arange(NUM_HOURS)
    weather = 5 + 5 * np.sin(hours * 2 * np.pi / 24) + rng.normal(size=NUM_HOURS)
    rooms, stepper = Rooms(len(networks)), Stepper.of(networks)
    state = stepper.start(batch=1)
    discomfort = np.zeros(len(networks))
    for outside in weather:
        seen = np.stack([(rooms.temperature - WANTED) / 10, np.ones(len(networks))], 1)
        state, outputs = stepper(state, seen[:, None, :])
        temperature = rooms.hour(np.asarray(outputs)[:, 0, 0], outside)
        discomfort += np.abs(temperature - WANTED)
    return -discomfort / NUM_HOURS


def main(seed: int, population_size: int, generations: int) -> float:
    """Evolve, print how it went, and return the best fitness."""
    problem = HostProblem(comfort, Layout.spread(2, 1), target=-0.5)
    config = presets.neat_python(
        num_inputs=2, num_outputs=1, population_size=population_size
    )
    # Plain NEAT: the genome is the network.
    decoder = Direct(
        num_inputs=2,
        num_outputs=1,
        dialect="neat-python",
        activations=config.activation_options,
        steps=4,
    )

    def show(generation: Generation) -> None:
        record = generation.record
        if record.best_ever is not None:
            off = -record.best_ever
            print(f"generation {record.generation:3d}: {off:.2f} degrees off")

    result = evolve(
        NEAT(config),
        decoder,
        problem,
        seed=seed,
        generations=generations,
        callbacks=[show],
    )
    assert result.best_network is not None and result.best_fitness is not None
    print(f"\n{-result.best_fitness:.2f} degrees off on average")
    print(describe(result.best_network))
    return result.best_fitness


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Evolve a thermostat.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--population-size", type=int, default=150)
    parser.add_argument("--generations", type=int, default=50)
    main(**vars(parser.parse_args()))
