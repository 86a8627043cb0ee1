"""`substrax run` and `substrax resume`."""

import argparse
import json
import sys
from pathlib import Path

from ..config import Experiment, load_experiment, load_run
from ..evolution import Result, RunDirectory, StopReason, Tracker
from ..front import JSONLines, Silent, make_display
from ..runs import read_seeds, summary, summary_lines
from ..trackers import make_trackers
from ._inspect import write_report_at
from ._interruption import Interruption
from ._show import how_to_go_on


def _free_directory(experiment: Experiment) -> Path:
    """A new directory below `runs/`, named after experiment and seed."""
    stem = f"{_short_name(experiment)}-seed{experiment.run.seed}"
    path, number = Path("runs") / stem, 1
    while path.exists():
        number += 1
        path = Path("runs") / f"{stem}-{number}"
    return path


def _short_name(experiment: Experiment) -> str:
    """For directories: `retina`, `mine` of mine.toml, `mine-fitness` of
    mine.py:fitness, `iris` of the table iris.csv."""
    table = experiment.values.get("problem.path")
    if experiment.name == "table" and table:
        return Path(table).stem
    place, _, attribute = Path(experiment.name).name.rpartition(":")
    return f"{Path(place).stem}-{attribute}" if place else Path(attribute).stem


def _with_absolute_path(experiment: Experiment) -> Experiment:
    """A data file keeps its place when the run is continued from another folder."""
    path = experiment.values.get("problem.path")
    if not path:
        return experiment
    return experiment.with_settings({"problem.path": str(Path(path).absolute())})


def run(arguments: argparse.Namespace) -> int:
    """Starts a run in a new directory, or several."""
    experiment = load_experiment(arguments.experiment)
    experiment = _with_absolute_path(experiment.with_settings(arguments.settings))
    experiment.check()  # whatever is wrong is said before a directory is made
    trackers = make_trackers(arguments.track)
    if arguments.seeds is not None:
        from ._seeds import run_seeds

        first, num = experiment.run.seed, arguments.seeds
        stem = f"{_short_name(experiment)}-seeds{first}to{first + num - 1}"
        folder = Path(arguments.out or Path("runs") / stem)
        return run_seeds(experiment, folder, trackers, arguments)
    path = Path(arguments.out) if arguments.out else _free_directory(experiment)
    directory = RunDirectory.create(
        path, seed=experiment.run.seed, config_text=experiment.to_toml()
    )
    return go(experiment, directory, trackers, arguments)[0]


def resume(arguments: argparse.Namespace) -> int:
    """Continues a run; only the reasons to stop may be changed."""
    if read_seeds(arguments.directory) is not None:
        from ._seeds import resume_seeds

        return resume_seeds(Path(arguments.directory), arguments)
    experiment, directory = continued(arguments.directory, arguments)
    return go(experiment, directory, make_trackers(arguments.track), arguments)[0]


def continued(
    path: str | Path, arguments: argparse.Namespace
) -> tuple[Experiment, RunDirectory]:
    """The experiment of a run that goes on, with the settings that were changed."""
    recorded, directory = load_run(path)
    experiment = recorded.with_settings(arguments.settings)
    experiment.check_continues(recorded)
    experiment.check()  # whatever is wrong is said before anything begins
    return experiment, directory


def go(
    experiment: Experiment,
    directory: RunDirectory,
    trackers: list[Tracker],
    arguments: argparse.Namespace,
    folder: Path | None = None,
) -> tuple[int, Result]:
    """Evolves in a directory; the exit status, and what came of it.

    `folder` is that of several runs, if this is one of them: it goes on from there.
    """
    interruption = Interruption(folder or directory.path)
    if arguments.quiet:
        display = Silent()
    elif arguments.json:
        display = JSONLines()
    else:
        display = make_display(experiment, directory.path)
    try:
        with interruption.watch(), display, directory.unless_refused():
            result = experiment.evolve(
                directory=directory,
                callbacks=[display.update, *trackers, interruption],
                on_progress=display.progress,
                keep_compiled=not arguments.no_cache,
            )
    except OSError as error:
        resume = f"`substrax resume {folder or directory.path}`"
        if directory.metrics():
            error.add_note(
                f"All generations before are saved: {resume} goes on from there."
            )
        elif directory.path.exists():  # what was refused is gone
            error.add_note(f"No generation was finished; {resume} begins again.")
        raise
    except KeyboardInterrupt:
        interruption.exit()
    if arguments.json or not arguments.quiet:
        _tell(directory, result, arguments, folder)
    if arguments.report and not directory.metrics():
        print("substrax: no report: no generation was finished.", file=sys.stderr)
    elif arguments.report:
        page = write_report_at(directory.path)
        if not arguments.quiet and not arguments.json:
            print(f"report: {page}")
    if result.reason is StopReason.INTERRUPTED and interruption.signal is not None:
        return 128 + interruption.signal, result
    return 0, result


def _tell(
    directory: RunDirectory,
    result: Result,
    arguments: argparse.Namespace,
    folder: Path | None,
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
        place = folder or directory.path
        print(f"Everything is saved. Continue with: substrax resume {place}")
    elif result.reason is StopReason.GENERATIONS and folder is None:
        print(how_to_go_on(facts))
