"""What is seen while a run goes on."""

import contextlib
import html
import importlib
import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import jax

from .._resources import Progress
from .._types import counted
from ..config import Experiment
from ..evolution import Generation, GenerationRecord, engine_for, xla_seconds
from ..problems import data_in_words

_RECENT = 20
_LINE_SECONDS = 10.0
_LINE_SHARE = 0.02
"""Of the time so far, after which a line is due: a run of a day has no more of them
than one of an hour needs."""
_COMPILE_SECONDS = 1.0


class Silent:
    """Shows nothing. A display is entered before a run, told of each generation, and
    left after it."""

    def __enter__(self) -> "Silent":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def update(self, generation: Generation) -> None:
        return None

    def progress(self, progress: Progress) -> None:
        return None


class JSONLines(Silent):
    """A JSON object for each generation."""

    def update(self, generation: Generation) -> None:
        # At once, for whoever reads the pipe.
        print(json.dumps(generation.record.to_dict()), flush=True)


class _Estimate:
    """Times: of a generation lately, of what is left at most."""

    def __init__(self, generations: int) -> None:
        self._generations = generations
        self._recent: list[float] = []
        self.compile_seconds = 0.0

    def add(self, record: GenerationRecord) -> None:
        self.compile_seconds += record.compile_seconds
        self._recent.append(record.seconds - record.compile_seconds)
        # The last ones say most about the next, as genomes grow.
        del self._recent[:-_RECENT]

    @property
    def seconds_per_generation(self) -> float:
        return sum(self._recent) / max(len(self._recent), 1)

    def left(self, record: GenerationRecord) -> float:
        remaining = self._generations - record.generation - 1
        return max(remaining, 0) * self.seconds_per_generation


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:z.4f}"


def duration(seconds: float) -> str:
    """A time for a person."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
    )


def _title(experiment: Experiment, directory: Path | None) -> list[str]:
    words = [f"{experiment.problem.name}: {experiment.method.title}"]
    if "method.depth" in experiment.values:
        words.append(f"depth {experiment.values['method.depth']}")
    if "method.connections" in experiment.values:
        words.append(f"links {experiment.values['method.connections']}")
    words.append(f"population {experiment.neat.population_size}")
    about_data = data_in_words(experiment.problem)
    return [
        ", ".join([*words, f"seed {experiment.run.seed}"]),
        *([] if about_data is None else [about_data]),
        _place(experiment) + ("" if directory is None else f", {directory}"),
    ]


def _place(experiment: Experiment) -> str:
    """Which engine runs, and on what."""
    parts, executor = experiment.build(), experiment.run.executor
    resources = engine_for(experiment.run.resources, parts.algorithm, parts.decoder)
    if executor is not None:
        kind = "native" if resources.native is not None else "device"
        return f"engine {kind}, workers {executor}"
    if resources.native is not None:
        return f"engine native, {counted(resources.num_threads, 'thread')}"
    num = resources.devices or jax.device_count()
    return f"engine device, {counted(num, jax.default_backend())}"


def _progress_line(progress: Progress) -> str:
    """How far a long discovery is, and how long it will take, if anybody knows."""
    done = f"{progress.genomes_done} of {progress.num_genomes} genomes"
    found = f"{progress.links:,} links"
    left = progress.left
    rest = "not known yet" if left is None else f"about {duration(left)}"
    return f"{done}, {found}, {duration(progress.seconds)}; still to go: {rest}"


class _Compilation:
    """Whether the first generation compiles, which is said once it takes a while.

    What comes from a cache takes none, and nothing is said.
    """

    def __init__(self) -> None:
        self._before = xla_seconds()
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def takes_long(self) -> bool:
        return xla_seconds() - self._before >= _COMPILE_SECONDS

    def watch(self, tell_fn: Callable[[], None]) -> None:
        """Calls a function if it takes long, while the run itself is busy."""
        self._thread = threading.Thread(target=self._wait, args=(tell_fn,), daemon=True)
        self._thread.start()

    def _wait(self, tell_fn: Callable[[], None]) -> None:
        while not self._is_over.wait(_COMPILE_SECONDS / 4):
            if self.takes_long:
                # Where nobody reads any more, the run itself says so.
                with contextlib.suppress(OSError, ValueError):
                    tell_fn()
                return

    def end(self) -> None:
        """There is something else to say now."""
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()


class _PlainLines(Silent):
    """Lines for a file or a pipe: where something improved, and now and then.

    The longer a run takes, the rarer they are.
    """

    def __init__(self, experiment: Experiment, directory: Path | None) -> None:
        self._title = _title(experiment, directory)
        self._estimate = _Estimate(experiment.run.generations)
        self._has_header = False
        self._last_ever: float | None = None
        self._began = time.monotonic()
        self._last_line = 0.0
        self._last_number = -1
        self._last_progress = self._began
        self._compilation = _Compilation()

    def progress(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - max(self._last_progress, self._last_line) > _LINE_SECONDS:
            self._last_progress = now
            print(f"  discovering: {_progress_line(progress)}", flush=True)

    def __enter__(self) -> "_PlainLines":
        print(*self._title, sep="\n", flush=True)
        sentence = "The first generation compiles, which takes a while ..."
        self._compilation.watch(lambda: print(sentence, flush=True))
        return self

    def __exit__(self, *_: object) -> None:
        self._compilation.end()

    def update(self, generation: Generation) -> None:
        record = generation.record
        self._estimate.add(record)
        self._compilation.end()
        if not self._has_header:
            self._has_header = True
            if record.compile_seconds >= _COMPILE_SECONDS:
                print(f"(compiled in {record.compile_seconds:.1f} s)")
            print(
                "generation    best    ever    mean  species  hidden  links"
                "  cached  s/gen  left at most"
            )
        elif record.compile_seconds >= _COMPILE_SECONDS:
            print(f"(larger now, and compiled again in {record.compile_seconds:.1f} s)")
        if not self._is_due(record):
            return
        self._last_ever, self._last_line = record.best_ever, time.monotonic()
        self._last_number = record.generation
        print(
            f"{record.generation:10d} {_number(record.best_fitness):>7}"
            f" {_number(record.best_ever):>7} {_number(record.mean_fitness):>7}"
            f" {record.num_species:8d} {record.mean_hidden:7.1f}"
            f" {record.mean_network_links:6.0f} {record.num_cached:7d}"
            f" {self._estimate.seconds_per_generation:6.2f}"
            f"  {duration(self._estimate.left(record))}",
            flush=True,
        )

    def _is_due(self, record: GenerationRecord) -> bool:
        """Generations 0 to 100 have a line every 10, or where the best improves; up to
        1000 they have one every 100, and improvements wait for the next 10; and so on.
        """
        number, now = record.generation, time.monotonic()
        step = 10 ** max(len(str(number)) - 1, 1)
        improved = record.best_ever != self._last_ever
        since_last = number - self._last_number
        patience = max(_LINE_SECONDS, _LINE_SHARE * (now - self._began))
        return (
            number % step == 0
            or (improved and since_last >= step // 10)
            or now - self._last_line > patience
        )


class _Live:
    """A small table that is drawn over itself, on a terminal."""

    def __init__(self, experiment: Experiment, directory: Path | None) -> None:
        self._title = _title(experiment, directory)
        self._generations = experiment.run.generations
        self._estimate = _Estimate(self._generations)
        self._record: GenerationRecord | None = None
        self._progress: Progress | None = None
        self._began = time.monotonic()
        self._compilation = _Compilation()
        self._live: Any = None

    def __enter__(self) -> "_Live":
        from rich.live import Live

        # A thread of rich's draws it, also while a generation takes long.
        self._live = Live(get_renderable=self._render, refresh_per_second=4)
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, traceback)

    def update(self, generation: Generation) -> None:
        record = generation.record
        self._estimate.add(record)
        self._record = record
        self._progress = None

    def progress(self, progress: Progress) -> None:
        self._progress = progress

    def _progress_rows(self) -> list[tuple[str, str]]:
        progress = self._progress
        if progress is None or progress.seconds < 2.0:
            return []
        return [("discovering", _progress_line(progress))]

    def _rows(self) -> list[tuple[str, str]]:
        record = self._record
        elapsed = duration(time.monotonic() - self._began)
        if record is None:
            takes_long = self._compilation.takes_long
            what = "compiling ..." if takes_long else "starting ..."
            return [(what, elapsed), *self._progress_rows()]
        estimate = self._estimate
        return [
            ("generation", f"{record.generation + 1} of {self._generations}"),
            (
                "fitness",
                f"best {_number(record.best_ever)}, this generation "
                f"{_number(record.best_fitness)}, mean {_number(record.mean_fitness)}",
            ),
            ("species", f"{record.num_species}"),
            (
                "genomes",
                f"{record.mean_genome_nodes:.1f} nodes, "
                f"{record.mean_genome_links:.1f} links on average",
            ),
            (
                "networks",
                f"{record.mean_hidden:.1f} hidden nodes, "
                f"{record.mean_network_links:.0f} links on average"
                + (f", {record.num_empty} empty" if record.num_empty else ""),
            ),
            (
                "cache",
                f"{record.num_cached} of {sum(s['size'] for s in record.species_size)} "
                "networks did not have to be built again",
            ),
            (
                "time",
                f"{elapsed}, {estimate.seconds_per_generation:.3f} s per generation, "
                f"{estimate.compile_seconds:.1f} s compiling, "
                f"at most {duration(estimate.left(record))} left",
            ),
            *self._progress_rows(),
        ]

    def _render(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        for name, value in self._rows():
            table.add_row(Text(name, style="dim"), Text(value))
        title = [Text(line, style="bold") for line in self._title[:1]]
        return Group(*title, *(Text(x) for x in self._title[1:]), table)


class _Notebook(_Live):
    """The same table as a part of a notebook, which is replaced."""

    def __init__(self, experiment: Experiment, directory: Path | None) -> None:
        super().__init__(experiment, directory)
        self._handle: Any = None
        self._last_shown = 0.0

    def __enter__(self) -> "_Notebook":
        self._handle = _ipython().display(self._page(), display_id=True)
        self._compilation.watch(self._show)
        return self

    def __exit__(self, *_: object) -> None:
        self._compilation.end()
        self._show()

    def update(self, generation: Generation) -> None:
        self._compilation.end()
        super().update(generation)
        self._show_sometimes()

    def progress(self, progress: Progress) -> None:
        super().progress(progress)
        self._show_sometimes()

    def _show_sometimes(self) -> None:
        if time.monotonic() - self._last_shown > 0.25:
            self._show()

    def _show(self) -> None:
        self._last_shown = time.monotonic()
        self._handle.update(self._page())

    def _page(self) -> Any:
        rows = [f"{name:<12} {value}" for name, value in self._rows()]
        return _ipython().HTML(
            f"<pre>{html.escape(chr(10).join([*self._title, *rows]))}</pre>"
        )


def _ipython() -> Any:
    return importlib.import_module("IPython.display")


def is_notebook() -> bool:
    """Whether this is a notebook, which shows more than text."""
    # Not imported: in a notebook it is there, and others need not wait for it.
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


def make_display(
    experiment: Experiment, directory: Path | None, *, has_lines: bool = True
) -> "Silent | _Live":
    """The display that fits: in a notebook, live on a terminal, or lines elsewhere.

    Without `has_lines`, nothing elsewhere.
    """
    if is_notebook():
        return _Notebook(experiment, directory)
    if sys.stdout.isatty():
        return _Live(experiment, directory)
    return _PlainLines(experiment, directory) if has_lines else Silent()
