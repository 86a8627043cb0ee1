"""How often problems are solved, over many seeds, with Wilson intervals of 95 %.

    python benchmarks/solve_rates.py          XOR, all configurations, 30 seeds
    python benchmarks/solve_rates.py --seeds 5 --variant hidden full es
    python benchmarks/solve_rates.py --experiment retina --seeds 10 --variant default
    python benchmarks/solve_rates.py --experiment visual --seeds 10 --variant default

Below each row stand the best network's measures: the median over the runs, and the
range. Runs of visual discrimination also say how the same genomes do at 33 x 33 and
55 x 55 pixels, without further evolution.

For XOR the variants are the six connection configurations of rule emr, and rule es on
the same grid; each must be solved in at least 27 of 30 runs for at least four of the
six, and by es.
"""

import argparse
import json
import math
import statistics
import time
from pathlib import Path

import jax

from substrax.config import Experiment, load_experiment
from substrax.evolve import Result
from substrax.problems import VisualDiscrimination
from substrax.reproduce import Sheet
from substrax.substrate import CONFIGURATIONS

WANTED_RATE = 0.9
WANTED_CONFIGURATIONS = 4
FINER = (33, 55)


def wilson(successes: int, trials: int, z: float = 1.959964) -> tuple[float, float]:
    """The interval of Wilson (1927) for a proportion."""
    if not trials:
        return 0.0, 1.0
    rate = successes / trials
    denominator = 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / denominator
    spread = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    return max(0.0, centre - spread / denominator), min(
        1.0, centre + spread / denominator
    )


def variant_of(experiment: Experiment, variant: str) -> Experiment:
    if variant == "default":
        return experiment
    if variant in CONFIGURATIONS:
        return experiment.with_settings({"rule": "emr", "connections": variant})
    return experiment.with_settings({"rule": variant})


def measures_of(experiment: Experiment, result: Result) -> dict[str, float]:
    """What the problem says about the best network, and about finer fields."""
    problem, network = experiment.build().problem, result.best_network
    if network is None:
        return {}
    measures = problem.measures(network)
    if not isinstance(problem, VisualDiscrimination):
        return measures
    genomes = jax.tree.map(lambda x: x[None], result.best_genome)
    for resolution in FINER:
        there = experiment.with_settings({"resolution": resolution}).build()
        network = there.decoder.decode(genomes)
        fitness = there.problem.fitness(network, key=jax.random.key(0))
        measures[f"fitness at {resolution} x {resolution}"] = float(fitness[0])
        measures[f"hit_rate at {resolution} x {resolution}"] = there.problem.measures(
            network
        )["hit_rate"]
    return measures


def measure(experiment: Experiment, seeds: range) -> list[dict]:
    """A run for each seed."""
    runs = []
    for seed in seeds:
        began = time.perf_counter()
        result = experiment.with_settings({"seed": seed}).evolve()
        seconds = time.perf_counter() - began
        runs.append(
            {
                "seed": seed,
                "is_solved": result.is_solved,
                "solved_at": result.solved_at,
                "best_fitness": result.best_fitness,
                "generations": result.generations,
                "seconds": seconds,
                "measures": measures_of(experiment, result),
            }
        )
    return runs


def row(variant: str, runs: list[dict]) -> str:
    """A line of the table."""
    solved = [run["solved_at"] for run in runs if run["is_solved"]]
    low, high = wilson(len(solved), len(runs))
    median = f"{statistics.median(solved):.0f}" if solved else "-"
    latest = f"{max(solved)}" if solved else "-"
    fitness = [run["best_fitness"] or 0.0 for run in runs]
    seconds = sum(run["seconds"] for run in runs)
    return (
        f"{variant:<14} {len(solved):>3} of {len(runs):<3}  [{low:.2f}, {high:.2f}]"
        f" {median:>10} {latest:>7} {max(fitness):>9.4f} {min(fitness):>9.4f}"
        f" {seconds:>8.0f}"
    )


def measure_rows(runs: list[dict]) -> list[str]:
    """A line for each measure."""
    rows = []
    for name in runs[0]["measures"]:
        values = [run["measures"].get(name, math.nan) for run in runs]
        rows.append(
            f"    {name}: median {statistics.median(values):.3f},"
            f" {min(values):.3f} to {max(values):.3f}"
        )
    return rows


def verdict(rates: dict[str, float]) -> str | None:
    """Whether the rates asked for were reached, if all variants were run."""
    if not {*CONFIGURATIONS, "es"} <= rates.keys():
        return None
    num_good = sum(rates[name] >= WANTED_RATE for name in CONFIGURATIONS)
    is_good = num_good >= WANTED_CONFIGURATIONS and rates["es"] >= WANTED_RATE
    return (
        f"{num_good} of {len(CONFIGURATIONS)} configurations reach "
        f"{WANTED_RATE:.0%} (wanted: {WANTED_CONFIGURATIONS}), es "
        f"{'does' if rates['es'] >= WANTED_RATE else 'does not'}: "
        f"{'holds' if is_good else 'does not hold'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="How often a problem is solved.")
    parser.add_argument("--experiment", default="xor")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--variant", nargs="+", default=[*CONFIGURATIONS, "es"])
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE")
    parser.add_argument("--out", type=Path, help="also write every run as JSON")
    parser.add_argument("--quick", action="store_true", help="three seeds")
    parser.add_argument("--json", metavar="FILE", help="keep the table")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.seeds = 3
    changes = dict(text.split("=", 1) for text in arguments.set)
    experiment = load_experiment(arguments.experiment).with_settings(changes)
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    print(
        f"{experiment.name}: population {experiment.neat.settings['population_size']},"
        f" at most {experiment.run.generations} generations, seeds {seeds[0]} to"
        f" {seeds[-1]}"
    )
    print(
        "variant          solved   95 % interval   median  latest      best     worst"
        "  seconds"
    )
    sheet = Sheet("solve_rates", arguments.json)
    title = f"{experiment.name}, {len(seeds)} seeds"
    every, rates, table = {}, {}, []
    for variant in arguments.variant:
        runs = every[variant] = measure(variant_of(experiment, variant), seeds)
        rates[variant] = sum(run["is_solved"] for run in runs) / len(runs)
        print("\n".join([row(variant, runs), *measure_rows(runs)]), flush=True)
        solved = [run["solved_at"] for run in runs if run["is_solved"]]
        table.append(
            (
                variant,
                f"{len(solved)}/{len(runs)}",
                *wilson(len(solved), len(runs)),
                float(statistics.median(solved)) if solved else None,
                sum(run["seconds"] for run in runs),
            )
        )
    if (text := verdict(rates)) is not None:
        print(text)
    sheet.begin(
        title, "variant", "solved", "low", "high", "median generation", "seconds"
    )
    for values in table:
        sheet.row(*values)
    sheet.write()
    if arguments.out:
        arguments.out.write_text(json.dumps(every, indent=1))


if __name__ == "__main__":
    main()
