"""NEAT beside neat-python: quality, speed, start-up and memory, in one run.

    python -m benchmarks.neat            everything, 50 seeds per task
    python -m benchmarks.neat --quick    few seeds and generations
    python -m benchmarks.neat quality    one part: quality, speed, start or memory
    python -m benchmarks.neat --json F   keep the tables

Both programs read `neat_xor.ini`, neat-python's own XOR example; the population size
and the number of inputs change. With its sigmoids alone neither program solves 3-parity
(0 of 50 seeds each in 300 generations, stuck on the constant 0.5), which compares
nothing, so parity gets the activations of PUREPLES' CPPNs: gauss, sin, tanh. Fitness is
the number of cases less the squared errors; a task is solved when these sum to at most
0.1 (XOR) or 0.2 (parity). Both programs run on one core; the start of a process alone
has all. For parity some five other settings were tried on a few
seeds of neat-python alone before this one, which it solves now and then.
"""

import argparse
import importlib
import importlib.util
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .peak import peak_mebibytes

# neat-python runs on one core; so does everything here, before JAX makes its threads.
# Only the start of a process has all of them, as a user's would.
if hasattr(os, "sched_setaffinity"):
    is_start = any("first-generation" in argument for argument in sys.argv)
    every = range(os.cpu_count() or 1)
    os.sched_setaffinity(0, every if is_start else sorted(os.sched_getaffinity(0))[:1])

INI = Path(__file__).with_name("neat_xor.ini")
LIMIT, QUICK_LIMIT = 300, 150


PARITY_ACTIVATIONS = {
    "activation_options": "gauss sin tanh",
    "activation_default": "tanh",
    "activation_mutate_rate": "0.5",
}


def settings(num_inputs: int, population: int) -> str:
    """The shared configuration file for a task."""
    changes = {"num_inputs": str(num_inputs), "pop_size": str(population)}
    if num_inputs > 2:
        changes |= PARITY_ACTIVATIONS
    lines = []
    for line in INI.read_text().splitlines():
        name = line.partition("=")[0].strip()
        lines.append(f"{name} = {changes[name]}" if name in changes else line)
    return "\n".join(lines)


def parity(bits: int) -> tuple[list[tuple[float, ...]], list[float]]:
    """All inputs of a parity problem and its targets; two bits are XOR."""
    rows = list(itertools.product([0.0, 1.0], repeat=bits))
    return rows, [sum(row) % 2 for row in rows]


class Ours:
    """substrax on a parity task, one generation at a time."""

    def __init__(self, bits: int, population: int, **capacities: int):
        import dataclasses

        import jax

        from substrax.decoders import Direct
        from substrax.neat import NEAT, from_neat_python_config

        config, _ = from_neat_python_config(settings(bits, population))
        config = dataclasses.replace(config, **capacities)
        self.neat = NEAT(config)
        self.decoder = Direct(
            num_inputs=bits,
            num_outputs=1,
            dialect="neat-python",
            activations=config.activation_options,
        )
        self.rows, self.targets = parity(bits)
        # Compiled once for all seeds; rates and seeds are arguments.
        self.tell = jax.jit(self.neat.tell)
        self.init = jax.jit(self.neat.init)

    def start(self, seed: int) -> None:
        import jax

        key_init, self.key = jax.random.split(jax.random.key(seed))
        self.state = self.init(key=key_init)

    def evaluate(self):
        import numpy as np

        from substrax.network import evaluate

        networks = self.decoder.decode(self.neat.ask(self.state))
        outputs = evaluate(networks, self.rows)[:, :, 0]
        errors = np.square(outputs - np.asarray(self.targets, np.float32))
        return len(self.rows) - errors.sum(axis=1, dtype=np.float32)

    def generation(self) -> float:
        """Evaluate and reproduce; the best fitness."""
        import jax
        import jax.numpy as jnp

        from substrax.neat import tell_growing

        fitness = self.evaluate()
        self.key, key = jax.random.split(self.key)
        self.state, _ = tell_growing(
            self.neat, self.state, jnp.asarray(fitness), key=key, tell_fn=self.tell
        )
        jax.block_until_ready(self.state)
        return float(fitness.max())


class Theirs:
    """neat-python on a parity task, one generation at a time."""

    def __init__(self, bits: int, population: int):
        import neat

        self.neat = neat
        with tempfile.NamedTemporaryFile("w", suffix=".ini", delete=False) as file:
            file.write(settings(bits, population))
        self.config_path = file.name
        self.rows, self.targets = parity(bits)

    def start(self, seed: int) -> None:
        neat = self.neat
        # A new configuration each time: it holds the counter of nodes.
        config = neat.Config(
            neat.DefaultGenome,
            neat.DefaultReproduction,
            neat.DefaultSpeciesSet,
            neat.DefaultStagnation,
            self.config_path,
        )
        self.population = neat.Population(config, seed=seed)

    def evaluate(self, genomes, config) -> None:
        create = self.neat.nn.FeedForwardNetwork.create
        for _, genome in genomes:
            network = create(genome, config)
            error = sum(
                (network.activate(row)[0] - target) ** 2
                for row, target in zip(self.rows, self.targets, strict=True)
            )
            genome.fitness = len(self.rows) - error
        self.best = max(genome.fitness for _, genome in genomes)

    def generation(self) -> float:
        self.population.run(self.evaluate, 1)
        return self.best


MISSING = "neat-python is not installed: pip install neat-python"


def has_peer() -> bool:
    return importlib.util.find_spec("neat") is not None


def solve(
    program: Ours | Theirs, seed: int, threshold: float, limit: int
) -> tuple[int, float]:
    """Generations until solved (`limit` if it was not), and the best fitness."""
    program.start(seed)
    best = -1.0
    for generation in range(limit):
        best = max(best, program.generation())
        if best >= threshold:
            return generation, best
    return limit, best


def quality(quick: bool, sheet: Any) -> None:
    import numpy as np

    from substrax.sweeps import fisher, mann_whitney, rate

    seeds, limit = (3, QUICK_LIMIT) if quick else (50, LIMIT)
    sheet.begin(
        f"Quality: {seeds} seeds, population 150, at most {limit} generations",
        "task    ", "program    ", "solved          ", "median generation",
        "median best fitness",
    )  # fmt: skip
    tasks = (("XOR", 2, 0.1), ("3-parity", 3, 0.2))
    for name, bits, slack in tasks[:1] if quick else tasks:
        threshold = 2**bits - slack
        results = {}
        programs: dict[str, Ours | Theirs] = {
            "substrax": Ours(bits, 150, max_nodes=32, max_links=64)
        }
        if has_peer():
            programs["neat-python"] = Theirs(bits, 150)
        for label, program in programs.items():
            found = [solve(program, seed, threshold, limit) for seed in range(seeds)]
            results[label] = np.array(found)
            generation, best = np.median(results[label], axis=0)
            solved = int((results[label][:, 0] < limit).sum())
            rate_text = rate(solved, seeds).text()
            sheet.row(name, label, rate_text, float(generation), float(best))
        if not has_peer():
            sheet.note(MISSING)
            continue
        ours, theirs = (results[label][:, 0] for label in programs)
        # One-sided: is ours worse?
        tests = {
            "solved": fisher(
                rate(int((ours < limit).sum()), seeds),
                rate(int((theirs < limit).sum()), seeds),
                "less",
            ),
            "generation": mann_whitney(ours.tolist(), theirs.tolist(), "greater"),
        }
        for what, test in tests.items():
            verdict = "no sign that ours is worse"
            if test.is_significant:
                verdict = "ours is WORSE"
            sheet.note(f"{name}, {what}: {verdict} ({test.text()})")


def seconds_per_generation(
    programs: Sequence[Ours | Theirs], generations: int
) -> list[float]:
    """Medians over the second half, when everything is compiled and genomes differ.

    The programs take turns, so that a slow minute of the machine hits all of them.
    """
    import numpy as np

    times = np.zeros((generations, len(programs)))
    for program in programs:
        program.start(0)
    for g in range(generations):
        for k, program in enumerate(programs):
            begin = time.perf_counter()
            program.generation()
            times[g, k] = time.perf_counter() - begin
    return np.median(times[generations // 2 :], axis=0).tolist()


def tensorneat_seconds(population: int, generations: int) -> float | None:
    """TensorNEAT on its own XOR, where it can be imported; None where it cannot."""
    if importlib.util.find_spec("tensorneat") is None:
        return None
    import jax
    import numpy as np

    part = lambda name: importlib.import_module(f"tensorneat.{name}")
    pipeline = part("pipeline").Pipeline(
        algorithm=part("algorithm.neat").NEAT(
            pop_size=population,
            species_size=20,
            genome=part("genome").DefaultGenome(
                num_inputs=2,
                num_outputs=1,
                max_nodes=16,
                max_conns=32,
                output_transform=part("common").ACT.sigmoid,
            ),
        ),
        problem=part("problem.func_fit").XOR(),
        seed=0,
    )
    state, step, times = pipeline.setup(), jax.jit(pipeline.step), []
    for _ in range(generations):
        begin = time.perf_counter()
        state, _, fitness = step(state)
        jax.block_until_ready((state, fitness))
        times.append(time.perf_counter() - begin)
    return float(np.median(times[generations // 2 :]))


def speed(quick: bool, sheet: Any) -> None:
    sheet.begin(
        "Speed: warm, XOR, evaluation included, seconds per generation, one core",
        "population", "neat-python", "substrax", "times", "target", "TensorNEAT",
        "times TensorNEAT",
    )  # fmt: skip
    sizes = ((1000, 10), (10000, 20))
    for population, target in sizes[:1] if quick else sizes:
        generations = 10 if quick or population > 1000 else 30
        programs: list[Ours | Theirs] = [
            Ours(2, population, max_nodes=16, max_links=32)
        ]
        if has_peer():
            programs.append(Theirs(2, population))
        ours, *peers = seconds_per_generation(programs, generations)
        theirs = peers[0] if peers else None
        other = tensorneat_seconds(population, generations)
        ratio = None if other is None else other / ours
        times = None if theirs is None else theirs / ours
        sheet.row(population, theirs, ours, times, target, other, ratio)
    if not has_peer():
        sheet.note(MISSING)


def child(part: str, **environment: str) -> str:
    """Run a part of this file in a fresh process."""
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks.neat", part],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.strip()


def start(quick: bool, sheet: Any) -> None:
    del quick
    sheet.begin(
        "Start: from the start of a process to the end of the first generation of XOR, "
        "population 1,000",
        "compilation cache", "seconds", "target: below", "neat-python",
        "neat-python's time / this",
    )  # fmt: skip

    def seconds(part: str, **environment: str) -> float:
        began = time.perf_counter()
        child(part, **environment)
        return time.perf_counter() - began

    theirs = seconds("their-first-generation") if has_peer() else None
    with tempfile.TemporaryDirectory() as cache:
        variables = {
            "JAX_COMPILATION_CACHE_DIR": cache,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        for label, target in (("cold", 20), ("warm", 6)):
            took = seconds("first-generation", **variables)
            ratio = None if theirs is None else theirs / took
            sheet.row(label, took, target, theirs, ratio)


def run_generations(program: Ours | Theirs, generations: int) -> None:
    program.start(0)
    for _ in range(generations):
        program.generation()


def memory(quick: bool, sheet: Any) -> None:
    del quick
    sheet.begin(
        "Memory: population 10,000, capacity 256 links, XOR, 3 generations",
        "peak MiB", "target: below", "neat-python", "neat-python's / this",
    )  # fmt: skip
    ours = float(child("peak"))
    theirs = float(child("their-peak")) if has_peer() else None
    sheet.row(ours, 2048, theirs, None if theirs is None else theirs / ours)


def print_peak(program: Ours | Theirs) -> None:
    run_generations(program, 3)
    print(peak_mebibytes())


PARTS: dict[str, Callable[[bool, Any], None]] = {
    "quality": quality,
    "speed": speed,
    "start": start,
    "memory": memory,
}
SMALL, LARGE = dict(max_nodes=16, max_links=32), dict(max_nodes=128, max_links=256)
INNER: dict[str, Callable[[], None]] = {
    "first-generation": lambda: run_generations(Ours(2, 1000, **SMALL), 1),
    "their-first-generation": lambda: run_generations(Theirs(2, 1000), 1),
    "peak": lambda: print_peak(Ours(2, 10000, **LARGE)),
    "their-peak": lambda: print_peak(Theirs(2, 10000)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="NEAT beside neat-python.")
    parser.add_argument("part", nargs="*", choices=[*PARTS, *INNER, []])
    parser.add_argument("--quick", action="store_true", help="few seeds")
    parser.add_argument("--json", metavar="FILE", help="keep the tables")
    options = parser.parse_args()
    inner = [part for part in options.part if part in INNER]
    for part in inner:
        INNER[part]()
    if inner:  # a process that is measured imports nothing else
        return
    from .sheet import Sheet

    sheet = Sheet("neat", options.json)
    # the memory of 10,000 genomes takes half a minute
    usual = [part for part in PARTS if part != "memory" or not options.quick]
    for part in options.part or usual:
        PARTS[part](options.quick, sheet)
    sheet.write()


if __name__ == "__main__":
    main()
