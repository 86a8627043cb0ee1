"""Two versions beside each other: this one, and an older checkout, in turns.

    git worktree add ../substrax-0.1 c40db1c
    python benchmarks/versions.py ../substrax-0.1 [--cores 1 2] [--rows decode-emr ...]

Each row is the same work on the same genomes (those of XOR after ten or thirty
generations, evolved once). A row runs in a process of its own for each version, first
the old one, then the new one, then again, and the best of each is kept; times are warm
unless a row is about starting. What came out (links, a digest of outputs) is compared.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
ROWS = ("decode-emr", "decode-es", "generation", "panel", "es-deep", "emr-deep")


def genomes_of(path: str) -> Any:
    import jax
    import numpy as np

    from substrax.neat import Genome

    with np.load(path) as arrays:
        return Genome(**{k: jax.numpy.asarray(v) for k, v in arrays.items()})


def decoder_of(kind: str, depth: int) -> Any:
    from substrax.decoders import CPPNReading, emr_hyperneat, es_hyperneat
    from substrax.substrate import EMRRule, ESRule, Layout

    layout = Layout([[-1.0, -1.0], [0.0, -1.0], [1.0, -1.0]], [[0.0, 1.0]])
    activations = ("gauss", "sin", "tanh", "sigmoid")
    if kind == "es":
        reading = CPPNReading(dialect="neat-python", activations=activations)
        return es_hyperneat(layout, ESRule(depth=depth), reading=reading)
    reading = CPPNReading(dialect="plain", activations=activations)
    return emr_hyperneat(layout, EMRRule(depth=depth, field=kind), reading=reading)


def best(function: Any, seconds: float = 4.0) -> float:
    """The shortest of several calls, after one that does not count."""
    function()
    times: list[float] = []
    while not times or (sum(times) < seconds and len(times) < 30):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)


def evolve_genomes(kind: str, population: int, generations: int, path: str) -> None:
    """The population of XOR after some generations, in a file."""
    import dataclasses

    import jax
    import numpy as np

    from substrax.neat import NEAT, presets
    from substrax.network import evaluate

    rows = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]], np.float32)
    decoder = decoder_of(kind, 2 if kind == "es" else 3)
    neat = NEAT(dataclasses.replace(presets.pureples(), population_size=population))
    state, tell = neat.init(key=jax.random.key(0)), jax.jit(neat.tell)
    for generation in range(generations):
        outputs = evaluate(decoder.decode(neat.ask(state)), rows)[:, :, 0]
        fitness = 1 - np.mean((outputs - np.array([0.0, 1, 1, 0])) ** 2, axis=1)
        state, _ = tell(state, fitness, key=jax.random.key(generation))
    genomes = neat.ask(state)
    fields = {f.name: getattr(genomes, f.name) for f in dataclasses.fields(genomes)}
    arrays: dict[str, Any] = {k: np.asarray(v) for k, v in fields.items()}
    np.savez(path, **arrays)


def work(row: str, folder: str) -> dict[str, Any]:
    """One row in this process."""
    import hashlib
    import resource

    import jax
    import numpy as np

    from substrax.network import evaluate

    xor = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]], np.float32)
    name, kind, depth = {
        "decode-emr": ("emr-1000-30", "output", 7),
        "decode-es": ("es-150-10", "es", 3),
        "panel": ("emr-1000-30", "output", 3),
        "es-deep": ("es-300-10", "es", 6),
        "emr-deep": ("emr-300-10", "weight", 13),
        "generation": ("", "", 0),
    }[row]
    if row == "generation":
        return generation_row()
    genomes, decoder = genomes_of(f"{folder}/{name}.npz"), decoder_of(kind, depth)
    if row == "panel":
        genomes = jax.tree.map(lambda x: x[:100], genomes)
        inputs = np.random.default_rng(0).normal(size=(94_464, 3)).astype(np.float32)
    else:
        inputs = xor
    if row.endswith("deep"):
        evaluate(decoder_of(kind, 3).decode(genomes), inputs)  # compiles
        began = time.perf_counter()
        networks = decoder.decode(genomes)
        decoded = time.perf_counter()
        outputs = evaluate(networks, inputs)
        times = {"decode": decoded - began, "evaluate": time.perf_counter() - decoded}
        times["whole"] = sum(times.values())
    else:
        networks = decoder.decode(genomes)
        outputs = evaluate(networks, inputs)
        times = {"evaluate": best(lambda: evaluate(networks, inputs))}
        if row != "panel":
            times["decode"] = best(lambda: decoder.decode(genomes))
    return {
        "seconds": times,
        "links": int(networks.num_links.sum()),
        "digest": hashlib.sha256(outputs.tobytes()).hexdigest()[:12],
        "peak MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def generation_row() -> dict[str, Any]:
    """A warm generation of XOR, depth 7, population 1,000: the median of the last ten
    of thirty."""
    import numpy as np

    from substrax.config import load_experiment

    experiment = load_experiment("xor").with_settings(
        {"depth": 7, "population": 1000, "generations": 30, "target": 2.0, "seed": 0}
    )
    result = experiment.evolve()
    times = [r.seconds - r.compile_seconds for r in result.history[-10:]]
    return {
        "seconds": {"generation": float(np.median(times))},
        "compile": sum(r.compile_seconds for r in result.history),
        "links": int(sum(r.mean_network_links for r in result.history)),
        "digest": f"{result.best_fitness:.9f}",
    }


def in_version(source: Path, cores: int, *arguments: str) -> dict[str, Any]:
    """Runs this file with the package of a checkout, on some cores."""
    program = (
        "import os, sys, runpy; "
        f"os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{cores}]); "
        # Whatever an editable installation says, the package is that of the checkout.
        "sys.meta_path[:] = [f for f in sys.meta_path if 'ditable' not in "
        "type(f).__module__ + type(f).__name__ and 'skbc' not in type(f).__module__]; "
        f"sys.path.insert(0, {str(source / 'src')!r}); "
        f"sys.argv = [{str(Path(__file__).resolve())!r}, *{list(arguments)!r}]; "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def compare(old: Path, row: str, cores: int, folder: str, repeats: int) -> None:
    found: dict[str, list[dict[str, Any]]] = {"old": [], "new": []}
    for _ in range(1 if row.endswith("deep") else repeats):
        for name, source in (("old", old), ("new", HERE)):
            answer = in_version(source, cores, "--work", row, "--folder", folder)
            found[name].append(answer)
    same = found["old"][0]["links"] == found["new"][0]["links"]
    bits = found["old"][0]["digest"] == found["new"][0]["digest"]
    for what in found["old"][0]["seconds"]:
        before, now = (min(r["seconds"][what] for r in found[n]) for n in found)
        print(
            f"{row:11} {cores} core{'s' * (cores > 1):1} {what:10} "
            f"{before * 1000:10.1f} ms {now * 1000:9.1f} ms {before / now:7.1f} times  "
            f"{found['new'][0]['links']:12,} links, "
            f"{'same' if same else 'OTHER'} links, {'same' if bits else 'other'} bits",
            flush=True,
        )
    for extra in ("peak MiB", "compile"):
        if extra in found["old"][0]:
            values = [f"{found[n][0][extra]:.4g}" for n in ("old", "new")]
            print(f"{'':11} {extra}: {values[0]} before, {values[1]} now", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("old", nargs="?", type=Path, help="a checkout of the version")
    parser.add_argument("--cores", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--rows", nargs="*", choices=ROWS, default=list(ROWS[:4]))
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--work", choices=(*ROWS, "evolve"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work == "evolve":
        for kind, population, generations in (
            ("output", 1000, 30),
            ("es", 150, 10),
            ("es", 300, 10),
            ("output", 300, 10),
        ):
            name = f"{'es' if kind == 'es' else 'emr'}-{population}-{generations}"
            path = f"{arguments.folder}/{name}.npz"
            evolve_genomes(kind, population, generations, path)
        print("{}")
    elif arguments.work:
        print(json.dumps(work(arguments.work, arguments.folder)))
    elif arguments.old is None:
        parser.error("give the folder of a checkout of the version to compare with")
    else:
        with tempfile.TemporaryDirectory() as folder:
            every = len(os.sched_getaffinity(0))
            in_version(HERE, every, "--work", "evolve", "--folder", folder)
            for row in arguments.rows:
                for cores in arguments.cores:
                    compare(
                        arguments.old.resolve(), row, cores, folder, arguments.repeats
                    )


if __name__ == "__main__":
    main()
