"""One run, whoever does it.

Processes find `run_one` by its module, and of a package's `__main__` they know nothing.
"""

import time
from collections.abc import Callable
from typing import Any

from substrax.sweeps import DONE

from .ours import run_experiment
from .peer_multineat import run_multineat
from .peer_neat_python import run_neat_python
from .runs import Task

PEERS = {"multineat": run_multineat, "neat-python": run_neat_python}


def work_task(
    document: dict[str, Any], should_stop: Callable[[], bool]
) -> dict[str, Any]:
    """One run, as a job; it ends by itself, or with its process."""
    task = Task(**document["task"])
    # Of the one core that the process has: what else runs there does not count.
    began = time.process_time()
    result = run_one(task)
    seconds = round(time.process_time() - began, 2)
    return {
        "status": DONE,
        "seconds": seconds,
        "result": {**result, "seconds": seconds},
    }


def run_one(task: Task) -> dict[str, Any]:
    work = task.work
    if "peer" in work:
        return PEERS[work["peer"]](work, task.seed)
    return run_experiment(work, task.seed)
