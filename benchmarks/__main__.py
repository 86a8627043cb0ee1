"""All benchmarks, or some, with a page of their tables.

python -m benchmarks                the suite, quickly
python -m benchmarks --full         everything
python -m benchmarks query depth    some; --list shows which there are
"""

import argparse
import importlib.util
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paper.requirements import require
from paper.wrap import wrapped
from substrax._files import write_atomically
from substrax.cli import in_words
from substrax.sweeps import Table, machine_facts, machine_lines

from .sheet import read_tables

FOLDER = Path(__file__).parent

SUITE = ("neat", "query", "discovery", "depth", "end_to_end", "panel")
"""What is run unless names are given."""

PEERS = {
    "neat": "neat-python>=2.0",
    # no wheel for 3.13 exists
    "multineat": "multineat>=0.12; python_version < '3.13'",
    "sklearn": "scikit-learn>=1.5",
}
"""Packages on PyPI that benchmarks compare with, by the module that they bring."""

ALSO = {"pureples": "PUREPLES", "tensorneat": "TensorNEAT"}
"""Peers that are on no package index: used where they can be imported."""

_LAST_LINES = 15


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Runs benchmarks (without names: all of the suite), prints their "
        "tables, and writes bench.md and bench.json.",
        allow_abbrev=False,
    )
    parser.add_argument("name", nargs="*", help="some of them; see --list")
    parser.add_argument("--list", action="store_true", help="show which there are")
    parser.add_argument(
        "--full", action="store_true", help="everything; otherwise some minutes' worth"
    )
    parser.add_argument("--out", default="results", metavar="DIR", help="for the page")
    parser.add_argument(
        "--install-peers", action="store_true", help="pip install what is missing"
    )
    return parser


def main(words: Sequence[str]) -> int:
    """Runs benchmarks, and writes their tables."""
    arguments = _parser().parse_args(words)
    scripts = _scripts()
    if arguments.list:
        for name, path in scripts.items():
            first = path.read_text().strip().partition("\n")[0]
            print(f"{name:<14}", first.strip('"'))
        return 0
    require("benchmarks", "benchmarks")
    names = arguments.name or SUITE
    for name in names:
        if name not in scripts:
            raise ValueError(
                f"there is no benchmark {name!r}. Choose some of {', '.join(scripts)}."
            )
    _offer_peers(arguments.install_peers)
    out = Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    mode = ["--full"] if arguments.full else []
    command = shlex.join(["python", "-m", "benchmarks", *arguments.name, *mode])
    facts, sheets = machine_facts(), {}
    for name in names:
        sheets[name] = _run(name, scripts[name], out, arguments.full)
        # after each, so that what is there stays if the next is interrupted
        content = {
            "command": command,
            "machine": facts,
            "benchmarks": sheets,
        }
        write_atomically(out / "bench.json", json.dumps(content, indent=1) + "\n")
        write_atomically(out / "bench.md", _page(command, facts, sheets))
    print(f"\n{out / 'bench.md'}, {out / 'bench.json'}")
    failed = [name for name, sheet in sheets.items() if sheet["status"]]
    if failed:
        print(f"Failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _scripts() -> dict[str, Path]:
    """Benchmarks that can be run, by name."""
    paths = sorted(FOLDER.glob("[a-z]*.py"))
    return {p.stem: p for p in paths if '__name__ == "__main__"' in p.read_text()}


def _missing_peers() -> dict[str, str]:
    return {m: p for m, p in PEERS.items() if importlib.util.find_spec(m) is None}


def _offer_peers(is_wanted: bool) -> None:
    """Installs the peers that are missing, if a person says so."""
    missing = _missing_peers()
    for module, name in ALSO.items():
        if importlib.util.find_spec(module) is None:
            print(f"{name} cannot be imported: its columns stay empty.")
    if not missing:
        return
    packages = list(missing.values())
    words = [sys.executable, "-m", "pip", "install", *packages]
    if not is_wanted and sys.stdin.isatty() and sys.stdout.isatty():
        answer = input(f"Install the peers {', '.join(packages)} with pip? [y/N] ")
        is_wanted = answer.strip().lower() in ("y", "yes")
    if not is_wanted:
        print(
            "Without its peers a benchmark leaves rows out. --install-peers installs "
            f"them: {shlex.join(words)}"
        )
    elif subprocess.run(words, check=False).returncode:
        print("pip failed; going on without these peers.", file=sys.stderr)


def _run(name: str, path: Path, out: Path, is_full: bool) -> dict[str, Any]:
    """Runs one script; what it measured, or what it printed if that is all there is."""
    text = path.read_text()
    kept = out / f"bench-{name}.json"
    kept.unlink(missing_ok=True)
    words = [sys.executable, "-m", f"{FOLDER.name}.{name}"]
    mode = ["--quick"] if not is_full and '"--quick"' in text else []
    words += mode
    has_tables = '"--json"' in text
    if has_tables:
        words += ["--json", str(kept)]
    print(f"\n== {name}", flush=True)
    began = time.perf_counter()
    lines = []
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
        peak = _wait(process)
    sheet: dict[str, Any] = {
        "status": process.returncode,
        "command": shlex.join(
            ["python", *words[1:3], *(["--quick"] if "--quick" in words else [])]
        ),
        "seconds": time.perf_counter() - began,
        "peak_mebibytes": peak,
        "text": "".join(lines),
        "tables": [],
    }
    if kept.exists():
        content, _ = read_tables(kept)
        sheet["tables"] = content["tables"]
        kept.unlink()
    return sheet


def _wait(process: subprocess.Popen) -> float | None:
    """Waits for a process; the most memory, in MiB, that it had."""
    if not hasattr(os, "wait4"):
        process.wait()
        return None
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def _page(command: str, facts: dict[str, Any], sheets: dict[str, Any]) -> str:
    missing = [*_missing_peers().values()]
    missing += [n for m, n in ALSO.items() if importlib.util.find_spec(m) is None]
    parts = [
        "# Benchmarks",
        f"```\n{command}\n```",
        ". ".join(machine_lines(facts)) + ".",
        "Every comparison is within one run on one machine: with a peer, or with what "
        "the hardware does at best. Absolute times move from machine to machine.",
    ]
    seconds = sum(sheet["seconds"] for sheet in sheets.values())
    parts.append(
        f"{seconds:,.0f} s in all. Peak memory is that of the largest process."
    )
    if missing:
        parts.append(f"Not installed, so without rows: {', '.join(missing)}.")
    for name, sheet in sheets.items():
        peak = sheet["peak_mebibytes"]
        parts += [
            f"## {name}",
            f"`{sheet['command']}`: {sheet['seconds']:.0f} s"
            + (f", peak memory {peak:,.0f} MiB" if peak else "")
            + (f"; **failed** with status {sheet['status']}" if sheet["status"] else "")
            + ".",
        ]
        if sheet["tables"]:
            tables = [Table.from_dict(table) for table in sheet["tables"]]
            parts += [table.to_markdown(level=3) for table in tables]
        else:
            parts.append(f"```\n{sheet['text'].rstrip()}\n```")
        if sheet["status"] and sheet["tables"]:
            last = "\n".join(sheet["text"].rstrip().splitlines()[-_LAST_LINES:])
            parts.append(f"The last that it printed:\n\n```\n{last}\n```")
    return wrapped("\n\n".join(parts))


if __name__ == "__main__":
    sys.exit(in_words(main, sys.argv[1:], "benchmarks"))
