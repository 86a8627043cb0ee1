"""Substrates that are discovered: cells, rules, connections."""

from ._activity import ActiveCells as ActiveCells
from ._activity import active_cells as active_cells
from ._cells import num_cells as num_cells
from ._connections import CONFIGURATIONS as CONFIGURATIONS
from ._connections import LINK_CLASSES as LINK_CLASSES
from ._discover import Discovery as Discovery
from ._discover import NetworkSettings as NetworkSettings
from ._discover import discover as discover
from ._discover import express as express
from ._emr import EMRRule as EMRRule
from ._es import ESRule as ESRule
from ._layout import MAX_POINTS as MAX_POINTS
from ._layout import Layout as Layout
from ._layout import line as line
from ._layout import normalise as normalise
from ._layout import rectangle as rectangle
from ._rule import STRATEGIES as STRATEGIES
from ._rule import AbstractRule as AbstractRule
from ._weights import WEIGHT_MAPS as WEIGHT_MAPS
from ._weights import WeightMap as WeightMap
