"""Runs that die: at a file operation, by SIGKILL, or on a disk that is full.

Whatever happens, the run is continued to the end that it would have had, bit for bit,
and nothing half-written stays behind.
"""

import errno
import functools
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from substrax.evolution import TIMES, RunDirectory

from ._case import Case
from .command import run_command

GENERATIONS = 8
SMALL = (
    "xor", "--generations", str(GENERATIONS), "--population", "16", "--target", "5",
    "--seed", "4",
)  # fmt: skip
RUNS = {
    "direct": (*SMALL, "--method", "neat"),
    "emr": (*SMALL, "--method", "emr", "--depth", "2"),
    # Genomes start with hardly more room than they need, and grow out of it.
    "growing": (
        *SMALL, "--method", "neat", "--preset", "neat_python", "--add_node_rate",
        "0.8", "--delete_node_rate", "0", "--max_nodes", "5", "--max_links", "6",
    ),
}  # fmt: skip


def _contents(run: Path) -> dict[str, Any]:
    """All that has to be equal: everything but times."""
    names = ["best.json", "best.safetensors"]
    names += [f"checkpoints/{p.name}" for p in (run / "checkpoints").glob("*.safe*")]
    found: dict[str, Any] = {name: (run / name).read_bytes() for name in sorted(names)}
    found["metrics"] = [
        {name: value for name, value in row.items() if name not in TIMES}
        for row in RunDirectory(run).metrics()
    ]
    return found


@functools.cache
def _whole(name: str) -> dict[str, Any]:
    """What the run comes to if nothing happens to it."""
    with tempfile.TemporaryDirectory(prefix="substrax-fuzz-whole-") as folder:
        case = Case("deaths", 0, 0, Path(folder))
        run = Path(folder) / "run"
        words = ["run", *RUNS[name], "--quiet", "--out", str(run)]
        assert run_command(case, words) == 0
        found = _contents(run)
        assert len(found["metrics"]) == GENERATIONS
        return found


def _choose(case: Case) -> str:
    name = case.random.choice(list(RUNS))
    case.note("run", name)
    return name


def _words(name: str, run: Path) -> list[str]:
    """How a user goes on: a run that is there is resumed, any other begun."""
    if (run / "run.json").exists():
        return ["resume", str(run), "--quiet"]
    return ["run", *RUNS[name], "--quiet", "--out", str(run)]


def _finish(case: Case, name: str, run: Path) -> None:
    """Goes on to the end, which has to be the one that is known."""
    assert run_command(case, _words(name, run)) == 0, "it did not go on"
    assert _contents(run) == _whole(name), "another result"
    assert not list(run.rglob("*.tmp")), "a temporary file stayed behind"


class _Death(BaseException):
    """Stands for the end of the process: nobody who is tested catches it."""


class _Watch(NamedTuple):
    """When file operations below a folder fail: at a moment, and ever after."""

    folder: str
    moment: int
    number: int | None
    """Of the error that is raised. None: death."""
    seen: list[str]


_OPERATIONS = (
    "open", "os.rename", "os.remove", "os.truncate", "os.mkdir", "os.rmdir",
    "os.listdir", "os.scandir",
)  # fmt: skip
_watches: list[_Watch] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watches or event not in _OPERATIONS:
        return
    (watch,) = _watches
    path = arguments[0]
    if isinstance(path, int) or not os.fsdecode(path).startswith(watch.folder):
        return
    watch.seen.append(f"{event} {os.path.relpath(os.fsdecode(path), watch.folder)}")
    # After its death a process does nothing any more, cleaning up included.
    if watch.number is None and len(watch.seen) >= watch.moment:
        raise _Death
    if watch.number is not None and len(watch.seen) == watch.moment:
        raise OSError(watch.number, os.strerror(watch.number), os.fsdecode(path))


@functools.cache
def _listen() -> None:
    """Hears of all file operations from now on: a hook cannot be taken away."""
    sys.addaudithook(_hook)


def _with_failure(case: Case, words: list[str], watch: _Watch) -> int | None:
    """The exit status, or None if the process died."""
    _listen()
    _watches.append(watch)
    try:
        return run_command(case, words)
    except _Death:
        return None
    finally:
        _watches.clear()
        case.note("last operations", watch.seen[-3:])


def attack_file_operations(case: Case) -> None:
    """Dies at a file operation, or is refused it, once or several times; goes on."""
    name, draw = _choose(case), case.random
    expected = _whole(name)
    run = case.folder / "run"
    for _ in range(draw.choice((1, 1, 2, 3))):
        is_death = draw.random() < 0.7
        number = draw.choice((errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS))
        case.note("failure", "death" if is_death else errno.errorcode[number])
        failure = None if is_death else number
        watch = _Watch(str(run), draw.randint(1, 160), failure, [])
        status = _with_failure(case, _words(name, run), watch)
        if status == 0:
            assert _contents(run) == expected, "another result, without a word"
    _finish(case, name, run)


def attack_with_sigkill(case: Case) -> None:
    """A process of the command line, killed at a random moment; goes on.

    One that had ended by then was not killed: it is begun once more.
    """
    name = _choose(case)
    for attempt in range(_ATTEMPTS):
        run = case.folder / f"run{attempt}"
        if _is_killed(case, name, run):
            _finish(case, name, run)
            return
    raise AssertionError(f"{_ATTEMPTS} processes ended before they were killed")


_ATTEMPTS = 8


def _is_killed(case: Case, name: str, run: Path) -> bool:
    """Begins a run in a process; whether that died of SIGKILL."""
    draw = case.random
    words = [word for word in _words(name, run) if word != "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "substrax.cli", *words, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    # Half of them while something is being written, the others at any time.
    if draw.random() < 0.5:
        lines = draw.randint(1, GENERATIONS - 1)
        case.note("killed after generations", lines)
        for _ in range(lines):
            process.stdout.readline()
        time.sleep(draw.random() * 0.02)
    else:
        seconds = draw.random() * 4
        case.note("killed after seconds", seconds)
        time.sleep(seconds)
    process.kill()
    process.communicate()
    case.note("status", process.returncode)
    return process.returncode == -signal.SIGKILL


def attack_disk(case: Case) -> None:
    """A small file system that fills up; made larger, the run goes on."""
    name, draw = _choose(case), case.random
    disk = case.folder / "disk"
    disk.mkdir()
    kilobytes = draw.randint(4, 160)
    case.note("kilobytes", kilobytes)
    _mount(disk, kilobytes)
    try:
        run = disk / "run"
        status = run_command(case, _words(name, run))
        assert status in (0, 1), "a full disk is not the user's mistake"
        if status == 1:
            assert "No space left" in case.notes[-1], "the reason is not said"
            assert str(disk) in case.notes[-1], "the file is not named"
        assert not list(disk.rglob("*.tmp")), "a temporary file stayed behind"
        _mount(disk, 10_000, "remount")
        _finish(case, name, run)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def _mount(folder: Path, kilobytes: int, *options: str) -> None:
    settings = ",".join([*options, f"size={kilobytes}k"])
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", settings, "substrax-fuzz", str(folder)],
        check=True,
        capture_output=True,
    )


@functools.cache
def can_mount() -> bool:
    """Whether this machine lets us make a small file system."""
    with tempfile.TemporaryDirectory(prefix="substrax-fuzz-") as folder:
        try:
            _mount(Path(folder), 64)
        except (OSError, subprocess.CalledProcessError):
            return False
        subprocess.run(["umount", folder], check=True)
        return True
