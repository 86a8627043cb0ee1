"""What a rule is: which nodes and links the pattern of a CPPN means.

A rule is its settings, here; one file of C++ (src/native/rule_*.hpp), which the native
engine runs; and a function of JAX for devices (tensor/_rules.py).
"""

import abc
from typing import Any, ClassVar

from .._native import Engine
from .._types import shown
from ._cells import MAX_DEPTH, num_cells

STRATEGIES = ("auto", "eager", "frontier")
"""Ways to find the same nodes and links; they differ in time and memory."""


class AbstractRule(abc.ABC):
    """Rules are frozen dataclasses: their fields are their settings, checked."""

    name: ClassVar[str]
    """How the configuration and the command line call it."""
    title: ClassVar[str]
    """How people call the algorithm."""
    cells_caption: ClassVar[str]
    """What active cells are, for the caption of a figure; see `active_cells`."""
    explores_outputs: ClassVar[bool]
    """Whether links to outputs are found by exploring, not by asking about pairs."""

    depth: int
    """D, the deepest level."""

    @property
    @abc.abstractmethod
    def is_acyclic(self) -> bool:
        """Whether its networks have no cycles."""

    @property
    @abc.abstractmethod
    def has_band(self) -> bool:
        """Whether the neighbours of a cell are asked about as well."""

    @property
    @abc.abstractmethod
    def last_whole_level(self) -> int:
        """The deepest level all of whose cells are asked about, whatever the pattern
        is; it may be deeper than the grid."""

    @property
    @abc.abstractmethod
    def num_rounds(self) -> int:
        """How many times new hidden positions are explored from."""

    @property
    @abc.abstractmethod
    def explored_classes(self) -> frozenset[int]:
        """The classes of links that exploring from hidden positions looks for."""

    @property
    @abc.abstractmethod
    def pair_classes(self) -> frozenset[int]:
        """The classes of links between hidden positions that are asked for by pairs."""

    @property
    @abc.abstractmethod
    def pair_threshold(self) -> float:
        """What the |weight| of a link that is asked for by pairs must exceed."""

    @abc.abstractmethod
    def native_settings(self, native: Engine, *, is_eager: bool) -> Any:
        """The settings as the native engine takes them."""

    @abc.abstractmethod
    def check_strategy(self, strategy: str, budget: int) -> None:
        """Refuses what would take too long, or too much memory."""


def check_known_strategy(strategy: str) -> None:
    if strategy not in STRATEGIES:
        raise ValueError(
            f"unknown strategy {shown(strategy)}: use one of {STRATEGIES}."
        )


def check_depth(depth: int) -> None:
    if not 0 <= depth <= MAX_DEPTH:
        raise ValueError(f"depth must lie between 0 and {MAX_DEPTH}, not {depth}.")


def num_quads(depth: int) -> int:
    """Quads of a whole grid."""
    return num_cells(depth) // 4
