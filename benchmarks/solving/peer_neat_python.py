"""neat-python on the same problems with the same budget.

It has the settings of its XOR example (`neat_xor.ini`), with the inputs, outputs and
population of the problem; double pole balancing without velocities has its recurrent
networks.
"""

import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from runs import first_solution

INI = Path(__file__).resolve().parent.parent / "neat_xor.ini"


def parity_rows(bits: int) -> tuple[list[list[float]], list[float]]:
    rows = [[float(r >> k & 1) for k in range(bits)] for r in range(1 << bits)]
    return rows, [sum(row) % 2 for row in rows]


class Parity:
    """1 minus the mean squared error; solved at 0.98."""

    is_recurrent = False
    target = 0.98
    num_outputs = 1

    def __init__(self, bits: int) -> None:
        self.num_inputs = bits
        self.rows, self.targets = parity_rows(bits)

    def fitness(self, networks: list[Any]) -> list[float]:
        return [1.0 - self.error(network) / len(self.rows) for network in networks]

    def error(self, network: Any) -> float:
        return sum(
            (network.activate(row)[0] - wanted) ** 2
            for row, wanted in zip(self.rows, self.targets, strict=True)
        )


class DoublePole:
    """As `substrax.problems.DoublePole`: carts in one array, networks one by one."""

    target = 1.0
    num_outputs = 1

    def __init__(self, has_velocities: bool, max_steps: int = 100_000) -> None:
        self.has_velocities, self.max_steps = has_velocities, max_steps
        self.is_recurrent = not has_velocities
        self.num_inputs = 7 if has_velocities else 4

    def steps(self, networks: list[Any], limit: int) -> tuple[np.ndarray, np.ndarray]:
        """Steps balanced, and how much each cart moved in the last hundred."""
        if self.is_recurrent:
            for network in networks:
                network.reset()
        states = np.tile([0.0, 0.0, 0.07, 0.0, 0.0, 0.0], (len(networks), 1))
        scale = np.array([4.8, 2.0, 0.52, 2.0, 0.52, 2.0])
        moved = np.zeros((100, len(networks)))
        length = np.zeros(len(networks), int)
        going = np.arange(len(networks))
        for count in range(limit):
            seen = states[going] / scale
            seen = seen if self.has_velocities else seen[:, ::2]
            rows = zip(going.tolist(), seen.tolist(), strict=True)
            y = np.array([networks[k].activate([*row, 1.0])[0] for k, row in rows])
            force = 10.0 * np.clip(2.0 * y - 1.0, -1.0, 1.0)
            states[going] = push(states[going], force)
            moved[count % 100, going] = np.abs(states[going, :4]).sum(axis=1)
            leans = np.abs(states[going][:, [2, 4]]).max(axis=1) > 0.6283185
            is_up = ~(leans | (np.abs(states[going, 0]) > 2.4))
            going = going[is_up]
            length[going] += 1
            if not going.size:
                break
        return length, moved.sum(axis=0)

    def fitness(self, networks: list[Any]) -> np.ndarray:
        first, motion = self.steps(networks, 1000)
        lasting = np.flatnonzero(first == 1000)
        if self.has_velocities:
            value = first / self.max_steps
            if lasting.size:
                some = [networks[k] for k in lasting]
                value[lasting] = self.steps(some, self.max_steps)[0] / self.max_steps
            return value
        still = np.where(first >= 100, 0.75 / np.maximum(motion, 1e-6), 0.0)
        value = np.minimum(0.1 * first / 1000 + 0.9 * still, 0.999)
        if lasting.size:
            # The best of a generation by Gruau's fitness is tested to the end.
            best = lasting[np.argmax(value[lasting])]
            if self.steps([networks[best]], self.max_steps)[0][0] == self.max_steps:
                value[best] = 1.0
        return value


def rates(states: np.ndarray, force: np.ndarray) -> np.ndarray:
    _, v, a, w, b, u = states.T
    pull, mass, parts = force, 1.0, []
    for angle, turn, half, own in ((a, w, 0.5, 0.1), (b, u, 0.05, 0.01)):
        sine, cosine = np.sin(angle), np.cos(angle)
        arc = 0.000002 * turn / (own * half) - 9.8 * sine
        pull = pull + own * half * turn * turn * sine + 0.75 * own * cosine * arc
        mass = mass + own * (1.0 - 0.75 * cosine * cosine)
        parts.append((cosine, arc, half))
    cart = pull / mass
    spins = [-0.75 * (cart * cosine + arc) / half for cosine, arc, half in parts]
    return np.column_stack([v, cart, w, spins[0], u, spins[1]])


def push(states: np.ndarray, force: np.ndarray) -> np.ndarray:
    for _ in range(2):
        k1 = rates(states, force)
        k2 = rates(states + 0.005 * k1, force)
        k3 = rates(states + 0.005 * k2, force)
        k4 = rates(states + 0.01 * k3, force)
        states = states + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return states


def _cartpole_push(state: list[float], force: float) -> list[float]:
    x, v, a, w = state
    sine, cosine = math.sin(a), math.cos(a)
    thrust = (force + 0.05 * w * w * sine) / 1.1
    turn = (9.8 * sine - cosine * thrust) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    cart = thrust - 0.05 * turn * cosine / 1.1
    return [x + 0.02 * v, v + 0.02 * cart, a + 0.02 * w, w + 0.02 * turn]


class CartPole:
    """As `substrax.problems.CartPole`: the mean of 5 episodes over 500 steps."""

    is_recurrent = False
    target = 0.95
    num_inputs, num_outputs = 4, 2

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.starts = self.rng.uniform(-0.05, 0.05, (5, 4)).tolist()

    def fitness(self, networks: list[Any]) -> list[float]:
        values = [self.length(network) / 2500 for network in networks]
        self.starts = self.rng.uniform(-0.05, 0.05, (5, 4)).tolist()
        return values

    def length(self, network: Any) -> int:
        """Of the five episodes together; the next generation has others."""
        total = 0
        for state in self.starts:
            for _ in range(500):
                left, right = network.activate(state)
                state = _cartpole_push(state, 10.0 if right > left else -10.0)
                total += 1
                if abs(state[0]) > 2.4 or abs(state[2]) > 0.20943951:
                    break
        return total


PROBLEMS: dict[str, Callable[[], Any]] = {
    "xor": lambda: Parity(2),
    "parity-3": lambda: Parity(3),
    "parity-4": lambda: Parity(4),
    "parity-5": lambda: Parity(5),
    "double-pole": lambda: DoublePole(True),
    "double-pole-hidden": lambda: DoublePole(False),
    "cartpole": CartPole,
}


def run_neat_python(
    name: str, seed: int, population: int, generations: int
) -> dict[str, Any]:
    """neat-python on a problem, to the first solution or the end of the budget."""
    import neat

    problem = PROBLEMS[name]()
    text = INI.read_text()
    for old, new in (
        ("pop_size               = 150", f"pop_size = {population}"),
        ("num_inputs              = 2", f"num_inputs = {problem.num_inputs}"),
        ("num_outputs             = 1", f"num_outputs = {problem.num_outputs}"),
        (
            "feed_forward            = True",
            f"feed_forward = {not problem.is_recurrent}",
        ),
    ):
        assert old in text, old
        text = text.replace(old, new)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.ini"
        path.write_text(text)
        config = neat.Config(
            neat.DefaultGenome,
            neat.DefaultReproduction,
            neat.DefaultSpeciesSet,
            neat.DefaultStagnation,
            str(path),
        )
    kinds = neat.nn
    kind = kinds.RecurrentNetwork if problem.is_recurrent else kinds.FeedForwardNetwork

    def evaluate(genomes: Any, config: Any) -> None:
        networks = [kind.create(genome, config) for _, genome in genomes]
        for (_, genome), value in zip(genomes, problem.fitness(networks), strict=True):
            genome.fitness = float(value)

    def bests() -> Iterator[float]:
        runner = neat.Population(config, seed=seed)
        while True:
            best = runner.run(evaluate, 1)
            assert best is not None and best.fitness is not None
            yield best.fitness

    return first_solution(bests(), problem.target, population, generations)
