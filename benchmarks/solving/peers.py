"""Peers on the same problems with the same budget: neat-python and MultiNEAT.

neat-python has the settings of its XOR example (`neat_xor.ini`), with the inputs,
outputs and population of the problem; double pole balancing without velocities has its
recurrent networks. MultiNEAT has ES-HyperNEAT with LEO and its LEO seed, on the retina.
"""

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

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

    def fitness(self, network: Any) -> float:
        error = sum(
            (network.activate(row)[0] - wanted) ** 2
            for row, wanted in zip(self.rows, self.targets, strict=True)
        )
        return 1.0 - error / len(self.rows)


class DoublePole:
    """As `substrax.problems.DoublePole`, one cart at a time in plain floats."""

    target = 1.0
    num_outputs = 1

    def __init__(self, has_velocities: bool, max_steps: int = 100_000) -> None:
        self.has_velocities, self.max_steps = has_velocities, max_steps
        self.is_recurrent = not has_velocities
        self.num_inputs = 7 if has_velocities else 4

    def steps(self, network: Any, limit: int) -> tuple[int, float]:
        """Steps balanced, and how much the cart moved in the last hundred."""
        if self.is_recurrent:
            network.reset()
        state = [0.0, 0.0, 0.07, 0.0, 0.0, 0.0]
        moved = []
        for count in range(limit):
            x, v, a, w, b, u = state
            seen = [x / 4.8, v / 2, a / 0.52, w / 2, b / 0.52, u / 2]
            if not self.has_velocities:
                seen = seen[::2]
            y = network.activate([*seen, 1.0])[0]
            state = push(state, 10.0 * max(-1.0, min(1.0, 2.0 * y - 1.0)))
            if abs(state[0]) > 2.4 or max(abs(state[2]), abs(state[4])) > 0.6283185:
                return count, sum(moved[-100:])
            if limit <= 1000:
                moved.append(sum(map(abs, state[:4])))
        return limit, sum(moved[-100:])

    def fitness(self, network: Any) -> float:
        first, motion = self.steps(network, 1000)
        if self.has_velocities:
            if first == 1000:
                first, _ = self.steps(network, self.max_steps)
            return first / self.max_steps
        still = 0.75 / max(motion, 1e-6) if first >= 100 else 0.0
        return min(0.1 * first / 1000 + 0.9 * still, 0.999)

    def judge(self, network: Any) -> bool:
        """Whether the best of a generation, by Gruau's fitness, balances to the end."""
        return self.steps(network, self.max_steps)[0] == self.max_steps


def rates(state: list[float], force: float) -> list[float]:
    _, v, a, w, b, u = state
    pull, mass, parts = force, 1.0, []
    for angle, turn, half, own in ((a, w, 0.5, 0.1), (b, u, 0.05, 0.01)):
        sine, cosine = math.sin(angle), math.cos(angle)
        arc = 0.000002 * turn / (own * half) - 9.8 * sine
        pull += own * half * turn * turn * sine + 0.75 * own * cosine * arc
        mass += own * (1.0 - 0.75 * cosine * cosine)
        parts.append((cosine, arc, half))
    cart = pull / mass
    spins = [-0.75 * (cart * cosine + arc) / half for cosine, arc, half in parts]
    return [v, cart, w, spins[0], u, spins[1]]


def push(state: list[float], force: float) -> list[float]:
    def moved(change: list[float], time: float) -> list[float]:
        return [s + time * c for s, c in zip(state, change, strict=True)]

    for _ in range(2):
        k1 = rates(state, force)
        k2 = rates(moved(k1, 0.005), force)
        k3 = rates(moved(k2, 0.005), force)
        k4 = rates(moved(k3, 0.01), force)
        total = [
            p + 2 * q + 2 * r + s for p, q, r, s in zip(k1, k2, k3, k4, strict=True)
        ]
        state = moved(total, 0.01 / 6)
    return state


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

    def next_generation(self) -> None:
        self.starts = self.rng.uniform(-0.05, 0.05, (5, 4)).tolist()

    def fitness(self, network: Any) -> float:
        total = 0
        for state in self.starts:
            for _ in range(500):
                left, right = network.activate(state)
                state = _cartpole_push(state, 10.0 if right > left else -10.0)
                total += 1
                if abs(state[0]) > 2.4 or abs(state[2]) > 0.20943951:
                    break
        return total / 2500


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
    best = -math.inf

    def evaluate(genomes: Any, config: Any) -> None:
        nonlocal best
        top = None
        for _, genome in genomes:
            network = kind.create(genome, config)
            genome.fitness = problem.fitness(network)
            if top is None or genome.fitness > top[0].fitness:
                top = (genome, network)
        assert top is not None
        genome, network = top
        if hasattr(problem, "judge") and problem.is_recurrent:
            lasts = problem.steps(network, 1000)[0] == 1000
            if lasts and problem.judge(network):
                genome.fitness = 1.0
        best = max(best, genome.fitness)
        if hasattr(problem, "next_generation"):
            problem.next_generation()

    runner = neat.Population(config, seed=seed)
    solved_at = None
    number = 0
    for number in range(1, generations + 1):
        runner.run(evaluate, 1)
        if best >= problem.target:
            solved_at = number - 1
            break
    return {
        "solved_at": solved_at,
        "generations": number,
        "evaluations": number * population,
        "best": best,
    }
