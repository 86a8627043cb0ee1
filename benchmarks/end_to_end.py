"""Whole programs from start to end: XOR solved, beside MultiNEAT, in one run.

    python -m benchmarks.end_to_end [--quick] [--json FILE]

Each row is a process of its own, on all cores: its seconds from start to end, compiling
and importing included, the generations it took, and its peak memory. Rule emr is the
experiment `xor` with a population of 150; MultiNEAT's ES-HyperNEAT has the same
population and the settings of `peers.py`. "Cold" compiles everything, "warm" uses what
the run before compiled. The ratio is to MultiNEAT's time for the same seed.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

from . import peers
from .peak import peak_mebibytes

POPULATION, GENERATIONS, QUICK_GENERATIONS = 150, 100, 50


def multineat(seed: int, generations: int) -> None:
    """Solves XOR with MultiNEAT; prints at which generation, or nothing."""
    run = peers.multineat_xor(5, population_size=POPULATION, seed=seed)
    for number in range(generations):
        if next(run).is_solved:
            print(number)
            return


def substrax(seed: int, generations: int) -> None:
    """Solves XOR with rule emr at the same grid; prints at which generation."""
    from substrax.config import load_experiment

    experiment = load_experiment("xor").with_settings(
        {
            "population": POPULATION,
            "depth": 4,
            "connections": "hidden",
            "seed": seed,
            "generations": generations,
            "target": peers.SOLVED,
        }
    )
    result = experiment.evolve()
    if result.is_solved:
        print(result.solved_at)


def measure(
    program: str, seed: int, generations: int, cache: str
) -> tuple[float, float, str]:
    """Seconds, peak MiB and the generation that was printed, of a process."""
    words = [sys.executable, "-m", "benchmarks.end_to_end", "--child", program]
    words += ["--seed", str(seed)]
    words += ["--generations", str(generations)]
    environment = {
        **os.environ,
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    began = time.perf_counter()
    with subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        printed = process.stdout.read().split()
    seconds = time.perf_counter() - began
    if process.returncode:
        raise SystemExit(f"{program} failed with exit status {process.returncode}")
    *solved, peak = printed
    return seconds, float(peak), "".join(solved)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="one seed, fewer generations"
    )
    parser.add_argument("--json", metavar="FILE", help="keep the tables")
    parser.add_argument("--child", choices=("multineat", "substrax"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--generations", type=int)
    arguments = parser.parse_args()
    usual = QUICK_GENERATIONS if arguments.quick else GENERATIONS
    generations = arguments.generations or usual
    if arguments.child:
        run = multineat if arguments.child == "multineat" else substrax
        run(arguments.seed, generations)
        print(peak_mebibytes())
        return
    from .sheet import Sheet

    sheet = Sheet("end_to_end", arguments.json)
    sheet.begin(
        f"XOR solved, population {POPULATION}, depth 4, at most {generations} "
        "generations, from start to end of a process",
        "seed", "program       ", "seconds", "solved at generation", "peak MiB",
        "MultiNEAT's time / this",
    )  # fmt: skip
    has_peer = peers.is_installed("multineat")
    if not has_peer:
        sheet.note("MultiNEAT is not installed: pip install multineat")
    for seed in range(1 if arguments.quick else 5):
        with tempfile.TemporaryDirectory() as cache:
            theirs = None
            if has_peer:
                theirs, peak, out = measure("multineat", seed, generations, cache)
                sheet.row(seed, "MultiNEAT", theirs, out or "not solved", peak, 1.0)
            for state in ("cold", "warm"):
                seconds, peak, out = measure("substrax", seed, generations, cache)
                ratio = None if theirs is None else theirs / seconds
                sheet.row(
                    seed, f"substrax, {state}", seconds, out or "not solved", peak,
                    ratio,
                )  # fmt: skip
    sheet.write()


if __name__ == "__main__":
    main()
