"""Two versions beside each other: this one, and an older checkout, in turns.

    git worktree add ../substrax-0.1 c40db1c
    python -m benchmarks.versions ../substrax-0.1 [--cores 1 2] [--rows decode-emr ...]

1. Warm work on the same genomes, those of XOR after ten or thirty generations, evolved
   once. A row runs in a process of its own for each version, first the old one, then
   the new one, then again; the best of each is kept. What came out (links, a digest of
   outputs) is compared.
2. Starting: whole processes, importing and compiling included, with an empty folder for
   compiled code, again with what is there then, and with another seed; beside a process
   that imports JAX and adds two numbers. Best of two where something is kept.

`--page FILE` writes both as Markdown.
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
WARM = ("decode-emr", "decode-es", "generation", "panel", "es-deep", "emr-deep")
STARTS = {
    "one generation": ["--generations", "1"],
    "30 generations, depth 7, population 1,000": [
        *("--generations", "30", "--target", "2"),
        *("--depth", "7", "--population", "1000"),
    ],
}
ROWS = (*WARM, "start")


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
    """The population of XOR after some generations, in a file.

    That of 1,000 is the one of the row `generation`; the others evolve on a coarser
    grid, which takes less time.
    """
    import dataclasses

    import jax
    import numpy as np

    from substrax.neat import NEAT, presets
    from substrax.network import evaluate

    if population == 1000:
        return save(evolve_generations().state.population, path)
    rows = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]], np.float32)
    decoder = decoder_of(kind, 2 if kind == "es" else 3)
    neat = NEAT(dataclasses.replace(presets.pureples(), population_size=population))
    state, tell = neat.init(key=jax.random.key(0)), jax.jit(neat.tell)
    for generation in range(generations):
        outputs = evaluate(decoder.decode(neat.ask(state)), rows)[:, :, 0]
        fitness = 1 - np.mean((outputs - np.array([0.0, 1, 1, 0])) ** 2, axis=1)
        state, _ = tell(state, fitness, key=jax.random.key(generation))
    save(neat.ask(state), path)


def save(genomes: Any, path: str) -> None:
    import dataclasses

    import numpy as np

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


def evolve_generations() -> Any:
    from substrax.config import load_experiment

    experiment = load_experiment("xor").with_settings(
        {
            "depth": 7,
            "connections": "hidden",
            "population": 1000,
            "generations": 30,
            "target": 2.0,
            "seed": 0,
        }
    )
    return experiment.evolve()


def generation_row() -> dict[str, Any]:
    """A warm generation of XOR, depth 7, population 1,000: the median of the last ten
    of thirty."""
    import numpy as np

    result = evolve_generations()
    times = [r.seconds - r.compile_seconds for r in result.history[-10:]]
    return {
        "seconds": {"generation": float(np.median(times))},
        "compile": sum(r.compile_seconds for r in result.history),
        "links": int(sum(r.mean_network_links for r in result.history)),
        "digest": f"{result.best_fitness:.9f}",
    }


_PRELUDE = """
import os, sys, runpy
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{cores}])
sys.argv = {words!r}
"""
# Of the old version: whatever an editable installation says, the package is that of
# the checkout. This version is the installed one, whose engine was compiled.
_OTHER = """
sys.meta_path[:] = [f for f in sys.meta_path if 'ditable' not in
    type(f).__module__ + type(f).__name__ and 'skbc' not in type(f).__module__]
sys.path.insert(0, {source!r})
"""


def program_for(source: Path, cores: int, words: list[str], last: str) -> list[str]:
    prelude = _PRELUDE.format(cores=cores, words=words)
    if source != HERE:
        prelude += _OTHER.format(source=str(source / "src"))
    return [sys.executable, "-c", prelude + last]


def in_version(source: Path, cores: int, *arguments: str) -> dict[str, Any]:
    """Runs this file with the package of a checkout, on some cores."""
    words = [str(Path(__file__).resolve()), *arguments]
    last = "runpy.run_path(sys.argv[0], run_name='__main__')"
    command = program_for(source, cores, words, last)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def compare(sheet: Any, old: Path, row: str, cores: int, folder: str, n: int) -> None:
    found: dict[str, list[dict[str, Any]]] = {"old": [], "new": []}
    for _ in range(1 if row.endswith("deep") else n):
        for name, source in (("old", old), ("new", HERE)):
            answer = in_version(source, cores, "--work", row, "--folder", folder)
            found[name].append(answer)
    first = [found[name][0] for name in found]
    memory = [r.get("peak MiB") for r in first]
    for what in first[0]["seconds"]:
        before, now = (min(r["seconds"][what] for r in found[n]) for n in found)
        sheet.row(
            row, what, cores, before * 1000, now * 1000, before / now,
            first[1]["links"],
            first[0]["links"] == first[1]["links"],
            first[0]["digest"] == first[1]["digest"],
            *memory,
        )  # fmt: skip


def wait_for(command: list[str], environment: dict[str, str]) -> float:
    """Seconds from the start to the end of a process."""
    began = time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return time.perf_counter() - began


def starts(sheet: Any, old: Path, cores: int) -> None:
    """Whole processes of the command line, beside one of JAX alone."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}
    adding = "import jax.numpy as jnp; print(jnp.float32(1) + jnp.float32(2))"
    words = program_for(HERE, cores, [""], adding)
    alone = min(wait_for(words, environment) for _ in range(3))
    sheet.row("JAX adds two numbers", "", cores, None, alone, None, None, 1.0)
    last = "from substrax.cli import main; sys.exit(main())"
    for title, flags in STARTS.items():
        times: dict[str, list[float]] = {}
        for source in (old, HERE):
            times[str(source)] = []
            with tempfile.TemporaryDirectory() as folder:
                own = environment | {"XDG_CACHE_HOME": f"{folder}/cache"}
                for number, (seed, repeats) in enumerate(((0, 1), (0, 2), (1, 1))):
                    seconds = []
                    for repeat in range(repeats):
                        out = f"{folder}/run-{number}-{repeat}"
                        words = ["substrax", "run", "xor", "--seed", str(seed), *flags]
                        # as version 0.1 has it
                        words += ["--connections", "hidden", "--out", out]
                        command = program_for(source, cores, words, last)
                        seconds.append(wait_for(command, own))
                    times[str(source)].append(min(seconds))
        for state, before, now in zip(
            ("nothing cached", "cached", "cached, new seed"),
            *times.values(),
            strict=True,
        ):
            ratios = (before / now, before / alone, now / alone)
            sheet.row(title, state, cores, before, now, *ratios)


def page_of(sheet: Any) -> str:
    from substrax.sweeps import machine_lines

    content = sheet.to_dict()
    command = (
        "```\ngit worktree add ../substrax-0.1 c40db1c\n"
        "python -m benchmarks.versions ../substrax-0.1 --rows all\n```"
    )
    parts = ["# This version beside 0.1", command]
    parts += [". ".join(machine_lines(content["machine"])) + "."]
    parts += [table.to_markdown() for table in sheet.tables]
    return "\n\n".join(parts) + "\n"


def measure(old: Path, arguments: argparse.Namespace) -> None:
    from benchmarks.sheet import Sheet

    rows = ROWS if arguments.rows == ["all"] else arguments.rows
    sheet = Sheet("versions", arguments.json)
    warm = [row for row in rows if row != "start"]
    if warm:
        sheet.begin(
            "Warm work, milliseconds",
            "work       ", "part    ", "cores", "before", "now", "times faster",
            "links", "same links", "same bits", "MiB before", "MiB now",
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            every = len(os.sched_getaffinity(0))
            in_version(HERE, every, "--work", "evolve", "--folder", folder)
            for row in warm:
                # The deep ones take minutes: they run on all cores only.
                is_deep = row.endswith("deep")
                for cores in arguments.cores[-1:] if is_deep else arguments.cores:
                    compare(sheet, old, row, cores, folder, arguments.repeats)
    if "start" in rows:
        sheet.begin(
            "Whole processes of `substrax run xor`, seconds",
            "run                                      ", "compiled code   ", "cores",
            "before", "now", "times faster", "before / JAX alone", "now / JAX alone",
        )  # fmt: skip
        starts(sheet, old, max(arguments.cores))
    sheet.write()
    if arguments.page:
        Path(arguments.page).write_text(page_of(sheet))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("old", nargs="?", type=Path, help="a checkout of the version")
    parser.add_argument("--cores", type=int, nargs="*", default=[1, 2])
    parser.add_argument(
        "--rows", nargs="*", choices=(*ROWS, "all"), default=[*WARM[:4], "start"]
    )
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--json", help="writes the tables into this file")
    parser.add_argument("--page", help="writes the tables as Markdown into this file")
    parser.add_argument("--work", choices=(*WARM, "evolve"), help=argparse.SUPPRESS)
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
        measure(arguments.old.resolve(), arguments)


if __name__ == "__main__":
    main()
