"""NEAT, HyperNEAT, ES-HyperNEAT and EMR-HyperNEAT: JAX, and C++ for CPUs.

Each package is imported by its own name, as in `from substrax.neat import NEAT`.
"""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._resources import Progress as Progress
    from ._resources import Resources as Resources

__version__ = _version("substrax")


def __getattr__(name: str) -> Any:
    # Only when asked for: the command line answers before it imports anything large.
    if name in ("Progress", "Resources"):
        from . import _resources

        return getattr(_resources, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
