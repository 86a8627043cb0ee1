"""Problems for workers, which import them from here; some misbehave at will."""

import dataclasses
import os
import signal
import time
from pathlib import Path

import jax
import numpy as np

from substrax.network import Networks

from .support import Problem


@dataclasses.dataclass(frozen=True)
class Weights(Problem):
    """Weights should add up to a number. The key moves it, for all networks alike."""

    wanted: float = 30.0
    target: float = 0.0

    def fitness(self, networks: Networks, *, key, resources=None) -> np.ndarray:
        sums = np.array([n.link_weight.sum() for n in networks], np.float64)
        luck = float(jax.random.uniform(key))
        return -np.abs(sums - self.wanted - luck) / 3 - 0.01


@dataclasses.dataclass(frozen=True)
class Misbehaving(Weights):
    """Does something once for each file in a folder, which it takes away before."""

    folder: str = ""

    def fitness(self, networks: Networks, *, key, resources=None) -> np.ndarray:
        for file in sorted(Path(self.folder).iterdir()):
            try:
                file.unlink()
            except OSError:  # another one was quicker
                continue
            what = file.name.partition("-")[0]
            if what == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if what == "hang":
                time.sleep(1000)
            if what == "memory":
                raise MemoryError
            if what == "disk":
                raise OSError(28, "No space left on device")
            if what == "value":
                raise ValueError("networks of this kind are not for me")
            if what == "bug":
                raise ZeroDivisionError("division by zero")
        return Weights.fitness(self, networks, key=key)


class Neighbourly(Weights):
    """Every network is compared with the first one."""

    def fitness(self, networks: Networks, *, key, resources=None) -> np.ndarray:
        values = super().fitness(networks, key=key)
        return values - values[:1]


class Together(Neighbourly):
    is_separable = False
