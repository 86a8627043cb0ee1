"""The front door: from a function, arrays or a name to networks, in one call."""

from ._display import JSONLines as JSONLines
from ._display import Silent as Silent
from ._display import make_display as make_display
from ._evolve import evolve as evolve
from ._evolve import load as load
from ._evolve import resume as resume
from ._run import Run as Run
from ._seeds import SeedRuns as SeedRuns
from ._seeds import evolve_seeds as evolve_seeds
from ._seeds import seed_runs as seed_runs
