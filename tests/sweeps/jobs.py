"""What the processes in `test_schedule.py` do; nothing large is imported."""

import os
import signal
import sys
import time
from pathlib import Path

from substrax import _memory


def work(document, should_stop):
    """Does what `do` says, and notes in a file that it was done."""
    folder = Path(document["folder"])
    with open(folder / f"{document['name']}.begun", "a") as file:
        file.write("x")
    number = (folder / f"{document['name']}.begun").stat().st_size
    sys.stdout.write("printed by a job\n")
    sys.stdout.flush()
    do = document["do"]
    if do == "fail":
        raise RuntimeError("it is broken")
    if do == "kill" or (do == "kill once" and number == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    if do == "busy" and number < 3:
        return {"status": "busy"}
    if do == "pause":
        time.sleep(1.0)
    if do == "wait":
        for _ in range(600):
            time.sleep(0.05)
            if should_stop():
                return {"status": "interrupted"}
    if do == "hang":
        time.sleep(600)
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    found = {"status": "done", "process": os.getpid(), "cores": cores}
    return found | {"sharing": _memory._num_sharing}
