"""Runs that look at an evolution's genomes: the quadtree's time, position counts."""

import dataclasses
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from benchmarks.clock import best_seconds
from benchmarks.peak import peak_mebibytes
from substrax.config import Experiment
from substrax.decoders import Discovered
from substrax.evolution import Result
from substrax.neat import Genome
from substrax.substrate import Discovery, discover, num_cells

from .evolution import evolution_facts, run_evolution
from .pureples import pureples_decode
from .quadtree import Decoding, quadtree_decode

SAMPLES = "samples.jsonl"
_LONG_SECONDS = 2.0


def _stages(
    folder: Path, task: dict[str, Any]
) -> Iterator[tuple[Experiment, Result, int, Genome]]:
    """The evolution in parts: before the generations at which genomes are looked at."""
    experiment = Experiment.from_toml(task["config"])
    options = task["options"]
    source = experiment.with_settings(options.get("source", {}))
    for generation in options.get("at", [experiment.run.generations - 1]):
        part = source.with_settings({"run.generations": generation})
        result, _ = run_evolution(folder, part)
        yield experiment, result, generation, part.build().algorithm.ask(result.state)


def _read_samples(path: Path) -> dict[tuple[int, int], dict[str, Any]]:
    """Samples that are on the disk; a last line that was cut off is left out."""
    samples = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            sample = json.loads(line)
        except ValueError:
            break
        samples[sample["generation"], sample["genome"]] = sample
    return samples


def _links_of(decoder: Discovered, genomes: Genome, index: int) -> dict:
    """One genome's links by the decoder, in 64 bits, by the positions of their ends."""
    reading = dataclasses.replace(decoder.reading, precision="f64")
    exact = dataclasses.replace(decoder, reading=reading)
    network = exact.decode(jax.tree.map(lambda x: x[index : index + 1], genomes))
    point = [(float(x), float(y)) for x, y in network.node_point]
    ends = zip(network.link_source.tolist(), network.link_target.tolist(), strict=True)
    return {
        (point[s], point[t]): w
        for (s, t), w in zip(ends, network.link_weight.tolist(), strict=True)
    }


def _is_same(a: dict, b: dict) -> bool:
    return a.keys() == b.keys() and all(abs(a[k] - b[k]) < 1e-5 for k in a)


DECODE = {"quadtree": quadtree_decode, "pureples": pureples_decode}


def work_quadtree(folder: Path, task: dict[str, Any]) -> dict[str, Any]:
    """Times a recursive quadtree on a random sample of an evolution's genomes.

    The same genomes are decoded by the frontier, whose networks must be the same. A
    generation's time is the mean over the sample, taken for every genome of the
    population; the rest of a generation (evaluation, NEAT) is left out. A genome that
    takes longer than `max_seconds` is cut off, and its time scaled, see `_scaled`.

    Options: so many genomes as a `sample` from each of the generations `at` (none: the
    last); `source` are settings of the evolution that the genomes come from, where the
    rule itself would take too long.
    """
    options = task["options"]
    limit = options.get("max_seconds", 60.0)
    decode = DECODE[task["kind"]]
    path = folder / SAMPLES
    done = _read_samples(path)
    path.write_text("".join(json.dumps(s) + "\n" for s in done.values()))
    frontier, last = [], None
    for experiment, result, generation, genomes in _stages(folder, task):
        parts = experiment.build()
        decoder = parts.decoder
        assert isinstance(decoder, Discovered)
        size = parts.algorithm.config.population_size
        rng = np.random.default_rng([experiment.run.seed, generation])
        order = rng.permutation(size)
        some = order[: options.get("sample", 4)].tolist()
        for index in some:
            if (generation, index) not in done:
                sample = _sample(decode, decoder, genomes, index, limit)
                sample["generation"] = generation
                done[generation, index] = sample
                with open(path, "a") as file:
                    file.write(json.dumps(sample) + "\n")
        batch = jax.tree.map(lambda x, some=some: x[np.array(some)], genomes)
        frontier.append(_seconds_per_genome(decoder, batch, size))
        last = (experiment, result, size)
    assert last is not None
    experiment, result, size = last
    facts = evolution_facts(experiment, result)
    samples = list(done.values())
    mean = float(np.mean(_scaled(samples)))
    seconds = size * mean
    compared = [s["is_same"] for s in samples if s["is_same"] is not None]
    return facts | {
        "decode_quadtree": mean,
        "decode_frontier": float(np.mean(frontier)),
        "strategy": task["kind"],
        "solved_at": None,
        "seconds_per_generation": seconds,
        "median_seconds": None,
        "compile_seconds": 0.0,
        "generations": experiment.run.generations,
        "seconds": seconds * experiment.run.generations,
        "num_sampled": len(samples),
        "num_cut": sum(s["is_cut"] for s in samples),
        "num_compared": len(compared),
        "num_same": sum(compared),
        "mean_queries": float(np.mean([s["queries"] for s in samples])),
    }


def _sample(
    decode: Callable[..., Decoding],
    decoder: Discovered,
    genomes: Genome,
    index: int,
    limit: float,
) -> dict[str, Any]:
    """One genome by the quadtree, and whether the decoder makes the same of it."""
    tree = decode(decoder, genomes, index, limit)
    is_same = None
    if not tree.is_cut:
        is_same = _is_same(tree.links, _links_of(decoder, genomes, index))
    one = jax.tree.map(lambda x: x[index : index + 1], genomes)
    return {
        "genome": index,
        "seconds": tree.seconds,
        "queries": tree.queries,
        "frontier_queries": _explore(decoder, one).num_queries,
        "is_cut": tree.is_cut,
        "is_same": is_same,
    }


def _scaled(samples: Sequence[dict[str, Any]]) -> list[float]:
    """Seconds of each genome; where it was cut off, what they would have become.

    That is its seconds a query so far, times the queries still to come: the frontier's
    for this genome, times what the quadtree asked more than the frontier on the genomes
    that were not cut off.
    """
    whole = [s for s in samples if not s["is_cut"]]
    asked, needed = (
        sum(s[name] for s in whole) for name in ("queries", "frontier_queries")
    )
    more = max(1.0, asked / needed) if needed else 1.0
    return [
        s["seconds"] * max(1.0, more * s["frontier_queries"] / s["queries"])
        if s["is_cut"]
        else s["seconds"]
        for s in samples
    ]


def _explore(decoder: Discovered, genomes: Genome) -> Discovery:
    """Discovery alone, which counts its queries."""
    return discover(
        decoder.reading.compile(genomes),
        decoder.reading.coordinates,
        decoder.layout,
        decoder.rule,
        decoder.weight_map,
        strategy=decoder.strategy,
    )


def _seconds_per_genome(decoder: Discovered, genomes: Genome, size: int) -> float:
    """Of decoding, warm, as part of a population.

    The genomes are copied until there are `size` of them, or until it takes seconds:
    a few genomes alone would not show what a population costs each of them.
    """
    num = genomes.node_id.shape[0]
    once = best_seconds(lambda: decoder.decode(genomes), 1)
    copies = max(1, min(size // num, int(_LONG_SECONDS / once)))
    batch = jax.tree.map(lambda x: x[np.tile(np.arange(num), copies)], genomes)
    if copies > 1:
        once = min(best_seconds(lambda: decoder.decode(batch), 2), once * copies)
    return once / (copies * num)


def work_positions(folder: Path, task: dict[str, Any]) -> dict[str, Any]:
    """Counts what discovery asks and finds, at each depth, on an evolution's genomes.

    `options.depths` are gone through with each of `options.strategies`; the eager one
    stops at `options.max_eager_depth`.
    """
    options = task["options"]
    *_, (experiment, _, generation, genomes) = _stages(folder, task)
    rows = []
    for depth in options["depths"]:
        for strategy in options["strategies"]:
            if strategy == "eager" and depth > options["max_eager_depth"]:
                continue
            changed = experiment.with_settings({"depth": depth, "strategy": strategy})
            decoder = changed.build().decoder
            assert isinstance(decoder, Discovered)
            _explore(decoder, genomes)
            began = time.perf_counter()
            networks, num_queries = _explore(decoder, genomes)
            rows.append(
                {
                    "depth": depth,
                    "strategy": strategy,
                    "candidates": num_cells(depth),
                    "genomes": len(networks),
                    "queries": num_queries,
                    "found": int(networks.num_found.sum()),
                    "links": int(networks.link_weight.size),
                    "seconds": time.perf_counter() - began,
                    "peak_mebibytes": peak_mebibytes(),
                }
            )
    return {
        "seed": experiment.run.seed,
        "generation": generation,
        "rule": experiment.method.name,
        "population": experiment.neat.population_size,
        "rows": rows,
    }
