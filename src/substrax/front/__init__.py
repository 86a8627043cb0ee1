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
from ._sweep import Sweep as Sweep
from ._sweep import make_workers as make_workers
from ._sweep import missing_extras as missing_extras
from ._sweep import prepare_sweep as prepare_sweep
from ._sweep import run_sweep as run_sweep
from ._sweep import sweep as sweep
from ._sweep import write_results as write_results
from ._sweep_display import SweepJSON as SweepJSON
from ._sweep_display import SweepSilent as SweepSilent
from ._sweep_display import make_sweep_display as make_sweep_display
from ._sweep_plan import Prepared as Prepared
from ._sweep_plan import read_shard as read_shard
from ._sweep_plan import shared as shared
