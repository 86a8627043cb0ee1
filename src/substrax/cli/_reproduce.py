"""`substrax reproduce`."""

import argparse
import datetime
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from .._resources import num_cores
from ..reproduce import (
    Progress,
    at_a_time,
    builtin_plans,
    load_plan,
    publish,
    require_extras,
    run_tasks,
)

_WORKER = [sys.executable, "-m", "substrax.cli._worker"]


def reproduce(arguments: argparse.Namespace) -> int:
    """Runs a plan, as far as it is not done yet, and writes its page."""
    if arguments.name is None:
        _list()
        return 0
    plan = load_plan(arguments.name, quick=arguments.quick, seeds=arguments.seeds)
    require_extras()
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
                command=_WORKER,
                jobs=jobs,
                max_seconds=arguments.minutes * 60.0,
                with_timed=not arguments.untimed,
                on_progress=bar.update,
            )
    except KeyboardInterrupt:
        print(
            "substrax: everything so far is kept; the same command goes on from here.",
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
        print(f"substrax: a run failed: {message}", file=sys.stderr)
    if outcome.failures:
        print(
            f"substrax: {len(outcome.failures)} of {len(tasks)} runs failed. They are "
            "in no table; the same command tries them again.",
            file=sys.stderr,
        )
    return 1 if outcome.failures else 0


def _list() -> None:
    for name in builtin_plans():
        full, quick = load_plan(name), load_plan(name, quick=True)
        print(f"{name:<10} {full.title}")
        print(f"{'':<10} {full.num_runs} runs; --quick: {quick.num_runs}")
    print("\nsubstrax reproduce NAME --quick takes some minutes; --help tells more.")


def _command(arguments: argparse.Namespace) -> str:
    words = ["substrax", "reproduce", arguments.name]
    if arguments.quick:
        words.append("--quick")
    if arguments.seeds:
        words += ["--seeds", str(arguments.seeds)]
    if arguments.jobs:
        words += ["--jobs", str(arguments.jobs)]
    return shlex.join(words)


def _sentence(progress: Progress) -> str:
    left = progress.seconds_left
    parts = [f"{progress.done} of {progress.total} runs"]
    if progress.reused:
        parts.append(f"{progress.reused} from before")
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    if progress.done + progress.failed < progress.total:
        about = datetime.timedelta(seconds=round(left or 0))
        parts.append(f"about {about} left" if left else "no estimate yet")
    return ", ".join(parts)


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
        is_last = progress.done + progress.failed == progress.total
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
        text = "  ".join([_sentence(progress), "; ".join(progress.running)])
        self._bar.update(
            self._task,
            total=progress.total,
            completed=progress.done + progress.failed,
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
