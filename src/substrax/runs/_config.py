"""The configuration of a run, compared with what `run.json` has kept of it."""

import os
from pathlib import Path

from .._documents import parse_toml, read_text
from ._agreement import check_config
from ._files import CONFIG, read_facts


def read_config(path: str | os.PathLike[str]) -> str:
    """The configuration of a run; a `ValueError` if it has none, or another one than
    the run was made with."""
    file = Path(path) / CONFIG
    if not file.exists():
        raise ValueError(
            f"{path} has no {CONFIG}: its run was started from Python, by "
            "substrax.evolution.evolve(), and can be continued or looked at from there."
        )
    text = read_text(file)
    check_config(Path(path), parse_toml(text, str(file)), read_facts(path))
    return text
