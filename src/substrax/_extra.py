"""Libraries that not everybody has."""

import importlib
import importlib.util
import sys
from types import ModuleType

TRACKER_LIBRARIES = {
    "tensorboard": "tensorboardX",
    "wandb": "wandb",
    "mlflow": "mlflow",
}
"""What each tracker needs; it comes with the extra of the tracker's name."""


def require_extra(module: str, extra: str) -> None:
    """Raises an `ImportError` that says how to install a library, if it is missing.

    It is not imported, so that this can be asked before anything else is done.
    """
    if not _is_there(module):
        raise ImportError(f"{module} is missing; {_advice(extra)}")


def _is_there(module: str) -> bool:
    if module in sys.modules:
        return sys.modules[module] is not None
    found = importlib.util.find_spec(module)
    # W&B keeps its runs in ./wandb, which Python takes for an empty package.
    return found is not None and found.origin is not None


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
    if getattr(found, "__file__", None) is None:  # an empty package, as above
        sys.modules.pop(module, None)
        raise ImportError(f"{module} is missing; {advice}")
    return found
