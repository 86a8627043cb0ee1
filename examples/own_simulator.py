"""A fitness of your own in plain Python: for simulators that JAX cannot trace.

A room is to be kept at 20 degrees while the weather changes. The simulator is an object
with a state, as simulators are. The networks of a population are stepped together
through a `Stepper`, each in a room of its own. Run it with
`python examples/own_simulator.py`.
"""

import jax
import numpy as np

import substrax as sx
from substrax.network import Networks, Stepper

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


def main(**settings) -> sx.Run:
    problem = sx.HostProblem(comfort, sx.Layout.spread(2, 1), target=-0.5)
    settings = {"method": "neat", "generations": 50} | settings
    run = sx.evolve(problem, progress=True, **settings)
    print(run)
    return run


if __name__ == "__main__":
    main()
