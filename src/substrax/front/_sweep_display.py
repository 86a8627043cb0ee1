"""What is seen while a sweep goes on: a line for each arm."""

import dataclasses
import json
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._types import counted
from ..runs import METRICS
from ..sweeps import Job, Progress, SeedOutcome, SweepFolder
from ._display import duration, is_notebook

_LINE_SECONDS = 15.0
_MOST_ARMS = 40
"""Of which a terminal shows lines; the rest is summed up."""
_TAIL = 1 << 16


@dataclasses.dataclass
class _Arm:
    """The numbers of a line."""

    label: str
    total: int = 0
    done: int = 0
    running: int = 0
    elsewhere: int = 0
    failed: int = 0
    solved: int = 0
    best: float = -math.inf

    @property
    def waiting(self) -> int:
        return self.total - self.done - self.running - self.elsewhere - self.failed


class SweepSilent:
    """Shows nothing."""

    def __enter__(self) -> "SweepSilent":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def update(self, progress: Progress) -> None:
        return None


class SweepJSON(SweepSilent):
    """A JSON object whenever a run is done or has failed."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def update(self, progress: Progress) -> None:
        for job in progress.jobs:
            error = progress.failures.get(job.key)
            if job.key in self._told or (
                error is None and job.key not in progress.results
            ):
                continue
            self._told.add(job.key)
            found = {"run": job.document["path"], "arm": job.group}
            found |= {"status": "done"} if error is None else {"status": "failed"}
            found |= {} if error is None else {"error": error}
            print(json.dumps(found), flush=True)


class _Table(SweepSilent):
    """What all displays tell."""

    def __init__(
        self, folder: SweepFolder, outcomes: Mapping[str, SeedOutcome]
    ) -> None:
        self.folder = folder
        self.outcomes = outcomes
        """Of runs that are done, by their names; added to while they are."""
        self._live: dict[str, tuple[float, float]] = {}

    def arms(self, progress: Progress) -> list[_Arm]:
        arms = {arm.label: _Arm(arm.label) for arm in self.folder.arms}
        running = {job.key for job in progress.running}
        elsewhere = {job.key for job in progress.elsewhere}
        for job in progress.jobs:
            arm = arms[job.group]
            arm.total += 1
            arm.failed += job.key in progress.failures
            arm.running += job.key in running
            arm.elsewhere += job.key in elsewhere
            if job.key in progress.results:
                arm.done += 1
                outcome = self.outcomes.get(job.key)
                if outcome is not None:
                    arm.solved += bool(outcome.is_solved)
                    arm.best = max(arm.best, _or_least(outcome.best_fitness))
            elif job.key in running or job.key in elsewhere:
                arm.best = max(arm.best, self._best_so_far(job))
        return list(arms.values())

    def _best_so_far(self, job: Job) -> float:
        """Of a run that goes on, as the last line of its metrics says."""
        now = time.monotonic()
        when, best = self._live.get(job.key, (-math.inf, -math.inf))
        if now - when > 2.0:
            best = last_best(Path(job.document["path"]) / METRICS)
            self._live[job.key] = now, best
        return best

    def sentence(self, progress: Progress) -> str:
        parts = [f"{progress.num_done} of {len(progress.jobs)} runs"]
        if progress.num_reused:
            parts.append(f"{progress.num_reused} from before")
        if progress.failures:
            parts.append(f"{len(progress.failures)} failed")
        if progress.elsewhere:
            parts.append(f"{len(progress.elsewhere)} at another process")
        parts.append(duration(progress.seconds))
        if progress.is_stopping:
            parts.append("stopping after this generation ...")
        elif progress.num_done + len(progress.failures) < len(progress.jobs):
            left = progress.seconds_left
            known = left is not None
            parts.append(f"about {duration(left)} left" if known else "no estimate yet")
        return ", ".join(parts)


def _or_least(value: float | None) -> float:
    return -math.inf if value is None else value


def last_best(path: Path) -> float:
    """The best fitness so far in the last whole line of a file of metrics."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            lines = file.read().split(b"\n")[:-1]
        found = json.loads(lines[-1])["best_ever"] if lines else None
        return _or_least(None if found is None else float(found))
    except (OSError, ValueError, KeyError, TypeError):
        return -math.inf


def _best_text(best: float) -> str:
    return "" if best == -math.inf else f"{best:z.4g}"


_HEAD = ("arm", "done", "solved", "running", "waiting", "failed", "best")


def _cells(arm: _Arm) -> tuple[str, ...]:
    running = f"{arm.running}" + (f" (+{arm.elsewhere})" if arm.elsewhere else "")
    return (
        arm.label,
        f"{arm.done} of {arm.total}",
        f"{arm.solved}",
        running,
        f"{arm.waiting}",
        f"{arm.failed}" if arm.failed else "",
        _best_text(arm.best),
    )


class _SweepLines(_Table):
    """Lines for a file or a pipe: for each run that ends, and now and then."""

    def __init__(self, *details: Any) -> None:
        super().__init__(*details)
        self._last = time.monotonic()
        self._told: set[str] | None = None

    def update(self, progress: Progress) -> None:
        if self._told is None:  # what was there before
            self._told = set(progress.results)
        for job in progress.jobs:
            if job.key in progress.results and job.key not in self._told:
                self._told.add(job.key)
                print(f"  {job.title}: {self._words(job.key)}", flush=True)
                self._tell(progress, 2.0)
        self._tell(progress, _LINE_SECONDS)

    def _tell(self, progress: Progress, every: float) -> None:
        now = time.monotonic()
        if now - self._last >= every:
            self._last = now
            print(self.sentence(progress), flush=True)

    def _words(self, key: str) -> str:
        outcome = self.outcomes.get(key)
        if outcome is None:
            return "done"
        num, best = outcome.generations, _or_least(outcome.best_fitness)
        return (
            f"{outcome.words}, best fitness {_best_text(best) or 'none'}, "
            f"{counted(num, 'generation')}, {outcome.running_seconds:.1f} s, and "
            f"{outcome.compile_seconds:.1f} s compiling"
        )


class _SweepLive(_Table):
    """A table that is drawn over itself, on a terminal."""

    def __enter__(self) -> "_SweepLive":
        from rich.live import Live

        self._live_view: Any = Live(refresh_per_second=4, transient=True)
        self._live_view.__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        self._live_view.__exit__(*details)

    def update(self, progress: Progress) -> None:
        self._live_view.update(self._render(progress))

    def _render(self, progress: Progress) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for k, name in enumerate(_HEAD):
            table.add_column(name, justify="left" if k == 0 else "right")
        arms = self.arms(progress)
        # Those that something happens in come first where there are many.
        if len(arms) > _MOST_ARMS:
            arms.sort(key=lambda arm: -arm.running)
        for arm in arms[:_MOST_ARMS]:
            table.add_row(*map(Text, _cells(arm)))
        more = len(arms) - _MOST_ARMS
        rest = [Text(f"and {more} more arms", style="dim")] if more > 0 else []
        return Group(table, *rest, Text(self.sentence(progress)))


class _SweepNotebook(_Table):
    """The same in a notebook."""

    def __enter__(self) -> "_SweepNotebook":
        import importlib

        self._ipython: Any = importlib.import_module("IPython.display")
        self._handle: Any = self._ipython.display(
            self._ipython.HTML("<pre>starting ...</pre>"), display_id=True
        )
        self._last = 0.0
        return self

    def update(self, progress: Progress) -> None:
        import html

        is_last = progress.num_done == len(progress.jobs)
        if time.monotonic() - self._last < 0.5 and not is_last:
            return
        self._last = time.monotonic()
        text = plain_table([_cells(arm) for arm in self.arms(progress)])
        words = html.escape(f"{text}\n{self.sentence(progress)}")
        self._handle.update(self._ipython.HTML(f"<pre>{words}</pre>"))


def plain_table(rows: Sequence[Sequence[str]]) -> str:
    """The rows below their heads."""
    rows = [_HEAD, *rows]
    widths = [max(len(row[k]) for row in rows) for k in range(len(_HEAD))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def make_sweep_display(
    folder: SweepFolder,
    outcomes: Mapping[str, SeedOutcome],
    *,
    has_lines: bool = True,
) -> SweepSilent:
    """The display that fits; without `has_lines`, nothing but a terminal and a
    notebook have one."""
    if is_notebook():
        return _SweepNotebook(folder, outcomes)
    if sys.stdout.isatty():
        return _SweepLive(folder, outcomes)
    return _SweepLines(folder, outcomes) if has_lines else SweepSilent()
