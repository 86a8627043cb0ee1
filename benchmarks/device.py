"""The tensor engine by depth and room, beside the native engine, in one run.

    python -m benchmarks.device [--quick] [--json FILE]

On whatever JAX finds: on a GPU or TPU this fills in the table of docs/accelerators.md.
Three tables, on genomes that evolved for ten generations of XOR, decoded by rule `emr`
with links between hidden nodes, and evaluated for the four rows of XOR in the same
program; and a fourth where the paper's own program can be imported:

1. by depth: seconds to compile, milliseconds a genome, those of the native engine on
   one core, queries, the share of the time that answering them takes alone, bytes that
   the program needs, and how many genomes needed more room than there was at first;
2. by room, at one depth;
3. by the number of devices (on a CPU, virtual ones, which share its cores): genomes on
   each of them, filled-up ones included, as the population grows with their number.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from substrax import Resources, evolve
from substrax.decoders import Discovered, emr_hyperneat
from substrax.decoders._on_device import _program, _some
from substrax.evolution import Generation
from substrax.network import evaluate
from substrax.substrate import EMRRule
from substrax.tensor import Capacity, population_mesh

from . import paper_program
from .clock import best_seconds

# (which keeps this process to one core: so both engines have one)
from .discovery import LAYOUT, POPULATION, READING, ROWS, evolved_population
from .sheet import Sheet

BLOCK = 32


def decoder_of(depth: int) -> Discovered:
    return emr_hyperneat(LAYOUT, EMRRule(depth=depth), reading=READING["plain"])


def outputs_of(network) -> jax.Array:
    return network(jnp.asarray(ROWS))


def compiled(decoder: Discovered, capacity: Capacity, genomes, mesh=None):
    """The program from genomes to outputs, and the seconds that it took to make."""
    began = time.perf_counter()
    program: Any = _program(outputs_of, decoder, capacity, BLOCK, mesh)
    ready = program.lower(genomes).compile()
    return ready, time.perf_counter() - began


def num_queries(decoder: Discovered, capacity: Capacity) -> tuple[int, int]:
    """About cells, from all inputs; about pairs of nodes."""
    cells = len(LAYOUT.inputs) * 4 * sum(capacity.quads)
    return cells, (capacity.hidden + len(LAYOUT.points)) ** 2


def seconds_of_queries(decoder: Discovered, capacity: Capacity, genomes) -> float:
    """The same questions in the same blocks, and nothing else."""
    cells, pairs = num_queries(decoder, capacity)
    each = cells // len(LAYOUT.inputs)
    shape = (len(LAYOUT.inputs), each, 2)
    rng = np.random.default_rng(0)
    about = jnp.asarray(rng.uniform(-1, 1, shape), jnp.float32)
    nodes = jnp.asarray(rng.uniform(-1, 1, (pairs, 2)), jnp.float32)

    def ask(genome):
        reader = decoder.reading.read(genome)
        seen = jax.lax.map(lambda points: reader.links(points, points), about)
        return seen.sum() + reader.links(nodes, nodes).sum()

    blocks = jax.tree.map(lambda x: x.reshape(-1, BLOCK, *x.shape[1:]), genomes)
    run = jax.jit(lambda blocks: jax.lax.map(jax.vmap(ask), blocks))
    return best_seconds(lambda: run(blocks).block_until_ready())


def row(sheet: Sheet, decoder: Discovered, capacity: Capacity, genomes, first) -> None:
    num = genomes.node_id.shape[0]
    ready, seconds = compiled(decoder, capacity, genomes)
    _, exceeds, _, _ = ready(genomes)
    ours = best_seconds(lambda: jax.block_until_ready(ready(genomes))) / num
    one_core = Resources(engine="native", threads=1)

    def native():
        evaluate(decoder.decode(genomes, one_core), ROWS, resources=one_core)

    theirs = best_seconds(native) / num
    memory = ready.memory_analysis()
    of_block = memory.temp_size_in_bytes if memory is not None else 0
    sheet.row(
        first,
        capacity.hidden,
        f"{seconds:.1f}",
        f"{ours * 1e3:.3f}",
        f"{theirs * 1e3:.3f}",
        f"{sum(num_queries(decoder, capacity)):,}",
        f"{seconds_of_queries(decoder, capacity, genomes) / num / ours:.0%}",
        f"{of_block / BLOCK / 1024:.0f}",
        f"{int(np.asarray(exceeds).sum())} of {num}",
    )


COLUMNS = (
    "hidden nodes", "compile s", "ms a genome", "native ms", "queries", "of the time",
    "KiB a genome", "need more room",
)  # fmt: skip


def by_depth(quick: bool, sheet: Sheet, genomes) -> None:
    sheet.begin("1. by depth, with the room that a run begins with", "D", *COLUMNS)
    for depth in (2, 5) if quick else (1, 2, 3, 4, 5, 7, 9, 13):
        decoder = decoder_of(depth)
        row(sheet, decoder, decoder.first_capacity(), genomes, depth)


def by_room(quick: bool, sheet: Sheet, genomes) -> None:
    sheet.begin("2. by room, depth 5: how many quads are seen", "quads", *COLUMNS)
    decoder = decoder_of(5)
    for hidden in (16, 64) if quick else (16, 64, 256):
        row(sheet, decoder, Capacity.frontier(5, hidden, 64), genomes, "64 a level")
        row(sheet, decoder, Capacity.eager(5, hidden), genomes, "all")


def by_devices(quick: bool, sheet: Sheet) -> None:
    sheet.begin(
        "3. by devices, depth 3: 128 genomes for each of them",
        "devices", "genomes", "on each, filled up", "s", "ms a genome",
    )  # fmt: skip
    for num in (1, 8) if quick else (1, 2, 4, 8):
        environment = dict(os.environ)
        if jax.default_backend() == "cpu":
            flag = f"--xla_force_host_platform_device_count={num}"
            environment["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}"
        elif num > jax.device_count():
            break
        words = [sys.executable, "-m", "benchmarks.device", "--devices", str(num)]
        out = subprocess.run(
            words, env=environment, check=True, capture_output=True, text=True
        ).stdout
        sheet.row(*json.loads(out.splitlines()[-1]))


def on_devices(num: int) -> None:
    """One row of the third table, in a process of its own."""
    decoder, mesh = decoder_of(3), population_mesh(num)
    total = 128 * num
    genomes = jax.tree.map(np.asarray, evolved_population("emr"))
    genomes = jax.tree.map(lambda x: x[np.arange(total) % POPULATION], genomes)
    ready, _ = compiled(decoder, decoder.first_capacity(), genomes, mesh)
    seconds = best_seconds(lambda: jax.block_until_ready(ready(genomes)))
    share = BLOCK * num
    each = -(-total // share) * share // num
    words = [num, total, each, f"{seconds:.3f}", f"{seconds / total * 1e3:.3f}"]
    print(json.dumps(words))


def by_program(quick: bool, sheet: Sheet) -> None:
    if not paper_program.is_there():
        print("The paper's program (emr_hyperneat) cannot be imported: no table 4.")
        return
    sheet.begin(
        f"4. whole generations of {POPULATION}, beside the paper's program",
        "D", "program            ", "compile s", "ms a genome", "best fitness",
    )  # fmt: skip
    warm = 5
    for depth in (3,) if quick else (3, 4, 5, 6):
        found = {
            "the paper's": paper_program.paper_generations(depth, POPULATION, warm)
        }
        for engine in ("device", "native"):
            found[f"substrax, {engine}"] = our_generations(depth, engine, warm)
        for name, (first, each, best) in found.items():
            ms = f"{each / POPULATION * 1e3:.3f}"
            sheet.row(depth, name, f"{first:.1f}", ms, f"{best:.4f}")


def our_generations(depth: int, engine: str, warm: int) -> paper_program.Generations:
    """The same by `evolve`, each engine as a program of its own."""
    seconds: list[float] = []

    def note(generation: Generation) -> None:
        seconds.append(generation.record.seconds)

    began = time.perf_counter()
    # A cache that is empty: what was compiled before shall not count.
    jax.config.update("jax_compilation_cache_dir", tempfile.mkdtemp())
    run = evolve(
        "xor",
        method="emr",
        depth=depth,
        engine=engine,
        population=POPULATION,
        target=2.0,
        generations=3 + warm,
        progress=False,
        callbacks=[note],
    )
    whole = time.perf_counter() - began
    assert run.result.best_fitness is not None
    # All that is not a generation counts as the beginning.
    seconds[0] += whole - sum(seconds)
    return paper_program.Generations.of(seconds, run.result.best_fitness, warm)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    parser.add_argument("--json", help="a file for the tables")
    parser.add_argument("--devices", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.devices:
        on_devices(arguments.devices)
        return
    device = jax.devices()[0]
    print(f"jax {jax.__version__}, {jax.device_count()} x {device.device_kind}")
    genomes = jax.tree.map(np.asarray, evolved_population("emr"))
    genomes = _some(genomes, np.arange(128), BLOCK)
    sheet = Sheet("device", arguments.json)
    by_depth(arguments.quick, sheet, genomes)
    by_room(arguments.quick, sheet, genomes)
    by_devices(arguments.quick, sheet)
    by_program(arguments.quick, sheet)
    sheet.write()


if __name__ == "__main__":
    main()
