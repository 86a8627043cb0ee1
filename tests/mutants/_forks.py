"""Tests in forks of a process that has imported JAX already: most are done sooner than
JAX is imported. Reads what to run from its input, a line each, and answers in lines."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

QUIET = ("-x", "-q", "--no-header", "-m", "not slow")
# JAX and others are there before pytest; no test is among them.
IMPORTED = ("-W", "ignore::pytest.PytestAssertRewriteWarning")


class Forks:
    """The process, and what to ask it for."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-B", "-m", "tests.mutants._forks"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self, tests: tuple[str, ...], environment: dict[str, str], seconds: float
    ) -> tuple[int | None, str]:
        """The exit status of pytest, negative for a signal and None for tests that take
        longer; and what it printed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        asked = {"tests": tests, "environment": environment, "seconds": seconds}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return answer["status"], answer["printed"]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def _run(tests: list[str], environment: dict[str, str], seconds: float) -> Any:
    printed = Path("printed.txt")
    process = os.fork()
    if process == 0:
        _be_pytest(tests, environment, printed)
    until, status = time.monotonic() + seconds, None
    while status is None and time.monotonic() < until:
        done, ended = os.waitpid(process, os.WNOHANG)
        status = os.waitstatus_to_exitcode(ended) if done else None
        time.sleep(0.05)
    if status is None:
        os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
    return {"status": status, "printed": printed.read_text(errors="replace")}


def _be_pytest(tests: list[str], environment: dict[str, str], printed: Path) -> None:
    """Runs tests in this process, which ends thereby."""
    status = 99
    try:
        os.setsid()
        file = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ.update(environment)
        import pytest

        status = int(pytest.main([*QUIET, *IMPORTED, *tests]))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def main() -> None:
    import equinox  # noqa: F401
    import pytest  # noqa: F401

    assert not [name for name in sys.modules if name.startswith("substrax")]
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_run(**json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
