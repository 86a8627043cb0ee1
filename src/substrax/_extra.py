"""Libraries that not everybody has."""

import importlib
import importlib.util
import sys
from types import ModuleType


def require_extra(module: str, extra: str) -> None:
    """Raises an `ImportError` that says how to install a library, if it is missing.

    It is not imported, so that this can be asked before anything else is done.
    """
    if importlib.util.find_spec(module) is None:
        raise ImportError(f"{module} is missing; {_advice(extra)}")


def _advice(extra: str) -> str:
    return f"install it with: pip install 'substrax[{extra}]'"


def import_extra(module: str, extra: str) -> ModuleType:
    """A library; an `ImportError` says how to install it."""
    advice = _advice(extra)
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        if getattr(error, "name", None) == module:
            raise ImportError(f"{module} is missing; {advice}") from error
        raise ImportError(f"{module} cannot be used ({error}); {advice}") from error
    # W&B keeps its runs in ./wandb, which Python takes for an empty package.
    if getattr(found, "__file__", None) is None:
        sys.modules.pop(module, None)
        raise ImportError(f"{module} is missing; {advice}")
    return found
