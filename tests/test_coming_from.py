"""The pages for people who come from other libraries say what is so.

The importer is asked, not read: each option of neat-python is changed by itself, and
the settings that change with it are those that the page has to name.
"""

import configparser
import dataclasses
import io
import json
import re
from pathlib import Path
from typing import Any

import neat
import pytest
from neat.activations import ActivationFunctionSet

from substrax.cppn import ACTIVATION_NAMES, activation_id
from substrax.neat import NEATConfig, from_neat_python_config
from substrax.substrate import ESRule

ROOT = Path(__file__).parent.parent
INI = ROOT / "examples" / "neat_python_xor.ini"

OTHER_VALUES = {
    "pop_size": "77",
    "fitness_criterion": "mean",
    "fitness_threshold": "3.9",
    "seed": "42",
    "num_inputs": "5",
    "num_outputs": "4",
    "num_hidden": "6",
    "initial_connection": "partial_direct 0.5",
    "activation_default": "random",
    "activation_options": "sigmoid tanh",
    "aggregation_default": "max",
    "aggregation_options": "sum max",
    "structural_mutation_surer": "true",
    "species_fitness_func": "mean",
    "max_stagnation": "33",
    "species_elitism": "3",
    "elitism": "5",
    "min_species_size": "7",
}
"""Values that differ from those of the example; rates and switches need none."""


def table(name: str, heading: str) -> list[tuple[set[str], set[str], str]]:
    """Rows of the tables below a heading: names there, names here, the rest."""
    text = (ROOT / "docs" / name).read_text()
    part = re.split(r"^## ", text, flags=re.M)
    (section,) = (p for p in part if p.startswith(heading))
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return [
        (set(re.findall(r"`([^`]+)`", there)), set(re.findall(r"`([^`]+)`", here)), why)
        for there, here, why in rows
        if "`" in there + here
    ]


def options() -> dict[str, str]:
    """All options of neat-python, as it lists them itself, and their sections."""
    parser = read_ini()
    found = {p.name: "NEAT" for p in vars(neat.Config)["_Config__params"]}
    classes = (
        neat.DefaultGenome,
        neat.DefaultSpeciesSet,
        neat.DefaultStagnation,
        neat.DefaultReproduction,
    )
    for part in classes:
        config: Any = part.parse_config(dict(parser[part.__name__]))
        found |= {p.name: part.__name__ for p in config._params}
    return found


def read_ini() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(INI)
    return parser


def flat(config: NEATConfig) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            for inner in dataclasses.fields(value):
                values[f"{field.name}.{inner.name}"] = getattr(value, inner.name)
        else:
            values[field.name] = value
    return values


def imported(parser: configparser.ConfigParser) -> tuple[dict[str, Any], list[str]]:
    text = io.StringIO()
    parser.write(text)
    config, messages = from_neat_python_config(text.getvalue())
    return flat(config), messages


def other_value(name: str, value: str | None) -> str:
    if name in OTHER_VALUES:
        return OTHER_VALUES[name]
    if name.endswith("_type"):
        return "uniform"
    if value is not None and value.lower() in ("true", "false"):
        return str(value.lower() == "false")
    return str(0.04 + 0.5 * float(value or 0.0))


def changes(name: str, section: str) -> tuple[set[str], list[str]]:
    """Settings that change with an option, and what the importer says about it."""
    before, _ = imported(read_ini())
    parser = read_ini()
    value = parser.get(section, name, fallback=None)
    parser.set(section, name, other_value(name, value))
    after, messages = imported(parser)
    changed = {key for key in before if before[key] != after[key]}
    return changed, [m for m in messages if f"] {name} =" in m]


def test_options_of_neat_python_are_where_the_page_says():
    rows, known = table("coming-from-neat-python.md", "Options"), options()
    listed = [name for there, _, _ in rows for name in there]
    assert sorted(listed) == sorted(known), "each option once"
    for there, here, _ in rows:
        found = [changes(name, known[name]) for name in there]
        assert set().union(*(changed for changed, _ in found)) == here, there
        for name, (changed, messages) in zip(there, found, strict=True):
            is_silent = name in ("no_fitness_termination", "response_init_type")
            is_silent |= name.startswith("response_m") and name.endswith("_value")
            assert changed or messages or is_silent, name


def test_what_neat_python_fixes_is_what_the_page_says():
    """The second table: settings that every imported configuration has."""
    config, _ = from_neat_python_config(INI)
    values, default = flat(config), flat(NEATConfig())
    rows = table("coming-from-neat-python.md", "Rules that")
    said = {name: value for _, (pair,), _ in rows for name, value in [pair.split("=")]}
    for name, value in said.items():
        assert values[name] == json.loads(value.replace("'", '"')), name
        assert values[name] != default[name], name


def test_all_activation_functions_of_neat_python_are_here():
    for name in ActivationFunctionSet().functions:
        assert ACTIVATION_NAMES[activation_id(name)] == name


def settings(method: str) -> set[str]:
    """Names of settings of a method, of NEAT and of the run."""
    tables = json.loads((ROOT / "src/substrax/settings/tables.json").read_text())
    names = [*tables["run"], *tables["methods"][method]]
    return {name.partition(".")[2] for name in names} | {*flat(NEATConfig())}


def test_parameters_of_pureples_are_settings_here():
    rows = table("coming-from-pureples.md", "Parameters")
    there = set().union(*(names for names, _, _ in rows))
    assert there >= {
        "initial_depth",
        "max_depth",
        "variance_threshold",
        "band_threshold",
        "iteration_level",
        "division_threshold",
        "max_weight",
        "activation",
    }
    assert set().union(*(names for _, names, _ in rows)) <= settings("es")


@pytest.mark.parametrize("heading", ["The algorithm", "Genomes", "HyperNEAT"])
def test_arguments_of_tensorneat_are_settings_here(heading):
    rows = table("coming-from-tensorneat.md", heading)
    assert rows
    known = settings("hyperneat") | settings("neat")
    known |= {"inputs", "outputs", "directory"}
    assert set().union(*(names for _, names, _ in rows)) <= known


def test_versions_of_pureples_are_one_level_less_here():
    text = (ROOT / "docs" / "coming-from-pureples.md").read_text()
    rows = re.findall(r"^\| [SML] \| (\d), (\d) \| (\d), (\d) \|$", text, re.M)
    assert len(rows) == 3
    for row in rows:
        initial_there, most_there, initial_here, depth = map(int, row)
        assert (initial_here, depth) == (initial_there, most_there - 1)
        ESRule(depth=depth, initial_depth=initial_here)  # which must exist
