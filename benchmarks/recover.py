"""Mode `recover`: what interval bounds prune, and what that saves.

    python -m benchmarks.recover [--quick]

On one core, warm, on CPPNs that evolved for ten generations of XOR, seen from all
inputs. Two tables for each field whose variance is taken:

1. by depth: the share of all candidates that the bounds prune, the seconds with bounds
   and with brute force (which goes up to depth 7), and whether both found the same;
2. by level, at the largest depth: the share of that level's candidates that is pruned.

A candidate is a cell of any level for one source of one genome. What is not pruned is
asked for. Active cells that only `recover` has are counted beside those of `emr`.
"""

import argparse
import dataclasses
import time
from collections import Counter

import jax
import numpy as np

from substrax.cppn import QueryEngine
from substrax.substrate import EMRRule, WeightMap, num_cells
from substrax.substrate._connections import UPWARDS
from substrax.substrate._expression import Expressed
from substrax.substrate._fields import (
    Fields,
    FrontierValues,
    Quads,
    Queries,
    Values,
)
from substrax.substrate._recover import MAX_BRUTE_DEPTH

from .discovery import LAYOUT, POPULATION, READING, evolved_population

WEIGHT_MAP = WeightMap("linear", 8.0)
BATCH = 32  # fields that are explored at a time


class CountedValues:
    """Values, and how many cells of each level were asked for."""

    def __init__(self, values: Values, asked: Counter[int]) -> None:
        self.values = values
        self.asked = asked
        self.wants_everything = values.wants_everything

    def at(self, quads: Quads) -> np.ndarray:
        self.asked[quads.level] += 4 * quads.num
        return self.values.at(quads)


@dataclasses.dataclass(frozen=True)
class Found:
    """What an exploration found, asked and took."""

    links: list[Expressed]
    asked: Counter[int]
    seconds: float

    @property
    def num(self) -> int:
        return sum(part.cell.size for part in self.links)

    def equals(self, other: "Found") -> bool:
        return all(
            np.array_equal(getattr(a, name), getattr(b, name))
            for a, b in zip(self.links, other.links, strict=True)
            for name in ("field", "cell", "weight")
        )


def _part(fields: Fields, begin: int) -> Fields:
    some = slice(begin, begin + BATCH)
    return Fields(fields.genome[some], fields.point[some], fields.outgoing)


def explore(engine: QueryEngine, fields: Fields, rule: EMRRule, brute: bool) -> Found:
    asked: Counter[int] = Counter()
    queries = Queries(engine, WEIGHT_MAP)
    links = []
    began = time.perf_counter()
    for begin in range(0, fields.num, BATCH):
        part = _part(fields, begin)
        if brute:
            values = FrontierValues(queries, part, wants_everything=True)
        else:
            values = CountedValues(FrontierValues(queries, part), asked)
        links.append(rule.explore(queries, part, values, UPWARDS))
    return Found(links, asked, time.perf_counter() - began)


def compare(engine: QueryEngine, field: str, depths: list[int]) -> None:
    num_genomes = engine.programs.num_genomes
    num_inputs = len(LAYOUT.inputs)
    fields = Fields(
        np.repeat(np.arange(num_genomes), num_inputs),
        np.tile(LAYOUT.inputs, (num_genomes, 1)),
        outgoing=True,
    )
    print(f"\nvariance of the {field}, {num_genomes} genomes, {fields.num} fields")
    print(
        " D  candidates     asked    pruned  bounds s  brute s       x  "
        "links emr  links recover  same"
    )
    bounded = None
    for depth in depths:
        rule = EMRRule(depth=depth, field=field, weight_threshold=0.0)
        recovering = dataclasses.replace(rule, recover=True)
        plain = explore(engine, fields, rule, brute=False)
        explore(engine, fields, recovering, brute=False)
        bounded = explore(engine, fields, recovering, brute=False)
        candidates = fields.num * num_cells(depth)
        asked = sum(bounded.asked.values())
        seconds, ratio, same = "", "", "-"
        if depth <= MAX_BRUTE_DEPTH:
            explore(engine, _part(fields, 0), recovering, brute=True)
            brute = explore(engine, fields, recovering, brute=True)
            seconds = f"{brute.seconds:.3f}"
            ratio = f"{brute.seconds / bounded.seconds:.1f}"
            same = "yes" if brute.equals(bounded) else "NO"
        print(
            f"{depth:2d} {candidates:11.3e} {asked:9.2e} {1 - asked / candidates:9.4%} "
            f"{bounded.seconds:9.3f} {seconds:>8} {ratio:>7}  "
            f"{plain.num:9d} {bounded.num:14d}  {same}",
            flush=True,
        )
    assert bounded is not None
    print("\nlevel  candidates     asked    pruned")
    for level in range(depths[-1] + 1):
        candidates = fields.num * 4 ** (level + 1)
        asked = bounded.asked[level]
        print(
            f"{level:5d} {candidates:11.3e} {asked:9.2e} {1 - asked / candidates:9.4%}"
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
