"""One call from a problem to networks."""

import contextlib
import dataclasses
import os
from collections.abc import Iterable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from .._types import brief
from ..config import Experiment, load_run, refuse_while_loading
from ..evolution import (
    Callback,
    RunDirectory,
    check_callbacks,
    is_first,
    together,
)
from ..methods import AbstractMethod
from ..models import Model
from ..runs import FACTS
from ..workers import check_executor
from ._display import make_display
from ._experiment import as_experiment, as_problem
from ._run import Run


def evolve(
    problem: Any,
    *,
    inputs: int | None = None,
    outputs: int | None = None,
    method: str | AbstractMethod | None = None,
    seed: int = 0,
    generations: int | None = None,
    directory: str | os.PathLike[str] | None = None,
    callbacks: Iterable[Callback] = (),
    progress: bool | None = None,
    executor: Executor | str | None = None,
    **settings: Any,
) -> Run:
    """Evolves networks for a problem.

    ```python
    import jax.numpy as jnp
    import substrax as sx

    def fitness(network):
        x = jnp.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        return 1 - jnp.mean((network(x)[:, 0] - jnp.array([0.0, 1.0, 1.0, 0.0])) ** 2)

    run = sx.evolve(fitness, inputs=2, outputs=1, method="neat", generations=20)
    ```

    The same seed gives the same run, bit for bit.

    **Arguments:**

    - `problem`: a fitness function, data `(X, y)` (see `data_problem`: a fifth of the
      rows is held back as a test, unless `test_share` says otherwise), a problem, or
      the name of an experiment (`substrax list` shows them). A fitness is a JAX
      function of a network, or of a network and a key, to a number; larger is better.
    - `inputs`, `outputs`: of the networks, if `problem` is a fitness.
    - `method`: `emr`, `es`, `hyperneat`, `neat`, or one of `substrax.methods`; left
      out, what the experiment has, or else `emr`.
    - `seed`, `generations`: which run, and how long at most.
    - `directory`: where the run is saved, so that it survives a crash and can be
      continued, shown and reported on; left out, it is not saved.
    - `callbacks`: functions that are given each generation (its record, networks,
      fitness and more, see `substrax.evolution.Generation`) and end the run if they
      return True; and trackers, such as those of `substrax.trackers`.
    - `progress`: whether to show how it goes; left out, on a terminal and in a
      notebook.
    - `executor`: who evaluates, if not this process: `processes:8`, the address of a
      Dask scheduler such as `dask://host:8786`, or any `concurrent.futures.Executor`.
      It changes time, never results.
    - `settings`: anything else that a configuration can say: `depth=3`,
      `population=100`, `target=0.95`, `preset="pureples"`.
    """
    refuse_while_loading()
    experiment = as_experiment(
        problem,
        inputs,
        outputs,
        method,
        {
            **({} if generations is None else {"run.generations": generations}),
            **settings,
            **_by_name(executor),
            # Last, so that the argument counts, whatever settings say.
            "run.seed": seed,
        },
    )
    callbacks = check_callbacks(callbacks)
    others = _object(executor)

    def prepared() -> tuple[Experiment, RunDirectory | None]:
        experiment.check(others)  # what is wrong is said before a directory is made
        if directory is None or not is_first():
            return experiment, None
        return new_directory(experiment, directory)

    experiment, place = together(prepared)
    return go(experiment, place, callbacks, progress, others)


def _by_name(executor: Executor | str | None) -> dict[str, Any]:
    """As a setting, if it is one: the directory keeps it, as it keeps the engine."""
    return {"run.executor": executor} if isinstance(executor, str) else {}


def _object(executor: Executor | str | None) -> Executor | None:
    if executor is None or isinstance(executor, str):
        return None
    check_executor(executor)
    return executor


def new_directory(
    experiment: Experiment, path: str | os.PathLike[str]
) -> tuple[Experiment, RunDirectory]:
    """A directory for a run, and the experiment that finds its data there."""
    experiment, data = experiment.with_data()
    place = RunDirectory.create(
        path, seed=experiment.run.seed, config_text=experiment.to_toml(), data=data
    )
    return experiment, place


def same_directory(
    experiment: Experiment, path: str | os.PathLike[str]
) -> tuple[Experiment, RunDirectory]:
    """The same; a directory that holds the same run already is taken."""
    if not os.path.exists(Path(path) / FACTS):
        return new_directory(experiment, path)
    # As `new_directory` did, so that a data set has the name that is recorded.
    experiment, _ = experiment.with_data()
    recorded, place = load_run(path)
    experiment.check_continues(recorded)
    return dataclasses.replace(experiment, folder=recorded.folder), place


def resume(
    directory: str | os.PathLike[str],
    *,
    problem: Any = None,
    inputs: int | None = None,
    outputs: int | None = None,
    callbacks: Iterable[Callback] = (),
    progress: bool | None = None,
    executor: Executor | str | None = None,
    **settings: Any,
) -> Run:
    """Goes on with a run that was stopped or killed, as if nothing had happened.

    **Arguments:**

    - `directory`: of the run.
    - `problem`: for a run whose problem cannot be found by its name, because it was
      made in a notebook, for example. It has to be the same.
    - `inputs`, `outputs`: as in `evolve`; left out, what the run has recorded.
    - `callbacks`, `progress`: as in `evolve`; trackers go on where they were.
    - `executor`: as in `evolve`; left out, the name that the run was begun with, if it
      was one. `executor="none"` goes on without.
    - `settings`: `generations`, `target`, `seconds`, `patience` and what else cannot
      change results.
    """
    refuse_while_loading()
    others = _object(executor)

    def prepared() -> tuple[Experiment, RunDirectory]:
        own = None
        if problem is not None:
            own = as_problem(problem, inputs, outputs, RunDirectory(directory).facts())
        recorded, place = load_run(directory, own)
        experiment = recorded.with_settings({**settings, **_by_name(executor)})
        experiment.check_continues(recorded)
        experiment.check(others)
        return experiment, place

    experiment, place = together(prepared)
    return go(experiment, place, callbacks, progress, others)


def go(
    experiment: Experiment,
    directory: RunDirectory | None,
    callbacks: Iterable[Callback],
    progress: bool | None,
    executor: Executor | None = None,
) -> Run:
    """Evolves, and shows how it goes."""
    path = None if directory is None else directory.path
    with contextlib.ExitStack() as stack:
        watchers = list(callbacks)
        on_progress = None
        if progress is not False and is_first():
            display = make_display(experiment, path, has_lines=bool(progress))
            stack.enter_context(display)
            watchers.append(display.update)
            on_progress = display.progress
        if directory is not None:
            stack.enter_context(directory.unless_refused())
        try:
            result = experiment.evolve(
                directory=directory,
                callbacks=watchers,
                on_progress=on_progress,
                executor=executor,
            )
        except KeyboardInterrupt as error:
            error.add_note(_how_to_go_on(path))
            raise
    return Run(experiment, result, path)


def _how_to_go_on(directory: Path | None) -> str:
    if directory is None:
        return "The run was not saved; directory=... saves the next one as it goes."
    return (
        "All generations before are saved: substrax.resume("
        f"{os.fspath(directory)!r}) goes on from there."
    )


def load(path: str | os.PathLike[str]) -> Model:
    """A model: from a file that `model.save` wrote, or the best one of a run."""
    place = Path(path)
    if not os.path.exists(place):
        raise ValueError(f"there is no {brief(place)}.")
    if not place.is_dir():
        return Model.load(place)
    best = RunDirectory(place).best()
    if best is None:
        raise ValueError(f"the run in {place} has no best network yet.")
    return best.model
