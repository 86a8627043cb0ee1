"""An experiment: everything that a run depends on, checked."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._documents import parse_toml
from .._resources import Progress
from .._suggest import suggest
from .._types import shown
from ..decoders import AbstractDecoder
from ..evolution import (
    WITHOUT_EFFECT,
    Callback,
    Result,
    RunDirectory,
    check_limits,
    check_memory,
    evolve,
)
from ..experiments import read_experiment
from ..neat import NEAT, GenomeData
from ..problems import AbstractProblem
from . import _schema
from ._build import build_decoder, build_neat, build_problem
from ._schema import DECODERS, DEFAULT_DECODER, DEFAULT_PRESET, RunSettings
from ._settings import Section, Setting
from ._start import StartSettings, given_settings, is_place, read_file
from ._toml import dump_toml, flatten

ALIASES = {
    "seed": "run.seed",
    "target": "run.target",
    "population": "neat.population_size",
    "preset": "neat.preset",
    "rule": "decoder.name",
    "decoder": "decoder.name",
    "problem": "problem.name",
    "start_from": "start.genome",
}
"""Short names of settings, besides the last part of a key that is the only such."""

_NAMES = ("problem.name", "decoder.name", "neat.preset")
_CHANGEABLE = (
    "generations",
    "target",
    "seconds",
    "patience",
    "checkpoint_every",
    "max_cached_bytes",
    "memory_budget",
    "threads",
    "engine",
)


@dataclasses.dataclass(frozen=True)
class Parts:
    """What an experiment consists of."""

    algorithm: NEAT
    decoder: AbstractDecoder
    problem: AbstractProblem


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A problem, a decoder, NEAT, and when to stop; every setting has its value.

    Made by `Experiment.from_toml`, `load_experiment` or `load_run`; changed by
    `with_settings`, which makes another one.
    """

    name: str
    description: str
    run: RunSettings
    problem: Section
    decoder: Section
    neat: Section
    start: StartSettings
    given: Mapping[str, Any]
    """What was said, as opposed to what followed from it."""

    @staticmethod
    def from_toml(text: str, *, name: str = "experiment") -> "Experiment":
        """Reads and checks a document; an unknown key or a bad value is an error."""
        return _resolve(name, flatten(parse_toml(text, name)))

    def to_toml(self) -> str:
        """All settings, also those that were left out."""
        flat = {"description": self.description} if self.description else {}
        return dump_toml(flat | self.settings())

    def settings(self) -> dict[str, Any]:
        """All settings under their dotted keys."""
        flat: dict[str, Any] = {
            f"run.{k}": v for k, v in dataclasses.asdict(self.run).items()
        }
        for prefix, name, section in (
            ("problem", "name", self.problem),
            ("decoder", "name", self.decoder),
            ("neat", "preset", self.neat),
        ):
            flat[f"{prefix}.{name}"] = section.name
            flat |= {f"{prefix}.{k}": v for k, v in section.settings.items()}
        return flat | {
            f"start.{k}": v for k, v in dataclasses.asdict(self.start).items()
        }

    def with_settings(self, changes: Mapping[str, Any]) -> "Experiment":
        """The same with other values.

        Keys are dotted (`decoder.depth`), or the last part of one if there is only one
        such (`depth`), or one of the aliases `population`, `rule`, `preset`. With
        another problem or decoder, settings that it does not have are forgotten.
        """
        given = dict(self.given)
        short = {key.replace("-", "_"): value for key, value in changes.items()}
        # The names come first: they decide which other settings there are.
        for key, value in short.items():
            if ALIASES.get(key, key) in _NAMES:
                given[ALIASES.get(key, key)] = value
        known = _known(*_names(given))
        for key in [k for k in given if k.split(".")[0] in ("problem", "decoder")]:
            if key not in known and key not in _NAMES and key.count(".") == 1:
                del given[key]
        for key, value in short.items():
            if ALIASES.get(key, key) not in _NAMES:
                full = _full_key(key, known, _names(given))
                given[full] = value
                for decoder in DECODERS:  # what is said now is meant for all of them
                    name = full.removeprefix("decoder.")
                    given.pop(f"decoder.{decoder}.{name}", None)
        return _resolve(self.name, given)

    def build(self) -> Parts:
        """The objects. Nothing is compiled."""
        _section_errors("run", lambda run: run.resources, self.run)
        problem = _section_errors("problem", build_problem, self.problem)
        layout = _section_errors("problem", lambda problem: problem.layout, problem)
        decoder = _section_errors(
            "decoder",
            build_decoder,
            self.decoder,
            self.neat,
            self.start,
            layout,
        )
        algorithm = _section_errors("neat", build_neat, self.neat, self.start, decoder)
        return Parts(algorithm, decoder, problem)

    def check(self) -> None:
        """Raises if it cannot be run here; nothing is made or compiled."""
        _section_errors("run", lambda run: check_limits(**run.limits), self.run)
        _section_errors("neat", check_memory, self.build().algorithm)

    def evolve(
        self,
        *,
        directory: RunDirectory | str | os.PathLike[str] | None = None,
        callbacks: Iterable[Callback] = (),
        on_progress: Callable[[Progress], None] | None = None,
        keep_compiled: bool = True,
    ) -> Result:
        """Runs the experiment; for the arguments see `substrax.evolution.evolve`."""
        parts = self.build()
        return evolve(
            parts.algorithm,
            parts.decoder,
            parts.problem,
            **self.run.limits,
            directory=directory,
            config_text=self.to_toml(),
            callbacks=callbacks,
            resources=dataclasses.replace(self.run.resources, on_progress=on_progress),
            keep_compiled=keep_compiled,
        )

    def check_continues(self, recorded: "Experiment") -> None:
        """Raises if a run of `recorded` cannot go on with these settings."""
        now, then = self.settings(), recorded.settings()
        free = {f"run.{name}" for name in _CHANGEABLE}
        free |= set(WITHOUT_EFFECT)
        for key in now.keys() | then.keys():
            if key not in free and now.get(key) != then.get(key):
                what = (
                    "which the state of the run consists of"
                    if key.startswith(("neat.", "start.")) or key == "run.seed"
                    else "which the fitness of all earlier generations depends on"
                )
                changeable = ", ".join((*_CHANGEABLE, *WITHOUT_EFFECT))
                raise ValueError(
                    f"{key} is {_plainly(then.get(key))} in this run, {what}; it "
                    f"cannot become {_plainly(now.get(key))}. A run that goes on may "
                    f"change {changeable}; for anything else start a new one: "
                    "`substrax run DIR/config.toml` with that setting."
                )


def _plainly(value: Any) -> str:
    return shown(value).strip("'")


def _section_errors(section: str, make: Any, *arguments: Any) -> Any:
    try:
        return make(*arguments)
    except ValueError as error:
        raise ValueError(f"[{section}] {error}") from error


def _names(given: Mapping[str, Any]) -> tuple[str, str, str]:
    if "problem.name" not in given:
        raise ValueError(
            "an experiment needs a problem: write `[problem]` and below it, for "
            'example, `name = "xor"`. `substrax list` shows the problems.'
        )
    defaults = {"decoder.name": DEFAULT_DECODER, "neat.preset": DEFAULT_PRESET}
    problem, decoder, preset = (
        Setting(name, str, "").understand(given.get(name, defaults.get(name)))
        for name in _NAMES
    )
    return problem, decoder, preset


def _known(problem: str, decoder: str, preset: str) -> dict[str, Setting]:
    return (
        _schema.run_settings()
        | _schema.problem_settings(problem)
        | _schema.decoder_settings(decoder)
        | _schema.neat_settings(preset)
        | _schema.start_settings()
    )


def _full_key(
    key: str, known: Mapping[str, Setting], names: tuple[str, str, str]
) -> str:
    """The dotted key that a person means by `key`."""
    key = ALIASES.get(key, key)
    if key in known or key in _NAMES or key == "description":
        return key
    ends = [k for k in known if k.endswith("." + key)]
    if len(ends) == 1:
        return ends[0]
    if ends:
        # one section has it directly, another one deeper: the direct one is meant
        direct = [k for k in ends if k.count(".") == 1]
        if len(direct) == 1:
            return direct[0]
        raise ValueError(
            f"{shown(key)} may be any of {', '.join(ends)}; give it in full."
        )
    last = key.rpartition(".")[2]
    others = [
        name
        for name in (DECODERS if key in (last, f"decoder.{last}") else ())
        if f"decoder.{last}" in _schema.decoder_settings(name)
    ]
    if others:
        raise ValueError(
            f"{last} is a setting of the decoder{'s' if len(others) > 1 else ''} "
            f"{' and '.join(map(repr, others))}, but the "
            f"decoder here is {names[1]!r}. Leave it out, or add --rule {others[-1]}."
        )
    short = {k.rpartition(".")[2] for k in known}
    raise ValueError(
        f"there is no setting {shown(key)}{suggest(key, [*known, *short, *ALIASES])}. "
        "`substrax list EXPERIMENT` shows all settings of an experiment."
    )


def _resolve(name: str, given: Mapping[str, Any]) -> Experiment:
    """Gives every setting its value, from what was said and what the rest implies."""
    names = _names(given)
    known = _known(*names)
    values = {key: setting.default for key, setting in known.items()}
    for key, value in _schema.suggested(names[0]).items():
        if f"decoder.{key}" in known:
            values[f"decoder.{key}"] = value
    special: dict[str, Any] = {}
    for key, value in given.items():
        parts = key.split(".")
        if key in _NAMES or key == "description":
            continue
        if parts[0] == "decoder" and len(parts) == 3 and parts[1] in DECODERS:
            setting = _setting_of_decoder(key, parts[1], parts[2])
            if parts[1] == names[1]:
                special[setting.key] = setting.understand(value)
        elif key in known:
            values[key] = known[key].understand(value)
        else:
            full = _full_key(key, known, names)  # raises, unless it is only too short
            raise ValueError(
                f"there is no setting {shown(key)}; in full it is {shown(full)}."
            )
    values |= special
    if is_place(values["start.genome"]):
        values |= _read_start(values["start.genome"])

    def section(prefix: str) -> dict[str, Any]:
        return {
            key.removeprefix(prefix): value
            for key, value in values.items()
            if key.startswith(prefix)
        }

    return Experiment(
        name=name,
        description=Setting("description", str, "").understand(
            given.get("description", "")
        ),
        run=RunSettings(**section("run.")),
        problem=Section(names[0], section("problem.")),
        decoder=Section(names[1], section("decoder.")),
        neat=Section(names[2], section("neat.")),
        start=StartSettings(**section("start.")),
        given=dict(given),
    )


def _read_start(place: str) -> dict[str, Any]:
    """The section `start` for a genome from a file, or the best one of a run."""
    if not os.path.isdir(place):
        return read_file(place)
    experiment, run = load_run(place)
    best = run.best()
    if best is None:
        raise ValueError(
            f"the run in {place} has no best genome yet, so nothing can start from it."
        )
    decoder = experiment.build().decoder
    data = GenomeData.of(best.genome, decoder.genome_inputs, decoder.genome_outputs)
    origin = f"{place}, the best of generation {best.generation}"
    return given_settings(data, origin)


def _setting_of_decoder(key: str, decoder: str, name: str) -> Setting:
    settings = _schema.decoder_settings(decoder)
    if f"decoder.{name}" not in settings:
        short = [k.removeprefix("decoder.") for k in settings]
        raise ValueError(
            f"there is no setting {shown(key)}{suggest(name, short)}: the decoder "
            f"{shown(decoder)} has {', '.join(short)}."
        )
    return settings[f"decoder.{name}"]


def load_experiment(name_or_path: str | os.PathLike[str]) -> Experiment:
    """An experiment that comes with the package, by name, or one in a TOML file."""
    name, text = read_experiment(name_or_path)
    return Experiment.from_toml(text, name=name)


def load_run(directory: str | os.PathLike[str]) -> tuple[Experiment, RunDirectory]:
    """The experiment of a run directory, and the directory."""
    run = RunDirectory(directory)
    try:
        text = run.config_text()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{run.path / 'config.toml'} is not a text: byte {error.start} is not "
            "UTF-8. It is damaged."
        ) from error
    if not text:
        raise ValueError(
            f"{run.path} has no config.toml: its run was started from Python, by "
            "evolve(), and can be continued or looked at from there."
        )
    return Experiment.from_toml(text, name=str(run.path / "config.toml")), run
