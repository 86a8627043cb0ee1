"""Problems of one's own, by name: `module:name`, or `file.py:name`."""

import ast
import dataclasses
import functools
import hashlib
import importlib
import importlib.util
import inspect
import math
import os
import sys
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._suggest import suggest
from .._types import brief, num_required, shown
from ..evolution import DATA
from ..problems import (
    PROBLEMS,
    AbstractProblem,
    FunctionProblem,
    HostProblem,
    read_arrays,
)
from ..settings import IN_PYTHON, Setting, setting_of
from ..substrate import Layout

SEPARATOR = ":"

ARRAYS = "arrays"
"""The name of a data set that lies in a file of ours."""


def absolute(name: str) -> str:
    """The same name with the whole path of its file, if it has one."""
    place, _, attribute = name.rpartition(SEPARATOR)
    if not place.endswith(".py"):
        return name
    return f"{Path(place).absolute()}{SEPARATOR}{attribute}"


def is_lost(name: str) -> bool:
    """Whether a name leads to a file that does not exist."""
    place, _, _ = name.rpartition(SEPARATOR)
    return place.endswith(".py") and not Path(place).is_file()


def moved(name: str, then: str, now: Path) -> str:
    """The same name for a file that moved together with a directory: where it lies as
    it lay before, seen from there."""
    place, _, attribute = name.rpartition(SEPARATOR)
    try:
        way = os.path.relpath(place, then)
    except ValueError:  # on another drive
        return name
    return f"{os.path.normpath(now / way)}{SEPARATOR}{attribute}"


@dataclasses.dataclass(frozen=True)
class OwnProblem:
    """What makes a problem, and the settings that it takes."""

    make: Callable[..., AbstractProblem]
    settings: Mapping[str, Setting]
    suggested: Mapping[str, object]


@functools.cache
def own_problem(name: str) -> OwnProblem:
    """What a name leads to; a sentence if that is nothing, or no problem.

    It may be a problem, a class of problems, a function that makes one (its parameters
    are the settings), or a fitness: a JAX function of a network, or of a network and a
    key. The last takes the settings `inputs`, `outputs`, `target` and
    `block_size`.
    """
    if name == ARRAYS:
        key = "problem.path"
        return OwnProblem(read_arrays, {key: Setting(key, str, DATA)}, {})
    found = _find(name)
    if isinstance(found, AbstractProblem):
        return OwnProblem(lambda: found, {}, suggestions(found))
    if isinstance(found, type):
        if not issubclass(found, AbstractProblem):
            raise ValueError(
                f"{name} is the class {found.__name__}, which is no problem; it must "
                "derive from substrax.problems.AbstractProblem."
            )
        return OwnProblem(found, _parameters(found), suggestions(found))
    if not callable(found):
        raise ValueError(
            f"{name} is {shown(found)}, which is neither a problem nor a function."
        )
    if num_required(found):
        make = functools.partial(_from_fitness, found)
        return OwnProblem(make, _OF_FITNESS, _FOR_FUNCTIONS)
    return OwnProblem(functools.partial(_made, name, found), _parameters(found), {})


def suggestions(problem: Any) -> Mapping[str, object]:
    """What a problem, or a class of problems, suggests for a method: nothing, if it
    leaves that out, or if only a problem with its data can say it. A function of
    somebody's own has biases suggested besides."""
    suggested = getattr(problem, "suggested", {})
    suggested = suggested if isinstance(suggested, Mapping) else {}
    is_function = isinstance(problem, FunctionProblem | HostProblem)
    return {**_FOR_FUNCTIONS, **suggested} if is_function else suggested


_FOR_FUNCTIONS = {
    f"{method}.outputs": ("weight", "bias") for method in ("emr", "hyperneat")
}
"""Data and built-in problems have an input that is always 1, where they need it; who
writes a function expects nodes to have biases. Without either, networks of tanh nodes
are odd functions but for a constant: to learn an even one, such as sin(3 x) y, no
network is better than one without links, and evolution ends there. The nodes of `es`
are sigmoids, and it stays as PUREPLES has it."""


_OF_FITNESS = {
    f"problem.{name}": Setting(f"problem.{name}", kind, default, (), False, is_optional)
    for name, kind, default, is_optional in (
        ("inputs", int, 0, False),
        ("outputs", int, 1, False),
        ("target", float, None, True),
        ("block_size", int, None, True),
    )
}


def _from_fitness(
    fn: Callable[..., Any],
    *,
    inputs: int,
    outputs: int,
    target: float | None,
    block_size: int | None,
) -> AbstractProblem:
    if inputs < 1 or outputs < 1:
        raise ValueError(
            "say how many inputs and outputs the networks for this fitness have: "
            "inputs = 3 and outputs = 1, for example (--inputs 3 --outputs 1)."
        )
    return FunctionProblem(
        fn,
        Layout.spread(inputs, outputs),
        float("inf") if target is None else target,
        block_size=block_size,
    )


def _made(name: str, make: Callable[..., Any], **settings: Any) -> AbstractProblem:
    problem = make(**settings)
    if not isinstance(problem, AbstractProblem):
        raise ValueError(
            f"{name} gave {shown(problem)}, which is no problem. A function without "
            "required parameters must make a problem; a fitness takes a network."
        )
    return problem


def _parameters(make: Callable[..., Any]) -> dict[str, Setting]:
    """Settings for the parameters of plain types that a class or a function has."""
    settings = {}
    # Resolved, as annotations may be texts (`from __future__ import annotations`).
    hints = typing.get_type_hints(make.__init__ if isinstance(make, type) else make)
    for name, parameter in inspect.signature(make).parameters.items():
        default = None if parameter.default is parameter.empty else parameter.default
        if name in hints:
            setting = setting_of(f"problem.{name}", hints[name], default)
            if setting is not None:
                settings[setting.key] = setting
    return settings


def _find(name: str) -> Any:
    place, _, attribute = name.rpartition(SEPARATOR)
    if not place or not attribute:
        raise ValueError(
            f"the problem {shown(name)} should be named as module:name or file.py:name."
        )
    module = _from_file(place) if place.endswith(".py") else _from_module(place)
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            names = [n for n in vars(module) if not n.startswith("_")]
            raise ValueError(
                f"there is no {attribute} in {place}{suggest(attribute, names)}."
                f"{_below_a_guard(module, attribute)}"
            )
        found = getattr(found, part)
    return found


def _from_module(name: str) -> types.ModuleType:
    # What lies in the current folder is found too, as with `python -m`.
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # It is there, but what it imports itself is not: its own error says most.
        # What is missing may also be something that the module itself imports.
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise ValueError(
            f"there is no module {name} (looked for in {here} and where Python is "
            "installed). Go to its folder, or name the file: folder/file.py:name."
        ) from None


class _EvolvesError(BaseException):
    """A file that is being read begins to evolve.

    No `Exception`: what the file itself catches must not catch it.
    """


def _below_a_guard(module: types.ModuleType, attribute: str) -> str:
    """A sentence about what only a program has, if the name is defined there."""
    try:
        tree = ast.parse(Path(module.__file__ or "").read_bytes())
    except (OSError, ValueError, SyntaxError):
        return ""
    first = attribute.partition(".")[0]
    guards = [
        part
        for part in tree.body
        if isinstance(part, ast.If) and "__main__" in ast.unparse(part.test)
    ]
    if first not in {n for guard in guards for s in guard.body for n in _defined(s)}:
        return ""
    return (
        ' Names defined below `if __name__ == "__main__":` cannot be imported; move '
        "the problem above it."
    )


def _defined(statement: ast.stmt) -> set[str]:
    """Names that a statement gives to something."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


_loading: list[str] = []
"""Files that are being read for the problems in them."""


def refuse_while_loading() -> None:
    """Ends the reading of a file that evolves when it is read, by a program that only
    looks for its problem: it would begin the same run again."""
    if _loading:
        raise _EvolvesError


def _from_file(place: str) -> types.ModuleType:
    path = Path(place).absolute()
    if not path.is_file():
        raise ValueError(f"the file of the problem, {brief(place)}, does not exist.")
    # The program itself: read once more, its classes would be others of the same name.
    main = sys.modules.get("__main__")
    if getattr(main, "__file__", None) and Path(main.__file__).absolute() == path:  # type: ignore[union-attr, arg-type]
        return main  # type: ignore[return-value]
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:12]
    name = f"substrax_own_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Before it runs, as an import does: dataclasses look for their module there.
    sys.modules[name] = module
    # What lies beside it is found, as when Python runs the file.
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    _loading.append(str(path))
    try:
        spec.loader.exec_module(module)
    except _EvolvesError:
        pass  # what it evolves is there by now
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        _loading.pop()
    return module


def name_of(thing: Any) -> str | None:
    """`module:name` or `file.py:name` for a function or class, if that leads to it."""
    module_name = getattr(thing, "__module__", None)
    attribute = getattr(thing, "__qualname__", None)
    # `<lambda>` and `<locals>` lead nowhere.
    if not module_name or not attribute or "<" in attribute:
        return None
    module = sys.modules.get(module_name)
    place = None if module is None else _place(module)
    found: Any = module
    for part in attribute.split("."):
        found = getattr(found, part, None)
    # The name may mean something else by now.
    is_there = place is not None and found is thing
    return f"{place}{SEPARATOR}{attribute}" if is_there else None


def named(problem: AbstractProblem) -> tuple[str, dict[str, Any]]:
    """The name and the settings from which a problem can be made again, if there are
    any; else the name is `IN_PYTHON`."""
    for name, cls in PROBLEMS.items():
        if type(problem) is cls:
            return _by_class(name, problem)
    if isinstance(problem, FunctionProblem):
        found = _by_fitness(problem)
    else:
        name = name_of(type(problem))
        found = (IN_PYTHON, {}) if name is None else _by_class(name, problem)
    if found[0] == IN_PYTHON and (name := _global_name(problem)) is not None:
        return name, {}
    return found


def _global_name(problem: AbstractProblem) -> str | None:
    """The name of a problem that a module has, `file.py:problem`. Looked at are the
    program itself and the modules of the functions that the problem has."""
    parts = vars(problem).values() if hasattr(problem, "__dict__") else ()
    functions = [inspect.unwrap(part) for part in parts if callable(part)]
    modules = {str(getattr(function, "__module__", "")) for function in functions}
    # In one order, so that a problem with two names gets the same one each time; the
    # program last, which may have a name only while it runs as one.
    for module_name in [*sorted(modules - {"__main__"}), "__main__"]:
        module = sys.modules.get(module_name)
        place = None if module is None else _place(module)
        if place is None:
            continue
        for name, value in vars(module).items():
            if value is problem and name.isidentifier():
                return f"{place}{SEPARATOR}{name}"
    return None


def _place(module: types.ModuleType) -> str | None:
    """How a module is found again: by its name, or by its file if it has no name."""
    name = module.__name__
    if name != "__main__" and not name.startswith("substrax_own_"):
        return name
    file = getattr(module, "__file__", None)
    return str(Path(file).absolute()) if file and file.endswith(".py") else None


def _by_class(name: str, problem: AbstractProblem) -> tuple[str, dict[str, Any]]:
    """If each parameter of the class is a plain value that the problem has kept."""
    settings = _parameters(type(problem))
    values: dict[str, Any] = {}
    for parameter in inspect.signature(type(problem)).parameters:
        key = f"problem.{parameter}"
        if key not in settings or not hasattr(problem, parameter):
            return IN_PYTHON, {}
        try:
            values[key] = settings[key].understand(getattr(problem, parameter))
        except ValueError:
            return IN_PYTHON, {}
    return name, values


def _by_fitness(problem: FunctionProblem) -> tuple[str, dict[str, Any]]:
    name = name_of(inspect.unwrap(problem.fn))
    layout = Layout.spread(problem.num_inputs, problem.num_outputs)
    # The settings of a fitness say how many nodes there are, and not where they lie.
    is_plain = np.array_equal(layout.points, problem.layout.points)
    if name is None or not is_plain or problem.measure_fns or problem.suggested:
        return IN_PYTHON, {}
    target = problem.target if math.isfinite(problem.target) else None
    return name, {
        "problem.inputs": problem.num_inputs,
        "problem.outputs": problem.num_outputs,
        "problem.target": target,
        "problem.block_size": problem.block_size,
    }
