"""The experiments that come with the package, and their texts.

Nothing here imports JAX: a name that does not exist is told at once.
"""

import ast
import importlib.resources
import json
import os
import reprlib
from pathlib import Path

from .._documents import read_text
from .._suggest import suggest

_TABLES = (".csv", ".tsv", ".parquet", ".pq")

_MOST_NAMES = 12
"""More of them would hide what is said."""


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
    if path.suffix.lower() in _TABLES:
        raise ValueError(
            f"{name} is a table. To predict one of its columns, write `substrax run "
            f"table --path {name}`, or evolve('table', path={name!r}) in Python; with "
            "--target-column (target_column=) if it is not the last."
        )
    text = read_text(path)
    if path.suffix == ".py":
        names = ", ".join(_names_in(text))
        raise ValueError(
            f"{name} is a Python file. Say which problem or fitness in it is meant, as "
            f"{name}:NAME" + (f"; NAME may be {names}." if names else ".")
        )
    return str(path), text


def _names_in(program: str) -> list[str]:
    """Functions, classes and objects that may be problems; nothing is executed."""
    try:
        statements = ast.parse(program).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = []
    for statement in statements:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names.append(statement.name)
        elif isinstance(statement, ast.Assign) and isinstance(
            statement.value, ast.Call
        ):
            names += [x.id for x in statement.targets if isinstance(x, ast.Name)]
    is_public = lambda name: not name.startswith("_") and name != "main"
    return list(filter(is_public, dict.fromkeys(names)))[:_MOST_NAMES]
