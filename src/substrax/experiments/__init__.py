"""The experiments that come with the package, and their texts.

Nothing here imports JAX: a name that does not exist is told at once.
"""

import importlib.resources
import os
from pathlib import Path

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


def read_experiment(name_or_path: str | os.PathLike[str]) -> tuple[str, str]:
    """Name and text of an experiment: one of the package, or in a TOML file."""
    name = os.fspath(name_or_path)
    builtin = builtin_experiments()
    if name in builtin:
        return name, builtin[name]
    path = Path(name)
    if path.suffix != ".toml" and not path.exists():
        raise ValueError(
            f"there is no experiment {name!r}{suggest(name, builtin)}. Known are "
            f"{', '.join(builtin)}; or give a TOML file."
        )
    try:
        return str(path), path.read_text()
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not valid TOML: it is not UTF-8.") from error
