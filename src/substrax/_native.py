"""The native engine: C++ for CPUs, where it was built.

It was compiled once or twice: for any processor, and on x86-64 for those with AVX2 and
FMA, which give the same bits many times faster. The C++ side trusts its arguments, so
everything that goes there goes through `Engine`, and is an array of the dtype and shape
that it says.
"""

import functools
import importlib
import logging
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import DTypeLike

from ._memory import scratch_error, show_bytes

logger = logging.getLogger(__name__)

PLAIN, FAST = "substrax._engine", "substrax._engine_fma"


def engine_or_warning() -> "Engine | None":
    """The native engine; None, with a word about it, where there is none."""
    found = engine()
    if found is None:
        _warn_once(
            f"{_why_missing()}, so networks are discovered and evaluated by JAX, which "
            f"takes many times as long. {_what_helps()}."
        )
    return found


def required() -> "Engine":
    found = engine()
    if found is None:
        raise ValueError(
            f"engine native was asked for, but {_why_missing()}. {_what_helps()}, or "
            "use engine auto."
        )
    return found


@functools.cache
def engine(name: str | None = None) -> "Engine | None":
    """The engine that fits this processor, or the one of a name."""
    if name is not None:
        module = _import(name).module
        return None if module is None else Engine(module)
    plain = _import(PLAIN).module
    if plain is None:
        return None
    # The plain one is asked: on a processor without them, no code for AVX2 may run.
    return Engine((_fast() or plain) if plain.has_fma() else plain)


def _fast() -> ModuleType | None:
    """The module for processors with AVX2 and FMA."""
    fast = _import(FAST)
    if fast.error is not None:
        _warn_once(
            "the native engine for this processor was built, but cannot be loaded "
            f"({fast.error}). The one for any processor takes its place, which takes "
            "longer. Install substrax again."
        )
    return fast.module


class _Imported(NamedTuple):
    """A module; or None, and what went wrong if it was built and is there."""

    module: ModuleType | None
    error: str | None = None


@functools.cache
def _import(name: str) -> _Imported:
    try:
        return _Imported(importlib.import_module(name))
    except ModuleNotFoundError as error:
        # It is there, but what it imports is not.
        if error.name != name:
            raise
        return _Imported(None)  # it was not built
    except ImportError as error:
        # A file that is damaged, or that wants a library which is not here.
        return _Imported(None, str(error))


def _why_missing() -> str:
    error = _import(PLAIN).error
    if error is None:
        return "the native engine was not built"
    return f"the native engine was built, but cannot be loaded ({error})"


def _what_helps() -> str:
    if _import(PLAIN).error is None:
        return "Install a C++ compiler and install substrax again"
    return "Install substrax again on this machine"


@functools.cache
def _warn_once(sentence: str) -> None:
    logger.warning(sentence)


# Kinds of refusals, as in src/native/refusal.hpp.
_TOO_MANY_POSITIONS, _QUADTREE_TOO_LARGE, _SCRATCH_FAILED = range(1, 4)
_POSITION_BYTES = 256


def native_array(values: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """An array as C++ reads it: of a dtype, without gaps, and where numbers may lie.

    Views of files and of records may begin at any byte, which not all code can read.
    """
    array = np.ascontiguousarray(values, dtype)
    return array if array.flags.aligned else array.copy()


class Engine:
    """The functions of the native module, with arrays as it wants them."""

    def __init__(self, module: ModuleType) -> None:
        self.module: Any = module
        # What networks took is used again: new memory costs more than new networks.
        self._memory = self.module.MemoryPool()

    def discover(
        self,
        programs: Any,
        layout: Any,
        rule: Any,
        settings: Any,
        *,
        num_threads: int,
        budget: int,
        open_scratch: Callable[[], int],
        on_progress: Callable[[int, int, int], None] | None,
        scratch: Any,
    ) -> dict[str, Any]:
        """Nodes and links of all genomes; links are arrays, or descriptors of files."""

        def refuse(kind: int, number: int, level: int) -> NoReturn:
            _refuse(kind, number, level, budget, scratch)

        return self.module.discover(
            programs,
            layout,
            rule,
            settings,
            self._memory,
            num_threads,
            open_scratch,
            on_progress,
            refuse,
        )

    def evaluate(
        self,
        networks: Any,
        inputs: np.ndarray,
        steps: int,
        *,
        budget: int,
        num_threads: int,
        outputs: np.ndarray,
    ) -> None:
        """Fills `outputs`; networks settle if `steps` is 0."""
        self.module.evaluate(
            networks, inputs, steps, budget, num_threads, outputs, _refuse_evaluation
        )

    def advance(
        self,
        networks: Any,
        inputs: np.ndarray,
        steps: int,
        *,
        budget: int,
        num_threads: int,
        state: np.ndarray,
        outputs: np.ndarray,
    ) -> None:
        """Replaces `state` by that after `steps` steps, and fills `outputs`."""
        self.module.advance(
            networks,
            inputs,
            steps,
            budget,
            num_threads,
            state,
            outputs,
            _refuse_evaluation,
        )


def _refuse(kind: int, number: int, level: int, budget: int, scratch: Any) -> NoReturn:
    if kind == _SCRATCH_FAILED:
        raise scratch_error(OSError(number, ""), scratch)
    if kind == _QUADTREE_TOO_LARGE:
        raise ValueError(
            f"one quadtree has {number:,} blocks at level {level}, more than "
            "one thread may keep. Raise memory_budget, use fewer threads, lower depth, "
            "or (strategy frontier) raise division_threshold."
        )
    # Python has the sentences: C++ only says which, and with what numbers.
    assert kind == _TOO_MANY_POSITIONS, kind
    raise ValueError(
        f"one genome has {number:,} positions, which take about "
        f"{show_bytes(number * _POSITION_BYTES)} while its links are found, more than "
        f"one thread's share of memory_budget ({show_bytes(budget)}) allows. Raise "
        "memory_budget, use fewer threads, lower depth, or raise variance_threshold."
    )


def _refuse_evaluation(kind: int, number: int, level: int) -> NoReturn:
    raise AssertionError(f"evaluation refuses nothing, but this: {kind}, {number}")
