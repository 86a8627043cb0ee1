"""`substrax bench`."""

import argparse
import importlib.util
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .._files import write_atomically
from ..reproduce import machine_facts, machine_lines, read_tables, require_extras

FOLDER = Path(__file__).parents[3] / "benchmarks"

SUITE = ("neat", "query", "discovery", "depth", "end_to_end", "panel")
"""What is run unless names are given; those that a checkout does not have are left
out, and said to be."""

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


def bench(arguments: argparse.Namespace) -> int:
    """Runs benchmarks of the checkout that this is from, and writes their tables."""
    scripts = _scripts()
    if arguments.list:
        for name, path in scripts.items():
            first = path.read_text().strip().partition("\n")[0]
            print(f"{name:<14}", first.strip('"'))
        return 0
    require_extras("benchmarks", "bench")
    absent = [] if arguments.name else [name for name in SUITE if name not in scripts]
    if absent:
        print(_absent_text(absent))
    names = arguments.name or [name for name in SUITE if name in scripts]
    for name in names:
        if name not in scripts:
            raise ValueError(
                f"there is no benchmark {name!r}. Choose some of {', '.join(scripts)}."
            )
    _offer_peers(arguments.install_peers)
    out = Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    command = shlex.join(["substrax", "bench", *arguments.name, *_mode(arguments.full)])
    facts, sheets = machine_facts(), {}
    for name in names:
        sheets[name] = _run(name, scripts[name], out, arguments.full)
        # after each, so that what is there stays if the next is interrupted
        content = {
            "command": command,
            "machine": facts,
            "benchmarks": sheets,
            "absent": absent,
        }
        write_atomically(out / "bench.json", json.dumps(content, indent=1) + "\n")
        write_atomically(out / "bench.md", _page(command, facts, sheets, absent))
    print(f"\n{out / 'bench.md'}, {out / 'bench.json'}")
    failed = [name for name, sheet in sheets.items() if sheet["status"]]
    if failed:
        print(f"substrax: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _scripts() -> dict[str, Path]:
    """Scripts of the checkout that can be run, by name."""
    paths = sorted(FOLDER.glob("*.py"))
    scripts = {p.stem: p for p in paths if '__name__ == "__main__"' in p.read_text()}
    if not scripts:
        raise ValueError(
            "the benchmarks are not part of the installed package. Get a checkout of "
            "the source and install it with `pip install --editable '.[bench]'`."
        )
    return scripts


def _absent_text(names: list[str]) -> str:
    return f"Not in this checkout, so not run: {', '.join(names)}."


def _mode(is_full: bool) -> list[str]:
    return ["--full"] if is_full else []


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
        print("substrax: pip failed; going on without these peers.", file=sys.stderr)


def _run(name: str, path: Path, out: Path, is_full: bool) -> dict[str, Any]:
    """Runs one script; what it measured, or what it printed if that is all there is."""
    text = path.read_text()
    kept = out / f"bench-{name}.json"
    kept.unlink(missing_ok=True)
    words = [sys.executable, str(path)]
    if not is_full and '"--quick"' in text:
        words.append("--quick")
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
        "command": shlex.join(["python", f"benchmarks/{path.name}", *words[2:3]])
        if "--quick" in words
        else f"python benchmarks/{path.name}",
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


def _page(
    command: str, facts: dict[str, Any], sheets: dict[str, Any], absent: list[str]
) -> str:
    from ..reproduce import Table

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
    if absent:
        parts.append(_absent_text(absent))
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
    return "\n\n".join(parts) + "\n"
