"""Experiments: TOML to checked settings to objects, and back."""

from ..experiments import builtin_experiments as builtin_experiments
from ..settings import Setting as Setting
from ._experiment import Experiment as Experiment
from ._experiment import Parts as Parts
from ._experiment import load_experiment as load_experiment
from ._experiment import load_run as load_run
from ._own import refuse_while_loading as refuse_while_loading
from ._run import RunSettings as RunSettings
