"""Functions of the loop, compiled with options that make compiling shorter."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax

Function = TypeVar("Function", bound=Callable[..., Any])

# XLA makes machine code of a program's loops in so many parts, 32 unless told
# otherwise. Fewer parts repeat less work; there are enough for eight cores. Results do
# not change. (A lower level of optimisation would compile faster still, but rounds
# differently, and compiling without fusion emitters makes slower code.)
_OPTIONS = {"cpu": {"xla_cpu_parallel_codegen_split_count": 8}}


@functools.cache
def compiler_options(platform: str) -> dict[str, Any] | None:
    """Options for a platform; None where this jaxlib does not know them."""
    options = _OPTIONS.get(platform)
    if options is None:
        return None
    try:
        jax.jit(lambda: 0, compiler_options=options).lower().compile()
    except Exception:  # which one depends on the version; without options it works
        return None
    return options


def quickly_compiled(function: Function) -> Function:
    """`jax.jit`, with options for the platform; not for use in a jitted function."""

    @functools.cache
    def jitted(platform: str) -> Callable[..., Any]:
        return jax.jit(function, compiler_options=compiler_options(platform))

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return jitted(jax.default_backend())(*arguments)

    return call  # pyright: ignore[reportReturnType]
