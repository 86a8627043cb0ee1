"""Whatever a problem is given as, as an experiment."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from .._types import check_whole, shown
from ..config import Experiment, load_experiment
from ..methods import AbstractMethod
from ..neat import Genome, GenomeData
from ..problems import AbstractProblem, FunctionProblem, data_problem
from ..substrate import Layout
from ._run import Run


def as_experiment(
    problem: Any,
    inputs: int | None,
    outputs: int | None,
    method: str | AbstractMethod | None,
    settings: Mapping[str, Any],
) -> Experiment:
    """The experiment that `evolve` is asked for."""
    if _is_data(problem):
        own = {name: settings[name] for name in _OF_DATA if name in settings}
        settings = {name: settings[name] for name in settings if name not in own}
        problem = data_problem(*problem, **own)
    own = {}
    if _is_fitness(problem):  # its settings make it
        own = {name: settings[name] for name in _OF_FITNESS if name in settings}
        settings = {name: settings[name] for name in settings if name not in own}
    target = settings.get("target")
    experiment = _of_problem(problem, inputs, outputs, target, **own)
    if method is not None:
        experiment = experiment.with_method(method)
    settings = {
        name: os.fspath(value) if isinstance(value, os.PathLike) else value
        for name, value in settings.items()
    }
    given = [name for name in _START if _is_genome(settings.get(name))]
    # Settings are plain values, and a genome is none. It comes last: its inputs and
    # outputs are named by the decoder, which depends on the other settings.
    start = settings.pop(given[0]) if given else None
    experiment = experiment.with_settings(settings)
    return experiment if start is None else _started(experiment, start)


_OF_DATA = ("is_classification", "samples_per_generation", "split_seed", "test_share")
"""Arguments of `data_problem` that `evolve` takes with data."""


_OF_FITNESS = ("block_size",)
"""Settings of a function, besides its inputs and outputs."""


def _is_fitness(problem: Any) -> bool:
    return (
        callable(problem)
        and not isinstance(problem, type)
        and not isinstance(problem, AbstractProblem | Experiment | os.PathLike)
    )


def _is_data(problem: Any) -> bool:
    return isinstance(problem, tuple | list) and len(problem) == 2


_START = ("start_from", "start.genome")


def _is_genome(start: Any) -> bool:
    """Names and paths are settings like others."""
    return start is not None and not isinstance(start, str)


def _started(experiment: Experiment, start: Any) -> Experiment:
    """The experiment with a first population made of a genome that is at hand."""
    origin = "given in Python"
    if isinstance(start, Run):
        origin = f"the best of {start.experiment.problem.name}"
        if start.best_genome is None:
            raise ValueError("start_from is a run that has found no genome yet.")
        # Of another experiment, perhaps, whose genomes have other inputs.
        decoder = start.experiment.build().decoder
        names = decoder.genome_inputs, decoder.genome_outputs
        start = GenomeData.of(start.best_genome, *names)
    elif isinstance(start, Mapping):
        start = GenomeData.read(start.get("nodes", ()), start.get("links", ()))
    if not isinstance(start, Genome | GenomeData):
        raise ValueError(
            f"start_from is {shown(start)}; give the name of a seed, a file, the "
            "directory of a run, a run, a Genome (a neat-python genome becomes one by "
            "substrax.neat.genome_from_neat_python), GenomeData, or nodes and links in "
            "a dictionary."
        )
    return experiment.with_start(start, origin)


def _of_problem(
    problem: Any,
    inputs: int | None,
    outputs: int | None,
    target: Any,
    block_size: Any = None,
    call: str = "evolve",
) -> Experiment:
    if isinstance(problem, Experiment):
        made = problem
    elif isinstance(problem, str | os.PathLike):
        made = load_experiment(problem)
        sizes = {"problem.inputs": inputs, "problem.outputs": outputs}
        sizes = {key: value for key, value in sizes.items() if value is not None}
        if sizes.keys() <= made.values.keys():
            return made.with_settings(sizes) if sizes else made
    elif isinstance(problem, AbstractProblem):
        made = Experiment.of(problem)
    elif _is_data(problem):
        made = Experiment.of(data_problem(*problem))
    elif isinstance(problem, type) and issubclass(problem, AbstractProblem):
        made = Experiment.of(problem())
    elif callable(problem):
        fitness = _of_fitness(problem, inputs, outputs, target, block_size)
        return Experiment.of(fitness)
    else:
        raise ValueError(
            f"{call} takes a fitness function, data (X, y), a problem, or the name of "
            f"an experiment, not {shown(problem)}."
        )
    if inputs is not None or outputs is not None:
        raise ValueError(
            "how many inputs and outputs there are follows from the problem here; "
            "`inputs` and `outputs` are for fitness functions."
        )
    return made


def as_problem(
    problem: Any, inputs: int | None, outputs: int | None, facts: Mapping[str, Any]
) -> AbstractProblem:
    """The problem that `resume` is given, for a run of which `run.json` says `facts`:
    what a function does not say itself is as it was."""
    if _is_fitness(problem):
        then = facts["settings"] or {}
        sizes = facts.get("sizes") or (None, None)
        return _of_fitness(
            problem,
            sizes[0] if inputs is None else inputs,
            sizes[1] if outputs is None else outputs,
            then.get("problem.target"),
            then.get("problem.block_size"),
            "resume(DIR, problem=fitness",
        )
    experiment = _of_problem(problem, inputs, outputs, None, call="resume")
    return experiment.problem if experiment.own is None else experiment.own


def _of_fitness(
    fitness: Callable[..., Any],
    inputs: int | None,
    outputs: int | None,
    target: Any,
    block_size: Any,
    call: str = "evolve(fitness",
) -> FunctionProblem:
    if inputs is None or outputs is None:
        raise ValueError(
            "say how many inputs and outputs the networks for this fitness have: "
            f"{call}, inputs=3, outputs=1), for example."
        )
    for name, number in (("inputs", inputs), ("outputs", outputs)):
        check_whole(**{name: number})
        if number < 1:
            raise ValueError(f"{name} must be at least 1, not {number}.")
    return FunctionProblem(
        fitness,
        Layout.spread(inputs, outputs),
        float("inf") if target is None else float(target),
        block_size=block_size,
    )
