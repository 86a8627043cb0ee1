"""What a run has found, in values and in words.

All of it is read from the files of the run. What would have to be computed (how the
best network is wired, what the problem measures of it) was written to `summary.json`
when the run ended, with digests of the files that it is about; while a run goes on,
there is less to say.
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._documents import parse_toml
from .._files import write_atomically
from .._safetensors import map_safetensors
from .._types import counted
from ._agreement import check_best, read_metering, read_reached
from ._config import read_config
from ._diagnosis import diagnose
from ._files import (
    BEST_ARRAYS,
    CHECKPOINTS,
    CONFIG,
    FACTS,
    METRICS,
    SUMMARY,
    DamagedRunError,
    check_directory,
    read_facts,
)
from ._metrics import history_of
from ._record import StopReason
from ._seal import sealed, unsealed

_ABOUT = (CONFIG, FACTS, METRICS, BEST_ARRAYS)


def write_summary(
    path: Path, network: str | None, measures: Mapping[str, float]
) -> None:
    """Keeps what had to be computed, of a run that has ended.

    **Arguments:**

    - `network`: the best one, in words.
    - `measures`: what the problem says of it.
    """
    document = {
        "files": _digests(path),
        "network": network,
        "measures": {
            name: value if math.isfinite(value) else None
            for name, value in measures.items()
        },
    }
    write_atomically(path / SUMMARY, sealed(document))


def _digests(path: Path) -> dict[str, str]:
    found = {}
    for name in _ABOUT:
        if (path / name).exists():
            with open(path / name, "rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _read_summary(path: Path) -> dict[str, Any] | None:
    """None if there is none, or if the run has gone on since."""
    try:
        document = unsealed((path / SUMMARY).read_bytes())
        # What was computed is of these files as they were.
        return document if document["files"] == _digests(path) else None
    except (OSError, ValueError, KeyError):
        return None


def is_complete(path: str | os.PathLike[str]) -> bool:
    """Whether a run has come to the end that its configuration asks for, and nothing
    in its directory has changed since."""
    place = Path(path)
    check_directory(place)
    reason = read_facts(place)["stopped"]
    ends = (StopReason.TARGET.value, StopReason.GENERATIONS.value)
    return reason in ends and _read_summary(place) is not None


def has_ended(path: str | os.PathLike[str]) -> bool:
    """Whether a run has come to an end of its own, by whatever limit, and nothing in
    its directory has changed since. False where there is no run yet."""
    place = Path(path)
    if not (place / FACTS).is_file():
        return False
    check_directory(place)
    reason = read_facts(place)["stopped"]
    open_ends = (None, StopReason.INTERRUPTED.value, StopReason.ERROR.value)
    return reason not in open_ends and _read_summary(place) is not None


def summary(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a run has found, as plain values."""
    place = Path(path)
    check_directory(place)
    for _ in range(_ATTEMPTS):
        before = _standing(place)
        try:
            found = _summary(place)
            is_odd = found["metrics_trouble"] is not None
        except DamagedRunError:
            # Files that do not agree may have been replaced while they were read.
            if _standing(place) == before:
                raise
            continue
        if not is_odd or _standing(place) == before:
            return found
    return _summary(place)


_ATTEMPTS = 3


def _standing(place: Path) -> Any:
    """Another value when the run has gone on."""
    facts, folder = os.stat(place / FACTS), place / CHECKPOINTS
    names = sorted(os.listdir(folder)) if folder.is_dir() else []
    return facts.st_mtime_ns, facts.st_ino, names


def _summary(place: Path) -> dict[str, Any]:
    # In this order: whatever is read later may be ahead of what was read before.
    facts, config = read_facts(place), _read_config(place)
    reached = read_reached(place, facts)
    metering = read_metering(place, reached)
    metrics, target = metering.lines.records, facts.get("target")
    best = _best(place)
    check_best(place, best, reached, metering)
    generations = metrics[-1]["generation"] + 1 if metrics else 0
    if reached is not None:
        is_final = reached.is_final or generations < reached.generations
        generations = reached.generations if is_final else generations
    kept = _read_summary(place) or {}
    if best is not None:
        best["is_solved"] = target is not None and best["fitness"] >= target
        best["network"] = kept.get("network") or best["network"]
        best["measures"] = kept.get("measures", {})
    history = history_of(place / METRICS, metrics)
    if best is not None and best["is_solved"]:
        history = []  # nothing is diagnosed of what is solved
    return {
        "directory": str(place),
        "problem": facts.get("problem") or config["problem"]["name"],
        "method": config["method"]["name"],
        "seed": facts["seed"],
        "generations": generations,
        "generations_at_most": config["run"]["generations"],
        "solved_at": None if reached is None else reached.solved_at,
        "stopped": facts["stopped"],
        "error": facts.get("error"),
        "damaged_lines": metering.lines.damaged,
        "metrics_trouble": metering.sentence,
        "code_changes": facts.get("code_changes", []),
        "engine": facts.get("engine"),
        "engine_changes": facts.get("engine_changes", []),
        "version_changes": facts.get("version_changes", []),
        "target": target,
        "seconds": round(sum(m["seconds"] for m in metrics), 3),
        "compile_seconds": round(sum(m["compile_seconds"] for m in metrics), 3),
        "num_cached": sum(m.get("num_cached", 0) for m in metrics),
        "best": best,
        "diagnosis": list(diagnose(history, config["method"]["name"])),
    }


def _read_config(place: Path) -> dict[str, Any]:
    """The parts of the configuration that are told."""
    config = parse_toml(read_config(place), str(place / CONFIG))
    for section, key in (
        ("problem", "name"),
        ("method", "name"),
        ("run", "generations"),
    ):
        if key not in config.get(section, ()):
            raise ValueError(
                f"{place / CONFIG} does not say {section}.{key}. Put the file back as "
                "it was."
            )
    return config


def _best(place: Path) -> dict[str, Any] | None:
    """What the file of the best network says; None while there is none."""
    file = place / BEST_ARRAYS
    if not file.exists():
        return None
    try:
        arrays, metadata = map_safetensors(file)
    except ValueError as error:
        raise DamagedRunError(_damaged(file, place, str(error))) from error
    try:
        return _facts_of_best(arrays, json.loads(metadata["substrax"]))
    except _NOT_OURS as error:
        said = "it does not say what a best network is"
        raise DamagedRunError(_damaged(file, place, said)) from error


_NOT_OURS = (
    ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError,
    RecursionError,
)  # fmt: skip
"""What reading facts raises that are not what they should be."""


def _damaged(file: Path, place: Path, what: str) -> str:
    return (
        f"{file} is damaged: {what}. `substrax resume {place}` makes it anew from the "
        "last checkpoint."
    )


def _facts_of_best(arrays: Mapping[str, Any], facts: Any) -> dict[str, Any]:
    num_nodes = len(arrays["network.node_bias"])
    num_inputs, num_outputs = int(facts["num_inputs"]), int(facts["num_outputs"])
    num_hidden = num_nodes - num_inputs - num_outputs
    return {
        "fitness": float(facts["fitness"]),
        "generation": int(facts["generation"]),
        "genome_nodes": len(arrays["genome.node_id"]),
        "genome_links": len(arrays["genome.link_id"]),
        "network": ", ".join(
            [
                counted(num_inputs, "input"),
                counted(num_hidden, "hidden node"),
                counted(num_outputs, "output"),
                counted(len(arrays["network.link_source"]), "link"),
            ]
        ),
    }


def summary_lines(facts: Mapping[str, Any]) -> list[str]:
    """The same in words."""
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
        sentence = StopReason.read(facts["stopped"]).sentence
        lines.append(f"stopped because {sentence}{error}")
    if facts["engine"] is not None:
        lines.append(f"engine: {facts['engine']}")
    if facts["metrics_trouble"]:
        lines.append(facts["metrics_trouble"])
    if facts["code_changes"]:
        numbers = ", ".join(map(str, facts["code_changes"][:5]))
        lines.append(f"the code of the fitness was changed before generation {numbers}")
    if facts["engine_changes"]:
        numbers = ", ".join(map(str, facts["engine_changes"][:5]))
        lines.append(
            f"the engine was changed before generation {numbers}: since then numbers "
            "are rounded differently"
        )
    for change in facts["version_changes"]:
        lines.append(
            f"{_versions(change)} before generation {change['generation']}: since then "
            "numbers may differ from those of one version"
        )
    if facts["num_cached"]:
        lines.append(f"{facts['num_cached']} networks came from the cache")
    lines += [f"stuck? {sentence}" for sentence in facts["diagnosis"]]
    if best is None:
        why = (
            "no evaluation has succeeded, every fitness was NaN or infinite"
            if facts["generations"]
            else "no generation was finished"
        )
        return [*lines, f"There is no best network yet: {why}."]
    line = f"best fitness {best['fitness']:z.6g} in generation {best['generation']}"
    if facts["target"] is not None:
        verdict = "solved" if best["is_solved"] else "not solved"
        line += f": {verdict} (target {facts['target']:g})"
    lines.append(line)
    for name, value in best["measures"].items():
        lines.append(f"  {name}: {'no number' if value is None else f'{value:z.6g}'}")
    nodes, links = best["genome_nodes"], best["genome_links"]
    lines.append(f"genome: {counted(nodes, 'node')}, {counted(links, 'link')}")
    network = best["network"].replace("\n", "; ")
    return [*lines, f"network: {network}", f"directory: {facts['directory']}"]


def _versions(change: Mapping[str, Any]) -> str:
    """`jax 0.8.0 became 0.8.1`, for all that changed."""
    return ", ".join(
        f"{name} {change['before'].get(name, '?')} became {version}"
        for name, version in change["after"].items()
    )
