"""An experiment: everything that a run depends on, checked."""

import dataclasses
import functools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from .._documents import parse_toml
from .._files import Piece
from .._resources import Progress
from .._types import shown
from ..decoders import AbstractDecoder
from ..evolution import (
    AbstractRecipe,
    Callback,
    Result,
    RunDirectory,
    check_limits,
    check_memory,
    check_shared,
    check_timeout,
    evolve,
    written,
)
from ..experiments import is_own, read_experiment
from ..methods import METHODS, AbstractMethod
from ..neat import NEAT, Genome, GenomeData, NEATConfig
from ..problems import PROBLEMS, AbstractProblem, ArrayProblem, arrays_pieces
from ..runs import CONFIG, read_config
from ..settings import (
    IN_PYTHON,
    NAMES,
    Resolved,
    Setting,
    changeable,
    changed,
    flatten,
    resolve,
)
from ..tensor import population_mesh
from ..workers import check_executor, check_reachable
from ._build import build_config, build_neat, genome_activations
from ._own import (
    ARRAYS,
    absolute,
    is_lost,
    moved,
    named,
    own_problem,
    suggestions,
)
from ._recipe import recipe_of
from ._run import RunSettings
from ._start import StartSettings, given_settings, is_place, read_file


@dataclasses.dataclass(frozen=True)
class Parts:
    """What an experiment consists of."""

    algorithm: NEAT
    decoder: AbstractDecoder
    problem: AbstractProblem


_MADE = ("problem", "_parts")
"""What an experiment makes when it is asked for, and another one may take over."""


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
                "it. Go on there: substrax.resume(DIR, problem=...). A problem, a "
                "function or a class that has a name in a file is found again."
            )
        problem = own_problem(name).make if is_own(name) else PROBLEMS[name]
        settings = self._section("problem")
        if name == ARRAYS:
            settings["path"] = self.folder / settings["path"]
        return _section_errors("problem", problem, settings)

    @property
    def target(self) -> float | None:
        """The fitness that is enough, if there is one and it is known here."""
        target = self.run.target
        if target is None and not self.is_elsewhere:
            target = self.problem.target
        return target if target is not None and math.isfinite(target) else None

    def _section(self, name: str) -> dict[str, Any]:
        """The settings of a section, without the name of the thing itself."""
        prefix = f"{name}."
        return {
            key.removeprefix(prefix): value
            for key, value in self.values.items()
            if key.startswith(prefix) and key not in NAMES
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
        return Resolved(self.description, self.values).to_toml()

    def with_settings(self, changes: Mapping[str, Any]) -> "Experiment":
        """The same with other values.

        Keys are dotted (`method.depth`), or the last part of one if there is only one
        such (`depth`), or one of the aliases `population`, `method`, `preset`. With
        another problem or method, settings that it does not have are forgotten.
        """
        # From what was said, not from all values: defaults follow the new names.
        given = changed(self.given, changes, _find_own)
        # What was said of one problem and method is not true of others.
        names = {"problem.name", "method.name"} & given.keys()
        is_other = any(given[name] != self.values[name] for name in names)
        if is_other and "description" not in changes:
            given.pop("description", None)
        # An object has settings of its own; with others, it is another problem.
        is_other = any(
            given.get(key) != self.given.get(key)
            for key in given.keys() | self.given.keys()
            if key.startswith("problem.")
        )
        own = None if is_other else self.own
        return self._shared_with(_resolve(self.name, given, own, self.folder))

    def _shared_with(self, other: "Experiment") -> "Experiment":
        """`other`, with the objects of this one as far as they are the same: another
        seed needs no table read once more, and no other program."""
        differing = {
            key.partition(".")[0]
            for key in self.values.keys() | other.values.keys()
            if self.values.get(key) != other.values.get(key)
        }
        has_same_problem = (
            "problem" not in differing if self.own is None else other.own is self.own
        )
        if has_same_problem and self.folder == other.folder:
            kept = ["problem"] if differing - {"run", "problem"} else _MADE
            for name in kept:
                if name in self.__dict__:  # (a cached property that was asked for)
                    other.__dict__[name] = self.__dict__[name]
        return other

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

    def with_start(self, genome: Genome | GenomeData, origin: str) -> "Experiment":
        """The same, starting from a genome; `origin` says where that is from."""
        if isinstance(genome, Genome):
            decoder = self.build().decoder
            names = decoder.genome_inputs, decoder.genome_outputs
            genome = GenomeData.of(genome, *names)
        return self.with_settings(given_settings(genome, origin))

    def with_data(self) -> tuple["Experiment", Iterator[Piece] | None]:
        """The same for a run directory that has the data set in it, and its content;
        None if the problem is no data set, or can be found by its name."""
        pieces = None
        if self.is_in_python and isinstance(self.own, ArrayProblem):
            pieces = arrays_pieces(self.own)
        if pieces is None:
            return self, None
        given = {**self.given, "problem.name": ARRAYS}
        made = _resolve(self.name, given, self.own, self.folder)
        return self._shared_with(made), pieces

    def build(self) -> Parts:
        """The objects, made once. Nothing is compiled."""
        run = self.run
        _section_errors("run", lambda: run.resources)
        return self._parts

    @functools.cached_property
    def _parts(self) -> Parts:
        # These say themselves which section is wrong.
        method, problem = self.method, self.problem
        layout = _section_errors("problem", lambda: problem.layout)
        activations = genome_activations(self.neat, self.start)
        decoder = _section_errors("method", lambda: method.decoder(layout, activations))
        algorithm = _section_errors(
            "neat", lambda: build_neat(self.neat, self.start, decoder)
        )
        return Parts(algorithm, decoder, problem)

    def check(self, executor: Executor | str | None = None) -> None:
        """Raises if it cannot be run here; nothing is made or compiled. `executor` is
        the one it is to be run with, if that is not the one of its settings."""
        _section_errors("run", check_limits, self.run.limits)
        _section_errors("run", lambda: check_timeout(self.run.slice_timeout))
        if self.run.devices is not None:  # are there so many?
            _section_errors("run", lambda: population_mesh(self.run.devices))
        executor = self.run.executor if executor is None else executor
        _section_errors("run", lambda: check_executor(executor))
        if executor is not None:
            check_shared(self.build().problem)
            written(self.recipe())
        algorithm = self.build().algorithm
        _section_errors("neat", lambda: check_memory(algorithm))
        check_reachable(executor)

    def recipe(self) -> AbstractRecipe:
        """How workers make what they need; a `ValueError` if they cannot."""
        return recipe_of(self)

    def evolve(
        self,
        *,
        executor: Executor | str | None = None,
        directory: RunDirectory | str | os.PathLike[str] | None = None,
        callbacks: Iterable[Callback] = (),
        on_progress: Callable[[Progress], None] | None = None,
        keep_compiled: bool = True,
    ) -> Result:
        """Runs the experiment; for the arguments see `substrax.evolution.evolve`."""
        parts = self.build()
        executor = self.run.executor if executor is None else executor
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
            executor=executor,
            slice_timeout=self.run.slice_timeout,
            recipe=None if executor is None else self.recipe(),
        )

    def check_continues(self, recorded: "Experiment") -> None:
        """Raises if a run of `recorded` cannot go on with these settings."""
        now, then = self.values, recorded.values
        free = changeable()
        for key in now.keys() | then.keys():
            if key not in free and now.get(key) != then.get(key):
                what = (
                    "which the state of the run consists of"
                    if key.startswith(("neat.", "start.")) or key == "run.seed"
                    else "which the fitness of all earlier generations depends on"
                )
                short = ", ".join(name.removeprefix("run.") for name in free)
                raise ValueError(
                    f"{key} is {_plainly(then.get(key))} in this run, {what}; it "
                    f"cannot become {_plainly(now.get(key))}. A run that goes on may "
                    f"change {short}; for anything else start a new one with that "
                    "setting: `substrax run DIR/config.toml`, or "
                    'substrax.evolve("DIR/config.toml") in Python.'
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


def _find_own(name: str) -> tuple[Mapping[str, Setting], Mapping[str, object]]:
    found = own_problem(name)
    return found.settings, found.suggested


def _resolve(
    name: str,
    given: Mapping[str, Any],
    own: AbstractProblem | None = None,
    folder: Path = Path(),
) -> Experiment:
    """Gives every setting its value, from what was said and what the rest implies."""
    name_given = given.get("problem.name")
    if isinstance(name_given, str) and is_own(name_given):
        given = {**given, "problem.name": absolute(name_given)}
    env = given.get("problem.env")
    if isinstance(env, str):  # also in a file, `my_file.py:Name-v0`
        given = {**given, "problem.env": absolute(env)}
    found = resolve(
        given,
        find_own=_find_own,
        suggested=None if own is None else suggestions(own),
    )
    problem = PROBLEMS.get(found.values["problem.name"])
    # Made first, and resolved once more: whether it suggests outputs for classes or for
    # numbers follows from its data.
    if own is None and suggests_by_data(problem) and found.values["problem.path"]:
        made = _made(problem, found.values)
        return _resolve(name, given, made, folder)
    values = dict(found.values)
    if is_place(values["start.genome"]):
        # Kept whole, so that a run does not depend on a file that may change.
        values |= _read_start(values["start.genome"])
    return Experiment(name, found.description, values, dict(given), own, folder)


def suggests_by_data(problem: type[AbstractProblem] | None) -> bool:
    """Whether what a problem suggests depends on its data."""
    return isinstance(getattr(problem, "suggested", None), property)


def _made(problem: Any, values: Mapping[str, Any]) -> AbstractProblem:
    """A problem whose data are there."""
    settings = {
        key.removeprefix("problem."): value
        for key, value in values.items()
        if key.startswith("problem.") and key not in NAMES
    }
    made = _section_errors("problem", problem, settings)
    _section_errors("problem", lambda: made.suggested)
    return made


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


def load_experiment(name_or_path: str | os.PathLike[str]) -> Experiment:
    """An experiment that comes with the package, by name, or one in a TOML file."""
    name, text = read_experiment(name_or_path)
    return Experiment.from_toml(text, name=name)


def load_run(
    directory: str | os.PathLike[str], own: AbstractProblem | None = None
) -> tuple[Experiment, RunDirectory]:
    """The experiment of a run directory, and the directory.

    `own` is its problem, if that is at hand.
    """
    run = RunDirectory(directory)
    name = str(run.path / CONFIG)
    given = flatten(parse_toml(read_config(run.path), name))
    given = _with_problem(given, run, own)
    experiment = _resolve(name, given, folder=run.path.absolute())
    if own is not None:
        experiment = dataclasses.replace(experiment, own=own)
    return experiment, run


def _with_problem(
    given: Mapping[str, Any], run: RunDirectory, own: AbstractProblem | None
) -> Mapping[str, Any]:
    """The settings of a run whose problem is in a file that may be elsewhere by now."""
    problem = given.get("problem.name")
    if not isinstance(problem, str) or not is_lost(problem):
        return given
    then, now = run.facts().get("directory"), run.path.absolute()
    if isinstance(then, str) and not is_lost(found := moved(problem, then, now)):
        return {**given, "problem.name": found}
    if own is None:
        raise ValueError(
            f"the problem of the run in {run.path} is {problem}, a file that does not "
            "exist. Put it there, or write in problem.name of "
            f"{run.path / CONFIG} where it is now. In Python, "
            "substrax.resume(DIR, problem=...) takes the problem itself."
        )
    others = {k: v for k, v in given.items() if not k.startswith("problem.")}
    name, values = named(own)
    return {**others, "problem.name": name, **values}
