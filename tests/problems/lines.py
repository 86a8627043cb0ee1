"""Environments of gymnasium to be tested with, some of which misbehave."""

from typing import Any, ClassVar

import gymnasium as gym
import numpy as np


class Line(gym.Env):
    """Walk to the right on a line; the position and its sign are seen, with noise."""

    def __init__(self, noise=0.1, fault="", at=3, is_continuous=False):
        self.observation_space = gym.spaces.Box(-10.0, 10.0, (2,))
        self.action_space = gym.spaces.Discrete(2)
        if is_continuous:
            self.action_space = gym.spaces.Box(-1.0, 1.0, (1,))
        self.noise, self.fault, self.at = noise, fault, at

    def _seen(self):
        noise = self.np_random.normal(0, self.noise, 2)
        return (np.array([self.place, np.sign(self.place)]) + noise).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.time = self.np_random.uniform(-1, 1), 0
        return self._seen(), {}

    def step(self, action) -> Any:
        move = 2 * action - 1 if np.ndim(action) == 0 else float(action[0])
        self.place, self.time = float(np.clip(self.place + move, -9, 9)), self.time + 1
        seen, reward = self._seen(), move
        if self.time == self.at:
            if self.fault == "raises":
                raise RuntimeError("the motor is on fire")
            if self.fault == "short":
                return seen, reward, False
            if self.fault == "shape":
                seen = np.zeros(3, np.float32)
            if self.fault == "nan":
                seen = np.array([np.nan, 0], np.float32)
            if self.fault == "reward":
                reward = "much"
        return seen, reward, self.place <= -3, False, {}


class Placed(Line):
    """It says where its inputs and outputs lie."""

    substrate: ClassVar = {
        "inputs": [[-0.5, -1], [0.5, -1]],
        "outputs": [[-1, 1], [1, 1]],
    }


def register():
    cls: Any
    for name, cls, steps in (
        ("Line-v0", Line, 12), ("Placed-v0", Placed, 12), ("Endless-v0", Line, None),
    ):  # fmt: skip
        if name not in gym.registry:
            gym.register(
                name,
                cls,
                max_episode_steps=steps,
                reward_threshold=10 if steps else None,
            )
