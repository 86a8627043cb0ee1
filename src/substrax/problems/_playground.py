"""Environments of MuJoCo Playground."""

import dataclasses
import functools
from typing import Any, ClassVar

from .._extra import import_extra
from .._suggest import suggest
from .._types import brief, shown
from ._jax_world import Dynamics, JaxWorld, as_usual, robot_dynamics, robot_facts
from ._world import Facts


@dataclasses.dataclass(frozen=True, eq=False)
class Playground(JaxWorld):
    """An environment of MuJoCo Playground (extra `playground`), as `CartpoleBalance`.

    `env_args` are settings of its configuration; unless they say otherwise, `impl=jax`,
    which runs on any device. Of observations that come in several parts, networks see
    `state`. Nobody has said when one of them is solved: give a `target`, or take the
    best. For the other settings see `WorldProblem`.
    """

    name: ClassVar[str] = "playground"
    suggested: ClassVar[dict[str, object]] = {"output_activation": "identity"}

    @functools.cached_property
    def _made(self) -> tuple[Any, int]:
        playground = import_extra("mujoco_playground", "playground")
        registry = playground.registry
        known = registry.ALL_ENVS
        if self.env not in known:
            raise ValueError(
                f"playground has no environment {shown(self.env)}"
                f"{suggest(self.env, known)}. It has {', '.join(sorted(known))}."
            )
        config = registry.get_default_config(self.env)
        overrides = {"impl": "jax"} if "impl" in config else {}
        try:
            with as_usual():
                env = registry.load(
                    self.env, config_overrides=overrides | self.arguments
                )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"env_args do not fit {self.env} ({brief(error)}); its configuration "
                f"has {', '.join(config.keys())}."
            ) from error
        return env, int(config.episode_length)

    @functools.cached_property
    def facts(self) -> Facts:
        env, num_steps = self._made
        return robot_facts(env, num_steps)

    @functools.cached_property
    def dynamics(self) -> Dynamics:
        return robot_dynamics(self._made[0])
