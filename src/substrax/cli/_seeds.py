"""`substrax run --seeds`, and `substrax resume` of the folder that it makes."""

import argparse
import sys
from pathlib import Path

from ..config import Experiment, load_run
from ..evolution import RunDirectory, Tracker
from ..front import seed_runs
from ..runs import DATA, FACTS, is_complete, read_seeds
from ..sweeps import MOST_RUNS, read_outcomes
from ..trackers import make_trackers
from ._inspect import write_report_at
from ._run import continued, go
from ._show import tell_seeds


def run_seeds(
    experiment: Experiment,
    folder: Path,
    trackers: list[Tracker],
    arguments: argparse.Namespace,
) -> int:
    """The same from several seeds, and what they have in common.

    A folder in which some of it was done already is gone on with.
    """
    if not 1 <= arguments.seeds <= MOST_RUNS:
        raise ValueError(
            f"--seeds is {arguments.seeds}. Choose at least 1 and at most "
            f"{MOST_RUNS:,}."
        )
    first = experiment.run.seed
    seeds = range(first, first + arguments.seeds)
    for each, place in seed_runs(experiment, seeds, folder):
        assert place is not None
        status = _one(each, place, trackers, arguments, folder)
        if status:
            return status
    return _end(folder, arguments)


def resume_seeds(folder: Path, arguments: argparse.Namespace) -> int:
    """Goes on with each run in a folder that has not come to its end."""
    places = read_seeds(folder) or {}
    begun = [path for path in places.values() if (path / FACTS).is_file()]
    if not begun:
        raise ValueError(
            f"none of the seeds in {folder} has begun. Give the command again that "
            "began it, `substrax run EXPERIMENT --seeds N`."
        )
    trackers = make_trackers(arguments.track)
    for seed, path in places.items():
        if path not in begun:
            _begin(path, seed, begun[0])
        elif not arguments.settings and is_complete(path):
            continue
        experiment, directory = continued(path, arguments)
        status = _one(experiment, directory, trackers, arguments, folder)
        if status:
            return status
    return _end(folder, arguments)


def _begin(path: Path, seed: int, other: Path) -> None:
    """The directory of a seed that was never reached, with the settings and the data of
    another one."""
    experiment = load_run(other)[0].with_settings({"run.seed": seed})
    data = other / DATA
    RunDirectory.create(
        path,
        seed=seed,
        config_text=experiment.to_toml(),
        data=[data.read_bytes()] if data.is_file() else None,
    )


def _one(
    experiment: Experiment,
    directory: RunDirectory,
    trackers: list[Tracker],
    arguments: argparse.Namespace,
    folder: Path,
) -> int:
    """One run of a folder, and an empty line."""
    status, _ = go(experiment, directory, trackers, arguments, folder)
    if not status and not arguments.quiet and not arguments.json:
        print(flush=True)
    return status


def _end(folder: Path, arguments: argparse.Namespace) -> int:
    """What the runs of a folder have come to, and its report."""
    if not arguments.quiet:
        tell_seeds(folder, is_json=arguments.json)
    if not arguments.report:
        return 0
    if not any(outcome.generations for outcome in read_outcomes(folder)):
        print("substrax: no report: no generation was finished.", file=sys.stderr)
        return 0
    page = write_report_at(folder)
    if not arguments.quiet and not arguments.json:
        print(f"report: {page}")
    return 0
