"""Configurations: of the settings that there are, with values that should not be."""

import json
import math
import random
from typing import Any

from substrax.config import Experiment
from substrax.methods import METHODS
from substrax.neat import presets
from substrax.problems import PROBLEMS
from substrax.settings import known_settings

from . import hostile
from ._case import Case


def attack_configuration(case: Case) -> None:
    """Builds an experiment of a random document."""
    text = random_document(case.random)
    if case.random.random() < 0.15:
        raw = hostile.damaged_bytes(case.random, text.encode("utf-8", "surrogatepass"))
        text = raw.decode("utf-8", "replace")
    case.note("TOML", text)
    with case.refusals():
        experiment = Experiment.from_toml(text)
        experiment.build()
        again = Experiment.from_toml(experiment.to_toml())
        assert again.values == experiment.values, "TOML lost something"


def random_document(draw: random.Random) -> str:
    """TOML with some settings of a problem, a decoder and a preset."""
    names = (
        draw.choice(list(PROBLEMS)),
        draw.choice(list(METHODS)),
        draw.choice(list(presets.PRESETS)),
    )
    known = known_settings(*names)
    flat: dict[str, Any] = {"problem.name": names[0]}
    for key, name in (("decoder.name", names[1]), ("neat.preset", names[2])):
        if draw.random() < 0.9:
            flat[key] = name
    for key in draw.sample(list(known), draw.choice((0, 1, 1, 1, 2, 2, 3, 5))):
        flat[key] = setting_value(draw, known[key])
    if draw.random() < 0.05:
        flat[draw.choice((*flat, "description", "problem", "a.b", "run.x"))] = (
            hostile.value(draw)
        )
    lines = [f"{key} = {toml(value)}" for key, value in flat.items()]
    draw.shuffle(lines)
    return "\n".join(lines) + "\n"


def setting_value(draw: random.Random, setting: Any) -> Any:
    """A value for a setting: usual, of its kind but hostile, or anything."""
    kind = draw.randrange(10)
    if kind < 2 and setting.default is not None:
        return setting.default
    if kind < 4 and setting.choices:
        return draw.choice(setting.choices)
    if kind < 8:
        options: dict[type, Any] = {
            int: hostile.WHOLE,
            float: hostile.FLOATS,
            bool: (True, False),
            str: hostile.TEXTS,
        }
        one = draw.choice(options[setting.kind])
        return [one] * draw.randint(0, 3) if setting.is_list else one
    return hostile.value(draw)


def toml(value: Any) -> str:
    """A value as TOML has it, or as it would be if TOML had it."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return '"none"'
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 10**4000 else "9" * 5000
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, dict):
        pairs = (f"{toml(str(k))} = {toml(v)}" for k, v in value.items())
        return "{" + ", ".join(pairs) + "}"
    return json.dumps(str(value), ensure_ascii=False)
