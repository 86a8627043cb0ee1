"""From a plan to runs: every arm checked and built once, every run named."""

import ast
import dataclasses
import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._types import shown
from ..config import Experiment, load_experiment
from ..evolution import check_limits, code_of, identity_of
from ..sweeps import Job, SweepArm, SweepFolder, SweepPlan, SweepRun
from ._experiment import as_experiment

RUNS = "runs"


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A sweep that was checked; nothing is written yet."""

    plan: SweepPlan
    folder: SweepFolder
    experiments: tuple[Experiment, ...]
    """Of each arm, with any seed."""

    def jobs(self, *, threads: int | None, keep_compiled: bool) -> list[Job]:
        """All runs. The first seeds of all arms come first, so that there is something
        to look at early."""
        found = []
        for arm, experiment in zip(self.folder.arms, self.experiments, strict=True):
            for number, run in enumerate(arm.runs):
                document = {
                    "path": str(run.path.absolute()),
                    "config": with_seed(experiment, run.seed).to_toml(),
                    "name": experiment.name,
                    "threads": threads,
                    "keep_compiled": keep_compiled,
                }
                title = f"{arm.label}, seed {run.seed}"
                found.append((number, Job(run.path.name, title, arm.label, document)))
        return [job for _, job in sorted(found, key=lambda pair: pair[0])]


def with_seed(experiment: Experiment, seed: int) -> Experiment:
    """The same with another seed; nothing else follows from it."""
    change = {"run.seed": seed}
    return dataclasses.replace(
        experiment,
        values={**experiment.values, **change},
        given={**experiment.given, **change},
    )


def prepare(plan: SweepPlan, directory: Path, base: Path) -> Prepared:
    """Checks a plan. Each arm is made once, which tells whatever is wrong with it.

    `base` is the folder that paths in the plan count from.
    """
    plan = _named(plan)
    variants = plan.at(base).variants()
    arms, experiments, known = [], [], {}
    for variant in variants:
        try:
            experiment = _experiment_of(variant.experiment, plan, variant)
            experiment.check()
            for seed in variant.seeds:
                limits = experiment.run.limits
                check_limits(**{**limits, "seed": seed})
            names = [_run_name(experiment, seed) for seed in variant.seeds]
        except ValueError as error:
            # Only where there are several does it matter which.
            if len(variants) == 1:
                raise
            raise ValueError(f"arm {variant.label!r}: {error}") from error
        for name in names:
            if name in known:
                raise ValueError(
                    f"the arms {known[name]!r} and {variant.label!r} have the same "
                    "runs: what differs between them has no effect. Leave one of them "
                    "out."
                )
        known |= dict.fromkeys(names, variant.label)
        runs = [
            SweepRun(seed, directory / RUNS / name)
            for seed, name in zip(variant.seeds, names, strict=True)
        ]
        arms.append(
            SweepArm(
                label=variant.label,
                problem=experiment.problem.name,
                method=experiment.method.title,
                target=experiment.target,
                settings=plan.own_settings(variant),
                runs=tuple(runs),
            )
        )
        experiments.append(experiment)
    folder = SweepFolder(
        path=directory,
        title=plan.title,
        baseline=plan.baseline,
        base=str(base.absolute()),
        arms=tuple(arms),
    )
    return Prepared(plan, folder, tuple(experiments))


def _experiment_of(start: Any, plan: SweepPlan, variant: Any) -> Experiment:
    if isinstance(start, str | os.PathLike):
        experiment = load_experiment(start)
    elif isinstance(start, Experiment):
        experiment = start
    else:
        raise ValueError(
            f"experiment is {shown(start)}; give the name of one, a TOML file, or a "
            "problem of your own as file.py:name."
        )
    try:
        made = experiment.with_settings(variant.settings)
    except ValueError as error:
        # Settings of all runs may be none of this arm's method; they are then left out.
        own = plan.own_settings(variant)
        if not own:
            raise
        try:
            made = experiment.with_settings(plan.settings).with_settings(own)
        except ValueError:
            raise error from None
    if made.is_in_python:
        raise ValueError(
            "the problem of a sweep is made in other processes, which cannot find this "
            "one: put it in a file, and give it by its name, file.py:name."
        )
    path = made.values.get("problem.path")
    if path and not Path(path).is_absolute():
        made = made.with_settings({"problem.path": str(Path(path).absolute())})
    return made


def _named(plan: SweepPlan) -> SweepPlan:
    """The plan with names in the place of objects, so that it can be written down."""
    change: dict[str, Any] = {}
    if plan.experiment is not None:
        change["experiment"], more = _name_and_settings(plan.experiment, plan.settings)
        change["settings"] = more
    rows = []
    for row in plan.rows:
        if "experiment" in row:
            name, more = _name_and_settings(row["experiment"], {})
            row = {**more, **row, "experiment": name}
        rows.append(row)
    grid = dict(plan.grid)
    if "experiment" in grid:
        grid["experiment"] = tuple(
            os.fspath(name) if isinstance(name, os.PathLike) else name
            for name in grid["experiment"]
        )
    return dataclasses.replace(plan, **change, rows=rows, grid=grid)


def _name_and_settings(
    thing: Any, settings: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """How a problem is found again by other processes."""
    if isinstance(thing, str | os.PathLike):
        return os.fspath(thing), dict(settings)
    rest = dict(settings)
    sizes = {}
    if callable(thing) and not isinstance(thing, type):
        sizes = {k: rest.pop(k) for k in ("inputs", "outputs") if k in rest}
    made = as_experiment(thing, sizes.get("inputs"), sizes.get("outputs"), None, {})
    if made.is_in_python:
        raise ValueError(
            f"{shown(thing)} cannot be found by other processes, and a sweep runs in "
            "several: put the problem, or the fitness, at the top of a file, and give "
            "it from there, or by its name, file.py:name. Data are a file, CSV or "
            "Parquet."
        )
    given = {k: v for k, v in made.given.items() if k != "problem.name"}
    return made.problem_name, {**given, **rest}


def _run_name(experiment: Experiment, seed: int) -> str:
    """A name for what a run's result depends on, with something to read before it."""
    words = [_readable(experiment.problem.name), experiment.method.name, f"seed{seed}"]
    return "-".join([*words, _digest(experiment, seed)])


def _readable(name: str) -> str:
    text = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
    return text[:32] or "problem"


def _digest(experiment: Experiment, seed: int) -> str:
    content = {**_arm_identity(experiment), "seed": seed}
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _arm_identity(experiment: Experiment) -> dict[str, Any]:
    """All that results depend on, but for the seed: what a run directory knows of it,
    when the run ends, which engine rounds, and the code of a problem of one's own."""
    kept = experiment.__dict__.get("_sweep_identity")
    if kept is not None:
        return kept
    parts = experiment.build()
    identity = identity_of(parts.algorithm, parts.decoder, parts.problem, 0)
    # What a problem of one's own is made from, too: it may be in a closure.
    settings = {k: v for k, v in experiment.values.items() if k.startswith("problem.")}
    settings["problem.name"] = Path(experiment.problem_name).name
    # Of data the content counts, not where they lie.
    if "problem.data" in identity:
        identity.pop("problem.path", None)
        settings.pop("problem.path", None)
    run = experiment.run
    engine = "device" if run.devices is not None else run.engine
    identity |= {
        "run.generations": run.generations,
        "run.target": experiment.target,
        "run.seconds": run.seconds,
        "run.patience": run.patience,
        "run.engine": engine,
        "settings": settings,
        "code": code_of(parts.problem),
        "file": _own_code(experiment.problem_name),
    }
    experiment.__dict__["_sweep_identity"] = identity
    return identity


def _own_code(name: str) -> str | None:
    """A digest of the file that a problem of one's own lies in, without its comments
    and layout: a fitness may call what stands beside it."""
    place, _, attribute = name.rpartition(":")
    if not place or not attribute:
        return None
    if not place.endswith(".py"):
        module = sys.modules.get(place)
        place = getattr(module, "__file__", None) or ""
    try:
        tree = ast.parse(Path(place).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()[:32]


def shared(jobs: Sequence[Job], shard: tuple[int, int] | None) -> list[Job]:
    """The share of one of several machines: runs of every arm, as evenly as they can be
    given. Together the shares are all runs, and no run is in two."""
    if shard is None:
        return list(jobs)
    number, count = shard
    by_arm = sorted(jobs, key=lambda job: job.group)
    mine = {job.key for job in by_arm[number - 1 :: count]}
    return [job for job in jobs if job.key in mine]


def read_shard(text: str | tuple[int, int] | None) -> tuple[int, int] | None:
    """`3/10`: the third of ten shares."""
    if text is None:
        return None
    parts = []
    if isinstance(text, str):
        parts = text.split("/")
    elif isinstance(text, Sequence):
        parts = list(map(str, text))
    numbers = [int(p) for p in parts if p.strip().isascii() and p.strip().isdigit()]
    if len(parts) == len(numbers) == 2 and 1 <= numbers[0] <= numbers[1]:
        return numbers[0], numbers[1]
    raise ValueError(
        f"shard is {shown(text)}. Say which of how many shares, from 1 on: 1/4, 2/4, "
        "3/4 and 4/4, for example."
    )
