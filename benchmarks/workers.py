"""Populations shared out among workers: what it costs, and what a model says of many.

    python -m benchmarks.workers [--quick] [--json FILE]

Five tables, all from one run:

1. a slice: bytes there and back for each genome, and the seconds of its journey to a
   process of this machine and back, with no work;
2. overhead: a population by one worker, beside the same in this process, for slices of
   several lengths;
3. speed-up by 1, 2 and 4 workers, beside the simulation of the fifth table;
4. seconds of NEAT's own step, `tell`, by population;
5. a hundred hosts, simulated: slices are cut as they are for workers; the calling side
   takes its time (of the first table) for one slice after the other; a network adds
   latency, and has a bandwidth, both assumed; then comes `tell` (of the fourth).

Here a fitness sleeps instead of computing. Workers are then as many machines as they
claim to be, whatever the number of cores, and all that is measured is the sharing.
"""

import argparse
import heapq
import pickle
import statistics
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

import jax
import numpy as np

from substrax import Resources
from substrax.decoders import Direct
from substrax.evolution._recipe import Objects, written
from substrax.evolution._shared_judge import SharedJudge
from substrax.evolution._worker import Judgement
from substrax.neat import NEAT, Genome, presets
from substrax.workers import Answer, Processes, Share, Sizes, open_crew

from .sheet import Sheet
from .sleeping import Sleeping, echo

LATENCY, BANDWIDTH = 1e-3, 125e6
"""Assumed between hosts: a millisecond, and a gigabit a second at the calling side."""
HOSTS = 100


CONFIG = presets.substrax(num_inputs=8, num_outputs=2)
DECODER = Direct(8, 2, activations=CONFIG.activation_options)


def neat_of(population: int) -> NEAT:
    return NEAT(
        presets.substrax(num_inputs=8, num_outputs=2, population_size=population)
    )


def evolved(neat: NEAT, generations: int) -> Genome:
    """Genomes after some generations of random fitness."""
    tell = jax.jit(neat.tell)
    state = jax.jit(neat.init)(key=jax.random.key(0))
    for key in jax.random.split(jax.random.key(1), generations):
        fitness = jax.random.uniform(key, (neat.config.population_size,))
        state, _ = tell(state, fitness, key=key)
    return neat.ask(state)


def judge_of(executor: Executor, problem: Sleeping) -> SharedJudge:
    recipe = written(Objects(DECODER, problem))
    crew = open_crew(executor)
    return SharedJudge(crew, DECODER, problem, recipe, Resources(), None, False)


def median(function: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def slices(sheet: Sheet, genomes: Genome, executor: Executor) -> tuple[float, float]:
    """Table 1; seconds for each slice, and bytes for each genome."""
    kept: list[tuple] = []

    class Noting(ThreadPoolExecutor):
        def submit(self, fn, /, *args, **kwargs):
            kept.append(args)
            return super().submit(fn, *args, **kwargs)

    key = jax.random.key(0)
    with Noting(1) as noting:
        judge_of(noting, Sleeping()).judge(genomes, key)
    some = max(kept, key=lambda args: len(args[2].genomes.node_id))
    num = len(some[2].genomes.node_id)
    there = len(pickle.dumps(some[2]))
    source = len(pickle.dumps(some[1]))
    numbers = np.zeros(num, np.int64)
    back = len(pickle.dumps(Judgement(np.zeros(num), numbers, numbers.copy(), 0)))
    journey = median(
        lambda: executor.submit(echo, some[2], np.zeros((3, num))).result(), 50
    )
    sheet.begin(
        "A slice",
        "genomes",
        "bytes a genome, there",
        "bytes of the source",
        "bytes a genome, back",
        "journey, ms",
    )
    sheet.row(num, round(there / num), source, round(back / num), journey * 1e3)
    return journey, (there + back) / num


def overhead(sheet: Sheet, genomes: Genome, executor: Executor, repeats: int) -> None:
    """Table 2: one worker beside none."""
    total, key = len(genomes.node_id), jax.random.key(0)
    sheet.begin(
        "One worker beside this process",
        "seconds of a slice",
        "slices",
        "alone, s",
        "shared, s",
        "overhead, %",
    )
    for seconds, num in ((1.0, 4), (0.25, 4), (0.05, 4)):
        problem = Sleeping(seconds * num / total)
        networks = DECODER.decode(genomes)
        judge = judge_of(executor, problem)
        judge._sizes = _Fixed(total // num)
        alone = median(
            lambda p=problem, n=networks: (
                DECODER.decode(genomes),
                p.fitness(n, key=key),
            ),
            repeats,
        )
        judge.judge(genomes, key)  # the problem is made
        shared = median(lambda j=judge: j.judge(genomes, key), repeats)
        sheet.row(seconds, num, alone, shared, 100 * (shared / alone - 1))


class _Fixed(Sizes):
    def __init__(self, num: int) -> None:
        super().__init__()
        self._num = num

    def size(self, total: int, num_workers: int) -> int:
        return self._num


def simulated(
    total: int, each: float, workers: int, per_slice: float, per_genome: float
) -> float:
    """Seconds of a generation without `tell`, as the module's text says."""
    sizes = Sizes()
    sizes.learn(1, each)
    crew = open_crew(ThreadPoolExecutor(1))
    cutter = Share(crew, lambda span, is_full: (Answer, ()), sizes=sizes)
    free = [0.0] * workers
    heapq.heapify(free)
    begin, head, end = 0, 0.0, 0.0
    while begin < total:
        span = cutter.cut(begin, total, workers)
        num = span.stop - span.begin
        head += per_slice + num * per_genome
        done = max(heapq.heappop(free), head) + per_slice + num * each
        heapq.heappush(free, done)
        begin, end = span.stop, max(end, done)
    return end


def speed_up(sheet: Sheet, genomes: Genome, per_slice: float, repeats: int) -> None:
    """Table 3: measured, and simulated."""
    total, each, key = len(genomes.node_id), 0.02, jax.random.key(0)
    sheet.begin(
        f"{total} genomes of {each:g} s each",
        "workers",
        "measured, s",
        "simulated, s",
        "speed-up",
        "simulated",
    )
    for workers in (1, 2, 4):
        executor = Processes(workers)
        try:
            judge = judge_of(executor, Sleeping(each))
            for _ in range(2):
                judge.judge(genomes, key)
            measured = median(lambda j=judge: j.judge(genomes, key), repeats)
        finally:
            executor.kill()
        model = simulated(total, each, workers, per_slice, 0.0)
        alone = total * each
        sheet.row(workers, measured, model, alone / measured, alone / model)


def tell_seconds(sheet: Sheet, populations: tuple[int, ...]) -> dict[int, float]:
    """Table 4: NEAT's own step, once it is compiled."""
    sheet.begin("NEAT's own step", "population", "tell, s", "us a genome")
    found = {}
    for population in populations:
        neat = neat_of(population)
        tell = jax.jit(neat.tell)
        state = jax.jit(neat.init)(key=jax.random.key(0))
        times = []
        for key in jax.random.split(jax.random.key(1), 4):
            fitness = jax.random.uniform(key, (population,))
            began = time.perf_counter()
            state, _ = jax.block_until_ready(tell(state, fitness, key=key))
            times.append(time.perf_counter() - began)
        found[population] = statistics.median(times[1:])  # the first one compiles
        sheet.row(population, found[population], found[population] / population * 1e6)
    return found


def many_hosts(
    sheet: Sheet, tell: dict[int, float], per_slice: float, bytes_each: float
) -> None:
    """Table 5: what a hundred hosts would do."""
    sheet.begin(
        f"{HOSTS} hosts of one worker each, simulated",
        "population",
        "s a genome",
        "evaluation, s",
        "tell, s",
        "speed-up of evaluation",
        "of all",
        notes=(
            f"Assumed: {LATENCY * 1e3:g} ms, {BANDWIDTH * 8 / 1e9:g} Gbit/s, networks "
            "that all take as long, no failures. All else is of the tables above.",
        ),
    )
    for population, seconds in tell.items():
        for each in (0.001, 0.1, 10.0):
            per_genome = bytes_each / BANDWIDTH
            shared = simulated(population, each, HOSTS, per_slice, per_genome)
            shared += 2 * LATENCY
            alone = population * each
            sheet.row(
                population,
                each,
                shared,
                seconds,
                alone / shared,
                (alone + seconds) / (shared + seconds),
            )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers")
    parser.add_argument("--quick", action="store_true", help="some minutes' worth")
    parser.add_argument("--json", metavar="FILE", help="keep the tables")
    arguments = parser.parse_args()
    sheet = Sheet("workers", arguments.json)
    repeats = 3 if arguments.quick else 7
    genomes = jax.tree.map(np.asarray, evolved(neat_of(200), 20))
    executor = Processes(1)
    try:
        executor.submit(echo, None, np.zeros(1)).result()
        per_slice, bytes_each = slices(sheet, genomes, executor)
        overhead(sheet, genomes, executor, repeats)
    finally:
        executor.kill()
    speed_up(sheet, genomes, per_slice, repeats)
    populations = (1_000, 10_000) if arguments.quick else (1_000, 10_000, 100_000)
    tell = tell_seconds(sheet, populations)
    many_hosts(sheet, tell, per_slice, bytes_each)
    sheet.write()


if __name__ == "__main__":
    main()
