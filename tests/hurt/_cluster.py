"""A Dask cluster: a scheduler and workers as processes, on loopback or as hosts."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.tensor.test_population import free_port

from ._left import MARK, files_below, still_there

_HOSTS = "10.199.77."
_PREFIX = f"sx{os.getpid() % 10000}"


class Loopback:
    """All processes on this machine, none of which listens elsewhere."""

    def __init__(self, num_workers: int) -> None:
        self.num_workers = num_workers
        self.address = "127.0.0.1"
        self.port = 0

    def command(self, host: int, words: list[str]) -> list[str]:
        return words

    def host_address(self, host: int) -> str:
        return "127.0.0.1"

    def cut(self, host: int, is_cut: bool) -> None:
        raise NotImplementedError

    def close(self) -> None:
        return None


class Namespaces(Loopback):
    """A network namespace for each host, joined by a bridge: host 0 has the scheduler
    and the run, the others a worker each. Needs the rights to make them."""

    def __init__(self, num_workers: int) -> None:
        super().__init__(num_workers)
        self._names = [f"{_PREFIX}h{k}" for k in range(num_workers + 1)]
        self._hub = f"{_PREFIX}hub"
        self.address = self.host_address(0)
        _ip("netns", "add", self._hub)
        _ip("-n", self._hub, "link", "add", "bridge", "type", "bridge")
        _ip("-n", self._hub, "link", "set", "bridge", "up")
        for k, name in enumerate(self._names):
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
            pair = ("type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("-n", self._hub, "link", "add", f"to{k}", *pair)
            _ip("-n", self._hub, "link", "set", f"to{k}", "master", "bridge", "up")
            _ip("-n", name, "addr", "add", f"{self.host_address(k)}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")

    @staticmethod
    def are_allowed() -> bool:
        if shutil.which("ip") is None:
            return False
        name = f"{_PREFIX}try"
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True)
        if made.returncode == 0:
            _ip("netns", "del", name)
        return made.returncode == 0

    def command(self, host: int, words: list[str]) -> list[str]:
        return ["ip", "netns", "exec", self._names[host], *words]

    def host_address(self, host: int) -> str:
        return f"{_HOSTS}{host + 1}"

    def cut(self, host: int, is_cut: bool) -> None:
        state = "down" if is_cut else "up"
        _ip("-n", self._hub, "link", "set", f"to{host}", state)

    def close(self) -> None:
        for name in [*self._names, self._hub]:
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("netns", "del", name)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Cluster:
    """A scheduler and its workers; `hosts` says where they are.

    With `has_nannies`, each worker is the child of a process that starts another one
    when it dies, as Dask does it unless told otherwise.
    """

    def __init__(self, hosts: Loopback, has_nannies: bool = False) -> None:
        self.hosts, self.has_nannies = hosts, has_nannies
        self.folder = Path(tempfile.mkdtemp(prefix="hurt-"))
        self.mark = self.folder.name
        self.port = free_port()
        self.scheduler = self._start_scheduler()
        self.workers: dict[int, subprocess.Popen] = {}
        for number in range(1, hosts.num_workers + 1):
            self.start_worker(number)

    @property
    def name(self) -> str:
        return f"dask://{self.hosts.address}:{self.port}"

    def _start(self, host: int, kind: str, *words: str) -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *words]
        log = self.folder / f"{kind}-{host}.log"
        place = self._place(host)
        place.mkdir(exist_ok=True)
        more = {"TMPDIR": str(place), MARK: self.mark}
        with open(log, "ab") as file:
            return subprocess.Popen(
                self.hosts.command(host, command),
                stdout=file,
                stderr=file,
                cwd=place,
                env=os.environ | more,
            )

    def _place(self, host: int) -> Path:
        """Where processes of a host are, with their temporary files."""
        return self.folder / f"host-{host}"

    def _start_scheduler(self) -> subprocess.Popen:
        return self._start(
            0, "scheduler", "--host", self.hosts.address, "--port", f"{self.port}",
            "--no-dashboard", "--no-jupyter",
        )  # fmt: skip

    def start_worker(self, number: int) -> None:
        address = self.hosts.host_address(number)
        self.workers[number] = self._start(
            number, "worker", f"tcp://{self.hosts.address}:{self.port}",
            "--host", address, "--nthreads", "1", "--no-dashboard",
            "--nanny" if self.has_nannies else "--no-nanny",
            "--local-directory", str(self._place(number) / "dask"),
        )  # fmt: skip

    def child_of_nanny(self, number: int) -> int | None:
        """The process that works, once one has said to the scheduler that it is there;
        before that it has nothing to do that could hang."""
        log = (self.folder / f"worker-{number}.log").read_text()
        if "Registered to" not in log.rpartition("Start worker at")[2]:
            return None
        nanny = self.workers[number].pid
        for place in Path(f"/proc/{nanny}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                for pid in place.read_text().split():
                    if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                        return int(pid)
        return None

    def left(self) -> list[Path]:
        """Files of scheduler and workers that a run should not have left there."""
        return [
            path
            for k in range(len(self.workers) + 1)
            for path in files_below(self._place(k))
        ]

    def revive(self) -> None:
        """Starts what has died."""
        if self.scheduler.poll() is not None:
            self.scheduler = self._start_scheduler()
        for number, process in self.workers.items():
            if process.poll() is not None:
                self.start_worker(number)

    def kill_worker(self, number: int) -> None:
        self.workers[number].send_signal(signal.SIGKILL)
        self.workers[number].wait()

    def close(self) -> list[int]:
        """Ends all of it; returns the processes that are there all the same."""
        processes = [self.scheduler, *self.workers.values()]
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
            process.kill()
        for process in processes:
            process.wait()
        # (workers end with their nannies)
        pids = still_there(self.mark)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.hosts.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        return pids
