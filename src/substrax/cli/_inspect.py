"""`substrax report`, `export`."""

import argparse
from pathlib import Path

from ..config import load_run
from ..evolution import RunDirectory
from ..runs import read_seeds


def write_report_at(path: Path) -> Path:
    """Writes the report of a run."""
    from ..report import write_report

    return write_report(path)


def report(arguments: argparse.Namespace) -> int:
    """Writes the report and says where."""
    if read_seeds(arguments.directory) is None:
        load_run(arguments.directory)
    print(write_report_at(Path(arguments.directory)))
    return 0


def export(arguments: argparse.Namespace) -> int:
    """Writes the best network in another format."""
    from ._export import WRITERS

    directory = RunDirectory(arguments.directory)
    best = directory.best()
    if best is None:
        raise ValueError(
            f"{directory.path} has no best network yet; let it run for a generation."
        )
    name = f"network.{arguments.format}"
    path = Path(arguments.out) if arguments.out else directory.path / name
    WRITERS[arguments.format](best, path)
    print(path)
    return 0
