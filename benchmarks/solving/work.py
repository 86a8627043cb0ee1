"""One run, whoever does it.

Processes find `run_one` by its module, and of a package's `__main__` they know nothing.
"""

from typing import Any

from .ours import run_experiment
from .peer_multineat import run_multineat
from .peer_neat_python import run_neat_python
from .runs import Job

PEERS = {"multineat": run_multineat, "neat-python": run_neat_python}


def run_one(job: Job) -> dict[str, Any]:
    work = job.work
    if "peer" in work:
        return PEERS[work["peer"]](work, job.seed)
    return run_experiment(work, job.seed)
