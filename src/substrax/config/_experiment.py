"""An experiment: everything that a run depends on, checked."""

import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .._documents import parse_toml
from .._files import Piece
from .._resources import Progress
from .._suggest import suggest
from .._types import shown
from ..decoders import AbstractDecoder
from ..evolution import (
    Callback,
    Result,
    RunDirectory,
    check_limits,
    check_memory,
    evolve,
)
from ..experiments import is_own, read_experiment
from ..methods import METHODS, AbstractMethod
from ..neat import NEAT, GenomeData, NEATConfig
from ..problems import PROBLEMS, AbstractProblem, ArrayProblem, arrays_pieces
from . import _schema
from ._build import build_config, build_neat, genome_activations
from ._own import ARRAYS, IN_PYTHON, absolute, named, own_problem
from ._schema import CHANGEABLE, DEFAULT_METHOD, DEFAULT_PRESET, RunSettings
from ._settings import Setting
from ._start import StartSettings, given_settings, is_place, read_file
from ._toml import dump_toml, flatten

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

_WITHOUT_EFFECT = ("method.strategy",)
"""Settings that decide about time and memory, never about results."""

_NAMES = ("problem.name", "method.name", "neat.preset")


@dataclasses.dataclass(frozen=True)
class Parts:
    """What an experiment consists of."""

    algorithm: NEAT
    decoder: AbstractDecoder
    problem: AbstractProblem


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A problem, a method, NEAT, and when to stop; every setting has its value.

    Made by `Experiment.from_toml`, `load_experiment` or `load_run`; changed by
    `with_settings`, which makes another one. `run`, `method`, `neat` and `start` are
    its settings as objects; these, and `problem`, are made when they are first asked
    for.
    """

    name: str
    description: str
    values: Mapping[str, Any]
    """All settings under their dotted keys."""
    given: Mapping[str, Any]
    """What was said, as opposed to what followed from it."""
    own: AbstractProblem | None = None
    """The problem, if it was given as an object."""
    folder: Path = Path()
    """What paths of data sets are relative to."""

    @property
    def problem_name(self) -> str:
        return self.values["problem.name"]

    @property
    def is_in_python(self) -> bool:
        """Whether its problem exists in one program only."""
        return self.problem_name == IN_PYTHON

    @property
    def is_elsewhere(self) -> bool:
        """Whether that is another program, so that it cannot be made."""
        return self.is_in_python and self.own is None

    @functools.cached_property
    def run(self) -> RunSettings:
        return _section_errors("run", RunSettings, self._section("run"))

    @functools.cached_property
    def start(self) -> StartSettings:
        return _section_errors("start", StartSettings, self._section("start"))

    @functools.cached_property
    def method(self) -> AbstractMethod:
        method = METHODS[self.values["method.name"]]
        return _section_errors("method", method, self._section("method"))

    @functools.cached_property
    def neat(self) -> NEATConfig:
        """NEAT's settings; how many inputs and outputs genomes have is left open."""
        return _section_errors(
            "neat", lambda **s: build_config(s), self._section("neat")
        )

    @functools.cached_property
    def problem(self) -> AbstractProblem:
        name = self.problem_name
        if self.own is not None:
            return self.own
        if self.is_elsewhere:
            raise ValueError(
                "the problem of this run exists only in the Python program that began "
                "it. Go on there: substrax.resume(DIR, problem=...). A function or a "
                "class that lies in a file would have been found again."
            )
        problem = own_problem(name).make if is_own(name) else PROBLEMS[name]
        settings = self._section("problem")
        if name == ARRAYS:
            settings["path"] = self.folder / settings["path"]
        return _section_errors("problem", problem, settings)

    def _section(self, name: str) -> dict[str, Any]:
        """The settings of a section, without the name of the thing itself."""
        prefix = f"{name}."
        return {
            key.removeprefix(prefix): value
            for key, value in self.values.items()
            if key.startswith(prefix) and key not in _NAMES
        }

    @staticmethod
    def of(problem: AbstractProblem) -> "Experiment":
        """An experiment for a problem that is there already."""
        name, values = named(problem)
        return _resolve(problem.name, {"problem.name": name, **values}, problem)

    @staticmethod
    def from_toml(text: str, *, name: str = "experiment") -> "Experiment":
        """Reads and checks a document; an unknown key or a bad value is an error."""
        return _resolve(name, flatten(parse_toml(text, name)))

    def to_toml(self) -> str:
        """All settings, also those that were left out."""
        flat = {"description": self.description} if self.description else {}
        return dump_toml(flat | dict(self.values))

    def with_settings(self, changes: Mapping[str, Any]) -> "Experiment":
        """The same with other values.

        Keys are dotted (`method.depth`), or the last part of one if there is only one
        such (`depth`), or one of the aliases `population`, `method`, `preset`. With
        another problem or method, settings that it does not have are forgotten.
        """
        given, own = dict(self.given), self.own
        short = {key.replace("-", "_"): value for key, value in changes.items()}
        # The names come first: they decide which other settings there are.
        for key, value in short.items():
            if ALIASES.get(key, key) in _NAMES:
                given[ALIASES.get(key, key)] = value
                own = None if ALIASES.get(key, key) == "problem.name" else own
        known = _known(*_names(given))
        for key in [k for k in given if k.split(".")[0] in ("problem", "method")]:
            if key not in known and key not in _NAMES and key.count(".") == 1:
                del given[key]
        for key, value in short.items():
            if ALIASES.get(key, key) not in _NAMES:
                full = _full_key(key, known, _names(given))
                given[full] = value
                own = None if full.startswith("problem.") else own
                for method in METHODS:  # what is said now is meant for all of them
                    name = full.removeprefix("method.")
                    given.pop(f"method.{method}.{name}", None)
        return _resolve(self.name, given, own, self.folder)

    def with_method(self, method: str | AbstractMethod) -> "Experiment":
        """The same with another method: by name, or with all of its settings."""
        if isinstance(method, str):
            return self.with_settings({"method.name": method})
        if type(method) not in METHODS.values():
            raise ValueError(
                f"a method is one of substrax.methods ({', '.join(METHODS)}), not "
                f"{shown(method)}."
            )
        values = dataclasses.asdict(method)  # type: ignore[call-overload]
        settings = {f"method.{name}": value for name, value in values.items()}
        return self.with_settings({"method.name": method.name, **settings})

    def with_data(self) -> tuple["Experiment", Iterator[Piece] | None]:
        """The same for a run directory that has the data set in it, and its content;
        None if the problem is no data set, or can be found by its name."""
        pieces = None
        if self.is_in_python and isinstance(self.own, ArrayProblem):
            pieces = arrays_pieces(self.own)
        if pieces is None:
            return self, None
        given = {**self.given, "problem.name": ARRAYS}
        return _resolve(self.name, given, self.own, self.folder), pieces

    def build(self) -> Parts:
        """The objects, made once. Nothing is compiled."""
        return self._parts

    @functools.cached_property
    def _parts(self) -> Parts:
        _section_errors("run", lambda: self.run.resources)
        problem = self.problem
        layout = _section_errors("problem", lambda: problem.layout)
        activations = genome_activations(self.neat, self.start)
        decoder = _section_errors(
            "method", lambda: self.method.decoder(layout, activations)
        )
        algorithm = _section_errors(
            "neat", lambda: build_neat(self.neat, self.start, decoder)
        )
        return Parts(algorithm, decoder, problem)

    def check(self) -> None:
        """Raises if it cannot be run here; nothing is made or compiled."""
        _section_errors("run", check_limits, self.run.limits)
        algorithm = self.build().algorithm
        _section_errors("neat", lambda: check_memory(algorithm))

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
        now, then = self.values, recorded.values
        free = {f"run.{name}" for name in CHANGEABLE}
        free |= set(_WITHOUT_EFFECT)
        for key in now.keys() | then.keys():
            if key not in free and now.get(key) != then.get(key):
                what = (
                    "which the state of the run consists of"
                    if key.startswith(("neat.", "start.")) or key == "run.seed"
                    else "which the fitness of all earlier generations depends on"
                )
                changeable = ", ".join((*CHANGEABLE, *_WITHOUT_EFFECT))
                raise ValueError(
                    f"{key} is {_plainly(then.get(key))} in this run, {what}; it "
                    f"cannot become {_plainly(now.get(key))}. A run that goes on may "
                    f"change {changeable}; for anything else start a new one: "
                    "`substrax run DIR/config.toml` with that setting."
                )


def _plainly(value: Any) -> str:
    return shown(value).strip("'")


def _section_errors(
    section: str, make: Any, settings: Mapping[str, Any] | None = None
) -> Any:
    """What `make` makes; an error names the section."""
    try:
        return make(**(settings or {}))
    except ValueError as error:
        raise ValueError(f"[{section}] {error}") from error


def _names(given: Mapping[str, Any]) -> tuple[str, str, str]:
    if "problem.name" not in given:
        raise ValueError(
            "an experiment needs a problem: write `[problem]` and below it, for "
            'example, `name = "xor"`. `substrax list` shows the problems.'
        )
    defaults = {"method.name": DEFAULT_METHOD, "neat.preset": DEFAULT_PRESET}
    problem, method, preset = (
        Setting(name, str, "").understand(given.get(name, defaults.get(name)))
        for name in _NAMES
    )
    return absolute(problem) if is_own(problem) else problem, method, preset


def _known(problem: str, method: str, preset: str) -> dict[str, Setting]:
    return (
        _schema.run_settings()
        | _schema.problem_settings(problem)
        | _schema.method_settings(method)
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
    first, dot, rest = key.partition(".")
    if first in RENAMED:
        raise ValueError(
            f"there is no setting {shown(key)}: what was {first} is {RENAMED[first]} "
            f"now. Write {shown(RENAMED[first] + dot + rest)}."
        )
    last = key.rpartition(".")[2]
    others = [
        name
        for name in (METHODS if key in (last, f"method.{last}") else ())
        if f"method.{last}" in _schema.method_settings(name)
    ]
    if others:
        raise ValueError(
            f"{last} is a setting of the method{'s' if len(others) > 1 else ''} "
            f"{' and '.join(map(repr, others))}, but the "
            f"method here is {names[1]!r}. Leave it out, or add --method {others[-1]}."
        )
    short = {k.rpartition(".")[2] for k in known}
    raise ValueError(
        f"there is no setting {shown(key)}{suggest(key, [*known, *short, *ALIASES])}. "
        "`substrax list EXPERIMENT` shows all settings of an experiment."
    )


def _resolve(
    name: str,
    given: Mapping[str, Any],
    own: AbstractProblem | None = None,
    folder: Path = Path(),
) -> Experiment:
    """Gives every setting its value, from what was said and what the rest implies."""
    names = _names(given)
    known = _known(*names)
    values: dict[str, Any] = dict(zip(_NAMES, names, strict=True))
    values |= {key: setting.default for key, setting in known.items()}
    suggested = _schema.suggested(names[0]) if own is None else own.suggested
    for key, value in suggested.items():
        if f"method.{key}" in known:
            values[f"method.{key}"] = value
    special: dict[str, Any] = {}
    for key, value in given.items():
        parts = key.split(".")
        if key in _NAMES or key == "description":
            continue
        if parts[0] == "method" and len(parts) == 3 and parts[1] in METHODS:
            setting = _setting_of_method(key, parts[1], parts[2])
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

    description = Setting("description", str, "").understand(
        given.get("description", "")
    )
    return Experiment(name, description, values, dict(given), own, folder)


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


def _setting_of_method(key: str, method: str, name: str) -> Setting:
    settings = _schema.method_settings(method)
    if f"method.{name}" not in settings:
        short = [k.removeprefix("method.") for k in settings]
        raise ValueError(
            f"there is no setting {shown(key)}{suggest(name, short)}: the method "
            f"{shown(method)} has {', '.join(short)}."
        )
    return settings[f"method.{name}"]


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
    experiment = Experiment.from_toml(text, name=str(run.path / "config.toml"))
    return dataclasses.replace(experiment, folder=run.path.absolute()), run
