"""Environments of gymnax."""

import dataclasses
import functools
import logging
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from .._extra import import_extra
from .._suggest import suggest
from .._types import brief, shown
from ..worlds import space_of
from ._jax_world import Dynamics, JaxWorld
from ._world import Facts

_log = logging.getLogger("substrax")
_THRESHOLDS = {
    "CartPole-v1": 475.0,
    "MountainCar-v0": -110.0,
    "MountainCarContinuous-v0": 90.0,
    "Acrobot-v1": -100.0,
}
"""What gymnasium asks for in environments that gymnax has from there."""


@dataclasses.dataclass(frozen=True, eq=False)
class Gymnax(JaxWorld):
    """An environment of gymnax (extra `gymnax`), by its name, as `CartPole-v1`.

    `env_args` are its parameters, such as `max_steps_in_episode=200`. What is solved is
    what gymnasium says of environments of the same name. For the other settings see
    `WorldProblem`.
    """

    name: ClassVar[str] = "gymnax"
    suggested: ClassVar[dict[str, object]] = {"output_activation": "identity"}

    @functools.cached_property
    def _made(self) -> tuple[Any, Any]:
        gymnax = import_extra("gymnax", "gymnax")
        known = gymnax.registered_envs
        if self.env not in known:
            raise ValueError(
                f"gymnax has no environment {shown(self.env)}"
                f"{suggest(self.env, known)}. It has {', '.join(known)}."
            )
        env, params = gymnax.make(self.env)
        try:
            return env, params.replace(**self.arguments)
        except TypeError as error:
            names = ", ".join(field.name for field in dataclasses.fields(params))
            raise ValueError(
                f"env_args do not fit {self.env} ({brief(error)}); it has {names}."
            ) from None

    @functools.cached_property
    def facts(self) -> Facts:
        env, params = self._made
        return Facts(
            space_of(env.observation_space(params)),
            space_of(env.action_space(params), is_action=True),
            int(params.max_steps_in_episode),
            _THRESHOLDS.get(self.env),
            getattr(env, "substrate", None),
        )

    @functools.cached_property
    def dynamics(self) -> Dynamics:
        env, params = self._made

        def reset(key):
            seen, state = env.reset_env(key, params)
            return state, seen

        def step(key, state, action):
            seen, state, reward, is_over, *_ = env.step_env(key, state, action, params)
            if hasattr(env, "is_truncated"):
                is_over = is_over | env.is_truncated(state, params)
            return state, seen, jnp.asarray(reward), jnp.asarray(is_over)

        return Dynamics(reset, step)

    @functools.cached_property
    def _visualiser(self) -> Any:
        """That of gymnax, which draws with Matplotlib."""
        return import_extra("gymnax.visualize", "gymnax").Visualizer

    def picture(self, state: Any) -> np.ndarray | None:
        env, params = self._made
        try:
            drawn = self._visualiser(env, params, [state])
            drawn.init()
            if not hasattr(drawn, "im"):  # of a kind that gymnax cannot draw
                return None
            drawn.ax.set_axis_off()
            drawn.fig.canvas.draw()
            return np.asarray(drawn.fig.canvas.buffer_rgba())[..., :3].copy()
        except (ImportError, AttributeError) as error:
            _log.warning("%s cannot be drawn: %s.", self.env, brief(error))
            return None
        finally:
            import_extra("matplotlib.pyplot", "report").close("all")
