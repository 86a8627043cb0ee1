"""What a run is: all settings that its results depend on, as plain values."""

import ast
import dataclasses
import hashlib
import inspect
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..decoders import AbstractDecoder
from ..neat import NEAT
from ..problems import AbstractProblem

_WITHOUT_EFFECT = (
    "decoder.strategy",
    # room, which grows where there is too little
    "neat.max_nodes",
    "neat.max_links",
    "neat.max_species",
    # who may evaluate
    "problem.is_separable",
)
"""Settings that decide about time and memory, never about results."""


def identity_of(
    algorithm: NEAT, decoder: AbstractDecoder, problem: AbstractProblem, seed: int
) -> dict[str, Any]:
    """Settings by dotted names. Arrays and files of data are there as digests,
    functions by their names."""
    flat: dict[str, Any] = {"seed": seed}
    _flatten("neat", algorithm.config, flat)
    _flatten("start", algorithm.start, flat)
    flat |= identity_of_parts(decoder, problem)
    for name in _WITHOUT_EFFECT:
        flat.pop(name, None)
    return flat


def identity_of_parts(
    decoder: AbstractDecoder, problem: AbstractProblem
) -> dict[str, Any]:
    """The same of what evaluates genomes."""
    flat: dict[str, Any] = {}
    _flatten("decoder", decoder, flat)
    _flatten("problem", problem, flat)
    for name, value in problem.data_digest().items():
        flat[f"problem.{name}"] = value
    for name in _WITHOUT_EFFECT:
        flat.pop(name, None)
    # What it was before there were such settings.
    for name in ("problem.block_size", "problem.separator"):
        if flat.get(name, 0) is None:
            del flat[name]
    return flat


def code_of(problem: AbstractProblem) -> dict[str, str]:
    """Digests of the code that a problem of somebody's own brings along: its class and
    the functions among its fields, without comments and layout.

    A run may go on when code has changed, since a fault may have been mended in it; but
    not without a word.
    """
    parts = {type(problem).__name__: type(problem)}
    if dataclasses.is_dataclass(problem):
        for field in dataclasses.fields(problem):
            value = getattr(problem, field.name)
            if callable(value):
                function = inspect.unwrap(value)
                parts[getattr(function, "__qualname__", field.name)] = function
    found = {name: _code(part) for name, part in parts.items()}
    return {name: digest for name, digest in found.items() if digest is not None}


def _code(part: Any) -> str | None:
    module = getattr(part, "__module__", None) or ""
    if module.partition(".")[0] == "substrax":
        return None
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(part)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None  # there is no source, or none that stands by itself
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()[:32]


def difference(then: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """The first setting that differs, in words; None if none does."""
    for name in sorted(then.keys() | now.keys()):
        if then.get(name) != now.get(name):
            before, after = _shown(then.get(name)), _shown(now.get(name))
            return f"{name} was {before} and is {after} now"
    return None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _flatten(name: str, value: Any, flat: dict[str, Any]) -> None:
    if value is None or isinstance(value, bool | int | float | str):
        flat[name] = value
    elif isinstance(value, np.ndarray | np.generic | jax.Array):
        array = np.asarray(value)
        flat[name] = array.item() if array.ndim == 0 else _digest(array)
    elif dataclasses.is_dataclass(value):
        # The class itself is a setting: another one may have the same fields.
        flat[name] = type(value).__name__
        for field in dataclasses.fields(value):
            _flatten(f"{name}.{field.name}", getattr(value, field.name), flat)
    elif isinstance(value, Mapping):
        for key in value:
            _flatten(f"{name}.{key}", value[key], flat)
    elif isinstance(value, list | tuple):
        # Its length, too: an empty list would leave no trace of itself.
        flat[name] = len(value)
        for number, part in enumerate(value):
            _flatten(f"{name}.{number}", part, flat)
    elif callable(value):
        kind = getattr(value, "__qualname__", type(value).__qualname__)
        flat[name] = f"{_home(value)}.{kind}"
    else:
        flat[name] = type(value).__qualname__


def _home(function: Any) -> str:
    """Where a function comes from: its file rather than its module. One and the same
    file is `__main__` as a program, and something else when a run is resumed."""
    module = getattr(function, "__module__", None) or ""
    file = getattr(sys.modules.get(module), "__file__", None)
    stem = Path(file).stem if file else "__init__"
    return module if stem == "__init__" else stem


def _digest(array: np.ndarray) -> str:
    if array.dtype.hasobject:
        # The bytes of such an array are addresses in this process.
        content = repr(array.tolist()).encode()
    else:
        content = np.ascontiguousarray(array).tobytes()
    kind = f"{array.dtype.str} {array.shape} ".encode()
    return "sha256:" + hashlib.sha256(kind + content).hexdigest()[:32]
