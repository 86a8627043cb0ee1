"""Substrates that are discovered: cells, rules, strategies, connections."""

from ._activity import ActiveCells as ActiveCells
from ._activity import active_cells as active_cells
from ._cells import num_cells as num_cells
from ._connections import CONFIGURATIONS as CONFIGURATIONS
from ._connections import LINK_CLASSES as LINK_CLASSES
from ._discover import discover as discover
from ._emr import EMRRule as EMRRule
from ._es import ESRule as ESRule
from ._exploration import Exploration as Exploration
from ._fields import STRATEGIES as STRATEGIES
from ._layout import Layout as Layout
from ._layout import line as line
from ._layout import normalise as normalise
from ._layout import rectangle as rectangle
from ._progress import Estimate as Estimate
from ._progress import Progress as Progress
from ._progress import watch_discovery as watch_discovery
from ._weights import WeightMap as WeightMap
from ._wiring import Wiring as Wiring
