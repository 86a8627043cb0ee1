"""`substrax run` and `substrax resume`."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..config import Experiment, load_experiment, load_run
from ..evolve import GenerationRecord, Result, RunDirectory, StopReason
from ._display import make_display
from ._inspect import summary_lines, write_report_at

GRACE = 4.0
"""Seconds that a generation may still take once the run is to stop."""


class _Interruption:
    """Ctrl-C, or SIGTERM, asks the run to end after its generation; twice, at once.

    A generation that takes longer than some seconds more is given up: the run goes on
    from the checkpoint before it.
    """

    def __init__(self) -> None:
        self.signal: int | None = None

    def __call__(self, number: int, frame: Any) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number
        if hasattr(signal, "setitimer"):
            # Again and again: what is raised within a callback of JAX gets lost.
            signal.setitimer(signal.ITIMER_REAL, GRACE, 1.0)
        print(
            "\nsubstrax: stopping after this generation (again, or if that takes "
            "longer: at once) ...",
            file=sys.stderr,
            flush=True,
        )

    def callback(self, record: GenerationRecord) -> StopReason | None:
        return None if self.signal is None else StopReason.INTERRUPTED

    @contextmanager
    def watch(self) -> Iterator[None]:
        numbers = [signal.SIGINT, signal.SIGTERM]
        if hasattr(signal, "SIGALRM"):
            numbers.append(signal.SIGALRM)
        before = {n: signal.signal(n, self) for n in numbers}
        try:
            yield
        finally:
            if hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            for number, handler in before.items():
                signal.signal(number, handler)


def _free_directory(experiment: Experiment) -> Path:
    """A new directory below `runs/`, named after experiment and seed."""
    stem = f"{Path(experiment.name).stem}-seed{experiment.run.seed}"
    path, number = Path("runs") / stem, 1
    while path.exists():
        number += 1
        path = Path("runs") / f"{stem}-{number}"
    return path


def _with_absolute_path(experiment: Experiment) -> Experiment:
    """A data file keeps its place when the run is continued from another folder."""
    path = experiment.problem.settings.get("path")
    if path is None:
        return experiment
    return experiment.with_settings({"problem.path": str(Path(path).absolute())})


def run(arguments: argparse.Namespace) -> int:
    """Starts a run in a new directory."""
    experiment = load_experiment(arguments.experiment)
    experiment = _with_absolute_path(experiment.with_settings(arguments.settings))
    experiment.build()  # whatever is wrong is said before a directory is made
    path = Path(arguments.out) if arguments.out else _free_directory(experiment)
    directory = RunDirectory.create(
        path, seed=experiment.run.seed, config_text=experiment.to_toml()
    )
    return _go(experiment, directory, arguments)


def resume(arguments: argparse.Namespace) -> int:
    """Continues a run; only the reasons to stop may be changed."""
    recorded, directory = load_run(arguments.directory)
    experiment = recorded.with_settings(arguments.settings)
    experiment.check_continues(recorded)
    return _go(experiment, directory, arguments)


def _go(
    experiment: Experiment, directory: RunDirectory, arguments: argparse.Namespace
) -> int:
    interruption = _Interruption()
    display = make_display(
        experiment, directory, is_quiet=arguments.quiet, is_json=arguments.json
    )
    try:
        with interruption.watch(), display:
            result = experiment.evolve(
                directory=directory,
                callbacks=[display.update, interruption.callback],
                on_progress=display.progress,
                keep_compiled=not arguments.no_cache,
            )
    except KeyboardInterrupt:
        print(
            "substrax: stopped within a generation. All before it is saved: `substrax "
            f"resume {directory.path}` goes on from there.",
            file=sys.stderr,
        )
        # A kernel may still be running, and would find its memory gone.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(128 + (interruption.signal or signal.SIGINT))
    if not arguments.quiet:
        _tell(experiment, directory, result, arguments)
    if arguments.report:
        page = write_report_at(directory.path)
        if not arguments.quiet and not arguments.json:
            print(f"report: {page}")
    if result.reason is StopReason.INTERRUPTED and interruption.signal is not None:
        return 128 + interruption.signal
    return 0


def _tell(
    experiment: Experiment,
    directory: RunDirectory,
    result: Result,
    arguments: argparse.Namespace,
) -> None:
    """The result, for a person or a program."""
    if arguments.json:
        outcome = {
            "result": {
                "reason": result.reason.value,
                "is_solved": result.is_solved,
                "solved_at": result.solved_at,
                "best_fitness": result.best_fitness,
                "generations": result.generations,
                "directory": str(directory.path),
            }
        }
        print(json.dumps(outcome), flush=True)
        return
    print(*summary_lines(experiment, directory), sep="\n")
    if result.reason is StopReason.INTERRUPTED:
        print(f"Everything is saved. Continue with: substrax resume {directory.path}")
    elif result.reason is StopReason.GENERATIONS:
        more = result.generations * 2
        print(
            f"Go on with: substrax resume {directory.path} --generations {max(more, 1)}"
        )
