"""neat-python's INI files as `NEATConfig`, with a message for what does not fit."""

import configparser
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._documents import read_text
from .._suggest import suggest
from .._types import (
    FALSE_WORDS,
    TRUE_WORDS,
    brief,
    check_finite,
    check_whole,
    shown,
)
from ..cppn import activation_id
from ._config import (
    CrossoverConfig,
    FloatGeneConfig,
    MutationConfig,
    NEATConfig,
    ReproductionConfig,
    SpeciationConfig,
)

_SECTIONS = (
    "NEAT",
    "DefaultGenome",
    "DefaultSpeciesSet",
    "DefaultStagnation",
    "DefaultReproduction",
)
_CONNECTIONS = {
    "unconnected": "none",
    "fs_neat": "fs",
    "fs_neat_nohidden": "fs",
    "fs_neat_hidden": "fs_hidden",
    "full": "full",
    "full_nodirect": "full",
    "full_direct": "full_direct",
    "partial": "partial",
    "partial_nodirect": "partial",
    "partial_direct": "partial_direct",
}
# neat-python's defaults, which leave a node's time constant at 1, as if without one.
_TIME_CONSTANT = {
    "init_mean": 1.0,
    "init_stdev": 0.0,
    "mutate_rate": 0.0,
    "mutate_power": 0.0,
    "replace_rate": 0.0,
    "max_value": 10.0,
    "min_value": 0.01,
}
_CRITERIA = {
    "max": "",
    "mean": "it only decides when to stop there; stop on `info.mean_fitness` instead.",
    "min": (
        "it does not minimise, neither there nor here: there, the run stops when the "
        "worst genome reaches the threshold. Compare the smallest fitness with it in "
        "the loop; to minimise, set `maximise=False`."
    ),
}


class _Reader:
    """Options of one file: typed access, and which were never asked for."""

    def __init__(self, parser: configparser.ConfigParser):
        self.parser = parser
        self.seen: set[tuple[str, str]] = set()
        self.messages: list[str] = []

    def _read(self, section: str, name: str, default: Any, convert: Callable) -> Any:
        self.seen.add((section, name))
        if not self.parser.has_option(section, name):
            if default is None:
                raise ValueError(
                    f"[{section}] lacks the option {shown(name)}. Add a line "
                    f"'{name} = ...' to that section."
                )
            return default
        text = self.parser.get(section, name)
        try:
            return convert(text)
        except ValueError as error:
            reason = str(error).partition(":")[0]  # what follows is the text again
            raise ValueError(
                f"[{section}] {name} = {shown(text)} cannot be read: {reason}. "
                "Correct the value."
            ) from None

    def number(self, section: str, name: str, default: float | None = None) -> float:
        number = self._read(section, name, default, float)
        check_finite(**{f"[{section}] {name}": number})
        return number

    def integer(self, section: str, name: str, default: int | None = None) -> int:
        number = self._read(section, name, default, int)
        check_whole(**{f"[{section}] {name}": number})
        return number

    def text(self, section: str, name: str, default: str | None = None) -> str:
        return self._read(section, name, default, str.strip)

    def word(self, section: str, name: str, default: str, choices: Any) -> str:
        def convert(text: str) -> str:
            if text.strip().lower() not in choices:
                raise ValueError(f"it is none of {', '.join(choices)}")
            return text.strip().lower()

        return self._read(section, name, default, convert)

    def switch(self, section: str, name: str, default: bool | None = None) -> bool:
        def convert(text: str) -> bool:
            if text.lower() not in (*TRUE_WORDS, *FALSE_WORDS):
                raise ValueError("it is neither true nor false")
            return text.lower() in TRUE_WORDS

        return self._read(section, name, default, convert)

    def note(self, section: str, name: str, what: str) -> None:
        """A message, if the file sets the option at all."""
        self.seen.add((section, name))
        if self.parser.has_option(section, name):
            value = self.parser.get(section, name)
            self.messages.append(f"[{section}] {name} = {brief(value)}: {what}")


def _parse(source: str | Path) -> configparser.ConfigParser:
    text, where = str(source), "This"
    # "[" may stand in the name of a file; one line that is a file is never a text.
    is_text = isinstance(source, str) and (
        "\n" in text or (text.strip().startswith("[") and text.strip().endswith("]"))
    )
    path = Path(source)
    # (pathlib's own would raise for a name that is too long)
    is_file = "\n" not in text and os.path.isfile(text)
    if is_file or not is_text:
        if not is_file:
            raise ValueError(
                f"There is no file {shown(str(path))}. Give the path of a neat-python "
                "configuration, or its text."
            )
        text = read_text(path)
        where = str(path)
    # A percent sign in a value is itself, no reference to another option.
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(
            f"{where} is not an INI file: {brief(error.message)}. Correct that line."
        ) from None
    except AttributeError:  # configparser's own, for a line that continues nothing
        raise ValueError(
            f"{where} is not an INI file: a line is indented that continues no option. "
            "Correct it."
        ) from None
    for section in _SECTIONS:
        if not parser.has_section(section):
            raise ValueError(
                f"The section [{section}] is missing. neat-python configurations have "
                f"the sections {', '.join(_SECTIONS)}; add it."
            )
    return parser


def _float_gene(reader: _Reader, name: str) -> FloatGeneConfig:
    section = "DefaultGenome"
    kind = reader.text(section, f"{name}_init_type", "gaussian").lower()
    if not any(word in kind for word in ("gauss", "normal", "uniform")):
        raise ValueError(
            f"[{section}] {name}_init_type = {shown(kind)} is not known. "
            "Use 'gaussian' or 'uniform'."
        )
    perturb = reader.number(section, f"{name}_mutate_rate")
    replace = reader.number(section, f"{name}_replace_rate")
    # One draw decides in neat-python, so what exceeds 1 in sum never happens there.
    return FloatGeneConfig(
        init_mean=reader.number(section, f"{name}_init_mean"),
        init_stdev=reader.number(section, f"{name}_init_stdev"),
        minimum=reader.number(section, f"{name}_min_value"),
        maximum=reader.number(section, f"{name}_max_value"),
        perturb_rate=min(perturb, 1.0),
        perturb_power=reader.number(section, f"{name}_mutate_power"),
        replace_rate=min(replace, max(0.0, 1.0 - perturb)),
        init_distribution="uniform" if "uniform" in kind else "normal",
    )


def _mutation(reader: _Reader) -> MutationConfig:
    section = "DefaultGenome"
    rate = reader.number(section, "enabled_mutate_rate")
    to_true = reader.number(section, "enabled_rate_to_true_add", 0.0)
    to_false = reader.number(section, "enabled_rate_to_false_add", 0.0)
    single = reader.switch(section, "single_structural_mutation", False)
    surer = reader.word(
        section,
        "structural_mutation_surer",
        "default",
        ("default", *TRUE_WORDS, *FALSE_WORDS),
    )
    return MutationConfig(
        add_node_rate=reader.number(section, "node_add_prob"),
        delete_node_rate=reader.number(section, "node_delete_prob"),
        add_link_rate=reader.number(section, "conn_add_prob"),
        delete_link_rate=reader.number(section, "conn_delete_prob"),
        # A mutated switch is drawn anew there, so every other mutation changes it.
        enable_rate=min(1.0, rate + to_true) / 2,
        disable_rate=min(1.0, rate + to_false) / 2,
        activation_rate=reader.number(section, "activation_mutate_rate"),
        single_structural=single,
        surer=single if surer == "default" else surer in TRUE_WORDS,
        split_disabled_links=True,
        share_split_nodes=False,
    )


def _initial_connection(reader: _Reader) -> tuple[str, float]:
    """Which links the first genomes have, and what share of them."""
    section, name = "DefaultGenome", "initial_connection"
    text = reader.text(section, name, "unconnected")
    kind, *rest = text.split() or [""]
    if kind not in _CONNECTIONS:
        raise ValueError(
            f"[{section}] {name} = {shown(kind)} is not known. "
            f"Use one of {', '.join(_CONNECTIONS)}."
        )
    if not kind.startswith("partial"):
        if rest:
            raise ValueError(
                f"[{section}] {name} = {brief(text)}: only the partial kinds take a "
                f"fraction. Write {name} = {kind}."
            )
        return _CONNECTIONS[kind], 1.0
    try:
        (fraction,) = map(float, rest)
        if not 0.0 <= fraction <= 1.0:
            raise ValueError
    except ValueError:
        raise ValueError(
            f"[{section}] {name} = {brief(text)}: {kind} needs one fraction between 0 "
            f"and 1. Write for example '{kind} 0.5'."
        ) from None
    return _CONNECTIONS[kind], fraction


def _genome_options(reader: _Reader) -> dict[str, Any]:
    section = "DefaultGenome"
    options = tuple(reader.text(section, "activation_options").split())
    default: str | None = reader.text(section, "activation_default", "random")
    for name in (*options, default):
        if name not in ("random", "none"):
            activation_id(name)
    if default in ("random", "none"):
        default = None
    connection, fraction = _initial_connection(reader)
    feed_forward = reader.switch(section, "feed_forward")
    return {
        "num_inputs": reader.integer(section, "num_inputs"),
        "num_outputs": reader.integer(section, "num_outputs"),
        "num_hidden": reader.integer(section, "num_hidden"),
        "feed_forward": feed_forward,
        "initial_connection": connection,
        "initial_fraction": fraction,
        "initial_self_links": not feed_forward
        and connection.startswith(("full", "partial")),
        "activation_options": options,
        "activation_default": default,
    }


def _notes(reader: _Reader) -> None:
    """Messages for options that have no counterpart."""
    section = "DefaultGenome"
    fixed = "responses are 1 and never change here; weights do their work."
    for name in ("mutate_rate", "replace_rate", "mutate_power", "init_stdev"):
        if reader.number(section, f"response_{name}", 0.0) != 0.0:
            reader.note(section, f"response_{name}", fixed)
    if reader.number(section, "response_init_mean", 1.0) != 1.0:
        reader.note(section, "response_init_mean", fixed)
    sums = "nodes always add up what they receive; other aggregations are left out."
    if reader.number(section, "aggregation_mutate_rate", 0.0) != 0.0:
        reader.note(section, "aggregation_mutate_rate", sums)
    for name in ("aggregation_default", "aggregation_options"):
        if reader.text(section, name, "sum").lower() != "sum":
            reader.note(section, name, sums)
    choices = (*TRUE_WORDS, *FALSE_WORDS, "random", "none")
    if reader.word(section, "enabled_default", "true", choices) not in TRUE_WORDS:
        reader.note(section, "enabled_default", "new links are always enabled here.")
    reader.seen.add((section, "response_init_type"))
    if reader.number(section, "response_max_value", 1.0) < 1.0:
        reader.note(section, "response_max_value", fixed)
    if reader.number(section, "response_min_value", 1.0) > 1.0:
        reader.note(section, "response_min_value", fixed)
    _time_constant_notes(reader)
    _run_notes(reader)


def _time_constant_notes(reader: _Reader) -> None:
    section = "DefaultGenome"
    what = (
        "nodes have no time constant here, neither in networks nor in the distance; "
        "it is left out."
    )
    for name, neutral in _TIME_CONSTANT.items():
        if reader.number(section, f"time_constant_{name}", neutral) != neutral:
            reader.note(section, f"time_constant_{name}", what)
    kind = reader.text(section, "time_constant_init_type", "gaussian").lower()
    if not any(word in kind for word in ("gauss", "normal")):
        reader.note(section, "time_constant_init_type", what)


def _run_notes(reader: _Reader) -> None:
    """Messages for options of the run and of species."""
    if reader.switch("NEAT", "reset_on_extinction", False):
        reader.note(
            "NEAT",
            "reset_on_extinction",
            "the population cannot die out here: the best species always survives.",
        )
    criterion = reader.word("NEAT", "fitness_criterion", "max", tuple(_CRITERIA))
    if _CRITERIA[criterion]:
        reader.note("NEAT", "fitness_criterion", _CRITERIA[criterion])
    reader.note(
        "NEAT",
        "fitness_threshold",
        "when to stop is up to the loop; compare `info.best_fitness` with it.",
    )
    # Both values mean the same here, but a value that is neither is a mistake.
    reader.switch("NEAT", "no_fitness_termination", False)
    reader.note("NEAT", "seed", "seeds are keys here: pass `jax.random.key(seed)`.")
    if reader.integer("DefaultStagnation", "max_stagnation", 15) == 0:
        reader.note(
            "DefaultStagnation",
            "max_stagnation",
            "0 means here that species never stagnate, there that they always do.",
        )
    if reader.integer("DefaultStagnation", "species_elitism", 0) == 0:
        reader.note(
            "DefaultStagnation",
            "species_elitism",
            "the best species always survives here, so 0 means 1.",
        )


def _unknown(reader: _Reader) -> None:
    known = sorted(name for _, name in reader.seen)
    for section in reader.parser.sections():
        if section not in _SECTIONS:
            reader.messages.append(
                f"[{section}]: this section belongs to no part of NEAT; it is ignored."
            )
            continue
        for name in reader.parser.options(section):
            if (section, name) in reader.seen:
                continue
            value = reader.parser.get(section, name)
            reader.messages.append(
                f"[{section}] {name} = {brief(value)}: neat-python has no such "
                f"option, and neither have we; it is ignored{suggest(name, known)}."
            )


def from_neat_python_config(source: str | Path) -> tuple[NEATConfig, list[str]]:
    """Read a neat-python configuration.

    **Arguments:** the path of an INI file, or its text.

    **Returns:** a configuration that follows neat-python's rules with that file's
    numbers, and one message for each option that has no counterpart: its name, its
    value, and what happens instead. `fitness_criterion = min` does not make neat-python
    minimise, so it does not here; set `maximise=False` for that.
    """
    reader = _Reader(_parse(source))
    species_fitness = reader.text("DefaultStagnation", "species_fitness_func", "mean")
    if species_fitness not in ("max", "mean", "min"):
        reader.note(
            "DefaultStagnation",
            "species_fitness_func",
            "species are judged by 'max', 'mean' or 'min' here; 'mean' is used.",
        )
        species_fitness = "mean"
    config = NEATConfig(
        population_size=reader.integer("NEAT", "pop_size"),
        **_genome_options(reader),
        weight=_float_gene(reader, "weight"),
        bias=_float_gene(reader, "bias"),
        mutation=_mutation(reader),
        crossover=CrossoverConfig(
            crossover_rate=1.0,
            interspecies_rate=0.0,
            # (the 75 % of the paper after the coin that neat-python flips first)
            disable_rate=0.875,
            disable_rate_both=1.0,
            per_attribute=True,
        ),
        speciation=SpeciationConfig(
            compatibility_threshold=reader.number(
                "DefaultSpeciesSet", "compatibility_threshold"
            ),
            disjoint_coefficient=reader.number(
                "DefaultGenome", "compatibility_disjoint_coefficient"
            ),
            weight_coefficient=reader.number(
                "DefaultGenome", "compatibility_weight_coefficient"
            ),
            distance="neat_python",
            assignment="nearest",
            representative="nearest",
        ),
        reproduction=ReproductionConfig(
            survival_rate=reader.number(
                "DefaultReproduction", "survival_threshold", 0.2
            ),
            # neat-python takes at least two parents, whatever the file says.
            min_parents=2,
            elitism=reader.integer("DefaultReproduction", "elitism", 0),
            elitism_min_size=0,
            min_species_size=reader.integer(
                "DefaultReproduction", "min_species_size", 1
            ),
            max_stagnation=reader.integer("DefaultStagnation", "max_stagnation", 15),
            species_elitism=reader.integer("DefaultStagnation", "species_elitism", 0),
            quota="damped",
            species_fitness=species_fitness,
        ),
    )
    _notes(reader)
    # Last, as options that nobody has asked for until then are unknown.
    _unknown(reader)
    return config, reader.messages
