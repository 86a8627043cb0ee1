"""Environments of gymnasium: programs of the host, stepped side by side."""

import dataclasses
import functools
import importlib.util
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Array, Key

from .._extra import import_extra
from .._places import place_of
from .._resources import Resources
from .._types import brief, shown
from ..network import Networks, Stepper
from ..substrate import Layout
from ..worlds import Box, Seen, batched, one_of, space_of
from ._world import LIMIT, Episodes, Facts, WorldProblem

_AT_ONCE = 256
"""Environments that exist at the same time, at most: enough to evaluate networks in
batches, and few enough for the memory."""


@dataclasses.dataclass(frozen=True, eq=False)
class Gymnasium(WorldProblem):
    """An environment of gymnasium (extra `gymnasium`), by its id, as `LunarLander-v3`,
    `my_file.py:Name-v0` if a file of yours registers it, or `module:Name-v0` if a
    module does.

    All networks and episodes are stepped side by side; for many cores or machines use
    an executor (`--executor processes:8`). What is solved is what the environment's
    registration says (`reward_threshold`). For the other settings see `WorldProblem`.
    """

    name: ClassVar[str] = "gymnasium"
    suggested: ClassVar[dict[str, object]] = {"output_activation": "identity"}
    is_separable: ClassVar[bool | None] = True
    has_window: ClassVar[bool] = True

    @functools.cached_property
    def _pool(self) -> "_Pool":
        return _Pool(self.env, self.arguments)

    def __getstate__(self) -> dict[str, Any]:
        # Whoever is sent this makes environments of their own.
        fields = {field.name for field in dataclasses.fields(self)}
        return {name: x for name, x in self.__dict__.items() if name in fields}

    @functools.cached_property
    def facts(self) -> Facts:
        env = self._pool.first
        spec = env.spec
        threshold = None if spec is None else spec.reward_threshold
        return Facts(
            space_of(env.observation_space),
            space_of(env.action_space, is_action=True),
            None if spec is None else spec.max_episode_steps,
            None if threshold is None else float(threshold),
            _layout_of(env),
        )

    def live(self, mode: str | None) -> "_Live":
        modes = self._pool.first.metadata.get("render_modes", [])
        if mode == "human" and mode not in modes:
            raise ValueError(
                f"{self.env} cannot be watched in a window; it offers "
                f"{', '.join(modes) or 'nothing to be watched'}."
            )
        # (environments that cannot be watched need not know the word)
        shown = {"render_mode": mode} if mode in modes else {}
        return _Live(self, self._pool.make(**shown))

    def play(
        self,
        networks: Networks,
        num_episodes: int,
        key: Key[Array, ""],
        resources: Resources | None,
    ) -> Episodes:
        words = np.asarray(jax.random.key_data(key)).ravel().tolist()
        seeds = np.random.SeedSequence(words).generate_state(num_episodes).tolist()
        num_networks = max(1, _AT_ONCE // num_episodes)
        parts = []
        for begin in range(0, len(networks), num_networks):
            some = networks.part(begin, min(begin + num_networks, len(networks)))
            parts.append(_Play(self, some, seeds, words, resources).run())
        joined: list[Any] = [
            None if one[0] is None else jax.tree.map(lambda *x: np.concatenate(x), *one)
            for one in zip(*parts, strict=True)
        ]
        return Episodes(*joined)


class _Live:
    """One environment that is watched."""

    def __init__(self, problem: Gymnasium, env: Any) -> None:
        self._problem, self._env = problem, env

    def reset(self, seed: int) -> Any:
        return asked(self._problem.env, self._env, "reset", seed=seed)[0]

    def step(self, action: Any) -> tuple[Any, float, bool]:
        seen, reward, is_over, is_cut, _ = asked(
            self._problem.env, self._env, "step", action
        )
        return seen, float(reward), bool(is_over or is_cut)

    def picture(self) -> np.ndarray | None:
        if self._env.render_mode is None:
            return None
        picture = self._env.render()
        return picture if isinstance(picture, np.ndarray) else None

    def close(self) -> None:
        self._env.close()


class _Pool:
    """Environments, made when they are needed and kept."""

    def __init__(self, name: str, arguments: dict[str, Any]) -> None:
        self._gymnasium = import_extra("gymnasium", "gymnasium")
        self._name, self._arguments = name, arguments
        self._id = _registered(name)
        self._envs: list[Any] = []

    @property
    def first(self) -> Any:
        return self.some(1)[0]

    def some(self, num: int) -> list[Any]:
        while len(self._envs) < num:
            self._envs.append(self.make())
        return self._envs[:num]

    def make(self, **others: Any) -> Any:
        """One more, for example one that can be watched."""
        try:
            return self._gymnasium.make(
                self._id, disable_env_checker=True, **self._arguments, **others
            )
        except ImportError as error:  # such as Box2D
            raise ImportError(
                f"{self._name} needs more than gymnasium itself: {brief(error)}."
            ) from error
        except Exception as error:
            about = f"gymnasium cannot make {shown(self._name)}: {_ended(brief(error))}"
            if isinstance(error, self._gymnasium.error.Error):
                raise ValueError(
                    f"{about} If a file of your own registers it, name that file, too: "
                    "my_file.py:Name-v0. `python -c 'import gymnasium; "
                    "gymnasium.pprint_registry()'` shows what comes with gymnasium."
                ) from error
            if self._arguments:
                raise ValueError(f"{about} Do env_args fit it?") from error
            raise


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith(("?", "!", ".")) else f"{sentence}."


@functools.cache
def _run_file(path: Path) -> None:
    """Runs a file that registers environments, once."""
    name = f"substrax_worlds_{path.stem}_{abs(hash(path))}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:  # what lies beside it is found
        sys.path.append(str(path.parent))
    spec.loader.exec_module(module)


def _registered(name: str) -> str:
    """The id of an environment, once the file or the module that registers it has
    done so."""
    place, colon, env_id = name.rpartition(":")
    if not colon:
        return name
    if place.endswith(".py"):
        path = Path(place).absolute()
        if not path.is_file():
            raise ValueError(
                f"the file of the environment, {place}, does not exist. Give its path "
                f"as it is seen from here, as in folder/{path.name}:{env_id}."
            )
        try:
            _run_file(path)
        except Exception as error:
            raise ValueError(
                f"{place} cannot be run: {type(error).__name__}: {brief(error)}."
            ) from error
        return env_id
    try:
        importlib.import_module(place)
    except Exception as error:  # whatever a module may raise
        file = Path(f"{place}.py")
        meant = f"Did you mean {file}:{env_id}? " if file.is_file() else ""
        raise ValueError(
            f"the module {shown(place)} of {shown(name)} cannot be imported "
            f"({type(error).__name__}: {_ended(brief(error))[:-1]}). {meant}A module "
            "must be on Python's path; a file is named with its ending, as "
            "my_file.py:Name-v0."
        ) from error
    return env_id


def _layout_of(env: Any) -> Layout | None:
    """Where an environment says that inputs and outputs lie."""
    said = getattr(env.unwrapped, "substrate", None)
    if said is None or isinstance(said, Layout):
        return said
    try:
        if isinstance(said, dict):
            return Layout(said["inputs"], said["outputs"])
        return Layout(*said)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"the attribute `substrate` of {type(env.unwrapped).__name__} must be a "
            'Layout, or {"inputs": [[x, y], ...], "outputs": [[x, y], ...]}: '
            f"{brief(error)}."
        ) from error


class _Play:
    """Some networks, each of which plays the same episodes."""

    def __init__(
        self,
        problem: Gymnasium,
        networks: Networks,
        seeds: Sequence[int],
        words: Sequence[int],
        resources: Resources | None,
    ) -> None:
        self.problem, self.interface = problem, problem.interface
        self.networks, self.resources = networks, resources
        self.seeds, self.num_episodes = seeds, len(seeds)
        self.num = len(networks) * len(seeds)
        self.envs = problem._pool.some(self.num)
        self.draws = np.random.default_rng([*words, 1])
        shift, scale = problem.scales
        self.shift, self.scale = (x[None].astype(np.float32) for x in (shift, scale))
        self.returns, self.lengths = np.zeros((2, self.num))
        self.is_sound = np.ones(self.num, bool)
        self.is_finite = np.ones(len(networks), bool)
        num_seen = len(self.interface.visible)
        self.count = np.zeros(len(networks))
        self.total, self.square = np.zeros((2, len(networks), num_seen))

    def run(self) -> Episodes:
        rows, is_on = self._reset()
        frames = self.interface.frames(None, rows)
        which = np.arange(len(self.networks))
        stepper = Stepper.of(self.networks, self.resources)
        memory = stepper.start(batch=self.num_episodes)
        time, num_steps = 0, self.problem.steps
        while is_on.any() and time < num_steps:
            self._look(rows, is_on)
            inputs = self._by_network(self._prepared(frames, is_on))[which]
            memory, some = stepper(memory, inputs)
            outputs = np.zeros((len(self.networks), *some.shape[1:]), some.dtype)
            outputs[which] = some
            outputs = outputs.reshape(self.num, -1)
            is_on &= self._check_outputs(outputs, is_on)
            actions = self._actions(outputs)
            for _ in range(min(self.problem.action_repeat, num_steps - time)):
                rows, is_on = self._step(actions, rows, is_on)
                time += 1
            frames = self.interface.frames(frames, rows)
            is_left = np.any(self._by_network(is_on), axis=1)[which]
            if 2 * is_left.sum() < len(which) and is_left.any():
                memory = _memory_of(stepper, memory, is_left)
                which = which[is_left]
                stepper = Stepper.of(self.networks.take(which), self.resources)
        is_running = self.problem.normalise == "running"
        return Episodes(
            self._by_network(self.returns),
            self._by_network(self.lengths),
            Seen(self.count, self.total, self.square) if is_running else None,
            np.all(self._by_network(self.is_sound), axis=1),
            self.is_finite,
        )

    def _by_network(self, values: np.ndarray) -> np.ndarray:
        return values.reshape(-1, self.num_episodes, *values.shape[1:])

    def _reset(self) -> tuple[np.ndarray, np.ndarray]:
        seen = [
            asked(
                self.problem.env, env, "reset", seed=self.seeds[k % self.num_episodes]
            )[0]
            for k, env in enumerate(self.envs)
        ]
        rows = self._rows(seen)
        self.is_sound &= np.isfinite(rows).all(axis=1)
        return rows, self.is_sound.copy()

    def _prepared(self, frames: np.ndarray, is_on: np.ndarray) -> np.ndarray:
        """What networks see; nothing where an episode is over."""
        # In 32 bits, as the same is done where all is on a device.
        inputs = (frames - self.shift) / self.scale
        if self.problem.normalise == "running":
            inputs = np.clip(inputs, -LIMIT, LIMIT)
        return np.where(is_on[:, None], inputs, np.float32(0))

    def _look(self, rows: np.ndarray, is_on: np.ndarray) -> None:
        """Adds up what was seen, as differences from the mean before."""
        if self.problem.normalise != "running":
            return
        away = np.where(is_on[:, None], rows - self.shift[:, -rows.shape[1] :], 0.0)
        away = self._by_network(away.astype(np.float64))
        self.count += self._by_network(is_on).sum(axis=1)
        self.total += away.sum(axis=1)
        self.square += (away**2).sum(axis=1)

    def _check_outputs(self, outputs: np.ndarray, is_on: np.ndarray) -> np.ndarray:
        """Which episodes go on: outputs that are not finite are no actions."""
        is_good = np.isfinite(outputs).all(axis=1) | ~is_on
        self.is_finite &= self._by_network(is_good).all(axis=1)
        return is_good

    def _actions(self, outputs: np.ndarray) -> Any:
        noise = None
        if self.interface.is_random:
            # The same draws in each episode for all networks, however many there are.
            shape = (self.num_episodes, outputs.shape[1])
            noise = self.draws.gumbel(size=shape).astype(outputs.dtype)
            noise = np.tile(noise, (len(self.networks), 1))
        with np.errstate(invalid="ignore"):
            return self.interface.actions(outputs, noise)

    def _step(
        self, actions: Any, rows: np.ndarray, is_on: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """One step of each environment whose episode goes on."""
        rows, is_on = rows.copy(), is_on.copy()
        number = np.flatnonzero(is_on)
        seen, ended = [], np.zeros(len(number), bool)
        for place, k in enumerate(number.tolist()):
            action = one_of(self.interface.action, actions, k)
            observation, reward, is_over, is_cut, _ = asked(
                self.problem.env, self.envs[k], "step", action
            )
            seen.append(observation)
            ended[place] = bool(is_over or is_cut)
            self.returns[k] += (reward := self._number(reward))
            self.is_sound[k] &= math.isfinite(reward)
        self.lengths[number] += 1
        if number.size:
            rows[number] = self._rows(seen)
        self.is_sound[number] &= np.isfinite(rows[number]).all(axis=1)
        is_on[number[ended]] = False
        return rows, is_on & self.is_sound

    def _number(self, reward: Any) -> float:
        try:
            return float(reward)
        except (TypeError, ValueError):
            raise ValueError(
                f"{self.problem.env} gave the reward {shown(reward)}; a reward must be "
                "a number."
            ) from None

    def _rows(self, observations: list[Any]) -> np.ndarray:
        """Observations of some environments, as what networks see of them."""
        space = self.interface.observation
        try:
            rows = self.interface.rows(batched(space, observations))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise self._changed(observations, error) from error
        if rows.shape != (len(observations), len(self.interface.visible)):
            raise self._changed(observations, None)
        return rows

    def _changed(self, observations: list[Any], error: Exception | None) -> ValueError:
        space = self.interface.observation
        about = f"{self.problem.env} gave an observation that is not in its space"
        if isinstance(space, Box):
            others = [np.shape(x) for x in observations if np.shape(x) != space.shape]
            if others:
                about += f": it has the shape {others[0]}, announced is {space.shape}"
        elif error is not None:
            about += f": {brief(error)}"
        return ValueError(f"{about}. An environment may not change its spaces.")


def asked(name: str, env: Any, what: str, *args: Any, **kwargs: Any) -> Any:
    """What an environment answers; what it raises is told with its name."""
    try:
        answer = getattr(env, what)(*args, **kwargs)
    except Exception as error:
        raise ValueError(
            f"the environment {name} failed in {what}(): {type(error).__name__}: "
            f"{brief(error)}{_line_of(error)}."
        ) from error
    wanted = 5 if what == "step" else 2
    if not isinstance(answer, tuple) or len(answer) != wanted:
        things = "reward, terminated, truncated, info" if wanted == 5 else "info"
        raise ValueError(
            f"{what}() of the environment {name} must return {wanted} things, as "
            f"gymnasium says: observation, {things}."
        )
    return answer


def _line_of(error: Exception) -> str:
    """Where in somebody's own code an error arose."""
    place = place_of(error)
    return f" ({place.rstrip(',')})" if place else ""


def _memory_of(stepper: Stepper, memory: np.ndarray, is_left: np.ndarray) -> np.ndarray:
    """What some of the networks remember."""
    return memory[np.repeat(is_left, stepper.networks.num_nodes)]
