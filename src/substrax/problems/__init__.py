"""Problems: networks to fitness. Those built in, and three doors for your own."""

from ._arrays import ArrayProblem as ArrayProblem
from ._arrays_file import arrays_pieces as arrays_pieces
from ._arrays_file import read_arrays as read_arrays
from ._base import AbstractProblem as AbstractProblem
from ._base import Evaluation as Evaluation
from ._base import TracedFitness as TracedFitness
from ._brax import Brax as Brax
from ._cartpole import CartPole as CartPole
from ._data import data_problem as data_problem
from ._data_words import data_in_words as data_in_words
from ._double_pole import DoublePole as DoublePole
from ._dual_task import DualTask as DualTask
from ._fitness import checked_fitness as checked_fitness
from ._function import AT_ONCE as AT_ONCE
from ._function import FunctionProblem as FunctionProblem
from ._gymnasium import Gymnasium as Gymnasium
from ._gymnax import Gymnax as Gymnax
from ._host import HostProblem as HostProblem
from ._logic import XOR as XOR
from ._logic import Parity as Parity
from ._loss import LOSSES as LOSSES
from ._loss import auc as auc
from ._maze import HardMaze as HardMaze
from ._network_function import NetworkFunction as NetworkFunction
from ._panel import Panel as Panel
from ._panel_data import PanelData as PanelData
from ._panel_data import generate_panel as generate_panel
from ._panel_data import read_panel as read_panel
from ._playground import Playground as Playground
from ._preparation import Label as Label
from ._preparation import Preparation as Preparation
from ._retina import Retina as Retina
from ._retina import retina_patterns as retina_patterns
from ._table_problem import Table as Table
from ._visual import VisualDiscrimination as VisualDiscrimination
from ._visual import transfer as transfer
from ._visual_small import VisualSmall as VisualSmall
from ._world import Watched as Watched
from ._world import WorldProblem as WorldProblem

PROBLEMS: dict[str, type[AbstractProblem]] = {
    "xor": XOR,
    "parity": Parity,
    "retina": Retina,
    "visual": VisualDiscrimination,
    "visual-small": VisualSmall,
    "panel": Panel,
    "table": Table,
    "cartpole": CartPole,
    "double-pole": DoublePole,
    "hard-maze": HardMaze,
    "dual-task": DualTask,
    "gymnasium": Gymnasium,
    "gymnax": Gymnax,
    "brax": Brax,
    "playground": Playground,
}
"""The built-in problems by name."""
