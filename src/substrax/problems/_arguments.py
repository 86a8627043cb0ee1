"""What a fitness of somebody's own asks for, and what it is called."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .._types import POSITIONAL, num_required


def two_arguments(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A fitness of networks and a key, whether or not it asks for the key."""
    if _takes_key(fn):
        return fn

    @functools.wraps(fn)
    def with_key(network: Any, key: Any) -> Any:
        return fn(network)

    # Python would look at what is wrapped, and see one argument again.
    both = [inspect.Parameter(name, POSITIONAL[1]) for name in ("network", "key")]
    with_key.__signature__ = inspect.Signature(both)  # type: ignore[attr-defined]
    return with_key


def _takes_key(fn: Callable[..., Any]) -> bool:
    """Whether a function has to be given a key, or says that it would take one."""
    if num_required(fn) >= 2:
        return True
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return False
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return True
    # a second one of another name is a setting of the function: f(network, steps=20)
    names = [p.name for p in parameters if p.kind in POSITIONAL]
    return names[1:2] == ["key"]


def function_name(fn: Callable[..., Any], otherwise: str) -> str:
    """What a problem is called that has a function and no name."""
    return getattr(fn, "__name__", otherwise)
