"""What the processes in `test_jobs.py` do, so that nothing is compiled."""

import json
import os
import time
from pathlib import Path


def work(document, should_stop):
    folder, task = Path(document["folder"]), document["task"]
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "starts", "a") as file:
        file.write(f"{os.getpid()}\n")
    if task["options"].get("fails"):
        raise ValueError("it was asked for")
    end = time.monotonic() + task["options"].get("seconds", 0)
    while time.monotonic() < end:
        time.sleep(0.02)
        if should_stop():
            return {"status": "interrupted"}
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    result = {"process_seconds": 1.0, "cores": cores, "is_cold": task["is_cold"]}
    (folder / "result.json").write_text(json.dumps(result))
    return {"status": "done", "seconds": 1.0, "result": result}
