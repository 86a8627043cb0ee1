"""One run that is disturbed, and what came of it."""

import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

from substrax.evolution import RunDirectory
from tests.evolution.support import timeless
from tests.workers.support import is_alive

from ._cluster import Cluster
from ._left import MARK, files_below, still_there

SLOW = Path(__file__).with_name("slow.py")
RUN = [
    "run", f"{SLOW}:Slow", "--method", "neat", "--preset", "neat_python",
    "--population", "40", "--generations", "12", "--target", "9", "--max_nodes", "16",
    "--max_links", "32", "--quiet",
]  # fmt: skip


class Outcome(NamedTuple):
    """What became of a run, and of what it started."""

    digest: str
    faults: int
    ended: int
    """How often it ended with a sentence, and was resumed."""
    left: tuple[str, ...]
    """Processes and files that should be gone."""


def digest_of(directory: Path) -> str:
    """Of all that a run leaves, but for times."""
    metrics = timeless(RunDirectory(directory).metrics())
    content = hashlib.sha256(json.dumps(metrics).encode())
    files = [directory / "best.json", directory / "best.safetensors"]
    files += sorted((directory / "checkpoints").rglob("*.safetensors"))
    for file in files:
        content.update(file.name.encode() + file.read_bytes())
    return content.hexdigest()


def alone(directory: Path, seed: int) -> str:
    """The same run without workers."""
    done = _finish(_start([*RUN, "--seed", f"{seed}", "--out", str(directory)]))
    assert done[0] == 0, done[1]
    return digest_of(directory)


def disturbed(
    directory: Path, seed: int, kind: str, draw: random.Random, cluster: Cluster | None
) -> Outcome:
    """A run with workers, to which something is done at random moments."""
    executor = "processes:2" if cluster is None else cluster.name
    more = ["--executor", executor, "--slice_timeout", "12"]
    command = [*RUN, "--seed", f"{seed}", "--out", str(directory), *more]
    scratch = directory.with_name(f"{directory.name}-scratch")
    scratch.mkdir()
    process = _start(command, cluster, scratch)
    faults = _Faults(kind, draw, cluster, process)
    ended, left = 0, []
    while True:
        faults.process = process
        children = threading.Thread(target=faults.go)
        children.start()
        status, errors = _finish(process)
        faults.stop.set()
        children.join()
        faults.stop.clear()
        # Whatever it has started, and they: nothing of it runs any more.
        left += [f"process {pid}" for pid in still_there(scratch.name)]
        if status == 0:
            break
        ended += 1
        sentence = errors.strip().splitlines()[-1] if errors.strip() else ""
        is_sentence = sentence.startswith("substrax: ") and "Traceback" not in errors
        assert status == 1 and is_sentence, (status, errors)
        assert ended < 6, errors
        if cluster is not None:
            cluster.revive()
        words = ["resume", str(directory), "--quiet", *more]
        if not (directory / "run.json").exists():  # nobody was there to begin with
            words = command
        process = _start(words, cluster, scratch)
    left += map(str, files_below(scratch))
    if cluster is not None:
        left += map(str, cluster.left())
    return Outcome(digest_of(directory), faults.num, ended, tuple(left))


def _start(
    words: list[str], cluster: Cluster | None = None, scratch: Path | None = None
) -> subprocess.Popen:
    """The command line, with a folder of its own for temporary files."""
    command = [sys.executable, "-m", "substrax.cli", *words]
    if cluster is not None:
        command = cluster.hosts.command(0, command)
    more = {}
    if scratch is not None:
        more = {"TMPDIR": str(scratch), MARK: scratch.name}
    return subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=os.environ | more
    )


def _finish(process: subprocess.Popen) -> tuple[int, str]:
    errors = process.communicate(timeout=600)[1]
    return process.returncode, errors


class _Faults:
    """What is done to a run, in a thread beside it."""

    def __init__(
        self,
        kind: str,
        draw: random.Random,
        cluster: Cluster | None,
        process: subprocess.Popen,
    ) -> None:
        self.kind, self.draw, self.cluster = kind, draw, cluster
        self.process = process
        self.stop = threading.Event()
        self.num = 0

    def go(self) -> None:
        # First the program has to start, which takes seconds.
        most = 4 if self.kind != "scheduler" else 1
        while self.num < most:
            pause = self.draw.uniform(0.5, 3.0)
            if self.kind != "nannies" and self.num == 0:
                pause += 4.0
            if self.stop.wait(pause):
                return
            if getattr(self, f"_{self.kind}")():
                self.num += 1

    def _processes(self) -> bool:
        """SIGKILL, or a stop of some seconds, for a process of ours."""
        children = []
        for task in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            try:
                children += [int(word) for word in task.read_text().split()]
            except OSError:
                continue
        if not children:
            return False
        number = signal.SIGKILL if self.draw.random() < 0.7 else signal.SIGSTOP
        try:
            os.kill(self.draw.choice(children), number)
        except ProcessLookupError:
            return False
        return True

    def _workers(self) -> bool:
        """SIGKILL for a worker; another one joins a moment later."""
        assert self.cluster is not None
        self.cluster.kill_worker(self.draw.choice(list(self.cluster.workers)))
        self.stop.wait(self.draw.uniform(0.0, 1.0))
        self.cluster.revive()
        return True

    def _pauses(self) -> bool:
        """A worker hangs for some seconds, longer than its slice may take."""
        assert self.cluster is not None
        process = self.draw.choice(list(self.cluster.workers.values()))
        process.send_signal(signal.SIGSTOP)
        self.stop.wait(self.draw.uniform(1.0, 20.0))
        process.send_signal(signal.SIGCONT)
        return True

    def _nannies(self) -> bool:
        """A worker hangs until its nanny has put another one in its place."""
        assert self.cluster is not None
        number = self.draw.choice(list(self.cluster.workers))
        pid = self.cluster.child_of_nanny(number)
        if pid is None:
            return False
        os.kill(pid, signal.SIGSTOP)
        while is_alive(pid):
            if self.stop.wait(0.1):  # the run has ended without it
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
                return False
        return True

    def _cuts(self) -> bool:
        """A host, or the run itself, is off the network for some seconds."""
        assert self.cluster is not None
        host = self.draw.randrange(self.cluster.hosts.num_workers + 1)
        self.cluster.hosts.cut(host, True)
        time.sleep(self.draw.uniform(0.5, 5.0))
        self.cluster.hosts.cut(host, False)
        return True

    def _scheduler(self) -> bool:
        assert self.cluster is not None
        self.cluster.scheduler.kill()
        self.cluster.scheduler.wait()
        return True
