"""The tensor engine by depth and room, beside the native engine, in one run.

    python -m benchmarks.device [--quick] [--json FILE]
    python -m benchmarks.device --on-paper
    python -m benchmarks.device --run 5 feedforward 300

On whatever JAX finds: on a GPU or TPU this fills in the table of docs/accelerators.md.
Five tables, on genomes that evolved for ten generations of XOR, decoded by rule `emr`
with links between hidden nodes, and evaluated for the four rows of XOR in the same
program; what a whole run compiles; and one more where the paper's own program can be
imported:

1. by depth: seconds to compile the program that a run begins with; milliseconds a
   genome by it, by all programs (those included that take genomes again which need more
   room), by a program that answers as many queries and does nothing else, and by the
   native engine on one core; bytes that the program needs; and how many genomes needed
   more room;
2. by room, at one depth, the first program alone;
3. evaluation alone, by the number of samples: node after node, as it is done, and by
   matrix products, whose sums have an order of the compiler's choice;
4. the same for networks with cycles, where each update is one product, by the number of
   nodes, and whether room for more nodes changes bits;
5. by the number of devices (on a CPU, virtual ones, which share its cores), as the
   population grows with their number: how many genomes each of them has worked on;
6. whole runs, each in a process of its own without anything that was compiled before:
   how many programs of this engine, the seconds to compile them, and those for
   all else, which is NEAT's step mostly.

With --on-paper nothing is measured: it prints what a device could do at most.
"""

import argparse
import functools
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
from substrax.cppn import activation_id
from substrax.decoders import Discovered, emr_hyperneat
from substrax.decoders._on_device import (
    _HIDDEN_STEP,
    _QUADS_STEP,
    _block,
    _larger,
    _program,
    genomes_at,
    run_on_device,
)
from substrax.evolution import Generation
from substrax.network import TensorNetwork, evaluate
from substrax.substrate import EMRRule
from substrax.tensor import Capacity, population_mesh
from substrax.tensor._population import GENOMES

from . import paper_program
from .clock import best_seconds

# (which keeps this process to one core: so both engines have one)
from .discovery import LAYOUT, POPULATION, READING, ROWS, evolved_population
from .sheet import Sheet

DEVICE = Resources(engine="device")


def decoder_of(depth: int) -> Discovered:
    return emr_hyperneat(LAYOUT, EMRRule(depth=depth), reading=READING["plain"])


def outputs_of(network) -> jax.Array:
    return network(jnp.asarray(ROWS))


def outputs_and_device(network) -> tuple[jax.Array, jax.Array]:
    return outputs_of(network), jax.lax.axis_index(GENOMES)


def filled(decoder: Discovered, capacity: Capacity, genomes, num_devices: int = 1):
    """Genomes in whole blocks, as `evolve` has them, and the size of a block."""
    block = _block(decoder, capacity, genomes.node_id.shape[1])
    num, share = genomes.node_id.shape[0], block * num_devices
    return genomes_at(genomes, np.arange(num), share * -(-num // share)), block


def compiled(
    decoder: Discovered, capacity: Capacity, genomes, fn=outputs_of, mesh=None
):
    """The program from genomes to outputs, the genomes it takes, the size of a block,
    and the seconds that it took to make."""
    some, block = filled(decoder, capacity, genomes, 1 if mesh is None else mesh.size)
    began = time.perf_counter()
    program: Any = _program(fn, decoder, capacity, block, mesh)
    ready = program.lower(some).compile()
    return ready, some, block, time.perf_counter() - began


def num_queries(decoder: Discovered, capacity: Capacity) -> tuple[int, int]:
    """About cells, from all inputs; about pairs of nodes."""
    cells = len(LAYOUT.inputs) * 4 * sum(capacity.quads)
    return cells, (capacity.hidden + len(LAYOUT.points)) ** 2


def seconds_of_queries(
    decoder: Discovered, capacity: Capacity, genomes, block: int
) -> float:
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

    blocks = jax.tree.map(lambda x: x.reshape(-1, block, *x.shape[1:]), genomes)
    run = jax.jit(lambda blocks: jax.lax.map(jax.vmap(ask), blocks))
    return best_seconds(lambda: run(blocks).block_until_ready())


def row(
    sheet: Sheet, decoder: Discovered, capacity: Capacity, genomes, *first, is_all: bool
) -> None:
    num = genomes.node_id.shape[0]
    ready, some, block, seconds = compiled(decoder, capacity, genomes)
    _, exceeds, _, _ = ready(some)
    one_core = Resources(engine="native", threads=1)

    def native():
        evaluate(decoder.decode(genomes, one_core), ROWS, resources=one_core)

    def in_ms(seconds: float) -> str:
        return f"{seconds / num * 1e3:.3f}"

    everything = ()
    if is_all:
        work = lambda: run_on_device(outputs_of, decoder, genomes, DEVICE)
        everything = (in_ms(best_seconds(work)),)
    memory = ready.memory_analysis()
    of_block = memory.temp_size_in_bytes if memory is not None else 0
    sheet.row(
        *first,
        capacity.hidden,
        f"{seconds:.1f}",
        in_ms(best_seconds(lambda: jax.block_until_ready(ready(some)))),
        *everything,
        f"{sum(num_queries(decoder, capacity)):,}",
        in_ms(seconds_of_queries(decoder, capacity, some, block)),
        in_ms(best_seconds(native)),
        f"{of_block / block / 1024:.0f}",
        f"{int(np.asarray(exceeds)[:num].sum())} of {num}",
    )


def columns(is_all: bool) -> tuple[str, ...]:
    return (
        "hidden nodes",
        "compile s",
        "ms a genome",
        *(("with more room",) if is_all else ()),
        "queries",
        "alone",
        "native",
        "KiB a genome",
        "need more room",
    )


def by_depth(quick: bool, sheet: Sheet, genomes) -> None:
    title = "1. by depth, with the room that a run begins with"
    sheet.begin(title, "D", *columns(is_all=True))
    for depth in (4, 7, 13) if quick else (1, 2, 3, 4, 5, 7, 9, 13):
        decoder = decoder_of(depth)
        row(sheet, decoder, decoder.first_capacity(), genomes, depth, is_all=True)


def by_room(quick: bool, sheet: Sheet, genomes) -> None:
    title = "2. by room, depth 5: how many quads are seen"
    sheet.begin(title, "quads", *columns(is_all=False))
    decoder = decoder_of(5)
    for hidden in (64,) if quick else (16, 64, 256):
        some, whole = Capacity.frontier(5, hidden, 64), Capacity.eager(5, hidden)
        row(sheet, decoder, some, genomes, "64 a level", is_all=False)
        row(sheet, decoder, whole, genomes, "all", is_all=False)


def by_samples(quick: bool, sheet: Sheet, genomes) -> None:
    sheet.begin(
        "3. evaluation alone, depth 3, room for 64 hidden nodes",
        "samples", "node by node", "products", "largest difference",
    )  # fmt: skip
    decoder = decoder_of(3)
    some, _ = filled(decoder, decoder.first_capacity(), genomes)
    num = some.node_id.shape[0]
    networks = jax.jit(jax.vmap(lambda genome: decoder.trace(genome).network))(some)
    ranks = np.where(np.asarray(networks.is_node), np.asarray(networks.rank), -1)
    num_rounds = max(np.unique(row).size for row in ranks)
    rng = np.random.default_rng(0)
    for num_samples in (4, 1024) if quick else (4, 64, 1024, 16384):
        samples = rng.uniform(-1, 1, (num_samples, len(LAYOUT.inputs)))
        inputs = jnp.asarray(samples, jnp.float32)
        ours, theirs = (
            jax.jit(functools.partial(of_all, fn, inputs))
            for fn in (
                lambda network, x: network(x),
                functools.partial(by_products, num_rounds),
            )
        )
        seconds = [
            best_seconds(
                lambda run=run, networks=networks: run(networks).block_until_ready()
            )
            for run in (ours, theirs)
        ]
        apart = jnp.abs(ours(networks) - theirs(networks)).max()
        ms = [f"{x / num * 1e3:.4f}" for x in seconds]
        sheet.row(f"{num_samples:,}", *ms, f"{float(apart):.0e}")


def of_all(fn, inputs: jax.Array, networks) -> jax.Array:
    return jax.lax.map(lambda network: fn(network, inputs), networks)


def by_products(num_rounds: int, network, inputs: jax.Array) -> jax.Array:
    """A network without cycles, whose nodes settle in as many rounds as the longest way
    through any of the networks is long."""
    num = network.num_inputs
    held = inputs.T
    rest = jnp.zeros((network.bias.shape[0] - num, inputs.shape[0]), inputs.dtype)
    values = jnp.concatenate([held, rest])
    weight = network.weight[:, num:].T
    for _ in range(num_rounds):
        sums = weight @ values + network.bias[num:, None]
        new = network._activate(sums, network.activation[num:])
        values = jnp.concatenate([held, new])
    return values[network.output].T


NUM_STEPPED, DENSITY, NUM_INPUTS = 64, 0.25, 4
"""Networks with cycles, side by side; the share of pairs that are linked; inputs."""


def by_updates(quick: bool, sheet: Sheet) -> None:
    sheet.begin(
        f"4. {NUM_STEPPED} networks with cycles side by side, 8 updates: ms a network, "
        "and outputs that room for twice the nodes leaves as they are",
        "nodes", "samples", "node by node", "products", "same bits", "same by products",
    )  # fmt: skip
    rng = np.random.default_rng(0)
    for num_nodes in (16, 64) if quick else (16, 64, 256):
        networks, roomy = (with_cycles(num_nodes, num_nodes * room) for room in (1, 2))
        for num_samples in (1, 16, 256):
            samples = rng.normal(size=(num_samples, NUM_INPUTS))
            inputs = jnp.asarray(samples, jnp.float32)
            ms, same = [], []
            for fn in (lambda network, x: network(x), by_updating):
                run = jax.jit(jax.vmap(functools.partial(_given, fn, inputs)))
                seconds = best_seconds(functools.partial(_finished, run, networks))
                ms.append(f"{seconds / NUM_STEPPED * 1e3:.4f}")
                equal = np.asarray(run(networks)) == np.asarray(run(roomy))
                same.append(f"{equal.mean():.0%}")
            sheet.row(num_nodes, num_samples, *ms, *same)


def _finished(run, networks: TensorNetwork) -> None:
    run(networks).block_until_ready()


def _given(fn, inputs: jax.Array, network: TensorNetwork) -> jax.Array:
    return fn(network, inputs)


def with_cycles(num_nodes: int, num_slots: int) -> TensorNetwork:
    """Drawn networks, with room for more nodes than they have."""
    rng = np.random.default_rng(num_nodes)
    shape = (NUM_STEPPED, num_nodes, num_nodes)
    room = num_slots - num_nodes
    pad = lambda x: jnp.asarray(np.pad(x, [(0, 0), *[(0, room)] * (x.ndim - 1)]))
    scale = 2 / np.sqrt(num_nodes * DENSITY)
    weight = pad((scale * rng.normal(size=shape)).astype(np.float32))
    linked = pad(rng.random(shape) < DENSITY)
    bias = pad(rng.normal(size=shape[:2]).astype(np.float32))
    names = ("identity", "tanh")
    ids = tuple(sorted(activation_id(name) for name in names))
    identity, hidden = (ids.index(activation_id(name)) for name in names)
    slot = jnp.arange(num_slots)
    is_other = (slot >= NUM_INPUTS) & (slot < num_nodes)

    def make(weight, linked, bias):
        return TensorNetwork.make(
            weight=weight,
            is_linked=linked,
            bias=bias,
            activation=jnp.where(is_other, hidden, identity).astype(jnp.int32),
            rank=jnp.zeros(num_slots, jnp.int32),
            point=jnp.zeros((num_slots, 2), jnp.float32),
            is_node=slot < num_nodes,
            num_found=jnp.int32(-1),
            num_inputs=NUM_INPUTS,
            num_outputs=2,
            activation_ids=ids,
            dialect="plain",
            is_acyclic=False,
            steps=8,
        )

    return jax.vmap(make)(weight, linked, bias)


def by_updating(network: TensorNetwork, inputs: jax.Array) -> jax.Array:
    """A network with cycles: each update of all nodes is one product."""
    num, held = network.num_inputs, inputs.T
    weight, bias = network.weight[:, num:].T, network.bias[num:, None]

    def update(_, state):
        sums = weight @ state + bias
        new = network._activate(sums, network.activation[num:])
        return jnp.concatenate([held, new])

    rest = jnp.zeros((bias.shape[0], inputs.shape[0]), inputs.dtype)
    state = jnp.concatenate([held, rest])
    return jax.lax.fori_loop(0, network.steps, update, state)[network.output].T


def by_devices(quick: bool, sheet: Sheet) -> None:
    sheet.begin(
        f"5. by devices, depth 3: {POPULATION} genomes for each of them",
        "devices", "genomes", "on one at least", "at most", "s", "ms a genome",
    )  # fmt: skip
    for num in (1, 8) if quick else (1, 2, 4, 8):
        if jax.default_backend() == "cpu":
            # JAX looks for devices once: more of them need another process.
            flag = f"--xla_force_host_platform_device_count={num}"
            flags = f"{os.environ.get('XLA_FLAGS', '')} {flag}"
            words = [sys.executable, "-m", "benchmarks.device", "--devices", str(num)]
            out = subprocess.run(
                words,
                env={**os.environ, "XLA_FLAGS": flags},
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            ).stdout
            sheet.row(*json.loads(out.splitlines()[-1]))
        elif num <= jax.device_count():
            sheet.row(*on_devices(num))


def on_devices(num: int) -> list[Any]:
    """One row of the fifth table."""
    decoder, mesh = decoder_of(3), population_mesh(num)
    total = POPULATION * num
    genomes = jax.tree.map(np.asarray, evolved_population("emr"))
    genomes = jax.tree.map(lambda x: x[np.arange(total) % POPULATION], genomes)
    ready, some, *_ = compiled(
        decoder, decoder.first_capacity(), genomes, outputs_and_device, mesh
    )
    (_, device), *_ = ready(some)
    counts = np.bincount(np.asarray(device), minlength=num)
    seconds = best_seconds(lambda: jax.block_until_ready(ready(some)))
    work = [int(counts.min()), int(counts.max())]
    return [num, total, *work, f"{seconds:.3f}", f"{seconds / total * 1e3:.3f}"]


RUNS = (("feedforward", 300), ("hidden", 150))
"""Connections, and a population."""
NUM_GENERATIONS = 10


def by_run(quick: bool, sheet: Sheet) -> None:
    sheet.begin(
        "6. what a run of XOR compiles, 10 generations",
        "D", "connections ", "genomes", "programs", "s", "all else s",
    )  # fmt: skip
    for depth in (5,) if quick else (3, 5, 7):
        for connections, population in RUNS:
            words = [sys.executable, "-m", "benchmarks.device", "--run"]
            words += [str(depth), connections, str(population)]
            out = subprocess.run(
                words, check=True, stdout=subprocess.PIPE, text=True
            ).stdout
            sheet.row(*json.loads(out.splitlines()[-1]))


def in_run(depth: int, connections: str, population: int) -> list[Any]:
    """One row of the sixth table, without what was compiled before."""
    jax.config.update("jax_enable_compilation_cache", False)
    compiled: list[tuple[str, float]] = []

    def note(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append((str(kwargs.get("fun_name")), duration_secs))

    jax.monitoring.register_event_duration_secs_listener(note)
    evolve(
        "xor",
        method="emr",
        depth=depth,
        connections=connections,
        engine="device",
        population=population,
        target=2.0,
        generations=NUM_GENERATIONS,
        progress=False,
    )
    ours = [seconds for name, seconds in compiled if "population" in name]
    rest = sum(seconds for _, seconds in compiled) - sum(ours)
    of_all = [f"{x:.1f}" for x in (sum(ours), rest)]
    return [depth, connections, population, len(ours), *of_all]


DEVICES = {"RTX 2080 Ti": (13.4e12, 616e9), "H100": (67e12, 3350e9)}
"""Operations and bytes of memory a second, by their makers."""
OPERATIONS, BYTES = 330, 512
"""Of a query: see docs/accelerators.md."""
MANY, GROWN, SOURCES = 1_000, 53, 128
"""Genomes of a generation, those that need more room, and the sources that each of them
asks about then: two times 64, for up to 124 hidden nodes."""


def on_paper(sheet: Sheet) -> None:
    """What a device could do at most, for XOR at depth 7."""
    sheet.begin(
        f"On paper: a generation of {MANY:,}, depth 7",
        "what                              ", "million queries", "Gflop", "GB",
        *(f"{name} s" for name in DEVICES),
    )  # fmt: skip
    decoder = decoder_of(7)
    first = decoder.first_capacity()
    for name, capacity in (
        ("every cell (the paper's way)", Capacity.eager(7, first.hidden)),
        ("room for 256 quads a level", first),
    ):
        cells, pairs = num_queries(decoder, capacity)
        larger = _larger(capacity, _HIDDEN_STEP, _QUADS_STEP)
        more = num_queries(decoder, larger)[0]
        more += SOURCES * (larger.hidden + len(LAYOUT.points))
        for label, queries in (
            (name, MANY * (cells + pairs)),
            ("and genomes that need more room", GROWN * more),
        ):
            work, traffic = OPERATIONS * queries, BYTES * queries
            times = [
                f"{max(work / speed, traffic / memory):.2g}"
                for speed, memory in DEVICES.values()
            ]
            gigas = [f"{x / 1e9:.2g}" for x in (work, traffic)]
            sheet.row(label, f"{queries / 1e6:.3g}", *gigas, *times)


def by_program(quick: bool, sheet: Sheet) -> None:
    if not paper_program.is_there():
        print("The paper's program (emr_hyperneat) cannot be imported: no table 7.")
        return
    sheet.begin(
        f"7. whole generations of {POPULATION}, beside the paper's program",
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
        connections="hidden",
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
    parser.add_argument(
        "--on-paper", action="store_true", help="measure nothing: print an estimate"
    )
    parser.add_argument("--devices", type=int, help=argparse.SUPPRESS)
    parser.add_argument(
        "--run",
        nargs=3,
        metavar=("DEPTH", "CONNECTIONS", "GENOMES"),
        help="only what one run compiles",
    )
    arguments = parser.parse_args()
    if arguments.on_paper:
        on_paper(Sheet("device"))
        return
    if arguments.run:
        depth, connections, population = arguments.run
        print(json.dumps(in_run(int(depth), connections, int(population))))
        return
    if arguments.devices:
        print(json.dumps(on_devices(arguments.devices)))
        return
    device = jax.devices()[0]
    print(f"jax {jax.__version__}, {jax.device_count()} x {device.device_kind}")
    genomes = jax.tree.map(np.asarray, evolved_population("emr"))
    sheet = Sheet("device", arguments.json)
    for measure in (
        lambda: by_depth(arguments.quick, sheet, genomes),
        lambda: by_room(arguments.quick, sheet, genomes),
        lambda: by_samples(arguments.quick, sheet, genomes),
        lambda: by_updates(arguments.quick, sheet),
        lambda: by_devices(arguments.quick, sheet),
        lambda: by_run(arguments.quick, sheet),
        lambda: by_program(arguments.quick, sheet),
    ):
        measure()
        sheet.write()  # whatever comes of the next one


if __name__ == "__main__":
    main()
