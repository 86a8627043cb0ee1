"""What the problems of the robot share: its settings, and how a drive becomes a
fitness."""

import abc
import functools
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from .._resources import Resources
from .._types import check_settings
from ..network import Networks
from ..substrate import Layout
from ._base import (
    AbstractProblem,
    TracedFitness,
    check_choice,
    check_networks,
    check_positive,
    check_single,
)
from ._function import run_outcomes
from ._maze_drive import robot_layout
from ._maze_robot import RADARS


class RobotProblem(AbstractProblem):
    """A network drives the robot through a world."""

    radar: str
    max_steps: int

    is_separable: ClassVar[bool | None] = True
    suggested: ClassVar[dict[str, object]] = {"output_activation": "sigmoid"}

    @abc.abstractmethod
    def _journey(self) -> Callable:
        """The function that is compiled, from a network and a key to how a drive ended.

        Of that, `is_finite` says whether the network's outputs were.
        """

    @abc.abstractmethod
    def _scores(self, end: Any) -> Float[np.ndarray, " networks"]:
        """The fitness of networks by how their drives ended."""

    @abc.abstractmethod
    def _told(self, end: Any) -> dict[str, float]:
        """What else can be said of one network."""

    def __post_init__(self) -> None:
        check_settings(self)
        check_choice("radar", self.radar, RADARS)
        check_positive("max_steps", self.max_steps)

    @functools.cached_property
    def layout(self) -> Layout:
        return robot_layout()

    def fitness(
        self,
        networks: Networks,
        *,
        key: Key[Array, ""],
        resources: Resources | None = None,
    ) -> Float[np.ndarray, " networks"]:
        check_networks(self, networks)
        if not len(networks):
            return np.zeros(0)
        traced = self.traced()
        return traced.fitness(run_outcomes(traced.outcome, networks, key, resources))

    def traced(self) -> TracedFitness:
        def fitness(end: Any) -> np.ndarray:
            return np.where(end.is_finite > 0, self._scores(end), np.nan)

        return TracedFitness(self._journey(), fitness)

    def measures(self, network: Networks) -> dict[str, float]:
        check_single(self, network)
        return self._told(run_outcomes(self._journey(), network, jax.random.key(0)))
