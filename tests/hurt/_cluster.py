"""A Dask cluster: a scheduler and workers as processes, on loopback or as hosts."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.tensor.test_population import free_port

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
    """A scheduler and its workers; `hosts` says where they are."""

    def __init__(self, hosts: Loopback) -> None:
        self.hosts = hosts
        self.folder = Path(tempfile.mkdtemp(prefix="hurt-"))
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
        with open(log, "ab") as file:
            return subprocess.Popen(
                self.hosts.command(host, command), stdout=file, stderr=file
            )

    def _start_scheduler(self) -> subprocess.Popen:
        return self._start(
            0, "scheduler", "--host", self.hosts.address, "--port", f"{self.port}",
            "--no-dashboard", "--no-jupyter",
        )  # fmt: skip

    def start_worker(self, number: int) -> None:
        address = self.hosts.host_address(number)
        self.workers[number] = self._start(
            number, "worker", f"tcp://{self.hosts.address}:{self.port}",
            "--host", address, "--nthreads", "1", "--no-nanny", "--no-dashboard",
            "--local-directory", str(self.folder / f"worker-{number}"),
        )  # fmt: skip

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

    def close(self) -> None:
        processes = [self.scheduler, *self.workers.values()]
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
            process.kill()
        for process in processes:
            process.wait()
        time.sleep(0.1)
        self.hosts.close()
        shutil.rmtree(self.folder, ignore_errors=True)
