"""What is kept from run to run, and from generation to generation: what it saves.

    python -m benchmarks.start [--quick] [--tables 1 2] [--json FILE]

1. the run of `make demo`, started again and again with a cache folder that is empty the
   first time: seconds from the start of the process to the end of the first generation,
   importing and compiling included;
2. runs with the cache of networks (genomes that did not change keep theirs) and
   without: seconds of a generation that do not go into compiling (the median), and how
   many of the networks came from the cache.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .sheet import Sheet

POPULATION = 300
"""Of the experiment `xor`."""

DEMO = ["xor"]
HIDDEN = ["xor", "--connections", "hidden"]

RUNS = {
    "the demo": DEMO,
    "emr, depth 4, hidden": ["xor", "--connections", "hidden"],
    "emr, depth 4, hidden, weight": [
        "xor",
        "--connections",
        "hidden",
        "--field",
        "weight",
    ],
    "es, depth 3": ["xor", "--method", "es", "--depth", "3"],
    "HyperNEAT": ["xor", "--method", "hyperneat"],
}


def run(words: list[str], folder: Path) -> tuple[float, list[dict[str, Any]]]:
    """Seconds to the first generation, and what was told about each generation."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}
    environment["XDG_CACHE_HOME"] = str(folder / "cache")
    with tempfile.TemporaryDirectory(dir=folder) as place:
        command = [sys.executable, "-m", "substrax.cli", "run", *words, "--json"]
        command += ["--out", str(Path(place) / "run")]
        began = time.perf_counter()
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment
        ) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            seconds = time.perf_counter() - began
            lines = [first, *process.stdout]
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} failed: {process.returncode}")
    told = [json.loads(line) for line in lines]
    return seconds, [record for record in told if "generation" in record]


def starts(sheet: Sheet, folder: Path, num: int) -> None:
    sheet.begin(
        f"The first and later starts of `substrax run {' '.join(DEMO)}`",
        "start", "seconds to the first generation", "times faster",
    )  # fmt: skip
    first = None
    for number in range(1, num + 1):
        seconds, _ = run([*DEMO, "--generations", "2"], folder)
        first = first or seconds
        sheet.row(number, seconds, first / seconds)


def kept_networks(sheet: Sheet, folder: Path, generations: int) -> None:
    sheet.begin(
        f"Networks that are kept, {generations} generations of XOR",
        "run                         ", "ms with", "ms without", "times faster",
        "% from the cache", "links of a network",
    )  # fmt: skip
    for name, words in RUNS.items():
        long = [*words, "--generations", str(generations), "--target", "2"]
        milliseconds = []
        records: list[dict[str, Any]] = []
        told: list[dict[str, Any]] = []
        for size in ("268435456", "0"):
            # The first of a size compiles.
            for _ in range(2):
                _, told = run([*long, "--max_cached_bytes", size], folder)
            seconds = [r["seconds"] - r["compile_seconds"] for r in told[1:]]
            milliseconds.append(1000 * statistics.median(seconds))
            records = records or told
        share = statistics.mean(r["num_cached"] for r in records[1:]) / POPULATION
        links = statistics.mean(r["mean_network_links"] for r in records)
        ratio = milliseconds[1] / milliseconds[0]
        sheet.row(name, *milliseconds, ratio, 100 * share, links)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer generations")
    parser.add_argument("--tables", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--json", help="writes the tables into this file")
    arguments = parser.parse_args()
    sheet = Sheet("start", arguments.json)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if 1 in arguments.tables:
            starts(sheet, folder, 2 if arguments.quick else 3)
        if 2 in arguments.tables:
            kept_networks(sheet, folder, 10 if arguments.quick else 30)
    sheet.write()


if __name__ == "__main__":
    main()
