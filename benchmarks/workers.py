"""Populations shared out among workers: what it costs, and what a model says of many.

    python -m benchmarks.workers [--quick] [--json FILE]
    python -m benchmarks.workers --dask [--json FILE]     (the fifth table alone)

Six tables, all from one run:

1. a slice: bytes there and back for each genome, and the seconds of its journey to a
   process of this machine and back, with no work;
2. overhead: a population by one worker, beside the same in this process, for slices of
   several lengths;
3. speed-up by 1, 2 and 4 workers, beside the simulation of the sixth table;
4. seconds of NEAT's own step, `tell`, by population;
5. a slice by way of Dask: a scheduler and two workers, processes on loopback that only
   send it back. Alone: the seconds of a journey. With many at a time: what each takes
   of Dask, while the calling side, the scheduler and both workers share the cores of
   this machine. A scheduler with a core of its own takes less: it is an upper bound;
6. a hundred hosts, simulated: slices are cut as they are for workers; Dask takes its
   time (of the fifth table) for one slice after the other, and a worker for the journey
   of each; a network adds latency, and has a bandwidth, both assumed; then comes `tell`
   (of the fourth).

Here a fitness sleeps instead of computing. Workers are then as many machines as they
claim to be, whatever the number of cores, and all that is measured is the sharing.
"""

import argparse
import heapq
import pickle
import statistics
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

import jax
import numpy as np

from substrax import Resources
from substrax._extra import import_extra
from substrax.decoders import Direct
from substrax.evolution._recipe import Objects, written
from substrax.evolution._shared_judge import SharedJudge
from substrax.evolution._worker import Judgement
from substrax.neat import NEAT, Genome, presets
from substrax.workers import Answer, Processes, Share, Sizes, open_crew

from .sheet import Sheet
from .sleeping import Sleeping, answer, echo

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


def largest_slice(genomes: Genome) -> tuple:
    """What a worker is sent with the largest slice: a digest, its source, genomes."""
    kept: list[tuple] = []

    class Noting(ThreadPoolExecutor):
        def submit(self, fn, /, *args, **kwargs):
            kept.append(args)
            return super().submit(fn, *args, **kwargs)

    key = jax.random.key(0)
    with Noting(1) as noting:
        judge_of(noting, Sleeping()).judge(genomes, key)
    return max(kept, key=lambda args: len(args[2].genomes.node_id))


def slices(sheet: Sheet, some: tuple, executor: Executor) -> tuple[float, float]:
    """Table 1; seconds for each slice, and bytes for each genome."""
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


def by_dask(sheet: Sheet, some: tuple, num: int = 1000) -> tuple[float, float]:
    """Table 5; seconds that each of many slices takes, and a slice by itself."""
    distributed = import_extra("distributed", "dask")
    args = (some[2], np.zeros((3, len(some[2].genomes.node_id))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask's own, about ports
        cluster = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
        )
        crew = open_crew(cluster.scheduler_address)
        try:
            for _ in range(20):
                crew.submit(echo, *args).result()
            journey = median(lambda: crew.submit(echo, *args).result(), 100)
            # As many are under way as there would be for so many workers.
            crew.num_workers = lambda: HOSTS
            share = Share(crew, lambda span, is_full: (answer, args), sizes=_Fixed(1))
            began = time.perf_counter()
            share.run(num)
            each = (time.perf_counter() - began) / num
        finally:
            crew.close()
            cluster.close()
    sheet.begin(
        "A slice by way of Dask, two workers on this machine",
        "genomes",
        "bytes there",
        "alone, ms",
        "with many, ms",
        notes=(f"With many: {num} slices, {2 * HOSTS} of them at a time.",),
    )
    sheet.row(args[1].shape[1], len(pickle.dumps(some[2])), journey * 1e3, each * 1e3)
    return each, journey


class _Fixed(Sizes):
    def __init__(self, num: int) -> None:
        super().__init__()
        self._num = num

    def size(self, total: int, num_workers: int) -> int:
        return self._num


def simulated(
    total: int,
    each: float,
    workers: int,
    per_slice: float,
    per_genome: float,
    journey: float,
) -> float:
    """Seconds of a generation without `tell`, as the module's text says. Slices take
    `per_slice` one after the other, and `journey` at their worker."""
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
        done = max(heapq.heappop(free), head) + journey + num * each
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
        model = simulated(total, each, workers, per_slice, 0.0, per_slice)
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
    sheet: Sheet, tell: dict[int, float], dask: tuple[float, float], bytes_each: float
) -> None:
    """Table 6: what a hundred hosts would do, with the seconds of Dask."""
    sheet.begin(
        f"{HOSTS} hosts of one worker each, by Dask, simulated",
        "population",
        "s a genome",
        "evaluation, s",
        "tell, s",
        "speed-up of evaluation",
        "of all",
        notes=(
            f"Assumed: {LATENCY * 1e3:g} ms, {BANDWIDTH * 8 / 1e9:g} Gbit/s, networks "
            "that all take as long, no failures, and a scheduler that takes as long "
            "for a slice with a hundred workers as with the two here. All else is of "
            "the tables above.",
        ),
    )
    for population, seconds in tell.items():
        for each in (0.001, 0.1, 10.0):
            per_genome = bytes_each / BANDWIDTH
            shared = simulated(population, each, HOSTS, dask[0], per_genome, dask[1])
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
    parser.add_argument("--dask", action="store_true", help="the table of Dask alone")
    parser.add_argument("--json", metavar="FILE", help="keep the tables")
    arguments = parser.parse_args()
    sheet = Sheet("workers", arguments.json)
    repeats = 3 if arguments.quick else 7
    genomes = jax.tree.map(np.asarray, evolved(neat_of(200), 20))
    some = largest_slice(genomes)
    if arguments.dask:
        by_dask(sheet, some)
        sheet.write()
        return
    executor = Processes(1)
    try:
        executor.submit(echo, None, np.zeros(1)).result()
        per_slice, bytes_each = slices(sheet, some, executor)
        overhead(sheet, genomes, executor, repeats)
    finally:
        executor.kill()
    speed_up(sheet, genomes, per_slice, repeats)
    populations = (1_000, 10_000) if arguments.quick else (1_000, 10_000, 100_000)
    tell = tell_seconds(sheet, populations)
    many_hosts(sheet, tell, by_dask(sheet, some), bytes_each)
    sheet.write()


if __name__ == "__main__":
    main()
