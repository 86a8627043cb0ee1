"""The files of a run, and what `run.json` must say."""

import os
from pathlib import Path
from typing import Any

from .._files import refuse_links
from ._seal import unsealed

FACTS = "run.json"
"""Seed, versions, device, and why the run stopped."""
CONFIG = "config.toml"
"""Every setting of the run."""
METRICS = "metrics.jsonl"
"""A line for each generation."""
BEST = "best.json"
"""The best genome and its network, for other programs."""
BEST_ARRAYS = "best.safetensors"
"""The same, for substrax itself."""
LOCK = ".lock"
"""Held by the process that works in the directory."""
CHECKPOINTS = "checkpoints"
"""A folder: the state of evolution after the last two checkpoints."""
SCRATCH = "scratch"
"""A folder: what does not fit into memory while networks are decoded."""
REPORT = "report"
"""A folder: what `substrax report` wrote."""
DATA = "data.safetensors"
"""The data set, if the problem was given as arrays."""
SUMMARY = "summary.json"
"""What `substrax show` says, as data."""
TRACKERS = "trackers.json"
"""What trackers need in order to continue."""
TENSORBOARD = "tensorboard"
"""A folder: the logs for TensorBoard."""
SEEDS = "seeds.json"
"""Of a folder with several runs: their seeds."""
SWEEP = "sweep.json"
"""Of the folder of a sweep: its arms and runs."""
FILES = (FACTS, CONFIG, METRICS, BEST, BEST_ARRAYS, DATA, SUMMARY, TRACKERS)
"""The files of a run, without its folders."""

FORMAT = "substrax-run"
"""What `run.json` says that it is."""
VERSION = 2
"""The version of that format which this release reads and writes."""


class DamagedRunError(ValueError):
    """A run directory holds files that cannot be used."""


def check_directory(path: Path) -> None:
    """Raises if it holds no run, or holds links where files should be."""
    if not (path / FACTS).is_file():
        seeds = sorted(path.glob(f"seed*/{FACTS}")) if path.is_dir() else []
        if seeds:
            raise ValueError(
                f"{path} holds the runs of several seeds: name one of them, such as "
                f"{seeds[0].parent}. `substrax show`, `resume` and `report` take them "
                "all."
            )
        if (path / SWEEP).is_file():
            raise ValueError(
                f"{path} is the folder of a sweep: name one of the runs in "
                f"{path / 'runs'}. `substrax show`, `resume` and `report` take them "
                "all."
            )
        is_file = os.path.isfile(path)
        what = "is a file" if is_file else "does not exist"
        what = "holds no run" if path.is_dir() else what
        raise ValueError(
            f"{path} {what}. Give the directory that `substrax run` named, or start "
            f"a run there with `substrax run EXPERIMENT --out {path}`, or with "
            f"substrax.evolve(..., directory={str(path)!r}) in Python."
        )
    names = (*FILES, LOCK, CHECKPOINTS, SCRATCH, REPORT, TENSORBOARD)
    refuse_links(path / name for name in names)


def read_facts(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of `run.json`: seed, versions, device, start, why it stopped."""
    file = Path(path) / FACTS
    try:
        facts = unsealed(file.read_bytes())
        _check_facts(facts)
    except ValueError as error:
        raise DamagedRunError(
            f"{file} cannot be used: {error}. Put the file back as it was. If that "
            f"is not possible, `substrax run {Path(path) / CONFIG} --out NEW` does "
            "the same again from the start, with the same result."
        ) from error
    return facts


_KINDS = {"seed": int, "settings": dict | None, "stopped": str | None}


def _check_facts(facts: dict[str, Any]) -> None:
    """Raises a `ValueError` for facts that are not of this version, or incomplete."""
    if facts.get("format") != FORMAT or facts.get("version") != VERSION:
        raise ValueError(
            f"its format is {facts.get('format')} {facts.get('version')}, this release "
            f"reads {FORMAT} {VERSION}"
        )
    for name, kind in _KINDS.items():
        if name not in facts or not isinstance(facts[name], kind):
            raise ValueError(f"it does not say {name}")
