"""The program of the EMR-HyperNEAT paper, where it can be imported: whole generations
of XOR, for benchmarks/device.py.

It is no package of an index: `emr_hyperneat` and `tensorneat` must be importable, with
what they need. Its own fork of TensorNEAT knows a gaussian and an argument `verbose`;
where another TensorNEAT is found, it is given them.
"""

import contextlib
import importlib
import importlib.util
import inspect
import io
import os
import statistics
import time
from typing import Any, NamedTuple

import numpy as np

from .discovery import LAYOUT, ROWS, WANTED


def is_there() -> bool:
    return all(importlib.util.find_spec(n) for n in ("emr_hyperneat", "tensorneat"))


class Generations(NamedTuple):
    """Seconds that the first generations took longer than one of the last, and the
    median of those; the best fitness."""

    first: float
    each: float
    best: float

    @staticmethod
    def of(seconds: list[float], best: float, warm: int) -> "Generations":
        each = statistics.median(seconds[-warm:])
        return Generations(sum(x - each for x in seconds[:-warm]), each, best)


class _Xor:
    """As that program wants its problems."""

    input_shape, output_shape = (3,), (1,)
    jitable, use_bias = True, True
    fitness_threshold = 2.0

    def get_data(self) -> list[tuple[list[float], list[float]]]:
        return [
            (row, [wanted])
            for row, wanted in zip(ROWS.tolist(), WANTED.tolist(), strict=True)
        ]


def paper_generations(depth: int, population: int, warm: int) -> Generations:
    """Generations of XOR by the paper's program, with its defaults."""
    own: dict[str, Any] = {"initial_depth": 0, "max_depth": depth}
    own["variance_threshold"] = 0.03
    settings = {
        "population_size": population,
        "substrate": {
            "input_coords": [tuple(p) for p in np.asarray(LAYOUT.inputs).tolist()],
            "output_coords": [tuple(p) for p in np.asarray(LAYOUT.outputs).tolist()],
        },
        "emr_hyperneat": own,
    }
    problem, seconds, best = _Xor(), [], -np.inf
    with contextlib.redirect_stdout(io.StringIO()):
        program = _program()
        given = {"algorithm_params": {"emrhyperneat": settings}}
        config = program.create_config(given)
        began = time.perf_counter()
        state = program.initialize(config, problem, seed=0)
        preparing = time.perf_counter() - began
        for _ in range(3 + warm):
            began = time.perf_counter()
            state, metrics = program.run_generation(state, problem, verbose=False)
            seconds.append(time.perf_counter() - began)
            best = max(best, float(metrics.best_fitness))
    found = Generations.of(seconds, best, warm)
    return found._replace(first=found.first + preparing)


def _program() -> Any:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    common = importlib.import_module("tensorneat.common")
    if not hasattr(common.ACT, "gauss"):
        import jax.numpy as jnp

        common.ACT.add_func("gauss", lambda z: jnp.exp(-z * z))
    algorithm: Any = importlib.import_module("tensorneat.algorithm")
    original = algorithm.NEAT

    def quiet(*args: Any, verbose: bool | None = None, **settings: Any) -> Any:
        return original(*args, **settings)

    if "verbose" not in inspect.signature(original).parameters:
        algorithm.NEAT = quiet
    return importlib.import_module("emr_hyperneat").EMRHyperNEAT()
