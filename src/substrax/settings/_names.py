"""What a person means by a key: aliases, short names, suggestions."""

from collections.abc import Mapping
from typing import Any

from .._suggest import suggest
from .._types import shown
from ..experiments import is_own
from ._setting import Setting
from ._tables import FindOwn, tables

ALIASES = {
    "seed": "run.seed",
    "target": "run.target",
    "population": "neat.population_size",
    "preset": "neat.preset",
    "method": "method.name",
    "problem": "problem.name",
    "start_from": "start.genome",
}
"""Short names of settings, besides the last part of a key that is the only such."""

RENAMED = {"rule": "method", "decoder": "method"}
"""What users of version 0.1 may write."""

NAMES = ("problem.name", "method.name", "neat.preset")
"""These decide which other settings there are."""


def chosen_names(given: Mapping[str, Any]) -> tuple[str, str, str]:
    """Problem, method and preset."""
    if "problem.name" not in given:
        raise ValueError(
            "an experiment needs a problem: write `[problem]` and below it, for "
            'example, `name = "xor"`. `substrax list` shows the problems.'
        )
    known = tables()
    defaults = {
        "method.name": known.default_method,
        "neat.preset": known.default_preset,
    }
    problem, method, preset = (
        Setting(name, str, "").understand(given.get(name, defaults.get(name)))
        for name in NAMES
    )
    return problem, method, preset


def known_settings(
    problem: str, method: str, preset: str, find_own: FindOwn | None = None
) -> dict[str, Setting]:
    """All settings of an experiment, by dotted key."""
    known = tables()
    return {
        **known.run,
        **known.of_problem(problem, find_own),
        **known.of_method(method),
        **known.of_preset(preset),
        **known.start,
    }


def method_in(key: str) -> str | None:
    """The method that a key is meant for alone, as in `method.emr.depth`."""
    parts = key.split(".")
    is_special = len(parts) == 3 and parts[0] == "method"
    return parts[1] if is_special and parts[1] in tables().methods else None


def setting_of_method(key: str) -> Setting:
    """The setting that such a key is about."""
    _, method, name = key.split(".")
    settings = tables().of_method(method)
    if f"method.{name}" not in settings:
        short = [k.removeprefix("method.") for k in settings]
        raise ValueError(
            f"there is no setting {shown(key)}{suggest(name, short)}: the method "
            f"{shown(method)} has {', '.join(short)}."
        )
    return settings[f"method.{name}"]


def key_of(key: str, known: Mapping[str, Setting], names: tuple[str, str, str]) -> str:
    """The dotted key that a person means by `key`."""
    key = ALIASES.get(key, key)
    if key in known or key in NAMES or key == "description":
        return key
    if method_in(key) is not None:
        setting_of_method(key)
        return key
    ends = [k for k in known if k.endswith("." + key)]
    if len(ends) == 1:
        return ends[0]
    if ends:
        # one section has it directly, another one deeper: the direct one is meant
        direct = [k for k in ends if k.count(".") == 1]
        if len(direct) == 1:
            return direct[0]
        # the sizes of a fitness' networks, which have no other place to come from
        if f"problem.{key}" in direct and is_own(names[0]):
            return f"problem.{key}"
        # of the network and of the CPPN, people mean the network
        if f"method.{key}" in direct:
            return f"method.{key}"
        raise ValueError(
            f"{shown(key)} may be any of {', '.join(ends)}; give it in full."
        )
    first, dot, rest = key.partition(".")
    if first in RENAMED:
        raise ValueError(
            f"there is no setting {shown(key)}: what was {first} is {RENAMED[first]} "
            f"now. Write {shown(RENAMED[first] + dot + rest)}."
        )
    last = key.rpartition(".")[2]
    methods = tables().methods if key in (last, f"method.{last}") else {}
    others = [name for name in methods if f"method.{last}" in methods[name]]
    if others:
        raise ValueError(
            f"{last} is a setting of the method{'s' if len(others) > 1 else ''} "
            f"{' and '.join(map(repr, others))}, but the method here is "
            f"{names[1]!r}. Leave it out, or choose another method: "
            f"--method {others[-1]}, or method={others[-1]!r} in Python."
        )
    short = {k.rpartition(".")[2] for k in known}
    # ("problem" looks like problem.colour, and cannot be meant by it)
    likely = [k for k in (*known, *short, *ALIASES) if not key.startswith(f"{k}.")]
    raise ValueError(
        f"there is no setting {shown(key)}{suggest(key, likely)}. "
        "The command `substrax list EXPERIMENT` shows all settings of an experiment."
    )


def changed(
    given: Mapping[str, Any],
    changes: Mapping[str, Any],
    find_own: FindOwn | None = None,
) -> dict[str, Any]:
    """What is said when something else is said besides, under full keys."""
    new = dict(given)
    # As flags are written.
    short = {key.replace("-", "_"): value for key, value in changes.items()}
    # The names come first: they decide which other settings there are.
    for key, value in short.items():
        if ALIASES.get(key, key) in NAMES:
            new[ALIASES.get(key, key)] = value
    names = chosen_names(new)
    known = known_settings(*names, find_own)
    # Settings of another problem or method are forgotten; those that name their method
    # (`method.emr.depth`) wait for it.
    for key in [k for k in new if k.split(".")[0] in ("problem", "method")]:
        if key not in known and key not in NAMES and key.count(".") == 1:
            del new[key]
    for key, value in short.items():
        if ALIASES.get(key, key) not in NAMES:
            full = key_of(key, known, names)
            new[full] = value
            for method in tables().methods:  # it is meant for all of them
                name = full.removeprefix("method.")
                new.pop(f"method.{method}.{name}", None)
    return new
