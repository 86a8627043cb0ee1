"""`substrax sweep`, and `show`, `resume` and `report` of the folder that it makes."""

import argparse
import contextlib
import json
import math
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._extra import require_extra
from .._types import counted
from ..sweeps import (
    ArmOutcome,
    Stop,
    SweepFolder,
    arms_table,
    failures_of,
    is_sweep,
    read_arms,
    summary_of,
    sweep_sentences,
    troubles_of,
)


def sweep(arguments: argparse.Namespace) -> int:
    """Runs a plan, as far as it is not done."""
    _check(arguments)
    with _on_cpu():
        from ..front import prepare_sweep, read_shard, shared

        shard = read_shard(arguments.shard)
        prepared, text = prepare_sweep(_plan_of(arguments.plan), arguments.out)
    if arguments.sbatch is not None:
        print(_sbatch(arguments, prepared.folder), end="")
        return 0
    if arguments.dry_run:
        jobs = shared(prepared.jobs(threads=None, keep_compiled=True), shard)
        _tell_plan(prepared.folder, {job.key for job in jobs}, arguments)
        return 0
    return _go(prepared, text, shard, arguments)


def _check(arguments: argparse.Namespace) -> None:
    for name, least in (("jobs", 1), ("sbatch", 1)):
        value = getattr(arguments, name)
        if value is not None and value < least:
            raise ValueError(f"--{name} is {value}. Choose at least {least}.")
    if arguments.jobs is not None and arguments.executor is not None:
        raise ValueError(
            "--jobs says how many processes of this machine run; an executor has its "
            "own number of workers. Leave one of them out."
        )
    if arguments.out is not None and is_sweep(arguments.plan):
        raise ValueError(
            f"{arguments.plan} is the folder of a sweep, which goes on where it is. "
            "Leave --out out, or name the plan in it."
        )


def _plan_of(name: str) -> str:
    """The plan's file, or the folder; a file that is missing is said as such."""
    if Path(name).is_dir() and not is_sweep(name):
        inside = Path(name) / "plan.toml"
        raise ValueError(
            f"{name} holds no sweep. Give a plan, a TOML file"
            + (f": {inside}, for example." if inside.is_file() else ".")
        )
    return name


@contextlib.contextmanager
def _on_cpu() -> Iterator[None]:
    """This process only looks at the plan; accelerators are left to those that run."""
    name = "JAX_PLATFORMS"
    before = os.environ.get(name)
    if "jax" not in sys.modules:
        os.environ[name] = "cpu"
    try:
        import jax  # reads it when it is imported

        assert jax
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


def _go(prepared: Any, text: str, shard: tuple[int, int] | None, arguments: Any) -> int:
    from ..front import (
        Sweep,
        SweepJSON,
        SweepSilent,
        make_sweep_display,
        make_workers,
        missing_extras,
        run_sweep,
        write_results,
    )

    folder: SweepFolder = prepared.folder
    if not arguments.no_report:
        for line in missing_extras():
            print(
                f"substrax: {line}; pip install 'substrax[sweep]' brings it.",
                file=sys.stderr,
            )
    if not arguments.quiet and not arguments.json:
        num = len(folder.arms)
        print(
            f"{folder.title or folder.path.name}: {counted(num, 'arm')}, "
            f"{counted(folder.num_runs, 'run')}, in {folder.path}"
            + ("" if shard is None else f"; share {shard[0]} of {shard[1]}"),
            flush=True,
        )
    outcomes: dict[str, Any] = {}
    display = SweepSilent()
    if arguments.json:
        display = SweepJSON()
    elif not arguments.quiet:
        display = make_sweep_display(folder, outcomes)
    stop = Stop()
    with contextlib.ExitStack() as stack:
        workers = make_workers(stack, arguments.jobs, arguments.executor)
        stack.enter_context(display)
        number = stack.enter_context(_stopping(stop))
        outcome = run_sweep(
            prepared,
            text,
            workers,
            shard,
            display.update,
            stop,
            outcomes,
            keep_compiled=not arguments.no_cache,
        )
    found = Sweep.read(folder.path)
    write_results(found)
    titles = {job.path.name: (arm, job) for arm in folder.arms for job in arm.runs}
    for key, lines in outcome.warnings.items():
        for line in lines:
            print(f"substrax: {_title(titles[key])}: {line}", file=sys.stderr)
    for key, error in outcome.failures.items():
        print(f"substrax: {_title(titles[key])} failed: {error}", file=sys.stderr)
    is_stopped = bool(stop and outcome.left)
    _end(found, is_stopped, arguments)
    if is_stopped:
        print(
            f"substrax: stopped. Everything is saved; `substrax resume {folder.path}` "
            "goes on from there.",
            file=sys.stderr,
        )
        return 128 + number[0]
    if outcome.failures:
        num = len(outcome.failures)
        print(
            f"substrax: {counted(num, 'run')} failed. The same command tries again.",
            file=sys.stderr,
        )
    return 1 if outcome.failures else 0


def _title(place: Any) -> str:
    arm, run = place
    return f"{arm.label}, seed {run.seed}"


@contextlib.contextmanager
def _stopping(stop: Stop) -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM end runs after their generations; a second one, at once."""
    number = [int(signal.SIGINT)]

    def hear(which: int, frame: Any) -> None:
        number[0] = which
        stop()

    before = {n: signal.signal(n, hear) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield number
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)


def _end(found: Any, is_stopped: bool, arguments: argparse.Namespace) -> None:
    """What all arms have come to; the page, once all runs are done."""
    has_curves = any(run.generations for arm in found.arms for run in arm.runs)
    page = None
    if found.is_finished and has_curves and not arguments.no_report:
        with contextlib.suppress(ImportError):  # which was said at the beginning
            page = found.report()
    if arguments.quiet:
        return
    tell_sweep(found.folder, found.arms, is_json=arguments.json)
    if page is not None and not arguments.json:
        print(f"report: {page}")
    elif not found.is_finished and not is_stopped and not arguments.json:
        print(
            "Some runs are left to others; the page is written by whoever does the "
            f"last, or by `substrax report {found.directory}`."
            if arguments.shard
            else f"Go on with: substrax resume {found.directory}"
        )


def tell_sweep(folder: SweepFolder, arms: Any, *, is_json: bool) -> None:
    """Prints a line for each arm."""
    if is_json:
        finite = lambda v: v if math.isfinite(v) else None
        document = {
            "arms": {
                label: {k: finite(v) for k, v in facts.items()}
                for label, facts in summary_of(arms).items()
            },
            "failures": failures_of(arms),
            "damaged_metrics": troubles_of(arms, folder.num_runs),
            "directory": str(folder.path),
        }
        print(json.dumps(document), flush=True)
        return
    title = folder.title or counted(len(arms), "arm")
    print(arms_table(arms, title).to_text(), *sweep_sentences(arms), sep="\n")
    print(f"directory: {folder.path}")


def show_sweep(arguments: argparse.Namespace) -> int:
    """A line for each arm; JAX is not imported."""
    folder = SweepFolder.read(arguments.directory)
    arms = read_arms(folder)
    tell_sweep(folder, arms, is_json=arguments.json)
    if arguments.json:
        return 0
    for line in failures_of(arms):
        print(f"failed: {line}")
    if not _is_finished(arms):
        print(f"Go on with: substrax resume {folder.path}")
    return 0


def _is_finished(arms: list[ArmOutcome]) -> bool:
    return all(run.is_finished for arm in arms for run in arm.runs)


def report_sweep(arguments: argparse.Namespace) -> int:
    """Writes the page, of whatever is there."""
    require_extra("matplotlib", "report")
    from ..report import write_report

    print(write_report(arguments.directory))
    return 0


def resume_sweep(arguments: argparse.Namespace) -> int:
    """Goes on with what the plan in the folder asks for."""
    if arguments.settings:
        plan = Path(arguments.directory) / "plan.toml"
        raise ValueError(
            "the runs of a sweep are as its plan says. Change the settings in "
            f"{plan}, and give `substrax resume {arguments.directory}`: what is done "
            "already is not done again."
        )
    if arguments.track:
        raise ValueError(
            "a sweep has no trackers; leave --track out, and look at single runs with "
            "`substrax report` instead."
        )
    words = {"plan": arguments.directory, "out": None, "dry_run": False, "jobs": None}
    words |= {"executor": None, "shard": None, "sbatch": None, "no_report": False}
    return sweep(argparse.Namespace(**{**vars(arguments), **words}))


def _tell_plan(
    folder: SweepFolder, keys: set[str], arguments: argparse.Namespace
) -> None:
    """What would run, and where."""
    from ..runs import FACTS, has_ended

    rows = []
    for arm in folder.arms:
        for run in arm.runs:
            if run.path.name not in keys:
                continue
            state = "new"
            if (run.path / FACTS).is_file():
                state = "done" if has_ended(run.path) else "begun"
            rows.append((arm, run, state))
    if arguments.json:
        for arm, run, state in rows:
            found = {"arm": arm.label, "seed": run.seed, "state": state}
            print(json.dumps(found | {"run": str(run.path)}))
        return
    counts = {
        s: sum(state == s for *_, state in rows) for s in ("new", "begun", "done")
    }
    for arm in folder.arms:
        mine = [(run, state) for other, run, state in rows if other is arm]
        if not mine:
            continue
        print(f"{arm.label}: {arm.problem} by {arm.method}")
        for run, state in mine:
            print(f"  seed {run.seed:<6} {state:<6} {run.path}")
    print(
        f"{counted(len(rows), 'run')}: {counts['new']} new, {counts['begun']} begun, "
        f"{counts['done']} done. Nothing was written."
    )


_SBATCH = """\
#!/bin/bash
# {runs} in {shares}, one for each task of a job array. All tasks work in the same
# folder, which must be on a file system that all nodes see. Whatever is killed or runs
# out of time: submit it again, and it goes on. A task needs memory for as many
# processes as it has cores.
#SBATCH --job-name={name}
#SBATCH --array=1-{num}
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=TERM@60
#SBATCH --output={name}-%A_%a.log

set -euo pipefail
cd {here}
# An environment, if there is one: source .venv/bin/activate

# (srun does not know by itself how many cores the task has)
srun --cpus-per-task="${{SLURM_CPUS_PER_TASK}}" substrax sweep {plan} --out {out} \\
    --shard "${{SLURM_ARRAY_TASK_ID}}/{num}" --jobs "${{SLURM_CPUS_PER_TASK}}"
"""


def _sbatch(arguments: argparse.Namespace, folder: SweepFolder) -> str:
    """A job array that does the plan."""
    is_folder = is_sweep(arguments.plan)
    plan = folder.path / "plan.toml" if is_folder else Path(arguments.plan)
    name = "".join(c if c.isalnum() else "-" for c in folder.path.name).strip("-")
    num = min(arguments.sbatch, folder.num_runs)
    return _SBATCH.format(
        runs=counted(folder.num_runs, "run"),
        shares=counted(num, "share"),
        num=num,
        name=name or "sweep",
        here=shlex.quote(str(Path().absolute())),
        plan=shlex.quote(str(plan)),
        out=shlex.quote(str(folder.path)),
    )
