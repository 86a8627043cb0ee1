"""The query engine beside the cost of one `tanh`, in one run.

    python -m benchmarks.query [--quick] [--json FILE]

Prints nanoseconds per query and per CPPN node for CPPNs of 1 to 16 hidden nodes, in
batches of 1,000 to 10 million queries spread over 1 to 1,000 genomes; each as a
multiple of what one jitted `tanh` costs per element, measured just before it. Times are
warm and whole: from NumPy arrays to a NumPy array, checks included. One core (the first
that this process may use) unless --cores says otherwise. Compilation is timed apart.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from substrax.cppn import QueryEngine, activation_id, compile_programs

from .sheet import Sheet

ACTIVATIONS = ("tanh", "sin", "gauss", "sigmoid")
NUM_INPUTS = 5
TARGETS = {2: 20.0, 8: 60.0}
"""Multiples of one tanh, by hidden nodes, that batches of a million should keep to."""


def random_population(
    rng: np.random.Generator, num_genomes: int, num_hidden: int
) -> dict[str, Any]:
    """CPPNs whose hidden nodes have three links each, and all lead to the output."""
    links = []
    output = NUM_INPUTS
    for h in range(num_hidden):
        node = NUM_INPUTS + 1 + h
        earlier = [*range(NUM_INPUTS), *range(NUM_INPUTS + 1, node)]
        links += [(int(s), node) for s in rng.choice(earlier, 3, replace=False)]
        links.append((node, output))
    links += [(0, output), (2, output)]
    ends = np.array(links)
    num_nodes = NUM_INPUTS + 1 + num_hidden
    ids = [activation_id(name) for name in ACTIVATIONS]
    shape = (num_genomes, num_nodes)
    return {
        "node_id": np.tile(np.arange(num_nodes), (num_genomes, 1)),
        "node_activation": rng.choice(ids, shape),
        "node_bias": rng.normal(size=shape),
        "link_source": np.tile(ends[:, 0], (num_genomes, 1)),
        "link_target": np.tile(ends[:, 1], (num_genomes, 1)),
        "link_weight": rng.normal(size=(num_genomes, len(links))),
        "link_enabled": np.ones((num_genomes, len(links)), bool),
    }


def best_time(function: Callable[[], object], seconds: float) -> float:
    """The shortest of several calls, after one that does not count."""
    function()
    times = []
    until = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < until:
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)


def tanh_cost(seconds: float) -> float:
    """Nanoseconds per element of one jitted float32 tanh over a million elements."""
    x = jnp.asarray(np.random.default_rng(0).normal(size=1 << 20), jnp.float32)
    tanh = jax.jit(jnp.tanh)
    taken = best_time(lambda: tanh(x).block_until_ready(), seconds)
    return taken / x.size * 1e9


def measure(
    rng: np.random.Generator, hidden: int, queries: int, genomes: int, seconds: float
) -> tuple[float, float]:
    """Seconds per batch, and those of the first call, which compiles."""
    programs = compile_programs(
        **random_population(rng, genomes, hidden),
        num_inputs=NUM_INPUTS,
        num_outputs=1,
        dialect="plain",
        activations=ACTIVATIONS,
    )
    engine = QueryEngine(programs)
    genome = np.sort(rng.integers(0, genomes, queries))
    source, target = rng.uniform(-1, 1, (2, queries, 2)).astype(np.float32)
    began = time.perf_counter()
    engine.query(genome, source, target)
    first = time.perf_counter() - began
    return best_time(lambda: engine.query(genome, source, target), seconds), first


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer sizes")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.3, help="per measurement")
    parser.add_argument("--json", metavar="FILE", help="keep the tables")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))[: arguments.cores]
        os.sched_setaffinity(0, cores)
    batches = (1_000, 1_000_000) if arguments.quick else (
        1_000, 10_000, 100_000, 1_000_000, 10_000_000
    )  # fmt: skip
    rng = np.random.default_rng(0)
    print(f"jax {jax.__version__}, {jax.devices()[0]}, cores: {arguments.cores}")
    sheet = Sheet("query", arguments.json)
    sheet.begin(
        f"Queries beside one tanh, cores: {arguments.cores}",
        "hidden", "queries", "genomes", "ms", "ns/query", "ns/node", "tanh ns",
        "x tanh", "target",
    )  # fmt: skip
    misses = 0
    for hidden in (2, 8) if arguments.quick else (1, 2, 4, 8, 16):
        for queries in batches:
            for genomes in (1, 30, 1000):
                # Short pieces of both, in turn, so that a busy machine hits both.
                tanh = tanh_cost(arguments.seconds)
                taken, first = measure(rng, hidden, queries, genomes, arguments.seconds)
                tanh = min(tanh, tanh_cost(arguments.seconds))
                cost = taken / queries * 1e9
                verdict = ""
                if queries >= 1_000_000 and hidden in TARGETS:
                    is_met = cost <= TARGETS[hidden] * tanh
                    verdict = f"{'met' if is_met else 'missed'}: {TARGETS[hidden]:.0f}x"
                elif queries == 1_000:
                    is_met = taken <= 1e-3
                    verdict = f"{'met' if is_met else 'missed'}: 1 ms"
                else:
                    is_met = True
                misses += not is_met
                compiled = f", first call {first:.2f} s" if first > 0.5 else ""
                sheet.row(
                    hidden, queries, genomes, taken * 1e3, cost, cost / (hidden + 1),
                    tanh, cost / tanh, verdict + compiled,
                )  # fmt: skip
    sheet.note(f"{misses} targets missed")
    sheet.write()


if __name__ == "__main__":
    main()
