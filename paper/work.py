"""One run of a plan, in a process of its own.

Its directory holds `task.json` (what is to be done), `run/` (the run directory of the
evolution), `samples.jsonl` (genomes that the quadtree was given) and, once everything
is done, `result.json`. A run that was killed goes on where it was.
"""

import functools
import hashlib
import json
import math
import os
import platform
import shutil
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

import substrax
from benchmarks.peak import peak_mebibytes
from substrax._compile_cache import use_cache
from substrax._files import write_atomically
from substrax._resources import num_cores
from substrax.config import Experiment
from substrax.sweeps import INTERRUPTED, process_started

from .evolution import RUN, Abandoned, evolution_facts, listen, run_evolution
from .jobs import LOG, RESULT, done
from .work_samples import work_positions, work_quadtree

TASK = "task.json"


def work_job(
    document: dict[str, Any], should_stop: Callable[[], bool]
) -> dict[str, Any]:
    """One run, in a process of a sweep."""
    folder, task = Path(document["folder"]), document["task"]
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / TASK, json.dumps(task, indent=1) + "\n")
    if task["is_cold"]:  # in a process that does nothing else
        jax.config.update("jax_enable_compilation_cache", False)
    else:
        use_cache()
    listen(should_stop)
    try:
        work(folder, process_started() if task["is_timed"] else None)
    except Abandoned:
        return {"status": INTERRUPTED}
    except Exception:
        write_atomically(folder / LOG, traceback.format_exc())
        raise
    return done(json.loads((folder / RESULT).read_text()))


def work(directory: str | os.PathLike[str], started: float | None = None) -> None:
    """Does what `task.json` says, and writes `result.json`.

    `started` is when the process was, by `time.perf_counter`, if this is all it does.
    """
    folder = Path(directory)
    task = json.loads((folder / TASK).read_text())
    if task["is_timed"]:
        # What an earlier process did of it would count half.
        shutil.rmtree(folder / RUN, ignore_errors=True)
    began, others = time.perf_counter(), _others_seconds()
    result = KINDS[task["kind"]](folder, task)
    result |= {
        "kind": task["kind"],
        "is_cold": task["is_cold"],
        "peak_mebibytes": peak_mebibytes(),
        "process_seconds": time.perf_counter() - began,
        "whole_seconds": None if started is None else time.perf_counter() - started,
        "others": _others_share(others, began),
        "source": _source_hash(),
        "cores": num_cores(),
        "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "jax": jax.__version__,
        "python": platform.python_version(),
        "device": jax.devices()[0].device_kind,
    }
    write_atomically(folder / RESULT, json.dumps(result, indent=1) + "\n")


def _others_seconds() -> float:
    """Processor time that the machine has spent on anything but this process; nan where
    that is not known. The difference of two is how busy others were meanwhile."""
    try:
        words = Path("/proc/stat").read_text().split(maxsplit=9)
    except OSError:
        return math.nan
    # user, nice, system; interrupts; and what other guests of the machine took
    ticks = [int(word) for word in (*words[1:4], *words[6:9])]
    return sum(ticks) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


def _others_share(before: float, began: float) -> float | None:
    """Cores that others used since then, on average; None where that is not known."""
    cores = (_others_seconds() - before) / (time.perf_counter() - began)
    return None if math.isnan(cores) else max(0.0, cores)


@functools.cache
def _source_hash() -> str:
    """Changes with every change of the package's code."""
    root = Path(substrax.__file__).parent
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
