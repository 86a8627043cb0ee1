"""Functions of the loop, compiled in less time than usual, and kept."""

import functools
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import jax

from .._compile_cache import num_cache_hits
from . import _programs
from ._compile_clock import compiling

Result = TypeVar("Result")

# XLA makes machine code of a program's loops in so many parts, 32 unless told
# otherwise. Fewer parts repeat less work; there are enough for eight cores. Results do
# not change. (Other options were tried and gain nothing: lower levels of optimisation
# take as long, and compiling without fusion emitters makes slower code.)
_OPTIONS = {"cpu": {"xla_cpu_parallel_codegen_split_count": 8}}


@functools.cache
def compiler_options(platform: str) -> dict[str, Any] | None:
    """Options for a platform; None where this jaxlib does not know them."""
    options = _OPTIONS.get(platform)
    if options is None:
        return None
    try:
        # Options that are not known are an error only when something is compiled.
        jax.jit(lambda: 0, compiler_options=options).lower().compile()
    except Exception:  # which one depends on the version; without options it works
        return None
    return options


class Compiled(Generic[Result]):
    """`jax.jit` with options for the platform; not for use in a jitted function.

    **Arguments:**

    - `function`: of arrays and trees of them, by position.
    - `like`: from the same arguments to a tree of the same structure as the result's,
      without tracing. If it is given, programs are kept whole between processes.
    """

    def __init__(
        self,
        function: Callable[..., Result],
        like: Callable[..., Any] | None = None,
    ) -> None:
        self.function, self.like = function, like
        self.__doc__ = function.__doc__
        self._programs: dict[Any, Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Result:
        leaves, structure = jax.tree.flatten(arguments)
        kinds = tuple(map(jax.typeof, leaves))
        # A program that is compiled takes arguments of one kind only.
        where = (_programs.state_of_jax(), structure, kinds)
        program = self._programs.get(where)
        if program is not None:
            return program(*arguments)
        with compiling():  # here, or in the first call
            program = self._programs[where] = self._make(arguments)
            return program(*arguments)

    def _make(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        options = compiler_options(jax.default_backend())
        name, like = self.function.__name__, self.like
        entry = None if like is None else _programs.find(name, arguments, options)
        if like is None or entry is None:
            return jax.jit(self.function, compiler_options=options)
        program = entry.load(arguments, lambda: jax.tree.structure(like(*arguments)))
        if program is None:
            # By a name of its own, so that JAX's cache has it only if it was kept here.
            named = lambda *args: self.function(*args)
            named.__name__ = entry.name
            before = num_cache_hits()
            jitted = jax.jit(named, compiler_options=options)
            program = jitted.lower(*arguments).compile()
            # What JAX loaded from its cache cannot be written again: parts are gone.
            if num_cache_hits() == before:
                entry.keep(program)
        return program
