"""Mode `recover`: what interval bounds prune, and what that saves.

    python -m benchmarks.recover [--quick]

On one core, warm, on CPPNs that evolved for ten generations of XOR. By depth: the share
of all queries that the bounds save, the seconds with bounds (strategy `frontier`) and
with brute force (`eager`, which goes up to depth 7), and whether both found the same.
Links that only `recover` has are counted beside those of `emr`.
"""

import argparse
import dataclasses
import time

import jax
import numpy as np

from substrax import Resources
from substrax.network import Networks
from substrax.substrate import EMRRule, WeightMap, discover, num_cells
from substrax.substrate._recover import MAX_BRUTE_DEPTH

from .discovery import LAYOUT, POPULATION, READING, evolved_population

WEIGHT_MAP = WeightMap("linear", 8.0)
ONE_CORE = Resources(threads=1)


def find(engine, rule: EMRRule, strategy: str) -> tuple[Networks, int, float]:
    """Networks, queries and seconds, the second time."""
    arguments = (engine.programs, engine.coordinates, LAYOUT, rule, WEIGHT_MAP)
    options = {"strategy": strategy, "resources": ONE_CORE}
    discover(*arguments, **options)
    began = time.perf_counter()
    found = discover(*arguments, **options)
    return found.networks, found.num_queries, time.perf_counter() - began


def are_same(first: Networks, second: Networks) -> bool:
    names = ("link_bounds", "link_source", "link_target", "link_weight", "node_point")
    return all(np.array_equal(getattr(first, n), getattr(second, n)) for n in names)


def compare(engine, field: str, depths: list[int]) -> None:
    num_genomes = engine.programs.num_genomes
    print(f"\nvariance of the {field}, {num_genomes} genomes")
    print(
        " D  candidates     asked     saved  bounds s  brute s       x  "
        "links emr  links recover  same"
    )
    for depth in depths:
        rule = EMRRule(depth=depth, field=field, connections="feedforward")
        recovering = dataclasses.replace(rule, recover=True)
        plain, _, _ = find(engine, rule, "frontier")
        bounded, asked, seconds = find(engine, recovering, "frontier")
        candidates = num_genomes * len(LAYOUT.inputs) * num_cells(depth)
        brute_seconds, ratio, same = "", "", "-"
        if depth <= MAX_BRUTE_DEPTH:
            brute, _, of_brute = find(engine, recovering, "eager")
            brute_seconds, ratio = f"{of_brute:.3f}", f"{of_brute / seconds:.1f}"
            same = "yes" if are_same(brute, bounded) else "NO"
        print(
            f"{depth:2d} {candidates:11.3e} {asked:9.2e} {1 - asked / candidates:9.4%} "
            f"{seconds:9.3f} {brute_seconds:>8} {ratio:>7}  "
            f"{plain.num_links.sum():9d} {bounded.num_links.sum():14d}  {same}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer genomes, depths")
    arguments = parser.parse_args()
    print(f"jax {jax.__version__}, {jax.devices()[0]}, one core")
    num_genomes = 30 if arguments.quick else POPULATION
    population = jax.tree.map(lambda x: x[:num_genomes], evolved_population("emr"))
    engine = READING["plain"].engine(population)
    compare(engine, "output", [4, 5, 6] if arguments.quick else [4, 5, 6, 7, 9, 11, 13])
    compare(engine, "weight", [4, 5, 6] if arguments.quick else [4, 5, 6, 7, 9])


if __name__ == "__main__":
    main()
