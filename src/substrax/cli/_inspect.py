"""`substrax show`, `report`, `export`, `list`."""

import argparse
import json
import math
from pathlib import Path
from typing import Any

from ..config import (
    Experiment,
    builtin_experiments,
    load_experiment,
    load_run,
)
from ..evolution import (
    GenerationRecord,
    RunDirectory,
    StopReason,
    diagnose,
    genome_size,
)


def _first_line(thing: Any) -> str:
    return (thing.__doc__ or "").strip().partition("\n")[0]


def _target(experiment: Experiment, problem: Any) -> float:
    """The fitness that is enough; infinite if nobody knows."""
    target = experiment.run.target
    if target is None:
        return math.inf if problem is None else problem.target
    return target


def summary(experiment: Experiment, directory: RunDirectory) -> dict[str, Any]:
    """What a run has found, as plain values."""
    from ..network import describe

    metrics = directory.metrics()
    reason = directory.stop_reason()
    best = directory.best()
    problem = None if experiment.is_elsewhere else experiment.problem
    target = _target(experiment, problem)
    facts: dict[str, Any] = {
        "directory": str(directory.path),
        "problem": experiment.problem_name,
        "method": experiment.method.name,
        "seed": experiment.run.seed,
        "generations": metrics[-1]["generation"] + 1 if metrics else 0,
        "generations_at_most": experiment.run.generations,
        "stopped": None if reason is None else reason.value,
        "error": directory.error(),
        "damaged_lines": directory.damaged_lines(),
        "target": target if math.isfinite(target) else None,
        "seconds": round(sum(m["seconds"] for m in metrics), 3),
        "compile_seconds": round(sum(m["compile_seconds"] for m in metrics), 3),
        "num_cached": sum(m.get("num_cached", 0) for m in metrics),
        "best": None,
        "diagnosis": [],
    }
    if best is None or best.fitness < target:
        history = [GenerationRecord.from_dict(line) for line in metrics]
        facts["diagnosis"] = list(diagnose(history))
    if best is not None:
        num_nodes, num_links = genome_size(best.genome)
        facts["best"] = {
            "fitness": best.fitness,
            "generation": best.generation,
            "is_solved": best.fitness >= target,
            "genome_nodes": num_nodes,
            "genome_links": num_links,
            "network": str(describe(best.network)),
            "measures": {} if problem is None else problem.measures(best.network),
        }
    return facts


def summary_lines(experiment: Experiment, directory: RunDirectory) -> list[str]:
    """What a run has found, in words."""
    facts = summary(experiment, directory)
    best = facts["best"]
    lines = [
        f"{facts['problem']}, method {facts['method']}, seed {facts['seed']}: "
        f"{facts['generations']} of {facts['generations_at_most']} generations in "
        f"{facts['seconds']:.1f} s ({facts['compile_seconds']:.1f} s of it compiling)"
    ]
    if facts["stopped"] is None:
        lines.append("still running, or killed (then `substrax resume` goes on)")
    else:
        error = f": {facts['error']}" if facts["error"] else ""
        reason = StopReason(facts["stopped"]).sentence
        lines.append(f"stopped because {reason}{error}")
    if facts["damaged_lines"]:
        numbers = ", ".join(map(str, facts["damaged_lines"][:5]))
        lines.append(f"metrics.jsonl is damaged in line {numbers}, which is left out")
    if facts["num_cached"]:
        lines.append(f"{facts['num_cached']} networks came from the cache")
    lines += [f"stuck? {sentence}" for sentence in facts["diagnosis"]]
    if best is None:
        return [*lines, "There is no best network yet."]
    line = f"best fitness {best['fitness']:.6g} in generation {best['generation']}"
    if facts["target"] is not None:
        verdict = "solved" if best["is_solved"] else "not solved"
        line += f": {verdict} (target {facts['target']:g})"
    lines.append(line)
    for name, value in best["measures"].items():
        lines.append(f"  {name}: {value:.6g}")
    lines.append(f"genome: {best['genome_nodes']} nodes, {best['genome_links']} links")
    network = best["network"].replace("\n", "; ")
    return [*lines, f"network: {network}", f"directory: {facts['directory']}"]


def show(arguments: argparse.Namespace) -> int:
    """Prints what a run has found."""
    experiment, directory = load_run(arguments.directory)
    if arguments.json:
        print(json.dumps(summary(experiment, directory)))
    else:
        print(*summary_lines(experiment, directory), sep="\n")
    return 0


def write_report_at(path: Path) -> Path:
    """Writes the report of a run."""
    from ..report import write_report

    return write_report(path)


def report(arguments: argparse.Namespace) -> int:
    """Writes the report and says where."""
    load_run(arguments.directory)
    print(write_report_at(Path(arguments.directory)))
    return 0


def export(arguments: argparse.Namespace) -> int:
    """Writes the best network in another format."""
    from ._export import WRITERS

    directory = RunDirectory(arguments.directory)
    best = directory.best()
    if best is None:
        raise ValueError(
            f"{directory.path} has no best network yet; let it run for a generation."
        )
    name = f"network.{arguments.format}"
    path = Path(arguments.out) if arguments.out else directory.path / name
    WRITERS[arguments.format](best, path)
    print(path)
    return 0


def list_all(arguments: argparse.Namespace) -> int:
    """Prints what there is, or all settings of one experiment."""
    from ..methods import METHODS
    from ..neat import presets
    from ..problems import PROBLEMS
    from ..substrate import CONFIGURATIONS

    if arguments.experiment:
        print(load_experiment(arguments.experiment).to_toml(), end="")
        return 0
    described = {
        name: Experiment.from_toml(text, name=name).description
        for name, text in builtin_experiments().items()
    }
    tables = {
        "Experiments": described,
        "Problems": {name: _first_line(cls) for name, cls in PROBLEMS.items()},
        "Presets of NEAT": {n: _first_line(f) for n, f in presets.PRESETS.items()},
    }
    for title, rows in tables.items():
        print(f"{title}:")
        for name, text in rows.items():
            print(f"  {name:<14} {text}")
        print()
    print(f"Methods (--method): {', '.join(METHODS)}")
    print(f"Connections of emr (--connections): {', '.join(CONFIGURATIONS)}")
    print("\n`substrax list EXPERIMENT` prints all settings of an experiment.")
    return 0
