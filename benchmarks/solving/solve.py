"""How often problems are solved, beside peers, over many seeds.

    python benchmarks/solving/solve.py                    everything, 30 seeds
    python benchmarks/solving/solve.py retina parity-4    some of it
    python benchmarks/solving/solve.py --seeds 3 --minutes 5

Runs are kept in results/solving.jsonl and never done twice, so that the command can be
stopped and given again. `--page FILE` writes the tables of what there is. Seeds are 0
to 29; settings were chosen with seeds from 1000 on.
"""

import argparse
import math
import statistics
from pathlib import Path
from typing import Any, NamedTuple

from ours import run_experiment
from peers import run_neat_python
from runs import Job, free_cores, run_all

from substrax.evolve import write_atomically
from substrax.reproduce import rate


class Arm(NamedTuple):
    """One row: an experiment of ours with settings, or a peer's problem."""

    name: str
    work: dict[str, Any]


class Cell(NamedTuple):
    """One table: a problem, its budget, and what is asked of 30 runs."""

    title: str
    ask: str
    arms: list[Arm]


def ours(name: str, experiment: str, **settings: Any) -> Arm:
    named = {key.replace("__", "."): value for key, value in settings.items()}
    return Arm(name, {"experiment": experiment, "settings": named})


def neat_python(problem: str, generations: int) -> Arm:
    work = {"peer": problem, "generations": generations, "population": 150}
    return Arm("neat-python", work)


PLAIN_NEAT = {
    "rule": "direct",
    "preset": "substrax",
    "population": 150,
    "neat.activation_options": "tanh",
    "neat.output_activation": "sigmoid",
}


def parity(bits: int, generations: int, ask: str) -> Cell:
    settings = {"num_bits": bits, "generations": generations, **PLAIN_NEAT}
    return Cell(
        f"Parity of {bits} bits, at most {generations} generations of 150",
        ask,
        [
            ours("NEAT", "parity", **settings),
            neat_python(f"parity-{bits}", generations),
        ],
    )


CELLS: dict[str, Cell] = {
    "retina": Cell(
        "Retina, all 256 patterns right on both sides, population 300, at most 1,000 "
        "generations",
        "24 (HyperNEAT-LEO, emr, seeded); 10 (unseeded)",
        [
            ours("HyperNEAT-LEO, x-locality", "retina", rule="hyperneat"),
            ours("emr, x-locality", "retina", rule="emr"),
            ours("es, x-locality", "retina", rule="es"),
            ours(
                "HyperNEAT-LEO, unseeded",
                "retina",
                rule="hyperneat",
                start__genome="none",
            ),
            ours("emr, unseeded", "retina", rule="emr", start__genome="none"),
        ],
    ),
    "parity-3": parity(3, 300, "29"),
    "parity-4": parity(4, 600, "24"),
    "parity-5": parity(5, 1500, "10"),
}


def run_one(job: Job) -> dict[str, Any]:
    work = job.work
    if "peer" in work:
        budget = (work["population"], work["generations"])
        return run_neat_python(work["peer"], job.seed, *budget)
    return run_experiment(work["experiment"], work["settings"], job.seed)


def row(arm: Arm, results: list[dict[str, Any]]) -> str:
    solved = [r for r in results if r["solved_at"] is not None]
    share = rate(len(solved), len(results))
    cells = [
        arm.name,
        f"{len(solved)} of {len(results)}",
        f"[{share.low:.2f}, {share.high:.2f}]",
    ]
    for key in ("solved_at", "evaluations"):
        values = [r[key] for r in solved]
        cells.append(f"{statistics.median(values):,.0f}" if values else "")
    cells.append(f"{statistics.median(r['best'] for r in results):.4f}")
    cells.append(f"{statistics.median(r['seconds'] for r in results):.1f} s")
    return "| " + " | ".join(cells) + " |"


HEAD = (
    "| | solved | 95 % interval | median generation | median evaluations | median best "
    "fitness | median time of a run |\n| --- | --- | --- | --- | --- | --- | --- |"
)


def tables(names: list[str], seeds: range, done: dict[str, dict[str, Any]]) -> str:
    parts = []
    for name in names:
        cell = CELLS[name]
        lines = [f"## {cell.title}", "", f"Asked, of 30: {cell.ask}.", "", HEAD]
        for arm in cell.arms:
            jobs = [Job(name, arm.name, seed, arm.work) for seed in seeds]
            results = [done[job.key] for job in jobs if job.key in done]
            if results:
                lines.append(row(arm, results))
        if len(lines) > 5:
            parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="How often problems are solved.")
    parser.add_argument("cells", nargs="*", help=f"some of {', '.join(CELLS)}")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--results", type=Path, default=Path("results/solving.jsonl"))
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    unknown = set(arguments.cells) - CELLS.keys()
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(CELLS)}.")
    names = arguments.cells or list(CELLS)
    seeds = range(arguments.seeds)
    jobs = [
        Job(name, arm.name, seed, arm.work)
        for name in names
        for arm in CELLS[name].arms
        for seed in seeds
    ]
    done = run_all(
        jobs,
        run_one,
        arguments.results,
        cores=free_cores(),
        minutes=arguments.minutes,
    )
    text = tables(names, seeds, done)
    print(text)
    if arguments.page:
        write_atomically(arguments.page, text)


if __name__ == "__main__":
    main()
