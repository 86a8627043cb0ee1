"""`substrax run` and `substrax resume`."""

import argparse
import json
import sys
from pathlib import Path

from ..config import Experiment, load_experiment, load_run
from ..evolution import Result, RunDirectory, StopReason, Tracker
from ..front import JSONLines, Silent, make_display
from ..runs import summary, summary_lines
from ..trackers import make_trackers
from ._inspect import write_report_at
from ._interruption import Interruption
from ._show import how_to_go_on


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
    path = experiment.values.get("problem.path")
    if path is None:
        return experiment
    return experiment.with_settings({"problem.path": str(Path(path).absolute())})


def run(arguments: argparse.Namespace) -> int:
    """Starts a run in a new directory."""
    experiment = load_experiment(arguments.experiment)
    experiment = _with_absolute_path(experiment.with_settings(arguments.settings))
    experiment.check()  # whatever is wrong is said before a directory is made
    trackers = make_trackers(arguments.track)
    path = Path(arguments.out) if arguments.out else _free_directory(experiment)
    directory = RunDirectory.create(
        path, seed=experiment.run.seed, config_text=experiment.to_toml()
    )
    return _go(experiment, directory, trackers, arguments)


def resume(arguments: argparse.Namespace) -> int:
    """Continues a run; only the reasons to stop may be changed."""
    recorded, directory = load_run(arguments.directory)
    experiment = recorded.with_settings(arguments.settings)
    experiment.check_continues(recorded)
    experiment.check()  # whatever is wrong is said before anything begins
    return _go(experiment, directory, make_trackers(arguments.track), arguments)


def _go(
    experiment: Experiment,
    directory: RunDirectory,
    trackers: list[Tracker],
    arguments: argparse.Namespace,
) -> int:
    interruption = Interruption(directory.path)
    if arguments.quiet:
        display = Silent()
    elif arguments.json:
        display = JSONLines()
    else:
        display = make_display(experiment, directory.path)
    try:
        with interruption.watch(), display:
            result = experiment.evolve(
                directory=directory,
                callbacks=[display.update, *trackers, interruption],
                on_progress=display.progress,
                keep_compiled=not arguments.no_cache,
            )
    except OSError as error:
        error.add_note(
            f"All generations before are saved: `substrax resume {directory.path}` "
            "goes on from there."
        )
        raise
    except KeyboardInterrupt:
        interruption.exit()
    if not arguments.quiet:
        _tell(directory, result, arguments)
    if arguments.report and not directory.metrics():
        print("substrax: no report: no generation was finished.", file=sys.stderr)
    elif arguments.report:
        page = write_report_at(directory.path)
        if not arguments.quiet and not arguments.json:
            print(f"report: {page}")
    if result.reason is StopReason.INTERRUPTED and interruption.signal is not None:
        return 128 + interruption.signal
    return 0


def _tell(
    directory: RunDirectory, result: Result, arguments: argparse.Namespace
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
    facts = summary(directory.path)
    print(*summary_lines(facts), sep="\n")
    if result.reason is StopReason.INTERRUPTED:
        print(f"Everything is saved. Continue with: substrax resume {directory.path}")
    elif result.reason is StopReason.GENERATIONS:
        print(how_to_go_on(facts))
