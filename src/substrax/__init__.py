"""Tensorised NEAT, HyperNEAT, ES-HyperNEAT and EMR-HyperNEAT, in JAX.

Each package is imported by its own name, as in `from substrax.neat import NEAT`.
"""

from importlib.metadata import version as _version

from ._resources import Progress as Progress
from ._resources import Resources as Resources

__version__ = _version("substrax")
