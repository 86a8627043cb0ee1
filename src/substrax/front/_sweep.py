"""Settings x seeds, in many processes: `sweep`, and what came of it."""

import contextlib
import dataclasses
import html
import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._extra import import_extra
from .._types import shown
from ..config import refuse_while_loading
from ..runs import has_ended, summary
from ..sweeps import (
    DONE,
    ArmOutcome,
    Job,
    OnExecutor,
    Outcome,
    Pair,
    Processes,
    Progress,
    SeedOutcome,
    Stop,
    SweepFolder,
    SweepPlan,
    Table,
    arms_table,
    check_folder,
    columns_of,
    compare_arms,
    default_jobs,
    failures_of,
    is_sweep,
    pairs_table,
    read_arms,
    read_plan,
    rows_of,
    run_jobs,
    summary_of,
    sweep_sentences,
    write_parquet,
)
from ..sweeps import RESULTS as RESULTS
from ..workers import WorkersError, check_executor, num_processes
from ._notebook import beside_figures
from ._sweep_display import SweepSilent, make_sweep_display
from ._sweep_plan import Prepared, prepare, read_shard, shared
from ._sweep_work import WORK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Plan = SweepPlan | Mapping[str, Any] | str | os.PathLike[str]


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Runs of several arms and seeds, read from their folder.

    `print` says what each arm came to. In a notebook, a sweep shows a table and a
    figure; `report` writes a page. `Sweep.read(folder)` reads it anew, also while it
    goes on.
    """

    folder: SweepFolder
    arms: tuple[ArmOutcome, ...]
    """What each arm has come to."""
    failures: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Why runs failed, by the names of their directories, the last time."""

    @staticmethod
    def read(folder: str | os.PathLike[str]) -> "Sweep":
        """The sweep in a folder."""
        found = SweepFolder.read(folder)
        return Sweep(found, tuple(read_arms(found)))

    @property
    def directory(self) -> Path:
        """The folder of all runs."""
        return self.folder.path

    @property
    def is_finished(self) -> bool:
        """Whether every run has come to its end."""
        return all(run.is_finished for arm in self.arms for run in arm.runs)

    def __len__(self) -> int:
        return self.folder.num_runs

    def __iter__(self) -> Iterator[ArmOutcome]:
        return iter(self.arms)

    def __getitem__(self, label: str) -> ArmOutcome:
        for arm in self.arms:
            if arm.arm.label == label:
                return arm
        raise KeyError(label)

    def table(self) -> Table:
        """A line for each arm: rates with Wilson's interval, medians with the interval
        of a bootstrap."""
        return arms_table(self.arms, self.folder.title or self.directory.name)

    def comparisons(self) -> list[Pair]:
        """Arms compared with one another, p-values corrected by Holm's method; see
        `substrax.sweeps.compare_arms`. Needs the extra `sweep`."""
        return compare_arms(self.arms, self.folder.baseline)

    def comparison_table(self) -> Table:
        """The same as a table."""
        return pairs_table(self.comparisons(), "Arms compared")

    def summary(self) -> dict[str, dict[str, int | float]]:
        """For each arm, how many runs were solved, with Wilson's interval of 95 %, and
        medians with quartiles."""
        return summary_of(self.arms)

    def rows(self) -> list[dict[str, Any]]:
        """A dictionary for each run: its arm, settings and seed, what it came to."""
        return rows_of(self.arms)

    def columns(self) -> dict[str, np.ndarray]:
        """The same as arrays by name."""
        return {k: np.array(v) for k, v in columns_of(self.rows()).items()}

    def frame(self) -> Any:
        """The same as a `pandas.DataFrame`."""
        return import_extra("pandas", "sweep").DataFrame(self.rows())

    def plot(self) -> "Figure":
        """The best fitness of each arm over the generations: medians and quartiles."""
        from ..report import plot_sweep

        return plot_sweep(self.directory)

    def report(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Writes a page; returns where it is.

        **Arguments:**

        - `path`: a folder for it; left out, `report` in the folder of the sweep.
        """
        from ..report import write_report

        return write_report(self.directory, path)

    def __repr__(self) -> str:
        lines = [self.table().to_text(), *sweep_sentences(self.arms)]
        lines += [f"failed: {line}" for line in failures_of(self.arms)]
        return "\n".join([*lines, f"directory: {self.directory}"])

    def _repr_html_(self) -> str:
        has_curve = any(run.generations for arm in self.arms for run in arm.runs)
        figures = lambda: [self.plot()] if has_curve else []
        return beside_figures(figures, f"<pre>{html.escape(repr(self))}</pre>")


def sweep(
    plan: Plan | None = None,
    *,
    directory: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    executor: Executor | str | None = None,
    shard: str | tuple[int, int] | None = None,
    progress: bool | None = None,
    report: bool = False,
    **keywords: Any,
) -> Sweep:
    """Runs settings x seeds of experiments, each run in a process; none is done twice.

    ```python
    import substrax as sx

    found = sx.sweep(
        experiment="xor",
        seeds=2,
        settings={"generations": 5, "population": 20},
        grid={"depth": [1, 2]},
        directory="depths",
    )
    print(found)  # a table of the arms
    ```

    If it is stopped or killed, the same call goes on where it was; finished runs are
    not done again, also when the plan has other arms by then. Several processes and
    machines may share the folder. A run that fails does not stop the others;
    `failures` of what is returned says why.

    **Arguments:**

    - `plan`: a TOML file, a dictionary, a `SweepPlan`, or the folder of a sweep, which
      is gone on with; or leave it out, and give `experiment`, `seeds`, `settings`,
      `grid`, `rows`, `title` and `baseline` as keywords (see `SweepPlan`).
    - `directory`: the folder of the sweep; left out, one below `runs/` that is named
      after the plan.
    - `jobs`: how many runs at a time, each with its share of the cores; left out, as
      many as there are cores.
    - `executor`: any `concurrent.futures.Executor`, or `"dask://host:8786"`, instead of
      processes here (`"processes:8"` is the same as `jobs=8`). Its workers need the
      folder at the same path.
    - `shard`: `"3/10"`, the third of ten shares that machines do by themselves.
    - `progress`: whether to show a table; left out, on a terminal and in a notebook.
    - `report`: whether to write the page at the end.
    """
    refuse_while_loading()
    if plan is not None and keywords:
        raise ValueError(
            f"sweep got a plan and {', '.join(keywords)} besides. Give the plan alone, "
            "or all of it as keywords."
        )
    if plan is None:
        plan = keywords
    check_workers(jobs, executor)
    share = read_shard(shard)
    if report:
        require_report()
    prepared, text = prepare_sweep(plan, directory)
    stop = Stop()
    with contextlib.ExitStack() as stack:
        workers = make_workers(stack, jobs, executor)
        prepared.folder.write(text)
        outcomes: dict[str, SeedOutcome] = {}
        display = SweepSilent()
        if progress is not False:
            display = make_sweep_display(
                prepared.folder, outcomes, has_lines=bool(progress)
            )
        stack.enter_context(display)
        outcome = run_sweep(prepared, workers, share, display.update, stop, outcomes)
        is_stopped = bool(stop and outcome.left)
    if is_stopped:
        raise KeyboardInterrupt
    found = dataclasses.replace(
        Sweep.read(prepared.folder.path), failures=outcome.failures
    )
    write_results(found)
    if report:
        found.report()
    return found


def prepare_sweep(
    plan: Plan, directory: str | os.PathLike[str] | None
) -> tuple[Prepared, str]:
    """A plan that was checked, as was its folder, and its text; nothing is written."""
    if directory is not None and not isinstance(directory, str | os.PathLike):
        raise ValueError(
            f"directory is {shown(directory)}; give the path of a folder, or leave it "
            "out."
        )
    if isinstance(plan, str | os.PathLike) and is_sweep(plan):
        folder = SweepFolder.read(plan)
        text = read_plan(folder.path)
        read = SweepPlan.from_toml(text, os.fspath(Path(plan) / "plan.toml"))
        return prepare(read, folder.path, Path(folder.base)), text
    read = SweepPlan.read(plan)
    place = Path(_usual_place(plan) if directory is None else directory)
    prepared = prepare(read, place, Path())
    is_file = isinstance(plan, str | os.PathLike)
    text = Path(plan).read_text("utf-8") if is_file else prepared.plan.to_toml()
    check_folder(place, text)
    return prepared, text


def _usual_place(plan: Plan) -> Path:
    """Below `runs/`, and always the same for a plan: a second call goes on there."""
    if isinstance(plan, str | os.PathLike):
        return Path("runs") / Path(plan).stem
    return Path("runs") / "sweep"


def check_workers(jobs: int | None, executor: Executor | str | None) -> None:
    """Refuses what `make_workers` cannot make, before anything else is done."""
    if jobs is not None and (type(jobs) is not int or jobs < 1):
        raise ValueError(
            f"jobs is {shown(jobs)}. Choose a whole number of at least 1, or leave it "
            "out."
        )
    if executor is None or executor == "none":
        return
    check_executor(executor)
    if jobs is not None:
        raise ValueError(
            "jobs says how many processes of this machine run; an executor has its own "
            "number of workers. Leave one of them out."
        )


def make_workers(
    stack: contextlib.ExitStack, jobs: int | None, executor: Executor | str | None
) -> Processes | OnExecutor:
    """Where runs are done; see `check_workers`. A scheduler is connected to."""
    if executor is None or executor == "none":
        return Processes(WORK, default_jobs() if jobs is None else jobs)
    if isinstance(executor, str) and (num := num_processes(executor)) is not None:
        return Processes(WORK, num)
    workers = OnExecutor(WORK, executor)
    stack.callback(workers.close)
    return workers


def run_sweep(
    prepared: Prepared,
    workers: Processes | OnExecutor,
    shard: tuple[int, int] | None,
    on_progress: Callable[[Progress], None],
    stop: Stop,
    outcomes: dict[str, SeedOutcome],
    *,
    keep_compiled: bool = True,
    max_seconds: float = float("inf"),
) -> Outcome:
    """Does what is not done yet, in a folder that was written. `outcomes` is filled
    with what finished runs came to."""
    threads = None
    if isinstance(workers, Processes) and not hasattr(os, "sched_setaffinity"):
        threads = max(1, default_jobs() // workers.num)
    jobs = prepared.jobs(threads=threads, keep_compiled=keep_compiled)

    def look(job: Job) -> dict[str, Any] | None:
        path = Path(job.document["path"])
        if not has_ended(path):
            return None
        outcomes[job.key] = SeedOutcome.of(summary(path))
        return {"status": DONE, "seconds": outcomes[job.key].seconds}

    def tell(progress: Progress) -> None:
        for key in progress.results.keys() - outcomes.keys():
            with contextlib.suppress(ValueError, OSError):
                path = prepared.folder.path / "runs" / key
                outcomes[key] = SeedOutcome.of(summary(path))
        on_progress(progress)

    try:
        return run_jobs(
            shared(jobs, shard),
            workers,
            look_fn=look,
            on_progress=tell,
            stop=stop,
            max_seconds=max_seconds,
        )
    except WorkersError as error:
        error.add_note(
            f"What is done is saved: `substrax resume {prepared.folder.path}` goes on "
            "from there, in processes of this machine."
        )
        raise


def missing_extras() -> list[str]:
    """Sentences about what a sweep leaves out where packages are missing."""
    lacks = lambda name: importlib.util.find_spec(name) is None
    found = []
    if lacks("matplotlib"):
        found.append("no page and no figures are written: matplotlib is missing")
    missing = [name for name in ("scipy", "statsmodels") if lacks(name)]
    if missing:
        intervals = ", and medians have no intervals" if lacks("scipy") else ""
        found.append(
            f"arms are not compared{intervals}: {' and '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing"
        )
    if lacks("pyarrow"):
        found.append(f"{RESULTS} is not written: pyarrow is missing")
    return found


def require_report() -> None:
    """Raises if the page cannot be written."""
    from .._extra import require_extra

    require_extra("matplotlib", "sweep")


def write_results(found: Sweep) -> Path | None:
    """A row for each run, as Parquet; None without pyarrow."""
    if importlib.util.find_spec("pyarrow") is None:
        return None
    path = found.directory / RESULTS
    write_parquet(found.rows(), path)
    return path
