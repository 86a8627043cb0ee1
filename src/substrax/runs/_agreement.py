"""Whether the files of a run are of one run, told without JAX.

How far a run is says `run.json` once it has ended, and the newest checkpoint before.
Both are sealed, and say besides by which digests the other files are known: a file of
another run, or of another moment, is told from that of this one.

While a run goes on, and after it was killed, metrics and best files may be ahead of the
checkpoint; what they say of generations that it does not know yet cannot be compared.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .._safetensors import recorded_digest
from .._types import counted, shown
from ._files import (
    BEST,
    BEST_ARRAYS,
    CHECKPOINTS,
    CONFIG,
    METRICS,
    DamagedRunError,
    read_facts,
)
from ._metrics import Lines, read_lines
from ._seal import unsealed

CHECKPOINT_NAMES = re.compile(r"(\d{6,})\.(json|safetensors)")
"""Of files of checkpoints that are ours; whatever else is there is not looked at."""

_TAIL = re.compile(rb', "sha256": "([0-9a-f]{64})"}\n\Z')
_HEAD = re.compile(rb'"generation": (\d+)')


class Reached(NamedTuple):
    """Where a run stands, by what is sealed."""

    generations: int
    """How many are done."""
    metrics: str | None
    """The digest of their metrics."""
    best: Mapping[str, Any] | None
    """What is known of the best: its `fitness`, its `generation`, and the digests of
    its files, `arrays` and `json`. None: there is none; empty: an older release, which
    did not say."""
    is_final: bool
    """Whether the run has ended, so that nothing can be ahead of this."""
    solved_at: int | None = None
    """The first generation whose best reached the target, if it has ended so."""


def read_reached(place: Path, facts: Mapping[str, Any]) -> Reached | None:
    """None before the first checkpoint, or where there is nothing to tell it from."""
    found = facts.get("reached")
    is_final = isinstance(found, Mapping)
    if not isinstance(found, Mapping):
        found = _newest_checkpoint(place / CHECKPOINTS)
    if found is None:
        return None
    generations = found.get("generations", found.get("generation"))
    best, solved_at = found.get("best", {}), found.get("solved_at")
    if type(generations) is not int or not isinstance(best, Mapping | None):
        return None
    metrics = found.get("metrics")
    return Reached(
        generations,
        metrics if isinstance(metrics, str) else None,
        best,
        is_final,
        solved_at if type(solved_at) is int else None,
    )


def _newest_checkpoint(folder: Path) -> Mapping[str, Any] | None:
    """What the newest one says that is whole."""
    if not folder.is_dir():
        return None
    names = (path.name for path in folder.iterdir())
    matches = [m for m in map(CHECKPOINT_NAMES.fullmatch, names) if m is not None]
    for match in sorted(matches, key=lambda m: int(m[1]), reverse=True):
        if match[2] != "json":
            continue
        try:
            return unsealed((folder / match[0]).read_bytes())
        except (OSError, ValueError):
            continue
    return None


# ----------------------------------------------------------------------------- metrics


class Metering(NamedTuple):
    """What the metrics of a run hold, beside what they should."""

    lines: Lines
    missing: tuple[int, ...] = ()
    """Generations without a line."""
    is_foreign: bool = False
    """Whether they are another run's, and nothing that they say is of this one."""

    @property
    def is_whole(self) -> bool:
        return not (self.missing or self.is_foreign)

    @property
    def sentence(self) -> str | None:
        """What is wrong with the file; None if nothing is."""
        if self.is_foreign:
            return f"{METRICS} is not what this run wrote, and is left out"
        if self.missing:
            some = ", ".join(map(str, self.missing[:5]))
            some += ", ..." if len(self.missing) > 5 else ""
            num = counted(len(self.missing), "generation")
            lost = f"{num} of {METRICS} {'is' if len(self.missing) == 1 else 'are'}"
            return f"{lost} lost ({some}): times and curves are without"
        if self.lines.damaged:
            numbers = ", ".join(map(str, self.lines.damaged[:5]))
            return f"{METRICS} is damaged in line {numbers}, which is left out"
        return None


def read_metering(place: Path, reached: Reached | None) -> Metering:
    """The metrics of a run, compared with what is known of them."""
    lines = read_lines(place / METRICS)
    if reached is None:
        return Metering(lines)
    known = lines.before(reached.generations)
    missing = tuple(known.missing(reached.generations))
    is_longer = reached.is_final and len(known.records) < len(lines.records)
    digest = hashlib.sha256(b"".join(known.texts)).hexdigest()
    is_other = reached.metrics not in (None, digest) and not missing
    if is_longer or is_other:
        return Metering(Lines([], [], lines.damaged), (), True)
    return Metering(lines, missing)


def own_records(place: Path) -> list[dict[str, Any]]:
    """The metrics of a run for a curve; nothing where they cannot be told from those of
    another one."""
    try:
        facts = read_facts(place)
        return read_metering(place, read_reached(place, facts)).lines.records
    except (OSError, ValueError):
        return []


def check_metrics(place: Path, metering: Metering) -> None:
    """Refuses metrics of another run."""
    if metering.is_foreign:
        raise DamagedRunError(
            f"{place / METRICS} is not what this run wrote. Put the file back as it "
            "was, or take it away: a run goes on without it, and its results do not "
            "depend on it."
        )


# -------------------------------------------------------------------------------- best


def digests_of_best(place: Path) -> dict[str, str]:
    """The digests that the best files say of themselves."""
    return {
        "arrays": recorded_digest(place / BEST_ARRAYS),
        "json": _digest_of_json(place / BEST) or "",
    }


def check_best(
    place: Path,
    best: Mapping[str, Any] | None,
    reached: Reached | None,
    metering: Metering,
) -> None:
    """Refuses best files that are not of this run, or gone.

    `best` is what `best.safetensors` says, its `fitness` and `generation`; None if
    there is no such file.
    """
    if reached is None:
        return
    if best is None:
        if reached.best:
            raise DamagedRunError(f"{place / BEST_ARRAYS} is gone. {_made_anew(place)}")
        return
    is_known = reached.is_final or best["generation"] < reached.generations
    if is_known and reached.best != {}:
        is_ours = reached.best is not None and (
            reached.best.get("arrays") == recorded_digest(place / BEST_ARRAYS)
        )
    else:
        # Ahead of the checkpoint: its line of metrics, at least, is of this run.
        is_ours = all(
            record.get("best_ever") == best["fitness"]
            for record in metering.lines.records
            if record["generation"] == best["generation"]
        )
    if not is_ours:
        raise _not_ours(place / BEST_ARRAYS, place)
    if reached.best and not _is_our_json(place / BEST, reached):
        raise _not_ours(place / BEST, place)


def _is_our_json(path: Path, reached: Reached) -> bool:
    digest = _digest_of_json(path)
    # (what is damaged is told by whoever reads it)
    if digest is None or digest == (reached.best or {}).get("json"):
        return True
    if reached.is_final:
        return False
    with open(path, "rb") as file:
        match = _HEAD.search(file.read(400))
    return match is None or int(match[1]) >= reached.generations


def _digest_of_json(path: Path) -> str | None:
    """What `best.json` has as its last entry; None without it."""
    try:
        with open(path, "rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - 100))
            match = _TAIL.search(file.read())
    except OSError:
        return None
    return None if match is None else match[1].decode()


def _not_ours(file: Path, place: Path) -> DamagedRunError:
    return DamagedRunError(
        f"{file} is not of this run, or not its best: run.json and the checkpoints "
        f"tell of another one. Put the file back as it was; or {_made_anew(place)}"
    )


def _made_anew(place: Path) -> str:
    return f"`substrax resume {place}` makes it anew from the last checkpoint."


# ------------------------------------------------------------------------------ config


def config_values(flat: Mapping[str, Any], free: tuple[str, ...]) -> dict[str, Any]:
    """What `run.json` keeps of a configuration: all that a run cannot change.

    **Arguments:**

    - `flat`: the settings under dotted keys.
    - `free`: those that may change.
    """
    fixed = {key: flat[key] for key in flat if key not in (*free, "description")}
    return {key: _kept(key, value) for key, value in fixed.items()}


def check_config(
    place: Path, config: Mapping[str, Any], facts: Mapping[str, Any]
) -> None:
    """Refuses a configuration that says something else than `run.json` has kept."""
    kept = facts.get("config")
    if not isinstance(kept, Mapping):
        return  # a run of an older release, or one without a configuration
    for key, then in kept.items():
        value: Any = config
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        now = None if value is None else _kept(key, value)
        # (NaN is as little NaN as any other number)
        if json.dumps(now) != json.dumps(then) and now != then:
            says = f"lacks {key}" if value is None else f"says {key} = {shown(value)}"
            raise ValueError(
                f"{place / CONFIG} {says}, but the run in {place} was made with "
                f"{shown(then)}. Results depend on it, so it cannot change within a "
                "run: put it back, or start a new run with it: `substrax run "
                f"{place / CONFIG} --out NEW_DIRECTORY`."
            )


def _kept(key: str, value: Any) -> Any:
    """A value, or a digest where it is long."""
    if key == "problem.name" and isinstance(value, str):
        # A file may lie elsewhere by now, and be named by its path or as a module.
        file, colon, attribute = value.rpartition(":")
        stem = Path(file).stem if file.endswith(".py") else file.rpartition(".")[2]
        return f"{stem}{colon}{attribute}"
    if key == "problem.path" and isinstance(value, str):
        return Path(value).name
    text = json.dumps(value, default=str)
    if len(text) > 200:
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    return value if isinstance(value, bool | int | float | str | list) else str(value)
