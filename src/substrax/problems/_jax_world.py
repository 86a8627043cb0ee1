"""Environments in JAX: the whole population, all episodes, in one compiled program."""

import abc
import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Key

from .._resources import Resources
from ..network import Networks
from ..worlds import Box, Interface, Seen
from ._base import TracedFitness
from ._function import run_outcomes
from ._network_function import NetworkFunction
from ._world import LIMIT, Episodes, Facts, WorldProblem


class Dynamics(NamedTuple):
    """An environment as functions of one episode, by JAX operations."""

    reset: Callable[[Key[Array, ""]], tuple[Any, Any]]
    """From a key to a state and an observation."""
    step: Callable[[Key[Array, ""], Any, Any], tuple[Any, Any, Any, Any]]
    """From a key, a state and an action to the next state, the observation, the reward,
    and whether it is over."""


class JaxWorld(WorldProblem):
    """An environment in JAX."""

    # Each network by itself, but XLA may round otherwise for another number of them.
    is_separable = True
    block_size = None

    @functools.cached_property
    @abc.abstractmethod
    def dynamics(self) -> Dynamics:
        """The environment itself."""

    def play(
        self,
        networks: Networks,
        num_episodes: int,
        key: Key[Array, ""],
        resources: Resources | None,
    ) -> Episodes:
        fn = self._journey(num_episodes)
        arguments = (key, *self._scales)
        return Episodes(*run_outcomes(fn, networks, arguments, resources))

    def live(self, mode: str | None) -> "_Live":
        return _Live(self.dynamics, self.picture if mode == "rgb_array" else None)

    def picture(self, state: Any) -> np.ndarray | None:
        """What the environment looks like in a state; None if nobody can draw it."""
        return None

    def traced(self) -> TracedFitness:
        return TracedFitness(
            self._journey(self.episodes),
            lambda outcomes: self.judged(Episodes(*outcomes)),
            self._scales,
            lambda outcomes: self.evaluation_of(Episodes(*outcomes)),
        )

    @property
    def _scales(self) -> tuple[np.ndarray, np.ndarray]:
        shift, scale = self.scales
        return shift.astype(np.float32), scale.astype(np.float32)

    def _journey(self, num_episodes: int) -> Callable[..., Any]:
        return _journey(
            self.dynamics,
            self.interface,
            num_episodes,
            self.steps,
            self.action_repeat,
            self.normalise == "running",
        )


class _Live:
    """One environment that is watched."""

    def __init__(
        self, dynamics: Dynamics, picture: Callable[[Any], np.ndarray | None] | None
    ) -> None:
        self._reset, self._step = jax.jit(dynamics.reset), jax.jit(dynamics.step)
        self._picture, self._state = picture, None
        self._key = jax.random.key(0)

    def reset(self, seed: int) -> Any:
        key_reset, self._key = jax.random.split(jax.random.key(seed))
        with as_usual():
            self._state, seen = self._reset(key_reset)
        return jax.tree.map(np.asarray, seen)

    def step(self, action: Any) -> tuple[Any, float, bool]:
        self._key, key = jax.random.split(self._key)
        with as_usual():
            self._state, seen, reward, is_over = self._step(key, self._state, action)
        reward = float(np.asarray(reward).reshape(()))
        return jax.tree.map(np.asarray, seen), reward, bool(is_over)

    def picture(self) -> np.ndarray | None:
        return None if self._picture is None else self._picture(self._state)

    def close(self) -> None:
        pass


@functools.lru_cache(maxsize=32)
def _journey(
    dynamics: Dynamics,
    interface: Interface,
    num_episodes: int,
    max_steps: int,
    action_repeat: int,
    is_running: bool,
) -> Callable[..., Any]:
    """The function that is compiled: one object for each setting."""
    num_seen = len(interface.visible)

    def reset(keys):
        with as_usual():
            states, seen = jax.vmap(dynamics.reset)(keys)
            return jax.tree.map(_strong, states), seen

    def advance(keys, states, actions):
        with as_usual():
            after, seen, reward, is_over = jax.vmap(dynamics.step)(
                keys, states, actions
            )
            # Some environments take over the shape or the dtype of an action.
            after = jax.tree.map(
                lambda new, old: new.reshape(old.shape).astype(old.dtype), after, states
            )
            return after, seen, reward.reshape(num_episodes), is_over

    def journey(network: NetworkFunction, arguments: Any) -> tuple[Any, ...]:
        key, shift, scale = arguments
        dtype = network.dtype
        shift, scale = jnp.asarray(shift, dtype)[None], jnp.asarray(scale, dtype)[None]
        key_reset, key_run = jax.random.split(key)
        states, seen = reset(jax.random.split(key_reset, num_episodes))
        rows = interface.rows(seen).astype(dtype)

        def is_going(carry):
            return carry["is_on"].any() & (carry["time"] < max_steps)

        def look(carry):
            """Adds up what was seen, as differences from the mean before."""
            away = jnp.where(
                carry["is_on"][:, None], carry["row"] - shift[:, -num_seen:], 0
            )
            num, total, square = carry["seen"]
            return Seen(
                num + carry["is_on"].sum(dtype=jnp.int32),
                total + away.sum(axis=0),
                square + (away**2).sum(axis=0),
            )

        def step(carry):
            key = jax.random.fold_in(key_run, carry["time"])
            key_act, key_step = jax.random.split(key)
            inputs = (carry["frames"] - shift) / scale
            if is_running:
                inputs = jnp.clip(inputs, -LIMIT, LIMIT)
            memory, outputs = network.step(carry["memory"], inputs)
            is_on = carry["is_on"]
            is_finite = (
                carry["is_finite"]
                & jnp.isfinite(outputs).all(axis=1, where=is_on[:, None]).all()
            )
            noise = None
            if interface.is_random:
                noise = jax.random.gumbel(key_act, outputs.shape, outputs.dtype)
            actions = interface.actions(outputs, noise)
            now = carry | {"memory": memory, "is_finite": is_finite}
            if is_running:
                now["seen"] = look(carry)
            for repeat in range(action_repeat):
                keys = jax.random.split(
                    jax.random.fold_in(key_step, repeat), num_episodes
                )
                states, seen, reward, is_over = advance(keys, now["states"], actions)
                rows = interface.rows(seen).astype(dtype)
                reward = reward.astype(dtype)
                is_on = now["is_on"] & (now["time"] < max_steps)
                is_sound = jnp.isfinite(reward) & jnp.isfinite(rows).all(axis=1)
                now |= {
                    "states": states,
                    "row": rows,
                    "total": now["total"] + jnp.where(is_on, reward, 0),
                    "length": now["length"] + is_on.astype(jnp.int32),
                    "is_sound": now["is_sound"] & (is_sound | ~is_on).all(),
                    # nothing more is to be learnt from what is not finite
                    "is_on": is_on & ~is_over.astype(bool) & is_sound,
                    "time": now["time"] + 1,
                }
            return now | {"frames": interface.frames(carry["frames"], now["row"])}

        carry = {
            "states": states,
            "row": rows,
            "frames": interface.frames(None, rows),
            "memory": network.start(num_episodes),
            "is_on": jnp.ones(num_episodes, bool),
            "total": jnp.zeros(num_episodes, dtype),
            "length": jnp.zeros(num_episodes, jnp.int32),
            "time": jnp.asarray(0, jnp.int32),
            "is_sound": jnp.isfinite(rows).all(),
            "is_finite": jnp.asarray(True),
        }
        if is_running:
            carry["seen"] = Seen(
                jnp.asarray(0, jnp.int32), *jnp.zeros((2, num_seen), dtype)
            )
        end = lax.while_loop(is_going, step, carry)
        return (
            end["total"],
            end["length"],
            end.get("seen"),
            end["is_sound"],
            end["is_finite"],
        )

    return journey


def _strong(x: Any) -> jax.Array:
    """Without a weak type, which a loop would not keep."""
    return lax.convert_element_type(x, jnp.asarray(x).dtype)


@contextlib.contextmanager
def as_usual() -> Iterator[None]:
    """JAX as environments expect it, however strict the caller is."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def robot_facts(env: Any, max_steps: int) -> Facts:
    """Of environments that are made like those of Brax: sizes, and actions between -1
    and 1."""
    with as_usual():
        size = env.observation_size
    if isinstance(size, Mapping):
        size = size["state"]
    num_seen = int(np.prod(size))
    return Facts(
        Box(np.full(num_seen, -np.inf), np.full(num_seen, np.inf)),
        Box(np.full(env.action_size, -1.0), np.full(env.action_size, 1.0)),
        max_steps,
        None,
        getattr(env, "substrate", None),
    )


def robot_dynamics(env: Any) -> Dynamics:
    """The same of how they go on."""

    def seen(state):
        return state.obs["state"] if isinstance(state.obs, Mapping) else state.obs

    def reset(key):
        state = env.reset(key)
        return state, seen(state)

    def step(key, state, action):
        state = env.step(state, action)
        return state, seen(state), state.reward, state.done > 0

    return Dynamics(reset, step)
