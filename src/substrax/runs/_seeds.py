"""`seeds.json`: a folder of runs that differ in their seeds and in nothing else."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .._files import refuse_links, write_atomically
from ._files import FACTS, SEEDS, DamagedRunError
from ._seal import sealed, unsealed

_FORMAT, _VERSION = "substrax-seeds", 1

_FOLDER = re.compile(r"seed(?P<seed>0|-?[1-9][0-9]{0,9})")


def seed_folder(seed: int) -> str:
    """The name of the directory of a run among others."""
    return f"seed{seed}"


def note_seeds(path: str | os.PathLike[str], seeds: Iterable[int]) -> None:
    """Notes that the runs of these seeds belong into a folder, besides those that it
    has already; the folder is made if it is not there."""
    folder = Path(path)
    if (folder / FACTS).exists():
        raise ValueError(
            f"{folder} already holds a run. Choose another directory for several."
        )
    known = set(_listed(folder))
    if not known.issuperset(seeds):
        folder.mkdir(parents=True, exist_ok=True)
        runs = [
            {"seed": seed, "folder": seed_folder(seed)}
            for seed in sorted(known.union(seeds))
        ]
        document = {"format": _FORMAT, "version": _VERSION, "runs": runs}
        write_atomically(folder / SEEDS, sealed(document))


def read_seeds(path: str | os.PathLike[str]) -> dict[int, Path] | None:
    """The directory of each seed, which need not be there yet; None for a folder that
    is no such folder.

    A folder of an older release has no list, and a list may lack seeds that another
    machine has added at the same moment: runs that have begun are found by their names.
    """
    folder = Path(path)
    if (folder / FACTS).exists() or not folder.is_dir():
        return None
    seeds = set(_listed(folder))
    for entry in folder.iterdir():
        name = _FOLDER.fullmatch(entry.name)
        if name is not None and (entry / FACTS).is_file():
            seeds.add(int(name["seed"]))
    return {seed: folder / seed_folder(seed) for seed in sorted(seeds)} or None


def _listed(folder: Path) -> list[int]:
    """What the list says; nothing if there is none."""
    file = folder / SEEDS
    refuse_links([file])
    try:
        return _seeds_in(unsealed(file.read_bytes()))
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise DamagedRunError(
            f"{file} cannot be used: {error}. Delete it: seeds that have begun are "
            "found without it."
        ) from error


def _seeds_in(document: dict[str, Any]) -> list[int]:
    if document.get("format") != _FORMAT or document.get("version") != _VERSION:
        raise ValueError(
            f"its format is {document.get('format')} {document.get('version')}, this "
            f"release reads {_FORMAT} {_VERSION}"
        )
    seeds = []
    for run in document.get("runs", ()):
        seed = run.get("seed") if isinstance(run, dict) else None
        if type(seed) is not int or run.get("folder") != seed_folder(seed):
            raise ValueError("it does not say seeds and their folders")
        seeds.append(seed)
    return seeds
