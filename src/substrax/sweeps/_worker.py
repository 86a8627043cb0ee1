"""A process that does one job after the other.

Not for people: a sweep starts it, writes a job as a line of JSON to its input, and
reads a line for each result. When the input closes, whoever asked has gone, or wants it
to end: the job under way is told to stop, and a while later the process ends, whatever
it does. A parent that was killed leaves no children behind.
"""

import importlib
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from .._places import sentence_of

STARTED = time.perf_counter()
"""When this process was, by `time.perf_counter`."""


def process_started() -> float:
    """When this process of a sweep was started, by `time.perf_counter`."""
    return STARTED


GRACE_SECONDS = 5.0
"""How long a job may take to stop once it is told to."""

ABANDONED = 75
"""The exit status of a process that had to leave its job."""

Work = Callable[[dict[str, Any], Callable[[], bool]], dict[str, Any]]
"""Does what a document says; the function tells whether to stop."""


def find(name: str) -> Work:
    """The function of `module:function`."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def attempt(
    work: Work, document: dict[str, Any], should_stop: Callable[[], bool]
) -> dict[str, Any]:
    """What a job came to; an error is a result, too."""
    try:
        return work(document, should_stop)
    except Exception as error:
        return {
            "status": "failed",
            "error": sentence_of(error),
            "traceback": traceback.format_exc(),
        }


def call(name: str, document: dict[str, Any]) -> dict[str, Any]:
    """One job, for an executor of somebody else's."""
    return attempt(find(name), document, lambda: False)


def main(words: list[str]) -> int:
    """`FUNCTION [--cores 0,1]`."""
    stop = threading.Event()
    # Ctrl-C reaches all processes of a terminal; the first one decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: _end_soon(stop))
    if "--cores" in words and hasattr(os, "sched_setaffinity"):
        # before JAX is imported, which makes a thread for each core
        cores = words[words.index("--cores") + 1].split(",")
        os.sched_setaffinity(0, set(map(int, cores)))
    # What jobs print goes where errors go; the pipe is for results.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    jobs: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(jobs, stop), daemon=True).start()
    while (job := jobs.get()) is not None and not stop.is_set():
        result = attempt(find(words[0]), job["document"], stop.is_set)
        try:
            answers.write(json.dumps({"key": job["key"], "result": result}) + "\n")
            answers.flush()
        except BrokenPipeError:
            break
    # Not by way of `sys.exit`, where threads of libraries may hold it up.
    os._exit(0)


def _listen(jobs: "queue.SimpleQueue[dict[str, Any] | None]", stop: Any) -> None:
    try:
        for line in sys.stdin:
            jobs.put(json.loads(line))
    finally:
        jobs.put(None)
        _end_soon(stop)


def _end_soon(stop: threading.Event) -> None:
    """The job under way is to stop, and the process ends soon in any case."""
    if stop.is_set():
        return
    stop.set()
    timer = threading.Timer(GRACE_SECONDS, os._exit, (ABANDONED,))
    timer.daemon = True
    timer.start()
