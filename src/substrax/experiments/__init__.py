"""The experiments that come with the package, and their texts.

Nothing here imports JAX: a name that does not exist is told at once.
"""

import importlib.resources
import json
import os
import reprlib
from pathlib import Path

from .._documents import read_text
from .._suggest import suggest


def builtin_experiments() -> dict[str, str]:
    """The text of each experiment that comes with the package, by name."""
    folder = importlib.resources.files("substrax") / "experiments"
    paths = sorted(folder.iterdir(), key=lambda path: path.name)
    return {
        path.name.removesuffix(".toml"): path.read_text()
        for path in paths
        if path.name.endswith(".toml")
    }


def is_own(name: str) -> bool:
    """Whether a name leads to somebody's own problem: `module:name`, `file.py:name`, or
    `arrays`, data in a file."""
    return name == "arrays" or (":" in name and not name.endswith(".toml"))


def read_experiment(name_or_path: str | os.PathLike[str]) -> tuple[str, str]:
    """Name and text of an experiment: one of the package, or in a TOML file."""
    name = os.fspath(name_or_path)
    builtin = builtin_experiments()
    if name in builtin:
        return name, builtin[name]
    if is_own(name):
        return name, f"[problem]\nname = {json.dumps(name)}\n"
    path = Path(name)
    # (pathlib's own would raise for a name that is too long)
    if path.suffix != ".toml" and not os.path.exists(name):
        raise ValueError(
            f"there is no experiment {reprlib.repr(name)}{suggest(name, builtin)}. "
            f"Known are {', '.join(builtin)}; or give a TOML file, or a "
            "problem of your own as file.py:name."
        )
    return str(path), read_text(path)
