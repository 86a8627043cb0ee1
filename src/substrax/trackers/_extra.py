"""Libraries that not everybody has."""

import importlib
from types import ModuleType


def import_extra(module: str, extra: str) -> ModuleType:
    """A library; an `ImportError` says how to install it."""
    advice = f"install it with: pip install 'substrax[{extra}]'"
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        if getattr(error, "name", None) == module:
            raise ImportError(f"{module} is missing; {advice}") from error
        raise ImportError(f"{module} cannot be used ({error}); {advice}") from error
    # W&B keeps its runs in ./wandb, which Python takes for an empty package.
    if getattr(found, "__file__", None) is None:
        raise ImportError(f"{module} is missing; {advice}")
    return found
