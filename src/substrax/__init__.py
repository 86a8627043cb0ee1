"""NEAT, HyperNEAT, ES-HyperNEAT and EMR-HyperNEAT: JAX, and C++ for CPUs.

```python
import substrax as sx

run = sx.evolve("xor", generations=100)
run.best([[0, 1]])
```

What is used most has a name here; each package is imported by its own name, as in
`from substrax.neat import NEAT`.
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._resources import Progress as Progress
    from ._resources import Resources as Resources
    from .config import Experiment as Experiment
    from .config import load_experiment as load_experiment
    from .evolution import Generation as Generation
    from .front import Run as Run
    from .front import SeedRuns as SeedRuns
    from .front import Sweep as Sweep
    from .front import evolve as evolve
    from .front import evolve_seeds as evolve_seeds
    from .front import load as load
    from .front import resume as resume
    from .front import sweep as sweep
    from .models import Model as Model
    from .problems import ArrayProblem as ArrayProblem
    from .problems import FunctionProblem as FunctionProblem
    from .problems import HostProblem as HostProblem
    from .problems import data_problem as data_problem
    from .substrate import Layout as Layout

__version__ = _version("substrax")

# Only when asked for: the command line answers before it imports anything large.
_CALLS = ("evolve", "evolve_seeds", "load", "resume", "sweep")
_PLACES = {
    "_resources": ("Progress", "Resources"),
    "config": ("Experiment", "load_experiment"),
    "evolution": ("Generation",),
    "front": ("Run", "SeedRuns", "Sweep", *_CALLS),
    "models": ("Model",),
    "problems": ("ArrayProblem", "FunctionProblem", "HostProblem", "data_problem"),
    "substrate": ("Layout",),
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names}
_PACKAGES = ("methods", "problems", "report", "trackers")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(_import_module(f"{__name__}.{_MODULES[name]}"), name)
    if name in _PACKAGES:
        return _import_module(f"{__name__}.{name}")
    from ._suggest import suggest

    meant = suggest(name, [*_MODULES, *_PACKAGES])
    # with an object of its own, so that Python does not suggest the same again
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}{meant}", name=name, obj=None
    )


def __dir__() -> list[str]:
    return sorted({"__version__", *_MODULES, *_PACKAGES})
