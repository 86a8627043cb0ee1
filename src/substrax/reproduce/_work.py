"""One run of a plan, in a process of its own.

Its directory holds `task.json` (what is to be done), `run/` (the run directory of the
evolution), `samples.jsonl` (genomes that the quadtree was given) and, once everything
is done, `result.json`. A run that was killed goes on where it was.
"""

import functools
import hashlib
import json
import os
import platform
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from ..config import Experiment
from ..evolve import write_atomically
from ._evolution import RUN, evolution_facts, peak_mebibytes, run_evolution
from ._work_samples import work_positions, work_quadtree

TASK, RESULT = "task.json", "result.json"


def work(directory: str | os.PathLike[str], started: float | None = None) -> None:
    """Does what `task.json` says, and writes `result.json`.

    `started` is when the process was, by `time.perf_counter`, if this is all it does.
    """
    folder = Path(directory)
    task = json.loads((folder / TASK).read_text())
    if task["is_timed"]:
        # What an earlier process did of it would count half.
        shutil.rmtree(folder / RUN, ignore_errors=True)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    began = time.perf_counter()
    result = KINDS[task["kind"]](folder, task)
    result |= {
        "kind": task["kind"],
        "is_cold": task["is_cold"],
        "peak_mebibytes": peak_mebibytes(),
        "process_seconds": time.perf_counter() - began,
        "whole_seconds": None if started is None else time.perf_counter() - started,
        "load": load,
        "source": _source_hash(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "jax": jax.__version__,
        "python": platform.python_version(),
        "device": jax.devices()[0].device_kind,
    }
    write_atomically(folder / RESULT, json.dumps(result, indent=1) + "\n")


@functools.cache
def _source_hash() -> str:
    """Changes with every change of the package's code."""
    root = Path(__file__).parents[1]
    content = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        content.update(path.read_bytes())
    return content.hexdigest()[:12]


def _work_evolve(folder: Path, task: dict[str, Any]) -> dict[str, Any]:
    experiment = Experiment.from_toml(task["config"])
    result, _ = run_evolution(folder, experiment)
    return evolution_facts(experiment, result)


KINDS: dict[str, Callable[[Path, dict[str, Any]], dict[str, Any]]] = {
    "evolve": _work_evolve,
    "quadtree": work_quadtree,
    "pureples": work_quadtree,
    "positions": work_positions,
}
