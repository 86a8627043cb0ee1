"""Runs whose workers are hurt: `python -m tests.hurt --runs 50`.

Each has to come to the result of the same run without workers, to the bit.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from ._cluster import Cluster, Loopback, Namespaces
from ._run import Outcome, alone, disturbed

KINDS = {
    "processes": "processes of this machine: SIGKILL, SIGSTOP",
    "workers": "Dask: workers get SIGKILL, others join",
    "pauses": "Dask: workers hang for seconds",
    "nannies": "Dask with nannies: workers hang for good, and are replaced",
    "cuts": "Dask, a network namespace for each host: off the network for seconds",
    "scheduler": "Dask: the scheduler gets SIGKILL; a new one, and resume",
}
_NUM_WORKERS = 2


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hurt", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="of all kinds together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=KINDS, action="append", help="only this")
    arguments = parser.parse_args()
    kinds = arguments.kind or list(KINDS)
    if "cuts" in kinds and not Namespaces.are_allowed():
        print("network namespaces cannot be made here: no cuts")
        kinds.remove("cuts")
    folder = Path(tempfile.mkdtemp(prefix="hurt-runs-"))
    wanted: dict[int, str] = {}
    failed = 0
    print("| what is done | runs | faults | resumed | identical | left behind | s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for place, kind in enumerate(kinds):
        num = arguments.runs // len(kinds) + (place < arguments.runs % len(kinds))
        began = time.monotonic()
        counts = [0, 0, 0, 0]
        for number in range(num):
            draw = random.Random(f"{arguments.seed} {kind} {number}")
            seed = number % 5
            if seed not in wanted:
                wanted[seed] = alone(folder / f"alone{seed}", seed)
            outcome = one_run(folder / f"{kind}{number}", seed, kind, draw)
            is_same = outcome.digest == wanted[seed]
            for line in outcome.left:
                print(f"left behind by {kind} {number}: {line}", file=sys.stderr)
            more = (outcome.faults, outcome.ended, is_same, len(outcome.left))
            counts = [a + b for a, b in zip(counts, more, strict=True)]
        faults, ended, same, left = counts
        failed += (num - same) + left
        seconds = time.monotonic() - began
        print(
            f"| {KINDS[kind]} | {num} | {faults} | {ended} | {same} | {left} | "
            f"{seconds:.0f} |",
            flush=True,
        )
    if not failed:
        shutil.rmtree(folder)
    return 1 if failed else 0


def one_run(directory: Path, seed: int, kind: str, draw: random.Random) -> Outcome:
    """One of them, with a cluster of its own if it needs one."""
    if kind == "processes":
        return disturbed(directory, seed, kind, draw, None)
    hosts = Namespaces(_NUM_WORKERS) if kind == "cuts" else Loopback(_NUM_WORKERS)
    cluster = Cluster(hosts, has_nannies=kind == "nannies")
    pids: list[int] = []
    try:
        outcome = disturbed(directory, seed, kind, draw, cluster)
    finally:
        pids = cluster.close()
    left = (*outcome.left, *(f"process {pid} of the cluster" for pid in pids))
    return outcome._replace(left=left)


if __name__ == "__main__":
    raise SystemExit(main())
