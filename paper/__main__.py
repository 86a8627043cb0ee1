"""Tables and figures of the paper, run anew.

python -m paper                     what there is
python -m paper table4 --quick      a few runs, to see that it works
python -m paper table4              all of them
"""

import argparse
import datetime
import math
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from substrax._resources import num_cores
from substrax.cli import in_words
from substrax.sweeps import Progress

from .jobs import at_a_time, run_tasks
from .plan import builtin_plans, load_plan
from .publish import publish
from .requirements import require


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m paper",
        description="Runs what a table or figure of the paper needs, in processes of "
        "their own, and writes the page NAME.md with tables, a figure and all data. "
        "What is complete is not run again; after a kill the same command goes on.",
        allow_abbrev=False,
    )
    parser.add_argument("name", nargs="?", help="left out: all are listed; or a file")
    parser.add_argument(
        "--quick", action="store_true", help="few runs, to try it; writes NAME-quick.md"
    )
    parser.add_argument("--seeds", type=int, metavar="N", help="runs of each cell")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="runs at a time, if they are not timed"
    )
    parser.add_argument(
        "--untimed", action="store_true", help="no timed runs: others use this machine"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=math.inf,
        metavar="M",
        help="start no run after so long; 0: only write the page",
    )
    parser.add_argument("--out", default="results", metavar="DIR", help="for the page")
    parser.add_argument(
        "--runs", default="runs/paper", metavar="DIR", help="for the runs"
    )
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    return parser


def main(words: Sequence[str]) -> int:
    """Runs a plan, as far as it is not done yet, and writes its page."""
    arguments = _parser().parse_args(words)
    if arguments.name is None:
        _list()
        return 0
    plan = load_plan(arguments.name, quick=arguments.quick, seeds=arguments.seeds)
    require("tables and figures", "paper")
    jobs = num_cores() if arguments.jobs is None else arguments.jobs
    if jobs < 1:
        raise ValueError(f"--jobs is {jobs}. Choose at least 1.")
    if not arguments.minutes >= 0:
        raise ValueError(f"--minutes is {arguments.minutes:g}. Choose 0 or more.")
    runs, out = Path(arguments.runs), Path(arguments.out)
    tasks = plan.tasks()
    if not arguments.quiet:
        num = len({task.key for task in tasks})
        how = at_a_time(plan.tasks(), jobs)
        print(f"{plan.name}: {plan.title}; {num} runs, {how}, in {runs}")
    try:
        with _make_bar(arguments.quiet) as bar:
            outcome = run_tasks(
                tasks,
                runs,
                jobs=jobs,
                max_seconds=arguments.minutes * 60.0,
                with_timed=not arguments.untimed,
                on_progress=bar.update,
            )
    except KeyboardInterrupt:
        print(
            "Everything so far is kept; the same command goes on from here.",
            file=sys.stderr,
        )
        raise
    page = publish(
        plan, outcome, runs=runs, out=out, command=_command(arguments), jobs=jobs
    )
    if page is not None and not arguments.quiet:
        print(page)
    left = len({t.key for t in tasks}) - len(outcome.results) - len(outcome.failures)
    if left and not arguments.quiet:
        print(f"{left} runs are still to be done; the same command goes on with them.")
    for message in outcome.failures.values():
        print(f"A run failed: {message}", file=sys.stderr)
    if outcome.failures:
        print(
            f"{len(outcome.failures)} of {len(tasks)} runs failed. They are "
            "in no table; the same command tries them again.",
            file=sys.stderr,
        )
    return 1 if outcome.failures else 0


def _list() -> None:
    for name in builtin_plans():
        full, quick = load_plan(name), load_plan(name, quick=True)
        print(f"{name:<10} {full.title}")
        print(f"{'':<10} {full.num_runs} runs; --quick: {quick.num_runs}")
    print("\npython -m paper NAME --quick takes some minutes; --help tells more.")


def _command(arguments: argparse.Namespace) -> str:
    words = ["python", "-m", "paper", arguments.name]
    if arguments.quick:
        words.append("--quick")
    if arguments.seeds:
        words += ["--seeds", str(arguments.seeds)]
    if arguments.jobs:
        words += ["--jobs", str(arguments.jobs)]
    return shlex.join(words)


def _sentence(progress: Progress) -> str:
    left = progress.seconds_left
    num_failed, total = len(progress.failures), len(progress.jobs)
    parts = [f"{progress.num_done} of {total} runs"]
    if progress.num_reused:
        parts.append(f"{progress.num_reused} from before")
    if num_failed:
        parts.append(f"{num_failed} failed")
    if progress.num_done + num_failed < total:
        about = datetime.timedelta(seconds=round(left or 0))
        parts.append(f"about {about} left" if left else "no estimate yet")
    return ", ".join(parts)


def _num_ended(progress: Progress) -> int:
    return progress.num_done + len(progress.failures)


class _Quiet:
    """Shows nothing."""

    def __enter__(self) -> "_Quiet":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def update(self, progress: Progress) -> None:
        return None


class _Lines(_Quiet):
    """A line now and then, for a file or a pipe."""

    def __init__(self) -> None:
        self._last = 0.0

    def update(self, progress: Progress) -> None:
        now = time.monotonic()
        is_last = _num_ended(progress) == len(progress.jobs)
        if now - self._last > 10.0 or is_last:
            self._last = now
            print(_sentence(progress), flush=True)


_BAR_WIDTH = 16


class _Bar(_Quiet):
    """A bar on a terminal."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self._bar: Any = RichProgress(
            BarColumn(bar_width=_BAR_WIDTH),
            TextColumn("{task.description}"),
            transient=True,
        )
        self._task = self._bar.add_task("starting ...", total=None)

    def __enter__(self) -> "_Bar":
        self._bar.__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        self._bar.__exit__(*details)

    def update(self, progress: Progress) -> None:
        # cut here, or the bar gives way to it on a narrow terminal
        room = self._bar.console.width - _BAR_WIDTH - 2
        text = "  ".join(
            [_sentence(progress), "; ".join(job.title for job in progress.running)]
        )
        self._bar.update(
            self._task,
            total=len(progress.jobs),
            completed=_num_ended(progress),
            description=text[:room],
        )


def _make_bar(is_quiet: bool) -> _Quiet:
    if is_quiet:
        return _Quiet()
    if sys.stdout.isatty():
        try:
            return _Bar()
        except ImportError:  # rich is missing
            pass
    return _Lines()


if __name__ == "__main__":
    sys.exit(in_words(main, sys.argv[1:], "paper"))
