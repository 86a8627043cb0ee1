"""Whatever a problem is given as, as an experiment."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from .._types import shown
from ..config import Experiment, load_experiment, two_arguments
from ..methods import AbstractMethod
from ..problems import AbstractProblem, FunctionProblem, data_problem
from ..substrate import Layout


def as_experiment(
    problem: Any,
    inputs: int | None,
    outputs: int | None,
    method: str | AbstractMethod | None,
    settings: Mapping[str, Any],
) -> Experiment:
    """The experiment that `evolve` is asked for."""
    experiment = _of_problem(problem, inputs, outputs, settings.get("target"))
    if method is not None:
        experiment = experiment.with_method(method)
    return experiment.with_settings(settings)


def _of_problem(
    problem: Any, inputs: int | None, outputs: int | None, target: Any
) -> Experiment:
    if isinstance(problem, Experiment):
        made = problem
    elif isinstance(problem, str | os.PathLike):
        made = load_experiment(problem)
        sizes = {"problem.inputs": inputs, "problem.outputs": outputs}
        sizes = {key: value for key, value in sizes.items() if value is not None}
        return made.with_settings(sizes) if sizes else made
    elif isinstance(problem, AbstractProblem):
        made = Experiment.of(problem)
    elif isinstance(problem, tuple | list) and len(problem) == 2:
        made = Experiment.of(data_problem(*problem))
    elif isinstance(problem, type) and issubclass(problem, AbstractProblem):
        made = Experiment.of(problem())
    elif callable(problem):
        return Experiment.of(_of_fitness(problem, inputs, outputs, target))
    else:
        raise ValueError(
            f"evolve takes a fitness function, data (X, y), a problem, or the name of "
            f"an experiment, not {shown(problem)}."
        )
    if inputs is not None or outputs is not None:
        raise ValueError(
            "how many inputs and outputs there are follows from the problem here; "
            "`inputs` and `outputs` are for fitness functions."
        )
    return made


def as_problem(
    problem: Any, inputs: int | None, outputs: int | None, target: Any
) -> AbstractProblem:
    """The problem that `resume` is given."""
    experiment = _of_problem(problem, inputs, outputs, target)
    return experiment.problem if experiment.own is None else experiment.own


def _of_fitness(
    fitness: Callable[..., Any],
    inputs: int | None,
    outputs: int | None,
    target: Any,
) -> FunctionProblem:
    if inputs is None or outputs is None:
        raise ValueError(
            "say how many inputs and outputs the networks for this fitness have: "
            "evolve(fitness, inputs=3, outputs=1), for example."
        )
    return FunctionProblem(
        two_arguments(fitness),
        Layout.spread(inputs, outputs),
        float("inf") if target is None else float(target),
        name=getattr(fitness, "__name__", "function"),
    )
