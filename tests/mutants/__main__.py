"""Draws mutants, runs tests on them, and counts: `make mutants`."""

import argparse
import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ._forks import Forks
from ._operators import Mutant, draw_mutants
from ._subjects import SUBJECTS, Subject

ROOT = Path(__file__).parents[2]
SOURCES = Path("src") / "substrax"
EQUIVALENTS = Path(__file__).with_name("equivalents.toml")
SECONDS = 600
"""After so long the tests of a mutant are said to hang, which they notice thereby."""

Job = tuple[Subject, Mutant]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--each", type=int, default=10, help="mutants of a module")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--module", action="append", help="only this, as neat/_mutation"
    )
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--results", type=Path, default=Path("results/mutants.jsonl"))
    arguments = parser.parse_args()
    jobs = _jobs(arguments)
    done = _read(arguments.results)
    known = done.keys() | _explained().keys()
    missing = [job for job in jobs if _key(job) not in known]
    stop = time.monotonic() + 60 * arguments.minutes
    with _copies(arguments.workers) as copies:

        def run(job: Job) -> None:
            if time.monotonic() > stop:
                return
            copy = copies.get()
            try:
                said = _noticed(copy, *job)
            finally:
                copies.put(copy)
            done[_key(job)] = said
            _write(arguments.results, job, said)
            subject, mutant = job
            where = f"{subject.module}:{mutant.line}"
            print(f"{said or 'NOT NOTICED'}  {where}  {mutant.name}", flush=True)

        with ThreadPoolExecutor(arguments.workers) as pool:
            for _ in pool.map(run, missing):
                pass
    return _tell(jobs, done)


def _jobs(arguments: argparse.Namespace) -> list[Job]:
    jobs: list[Job] = []
    for subject in SUBJECTS:
        if arguments.module and subject.module[:-3] not in arguments.module:
            continue
        source = (ROOT / SOURCES / subject.module).read_text(encoding="utf-8")
        seed = f"{arguments.seed} {subject.module}"
        jobs += [(subject, m) for m in draw_mutants(source, arguments.each, seed)]
    return jobs


_forks: dict[Path, Forks] = {}


@contextlib.contextmanager
def _copies(num: int) -> Iterator["queue.Queue[Path]"]:
    """Checkouts to break, with what was compiled for the tests of this one."""
    free: queue.Queue[Path] = queue.Queue()
    with tempfile.TemporaryDirectory(prefix="substrax-mutants-") as folder:
        for number in range(num):
            copy = Path(folder) / str(number)
            shutil.copytree(ROOT, copy, ignore=_left_out, symlinks=True)
            (copy / _OURS_FIRST.parent).mkdir()
            (copy / _OURS_FIRST).write_text(_LATE)
            _check_is_imported(copy)
            compiled = ROOT / ".cache" / "jax"
            if compiled.is_dir():
                shutil.copytree(compiled, copy / ".cache" / "jax")
            _forks[copy] = Forks(copy, _environment(copy))
            free.put(copy)
        try:
            yield free
        finally:
            for copy in list(_forks):
                _forks.pop(copy).close()


_LEFT_OUT = {
    ".venv", ".cache", ".git", "results", "runs", "build", "site", ".hypothesis"
}  # fmt: skip


def _left_out(folder: str, names: list[str]) -> set[str]:
    """What was made in the checkout; the package has a folder `runs`, too."""
    return _LEFT_OUT.intersection(names) if Path(folder) == ROOT else set()


_OURS_FIRST = Path(".ours-first") / "sitecustomize.py"
# What finds an editable installation comes before PYTHONPATH, and would find this
# checkout; it is still needed for the native engine.
_LATE = """\
import sys

late = [f for f in sys.meta_path if type(f).__name__ == "ScikitBuildRedirectingFinder"]
sys.meta_path[:] = [f for f in sys.meta_path if f not in late] + late
"""


def _environment(copy: Path) -> dict[str, str]:
    folders = (copy / "src", (copy / _OURS_FIRST).parent)
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}


def _check_is_imported(copy: Path) -> None:
    """Otherwise no mutant would be noticed, or all that fail anyway."""
    names = sorted({_module_name(subject.module) for subject in SUBJECTS})
    run = subprocess.run(
        [sys.executable, "-B", "-c", _PLACES, *names],
        cwd=copy, env=_environment(copy), capture_output=True, text=True, check=True,
    )  # fmt: skip
    for place in run.stdout.splitlines():
        if not Path(place).is_relative_to(copy):
            raise RuntimeError(f"tests in {copy} import {place}.")


_PLACES = """\
import importlib.util, sys

for name in sys.argv[1:]:
    print(importlib.util.find_spec(name).origin)
"""


def _module_name(module: str) -> str:
    return f"substrax.{module[:-3].replace('/', '.')}"


def _noticed(copy: Path, subject: Subject, mutant: Mutant) -> str:
    """The first test that fails, or nothing."""
    path = copy / SOURCES / subject.module
    source = path.read_bytes()
    path.write_text(mutant.code, encoding="utf-8")
    tests, said = (), ""
    try:
        for tests in filter(None, (subject.tests, subject.others)):
            said = _failing(copy, tests, subject.is_logic)
            if said:
                break
    finally:
        path.write_bytes(source)
    if "::" in said:
        tests = (said.partition(" ")[2],)
    if said:
        _check_passes(copy, tests, subject.is_logic)
    return said


_passing: set[tuple[str, ...]] = set()


def _check_passes(copy: Path, tests: tuple[str, ...], is_logic: bool) -> None:
    """A test that fails without the mutant, too, would notice nothing; nor would tests
    that take so long anyway."""
    said = "" if tests in _passing else _failing(copy, tests, is_logic)
    if said:
        raise RuntimeError(f"{' '.join(tests)}: {said}, without any mutant.")
    _passing.add(tests)


def _failing(copy: Path, tests: tuple[str, ...], is_logic: bool) -> str:
    flags = "--xla_backend_optimization_level=0" if is_logic else ""
    environment = {"HYPOTHESIS_PROFILE": "mutants", "XLA_FLAGS": flags}
    status, printed = _forks[copy].run(tests, environment, SECONDS)
    if status is None:
        return "hangs"
    if status == 0:
        return ""
    for line in printed.splitlines():
        if line.startswith(("FAILED", "ERROR")):
            return line.split(" - ")[0]
    if status > 0:
        raise RuntimeError(f"pytest failed: {printed[-4000:]}")
    return f"crashes with signal {-status}"


def _key(job: Job) -> str:
    subject, mutant = job
    return f"{subject.module}: {mutant.name}"


def _read(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {line["mutant"]: line["noticed"] for line in lines}


def _write(path: Path, job: Job, said: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"mutant": _key(job), "noticed": said}) + "\n")


def _explained() -> dict[str, str]:
    """Reasons by mutant."""
    document: dict[str, dict[str, Any]] = tomllib.loads(EQUIVALENTS.read_text())
    return {
        f"{module}: {name}": reason
        for module, reasons in document.items()
        for name, reason in reasons.items()
    }


def _tell(jobs: list[Job], done: dict[str, str]) -> int:
    """A table by parts; 1 if fewer than nine of ten that mean something are noticed."""
    reasons = _explained()
    counts: dict[str, list[int]] = {}
    for job in jobs:
        key = _key(job)
        if key not in done and key not in reasons:
            continue
        said = done.get(key, "")
        count = counts.setdefault(job[0].part, [0, 0, 0])
        count[0] += 1
        count[1] += bool(said)
        count[2] += not said and key in reasons
    counts["all"] = [sum(column) for column in zip(*counts.values(), strict=True)]
    print("\n| part | mutants | mean nothing | noticed of the rest | share |")
    print("| --- | --- | --- | --- | --- |")
    for part, (num, noticed, explained) in counts.items():
        rest = num - explained
        share = f"{noticed / rest:.0%}" if rest else ""
        print(f"| {part} | {num} | {explained} | {noticed} of {rest} | {share} |")
    num, noticed, explained = counts["all"]
    return 0 if noticed >= 0.9 * (num - explained) else 1


if __name__ == "__main__":
    sys.exit(main())
