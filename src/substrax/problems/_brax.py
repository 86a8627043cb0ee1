"""Environments of Brax."""

import dataclasses
import functools
from typing import Any, ClassVar

from .._extra import import_extra
from .._suggest import suggest
from .._types import brief, shown
from ._jax_world import Dynamics, JaxWorld, as_usual, robot_dynamics, robot_facts
from ._world import Facts

_STEPS = 1000
"""Of an episode, which Brax leaves to those who train."""


@dataclasses.dataclass(frozen=True, eq=False)
class Brax(JaxWorld):
    """An environment of Brax (extra `brax`), by its name, as `ant`.

    `env_args` are those of the environment, such as `backend=mjx`. Nobody has said when
    one of them is solved: give a `target`, or take the best. For the other settings see
    `WorldProblem`.
    """

    name: ClassVar[str] = "brax"
    suggested: ClassVar[dict[str, object]] = {"output_activation": "identity"}

    @functools.cached_property
    def _made(self) -> Any:
        envs = import_extra("brax.envs", "brax")
        known = sorted(envs._envs)
        if self.env not in known:
            raise ValueError(
                f"brax has no environment {shown(self.env)}{suggest(self.env, known)}. "
                f"It has {', '.join(known)}."
            )
        try:
            with as_usual():
                return envs.get_environment(self.env, **self.arguments)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"brax cannot make {shown(self.env)}: {brief(error)}."
            ) from error

    @functools.cached_property
    def facts(self) -> Facts:
        return robot_facts(self._made, _STEPS)

    @functools.cached_property
    def dynamics(self) -> Dynamics:
        return robot_dynamics(self._made)
