"""Substrate discovery against its peers and against itself, in one run.

    python -m benchmarks.discovery [--quick] [--json FILE]

Four tables, on one core, warm, on CPPNs that evolved for ten generations of XOR:

1. rule `es`, a population of 150, against recursive quadtrees in plain Python on some
   of the same genomes: the obvious one of `tests/reference`, a lean one, and PUREPLES
   if it can be imported;
2. a generation of XOR against MultiNEAT's, where that is installed;
3. rule `emr`, frontier against eager, the variance on the output and on the weight;
4. what each depth costs, with the queries made.

Networks are built in all of them. Compilation is not in the times; its seconds are
printed at the end.
"""

import argparse
import dataclasses
import functools
import os
import time
from typing import Any

if hasattr(os, "sched_setaffinity"):  # before JAX makes its threads
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])

import jax
import numpy as np

from paper.pureples import pureples_decode
from paper.quadtree import quadtree_decode
from paper.requirements import has_pureples
from substrax.decoders import (
    CPPNReading,
    Discovered,
    emr_hyperneat,
    es_hyperneat,
)
from substrax.neat import NEAT, Genome, presets
from substrax.network import evaluate
from substrax.substrate import (
    Discovery,
    EMRRule,
    ESRule,
    Layout,
    WeightMap,
    discover,
)

from . import oracle, peers
from .clock import best_seconds
from .sheet import Sheet

LAYOUT = Layout(peers.XOR_INPUTS, peers.XOR_OUTPUTS)
ROWS = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]], np.float32)
WANTED = np.array([0.0, 1.0, 1.0, 0.0])
ACTIVATIONS = ("gauss", "sin", "tanh", "sigmoid")
POPULATION = 150
READING = {
    dialect: CPPNReading(dialect=dialect, activations=ACTIVATIONS)
    for dialect in ("neat-python", "plain")
}


@functools.cache
def compiled_neat() -> tuple[NEAT, Any]:
    """NEAT, and its `tell`, which is compiled once for all tables."""
    config = dataclasses.replace(presets.pureples(), population_size=POPULATION)
    neat = NEAT(config)
    return neat, jax.jit(neat.tell)


def evolve(decoder: Discovered, generations: int, seed: int = 0):
    """Runs NEAT on XOR; yields each generation's population and what it cost."""
    neat, tell = compiled_neat()
    state = neat.init(key=jax.random.key(seed))
    for generation in range(generations):
        began = time.perf_counter()
        population = neat.ask(state)
        networks = decoder.decode(population)
        outputs = evaluate(networks, ROWS)[:, :, 0]
        fitness = 1 - np.mean((outputs - WANTED) ** 2, axis=1)
        state, _ = tell(state, fitness, key=jax.random.key(1000 * seed + generation))
        jax.block_until_ready(state)
        yield population, networks, fitness, time.perf_counter() - began


@functools.cache
def evolved_population(rule: str) -> Genome:
    """The population after ten generations of XOR."""
    if rule == "es":
        decoder = es_hyperneat(LAYOUT, ESRule(depth=2), reading=READING["neat-python"])
    else:
        decoder = emr_hyperneat(LAYOUT, EMRRule(depth=3), reading=READING["plain"])
    *_, (population, _, _, _) = evolve(decoder, 11)
    return population


def compare_quadtree(quick: bool, sheet: Sheet) -> None:
    sheet.begin(
        "1. rule es per genome, population 150, against the recursive quadtree",
        "max_depth", "D", "genomes", "ours ms", "quadtree ms", "times", "PUREPLES ms",
        "times PUREPLES", "lean ms", "times lean", "target",
    )  # fmt: skip
    population = evolved_population("es")
    rng = np.random.default_rng(0)
    for max_depth, target in ((2, 100), (3, None), (4, 1000)):
        decoder = es_hyperneat(
            LAYOUT, ESRule(depth=max_depth - 1), reading=READING["neat-python"]
        )
        num = {2: 150, 3: 40, 4: 12}[max_depth] // (5 if quick else 1)
        some = rng.choice(POPULATION, num, replace=False).tolist()
        # A population of copies of the sample: the same genomes on both sides.
        which = np.resize(some, POPULATION)
        copies = jax.tree.map(lambda x, which=which: x[which], population)
        ours = best_seconds(lambda d=decoder, g=copies: d.decode(g), 5) / POPULATION
        beside: list[float | None] = []
        for is_there, decode in (
            (not quick, oracle.oracle_decode),
            (has_pureples(), pureples_decode),
            (True, quadtree_decode),
        ):
            if not is_there:
                beside += [None, None]
                continue
            trees = [decode(decoder, population, index) for index in some]
            theirs = sum(tree.seconds for tree in trees) / num
            beside += [theirs * 1e3, theirs / ours]
        sheet.row(max_depth, max_depth - 1, num, ours * 1e3, *beside, target)


def compare_multineat(quick: bool, sheet: Sheet) -> None:
    sheet.begin(
        "2. a generation of XOR, population 150, against MultiNEAT",
        "depth (theirs)", "theirs s", "hidden median", "hidden max", "rule", "ours s",
        "our median", "our max", "theirs / ours",
    )  # fmt: skip
    if not peers.is_installed("multineat"):
        sheet.note("MultiNEAT is not installed: pip install multineat")
        return
    generations = 8 if quick else 30
    scale = 5.0
    # MultiNEAT takes variances of the CPPN's output; ours are of the weight.
    like_theirs = ESRule(
        division_threshold=peers.DIVISION_THRESHOLD * scale**2,
        variance_threshold=peers.VARIANCE_THRESHOLD * scale**2,
        band_threshold=peers.BAND_THRESHOLD * scale,
    )
    for depth in (5,) if quick else (3, 4, 5, 6):
        run = peers.multineat_xor(depth)
        rows = [next(run) for _ in range(generations)][2:]
        theirs = float(np.median([r.seconds for r in rows]))
        median = np.median([r.median_hidden for r in rows])
        left = (depth, theirs, float(median), max(r.max_hidden for r in rows))
        decoders = {
            "es": es_hyperneat(
                LAYOUT,
                dataclasses.replace(like_theirs, depth=depth - 1),
                reading=READING["neat-python"],
                weight_map=WeightMap("linear", scale),
            ),
            "emr": emr_hyperneat(
                LAYOUT, EMRRule(depth=depth - 1), reading=READING["plain"]
            ),
        }
        for name, decoder in decoders.items():
            ours = list(evolve(decoder, generations))[5:]
            seconds = float(np.median([row[3] for row in ours]))
            hidden = [np.median(row[1].num_hidden) for row in ours]
            largest = max(row[1].num_hidden.max() for row in ours)
            sheet.row(
                *left, name, seconds, float(np.median(hidden)), int(largest),
                theirs / seconds,
            )  # fmt: skip


def discovery(population: Genome, rule: EMRRule | ESRule, strategy: str) -> Discovery:
    """The networks of a population; its CPPNs are compiled as well."""
    is_es = isinstance(rule, ESRule)
    reading = READING["neat-python" if is_es else "plain"]
    weight_map = WeightMap("deadzone", 5.0) if is_es else WeightMap("linear", 8.0)
    return discover(
        reading.compile(population),
        reading.coordinates,
        LAYOUT,
        rule,
        weight_map,
        strategy=strategy,
    )


def compare_strategies(quick: bool, sheet: Sheet) -> None:
    sheet.begin(
        "3. rule emr (feedforward: discovery alone), frontier against eager",
        "variance on", "D", "eager s", "queries", "frontier s", "queries ", "ratio",
        "hidden", "target",
    )  # fmt: skip
    population = evolved_population("emr")
    few = jax.tree.map(lambda x: x[: 30 if quick else POPULATION], population)
    for field in ("output", "weight"):
        for depth, target in ((4, 1), (7, 20), (9, 200)):
            if quick and (depth == 9 or field == "weight"):
                continue
            rule = EMRRule(depth=depth, connections="feedforward", field=field)
            repeats = {4: 5, 7: 2, 9: 1}[depth]
            found = discovery(few, rule, "frontier")
            frontier = best_seconds(lambda r=rule: discovery(few, r, "frontier"), 3)
            eager = best_seconds(lambda r=rule: discovery(few, r, "eager"), repeats)
            everything = discovery(few, rule, "eager")
            is_met = eager / frontier >= target
            verdict = f"{'met' if is_met else 'missed'}: {target}x"
            if field == "weight":
                verdict = ""
            sheet.row(
                field, depth, eager, everything.num_queries, frontier,
                found.num_queries, eager / frontier,
                float(found.networks.num_hidden.mean()), verdict,
            )  # fmt: skip


def cost_by_depth(quick: bool, sheet: Sheet) -> None:
    sheet.begin(
        "4. cost by depth, population 150, frontier",
        "rule      ", "D", "seconds", "queries", "ns/query", "hidden", "links",
    )  # fmt: skip
    es_population = evolved_population("es")
    emr_population = evolved_population("emr")
    rules: list[tuple[str, Any, Genome, tuple[int, ...]]] = [
        ("es", ESRule, es_population, (1, 2, 3, 4, 5)),
        ("emr output", EMRRule, emr_population, (3, 4, 5, 6, 7, 9, 11, 13)),
    ]
    for name, rule_type, population, depths in rules:
        for depth in depths[:3] if quick else depths:
            rule = rule_type(depth=depth)
            found = discovery(population, rule, "frontier")
            seconds = best_seconds(
                lambda r=rule, p=population: discovery(p, r, "frontier"), 3
            )
            sheet.row(
                name, depth, seconds, found.num_queries,
                seconds / found.num_queries * 1e9,
                float(found.networks.num_hidden.mean()),
                float(found.networks.num_links.mean()),
            )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer genomes, depths")
    parser.add_argument("--tables", type=int, nargs="*", default=[1, 2, 3, 4])
    parser.add_argument("--json", metavar="FILE", help="keep the tables")
    arguments = parser.parse_args()
    print(f"jax {jax.__version__}, {jax.devices()[0]}, one core")
    tables = (compare_quadtree, compare_multineat, compare_strategies, cost_by_depth)
    sheet = Sheet("discovery", arguments.json)
    for number in arguments.tables:
        tables[number - 1](arguments.quick, sheet)
    sheet.write()


if __name__ == "__main__":
    main()
