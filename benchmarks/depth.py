"""What depth costs: a generation of XOR from depth 5 to 13, and `eager` at depth 13.

    python -m benchmarks.depth [--quick] [--figure docs/images/depth.svg]
        [--tables 1 2 3] [--rules output weight es] [--depths 5 ... 13] [--rows FILE]

Tables, on all cores, warm, with CPPNs that evolved for ten generations of XOR:

1. a generation (networks of 300 genomes discovered and evaluated, strategy `frontier`)
   for rule `emr`, configuration `hidden`, the variance on the output and on the weight,
   and for rule `es`; seconds, queries, nodes, links, peak memory. A row that takes more
   than `--seconds`, or more disk than there is, is given up and says so; deeper rows
   are not tried then;
2. the same for CPPNs that are steep: every hidden node a step (a sigmoid times 1000);
3. `eager`, one genome and one source, all candidates of depth 13, against `frontier`.

Each row is measured in a process of its own, so that its peak memory is its own.
"""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import numpy as np

import substrax.decoders._discovered as discovered_module
from substrax import Progress, Resources
from substrax.decoders import (
    CPPNReading,
    Discovered,
    emr_hyperneat,
    es_hyperneat,
)
from substrax.neat import NEAT, Genome, presets
from substrax.network import Networks, evaluate
from substrax.substrate import (
    Discovery,
    EMRRule,
    ESRule,
    Layout,
    WeightMap,
    discover,
    num_cells,
)

from .peak import peak_mebibytes
from .query import tanh_cost
from .sheet import Sheet

LAYOUT = Layout([[-1.0, -1.0], [0.0, -1.0], [1.0, -1.0]], [[0.0, 1.0]])
ROWS = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]], np.float32)
WANTED = np.array([0.0, 1.0, 1.0, 0.0])
ACTIVATIONS = ("gauss", "sin", "tanh", "sigmoid")
POPULATION = 300
KINDS = {"output": "emr, output", "weight": "emr, weight", "es": "es"}

PAPER = {
    # Figure 5 of the EMR paper: 30 generations on a GPU, the lower and the upper
    # edge of the band (populations of 50 to 1000 up to depth 7, 300 and 1000 beyond).
    "depth": list(range(1, 14)),
    "low": [
        17.7, 26.8, 31.8, 34.1, 41.4, 74.3, 155.1,
        830, 2599, 11230, 37764, 147552, 5467749,
    ],
    "high": [
        50.4, 82.7, 77.6, 116.4, 110.3, 182.2, 590.9,
        2494, 9166, 31359, 115239, 605310, 7388913,
    ],
}  # fmt: skip


def decoder_of(kind: str, depth: int, **settings: Any) -> Discovered:
    if kind == "es":
        reading = CPPNReading(dialect="neat-python", activations=ACTIVATIONS)
        return es_hyperneat(LAYOUT, ESRule(depth=depth), reading=reading, **settings)
    reading = CPPNReading(dialect="plain", activations=ACTIVATIONS)
    rule = EMRRule(depth=depth, field=kind)
    return emr_hyperneat(LAYOUT, rule, reading=reading, **settings)


def evolved(rule: str, folder: Path) -> Path:
    """The population after ten generations of XOR, in a file."""
    path = folder / f"{rule}.npz"
    decoder = decoder_of("es", 2) if rule == "es" else decoder_of("output", 3)
    config = dataclasses.replace(presets.pureples(), population_size=POPULATION)
    neat = NEAT(config)
    state = neat.init(key=jax.random.key(0))
    tell = jax.jit(neat.tell)
    for generation in range(10):
        outputs = evaluate(decoder.decode(neat.ask(state)), ROWS)[:, :, 0]
        fitness = 1 - np.mean((outputs - WANTED) ** 2, axis=1)
        state, _ = tell(state, fitness, key=jax.random.key(generation))
    genomes = neat.ask(state)
    fields = {f.name: getattr(genomes, f.name) for f in dataclasses.fields(genomes)}
    arrays: dict[str, Any] = {k: np.asarray(v) for k, v in fields.items()}
    np.savez(path, **arrays)
    return path


def read(path: str, num: int) -> Genome:
    with np.load(path) as arrays:
        return Genome(**{k: jax.numpy.asarray(v[:num]) for k, v in arrays.items()})


def steep(genomes: Genome) -> Genome:
    """The same CPPNs with all functions replaced by steps: sigmoids times 1000."""
    from substrax.cppn import activation_id

    is_node = np.asarray(genomes.node_id) >= 5
    sigmoid = np.where(is_node, activation_id("sigmoid"), genomes.node_activation)
    return dataclasses.replace(
        genomes,
        node_activation=jax.numpy.asarray(sigmoid.astype(np.int32)),
        link_weight=genomes.link_weight * 1000.0,
        node_bias=genomes.node_bias * 1000.0,
    )


class _GivenUpError(Exception):
    """A row takes longer than it may."""


def _generation(
    decoder: Discovered, genomes: Genome, until: float
) -> tuple[Networks, float, float, float]:
    began = time.perf_counter()

    def check(progress: Progress) -> None:
        if time.perf_counter() < until:
            return
        seconds = time.perf_counter() - began
        text = (
            f"after {seconds:.0f} s, with {progress.genomes_done} of "
            f"{progress.num_genomes} genomes, {progress.queries:,} queries and "
            f"{progress.links:,} links"
        )
        left = progress.left
        raise _GivenUpError(text, None if left is None else seconds + left)

    networks = decoder.decode(genomes, Resources(on_progress=check))
    decoded = time.perf_counter()
    evaluate(networks, ROWS)
    return networks, began, decoded, time.perf_counter()


def generation_row(
    kind: str, depth: int, path: str, is_steep: bool, seconds: float
) -> dict[str, Any]:
    """One generation; unless it takes long, again, since the first compiles, and the
    best of three."""
    genomes = read(path, POPULATION)
    if is_steep:
        genomes = steep(genomes)
    _generation(decoder_of(kind, 3), genomes, float("inf"))  # compiles, most of it
    until = time.perf_counter() + seconds
    decoder = decoder_of(kind, depth)
    num_queries = []
    original = discovered_module.discover

    def noting(*arguments: Any, **options: Any) -> Discovery:
        found = original(*arguments, **options)
        num_queries.append(found.num_queries)
        return found

    with mock.patch.object(discovered_module, "discover", noting):
        try:
            networks, began, decoded, ended = _generation(decoder, genomes, until)
            if ended - began < 60:
                runs = [_generation(decoder, genomes, float("inf"))]
                if runs[0][3] - runs[0][1] < 5:
                    runs += [_generation(decoder, genomes, until) for _ in range(2)]
                best = min(runs, key=lambda run: run[3] - run[1])
                networks, began, decoded, ended = best
        except _GivenUpError as error:
            text, total = error.args
            return {"given_up": text, "extrapolated": total}
    return {
        "seconds": ended - began,
        "evaluation": ended - decoded,
        "queries": num_queries[-1],
        "tanh": tanh_cost(0.2) * 1e-9,
        "nodes": int(networks.num_nodes.sum()),
        "links": int(networks.num_links.sum()),
        "peak": round((peak_mebibytes() or 0.0) * 2**20),
    }


def eager_row(depth: int, path: str) -> dict[str, Any]:
    """Every candidate of one genome and one source, streamed, against the frontier."""
    reading = CPPNReading(dialect="plain", activations=ACTIVATIONS)
    genomes = jax.tree.map(lambda x: x[5:6], read(path, 6))
    layout = Layout([[-1.0, -1.0]], [[0.0, 1.0]])
    weight_map = WeightMap("linear", 8.0)
    programs = reading.compile(genomes)
    found, seconds = {}, {}
    for d in (3, depth):  # the first compiles
        rule = EMRRule(depth=d, field="weight", connections="feedforward")
        for strategy in ("frontier", "eager"):
            began = time.perf_counter()
            found[strategy] = discover(
                programs,
                reading.coordinates,
                layout,
                rule,
                weight_map,
                strategy=strategy,
            )
            seconds[strategy] = time.perf_counter() - began
    frontier, eager = found["frontier"].networks, found["eager"].networks
    names = ("node_point", "link_source", "link_target", "link_weight")
    same = all(
        getattr(frontier, n).tobytes() == getattr(eager, n).tobytes() for n in names
    )
    # All that is asked besides is one query for each position towards the output.
    asked = found["eager"].num_queries - int(eager.num_found.sum())
    return {
        "candidates": num_cells(depth),
        "evaluated": asked,
        "eager": seconds["eager"],
        "frontier": seconds["frontier"],
        "eager / frontier": seconds["eager"] / seconds["frontier"],
        "positions": int(eager.num_found.sum()),
        "is_same": same,
        "peak MiB": peak_mebibytes(),
    }


def in_own_process(arguments: list[str], seconds: float) -> dict[str, Any]:
    """A row, or why there is none."""
    # A row gives up by itself, and says how far it came; unless it hangs.
    command = [sys.executable, "-m", "benchmarks.depth", "--seconds", str(seconds)]
    command += ["--row", *arguments]
    began = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=2 * seconds + 60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"given_up": f"after {2 * seconds + 60:.0f} s"}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no output"]
        return {"given_up": lines[-1][:200]}
    return json.loads(done.stdout.splitlines()[-1]) | {
        "process": time.perf_counter() - began
    }


def generations(
    sheet: Sheet,
    paths: dict[str, Path],
    limits: tuple[list[str], list[int], float],
    is_steep: bool,
) -> list[dict[str, Any]]:
    sheet.begin(
        f"A generation of XOR, population {POPULATION}, "
        + ("steep CPPNs" if is_steep else "CPPNs after ten generations"),
        "rule       ", "depth", "seconds", "evaluation", "queries", "x tanh", "nodes",
        "links", "peak MiB",
        notes=(
            "Seconds are those of discovery and evaluation together. x tanh: seconds "
            "for each query, beside those of one element of a jitted tanh.",
        ),
    )  # fmt: skip
    kinds, depths, seconds = limits
    rows = []
    for kind in kinds:
        name = KINDS[kind]
        for depth in depths:
            path = str(paths["es" if kind == "es" else "emr"])
            arguments = [kind, str(depth), path, "steep" if is_steep else "evolved"]
            row = in_own_process(arguments, seconds)
            rows.append({"kind": kind, "depth": depth, "is_steep": is_steep} | row)
            if "given_up" in row:
                sheet.note(f"{name}, depth {depth}: given up {_reason(row)}")
                break
            sheet.row(
                name, depth, row["seconds"], row["evaluation"], row["queries"],
                row["seconds"] / row["queries"] / row["tanh"], row["nodes"],
                row["links"], row["peak"] / 2**20,
            )  # fmt: skip
    return rows


def _reason(row: dict[str, Any]) -> str:
    total = row.get("extrapolated")
    text = row["given_up"]
    return text if total is None else f"{text}; extrapolated: {total:,.0f} s"


def _added(path: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a file and these, which it keeps from now on."""
    kept = json.loads(path.read_text()) if path.exists() else []
    kept = {(r["kind"], r["depth"], r["is_steep"]): r for r in [*kept, *rows]}
    path.write_text(json.dumps(list(kept.values()), indent=1))
    return list(kept.values())


def draw(rows: list[dict[str, Any]], path: str) -> None:
    """Seconds by depth, with the paper's own points."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    styles = {"output": "o-", "weight": "s-", "es": "^-"}
    for kind, name in KINDS.items():
        some = [r for r in rows if r["kind"] == kind and not r["is_steep"]]
        some = [r for r in some if "seconds" in r]
        label = f"substrax, {name} (2 cores)"
        x, y = [r["depth"] for r in some], [r["seconds"] for r in some]
        (line,) = axes.plot(x, y, styles[kind], label=label)
        beyond = [r for r in rows if r["kind"] == kind and r.get("extrapolated")]
        beyond = [r for r in beyond if not r["is_steep"]]
        x, y = [r["depth"] for r in beyond], [r["extrapolated"] for r in beyond]
        hollow = {"mfc": "none", "ls": "none", "color": line.get_color()}
        if beyond:
            axes.plot(x, y, styles[kind][0], label=f"{name}, extrapolated", **hollow)
    low, high = np.array(PAPER["low"]) / 30, np.array(PAPER["high"]) / 30
    axes.fill_between(PAPER["depth"], low, high, alpha=0.2, color="gray")
    axes.plot(PAPER["depth"], low, "k--", lw=1, label="EMR paper, GPU (band)")
    axes.plot(PAPER["depth"], high, "k--", lw=1)
    axes.set(
        yscale="log", xlabel="depth", ylabel="seconds per generation", xlim=(1, 13)
    )
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer and smaller rows")
    parser.add_argument("--figure", help="draws the table into this file")
    parser.add_argument("--json", help="writes the tables into this file")
    parser.add_argument("--rows", help="adds the rows to those of this file")
    parser.add_argument("--seconds", type=float, default=600.0, help="for one row")
    parser.add_argument("--tables", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--rules", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--depths", type=int, nargs="*", default=list(range(5, 14)))
    parser.add_argument("--row", nargs="*", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.row:
        kind, depth, path, which = arguments.row
        if kind == "eager":
            print(json.dumps(eager_row(int(depth), path)))
        else:
            seconds = arguments.seconds
            row = generation_row(kind, int(depth), path, which == "steep", seconds)
            print(json.dumps(row))
        return
    sheet = Sheet("depth", arguments.json)
    depths = [5, 7, 13] if arguments.quick else arguments.depths
    # the others take minutes
    rules = ["output"] if arguments.quick else arguments.rules
    tables = [1, 3] if arguments.quick else arguments.tables
    seconds = 60.0 if arguments.quick else arguments.seconds
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        # What is compiled for one row serves the next.
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(folder) / "jax"))
        paths = {
            rule: evolved(rule, Path(folder))
            for rule in (("emr",) if arguments.quick else ("emr", "es"))
        }
        for table, is_steep in ((1, False), (2, True)):
            if table in tables:
                limits = (rules, depths, seconds)
                rows += generations(sheet, paths, limits, is_steep)
        if 3 in tables:
            depth = 9 if arguments.quick else 13
            row = in_own_process(["eager", str(depth), str(paths["emr"]), ""], 3600)
            title = f"Rule emr, eager, streamed: one genome, one source, depth {depth}"
            sheet.begin(title, *row)
            sheet.row(*row.values())
    sheet.write()
    if arguments.rows:
        rows = _added(Path(arguments.rows), rows)
    if arguments.figure:
        draw(rows, arguments.figure)


if __name__ == "__main__":
    main()
