"""`substrax list`, and the first look at an experiment; all without JAX."""

from collections.abc import Mapping
from typing import Any

from .._documents import parse_toml
from ..experiments import builtin_experiments, is_own, read_experiment
from ..settings import changed, flatten, resolve, tables


def check_settings(name: str, text: str, settings: Mapping[str, str]) -> None:
    """Raises for a setting that does not exist, or whose value is of another kind.

    Somebody's own problem has to be imported before its settings are known.
    """
    given = flatten(parse_toml(text, name))
    problem = settings.get("problem", settings.get("problem.name"))
    if not is_own(str(problem or given.get("problem.name", ""))):
        resolve(changed(given, settings))


def list_settings(experiment: str, settings: Mapping[str, str]) -> int:
    """Prints all settings of an experiment, with some of them changed."""
    name, text = read_experiment(experiment)
    given = flatten(parse_toml(text, name))
    if _needs_more({**given, **settings}):
        from ..config import load_experiment

        print(load_experiment(experiment).with_settings(settings).to_toml(), end="")
    else:
        print(resolve(changed(given, settings)).to_toml(), end="")
    return 0


def _needs_more(given: Mapping[str, Any]) -> bool:
    """Whether there is something to be read or imported besides."""
    genome = given.get("start_from", given.get("start.genome", "none"))
    is_known = genome in ("none", "given", *tables().seeds)
    return is_own(str(given.get("problem.name", ""))) or not is_known


def list_all() -> int:
    """Prints what there is."""
    known = tables()
    described = {
        name: parse_toml(text, name).get("description", "")
        for name, text in builtin_experiments().items()
    }
    parts = {
        "Experiments": described,
        "Problems": known.descriptions["problems"],
        "Presets of NEAT": known.descriptions["presets"],
    }
    width = max(len(name) for rows in parts.values() for name in rows)
    for title, rows in parts.items():
        print(f"{title}:")
        for name, text in rows.items():
            print(f"  {name:<{width}} {text}")
        print()
    print(f"Methods (--method): {', '.join(known.methods)}")
    print(f"Connections of emr (--connections): {', '.join(known.connections)}")
    print("\n`substrax list EXPERIMENT` prints all settings of an experiment.")
    return 0
