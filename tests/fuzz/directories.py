"""A run directory whose files were damaged: it is read, continued, or refused.

Whatever happens, files that are not ours stay as they are, a run that goes on to its
end has found what it would have found without the damage, and what is shown, exported
and reported is what the run has found. The same of the folder of a sweep, and of seeds.
"""

import concurrent.futures
import contextlib
import functools
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import substrax as sx
from substrax.evolution import RunDirectory
from substrax.runs import sealed, summary
from substrax.sweeps import (
    ArmOutcome,
    SeedOutcome,
    SweepFolder,
    read_arms,
    read_outcomes,
)

from . import hostile
from ._case import Case
from .command import run_command

RUN = (
    "run", "xor", "--method", "neat", "--generations", "4", "--population", "16",
    "--target", "5", "--seed", "4", "--quiet",
)  # fmt: skip
FORGED = "forged"
OURS = (
    "run.json", "metrics.jsonl", "best.json", "best.safetensors", "config.toml",
    "summary.json", "trackers.json", "data.safetensors",
)  # fmt: skip
NOTES = {"mine": 7}


def _new_folder() -> Path:
    """A folder for what is made once."""
    folder = tempfile.TemporaryDirectory(prefix="substrax-fuzz-run-")
    _KEPT.append(folder)
    return Path(folder.name)


@functools.cache
def _finished_run(has_data: bool) -> Path:
    """A small run, made once, whose best came late; with files of somebody else."""
    folder = _new_folder()
    case = Case("directories", 0, 0, folder)
    path = folder / "run"
    if has_data:
        x = np.linspace(-1, 1, 24).reshape(12, 2)
        sx.evolve(
            (x, x[:, 0] * x[:, 1]), method="neat", generations=4, population=16,
            target=5.0, seed=4, directory=path, progress=False,
        )  # fmt: skip
        assert (path / "data.safetensors").is_file()
    else:
        assert run_command(case, [*RUN, "--out", str(path)]) == 0
        assert json.loads((path / "best.json").read_text())["generation"] == 3
    RunDirectory(path).write_notes("tracker", NOTES)
    (path / "notes.txt").write_text("mine\n")
    (path / "picture.png").write_bytes(b"\x89PNG mine")
    (path / "checkpoints" / "foreign.json").write_text('{"mine": 1}')
    (path / "report").mkdir()
    (path / "report" / "mine.txt").write_text("mine\n")
    return path


_KEPT: list[tempfile.TemporaryDirectory[str]] = []
FOREIGN = (
    "notes.txt", "picture.png", "checkpoints/foreign.json", "report/mine.txt"
)  # fmt: skip


def attack_run_directory(case: Case) -> None:
    """Damages some files, then uses the directory."""
    draw = case.random
    sound = _finished_run(draw.random() < 0.25)
    run = case.folder / "run"
    shutil.copytree(sound, run)
    outside = case.folder / "outside"
    outside.write_text("mine\n")
    damaged = [_damage(case, run, outside) for _ in range(draw.choice((1, 1, 2, 4)))]
    foreign = {name: (run / name).read_bytes() for name in FOREIGN}
    for _ in range(draw.randint(1, 3)):
        words = _command(draw, run)
        status = run_command(case, words)
        for name, data in foreign.items():
            path = run / name
            assert path.is_file() and path.read_bytes() == data, f"{name} was touched"
        assert outside.read_text() == "mine\n", "a file outside was touched"
        # Who forges checksums may have any result; and another configuration may ask
        # for more generations, or another target, once the run has gone on with it.
        if FORGED in damaged:
            continue
        if words[0] == "resume" and status == 0:
            if "config.toml" in damaged:
                return
            now, then = (p / "best.safetensors" for p in (run, sound))
            assert now.read_bytes() == then.read_bytes(), "another best network"
        if status == 0:
            _check_what_is_said(case, words, run, sound)
        with case.refusals(), contextlib.suppress(OSError):
            assert RunDirectory(run).notes("tracker") in (NOTES, {}), "other notes"


TOLD = ("generations", "solved_at", "target")
TOLD_OF_BEST = (
    "fitness", "generation", "is_solved", "genome_nodes", "genome_links",
)  # fmt: skip


@functools.cache
def _truth(sound: Path) -> dict[str, Any]:
    return summary(sound)


@functools.cache
def _exported(sound: Path, form: str) -> str:
    """The digest of the best network of the sound run, in this format."""
    path = sound.parent / f"exported.{form}"
    case = Case("directories", 0, 0, sound.parent)
    words = ["export", str(sound), "--format", form, "--out", str(path)]
    assert run_command(case, words) == 0
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _check_what_is_said(case: Case, words: list[str], run: Path, sound: Path) -> None:
    """Whatever a command has said or written is what the sound run has found."""
    truth = _truth(sound)
    if words[0] in ("show", "resume"):
        with case.refusals(), contextlib.suppress(OSError):
            said = summary(run)
            for name in TOLD:
                assert said[name] == truth[name], f"{name} is {said[name]}"
            assert said["best"] is not None, "no best"
            for name in TOLD_OF_BEST:
                now, then = said["best"][name], truth["best"][name]
                assert now == then, f"{name} of the best is {now}"
    elif words[0] == "export":
        form = words[-1]
        digest = hashlib.sha256((run / f"network.{form}").read_bytes()).hexdigest()
        assert digest == _exported(sound, form), "another network was exported"
    elif words[0] == "report":
        text = (run / "report" / "index.html").read_text(encoding="utf-8")
        assert f"{truth['best']['fitness']:z.6g}" in text, "another best fitness"
        assert f"{truth['generations']} generations" in text, "other generations"


# -------------------------------------------------------------------- several runs

PLAN = {
    "experiment": "xor", "seeds": 2,
    "settings": {
        "method": "neat", "population": 16, "generations": 3, "target": 0.55,
    },
    "grid": {"weight.init_stdev": [0.5, 1.5]},
}  # fmt: skip
SWEEP = ("sweep.json", "plan.toml", "results.parquet")


@functools.cache
def _finished_sweep() -> Path:
    folder = _new_folder() / "sweep"
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        sx.sweep(PLAN, directory=folder, executor=executor, progress=False)
    return folder


@functools.cache
def _finished_seeds() -> Path:
    folder = _new_folder() / "seeds"
    case = Case("sweeps", 0, 0, folder.parent)
    words = ["run", *RUN[1:], "--seeds", "2", "--out", str(folder)]
    assert run_command(case, words) == 0
    return folder


def attack_sweep(case: Case) -> None:
    """Damages files of a sweep, or of a folder of seeds, then shows it."""
    draw = case.random
    is_sweep = draw.random() < 0.7
    sound = _finished_sweep() if is_sweep else _finished_seeds()
    folder = case.folder / "folder"
    shutil.copytree(sound, folder)
    outside = case.folder / "outside"
    outside.write_text("mine\n")
    damaged = [_damage_of_several(case, folder, outside) for _ in range(2)]
    before = _files(folder)
    run_command(case, ["show", str(folder), *draw.choice(([], ["--json"]))])
    assert _files(folder) == before, "a file was written by show"
    assert outside.read_text() == "mine\n", "a file outside was touched"
    if FORGED in damaged:
        return
    with case.refusals(), contextlib.suppress(OSError):
        said, truth = _outcomes(folder, is_sweep), _outcomes(sound, is_sweep)
        assert said.keys() <= truth.keys(), "runs that there are not"
        for name, outcome in said.items():
            if outcome.stopped == "damaged":
                continue
            # (a run without its run.json has not begun)
            is_new = not outcome.generations and outcome.best_fitness is None
            told = _told(outcome)
            assert is_new or told == _told(truth[name]), f"{name} has come to {told}"


def _told(outcome: SeedOutcome) -> tuple[Any, ...]:
    return (
        outcome.generations, outcome.best_fitness, outcome.is_solved,
        outcome.solved_at, outcome.stopped,
    )  # fmt: skip


def _outcomes(folder: Path, is_sweep: bool) -> dict[Any, SeedOutcome]:
    if not is_sweep:
        return {outcome.seed: outcome for outcome in read_outcomes(folder)}
    arms: list[ArmOutcome] = read_arms(SweepFolder.read(folder))
    return {(arm.arm.label, run.seed): run for arm in arms for run in arm.runs}


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for path in folder.rglob("*"):
        status = path.lstat()
        if not path.is_dir():
            found[str(path)] = (status.st_size, status.st_mtime_ns)
    return found


def _damage_of_several(case: Case, folder: Path, outside: Path) -> str:
    """Damages a file of the folder, or of one of its runs; says which."""
    draw = case.random
    own = [name for name in (*SWEEP, "seeds.json") if (folder / name).is_file()]
    runs = sorted(path.parent for path in folder.rglob("run.json"))
    if not runs or (own and draw.random() < 0.3):
        return _damage_one(
            case, folder, draw.choice(own or ["sweep.json"]), own, outside
        )
    run = draw.choice(runs)
    ours = [name for name in OURS if (run / name).is_file()]
    ours += [f"checkpoints/{p.name}" for p in _checkpoints(run)]
    if draw.random() < 0.1:  # one run's file for that of another
        name, other = draw.choice(ours), draw.choice(runs)
        if (other / name).is_file() and (run / name).is_file():
            case.note("exchanged", f"{run.name}/{name} for {other.name}'s")
            _replace(run / name, (other / name).read_bytes())
            # (a whole run.json of another run, with its seal, is as good as forged)
            return FORGED if name in ("run.json", "config.toml") else name
    return _damage_one(case, run, draw.choice(ours), ours, outside)


def _command(draw, run: Path) -> list[str]:
    path = str(run)
    kind = draw.randrange(20)
    if kind < 6:
        return ["show", path, *draw.choice(([], ["--json"]))]
    if kind < 14:
        return ["resume", path, "--quiet"]
    if kind < 19:
        formats = ("json", "safetensors", "npz", "graphml")
        return ["export", path, "--format", draw.choice(formats)]
    return ["report", path]


def _damage(case: Case, run: Path, outside: Path) -> str:
    """Damages one file of ours; says which."""
    ours = [*OURS, *(f"checkpoints/{p.name}" for p in _checkpoints(run))]
    return _damage_one(case, run, case.random.choice(ours), ours, outside)


def _damage_one(
    case: Case, run: Path, name: str, ours: list[str], outside: Path
) -> str:
    """Damages this file, or exchanges it for another of these."""
    draw = case.random
    path = run / name
    kind = draw.randrange(16)
    case.note("damage", f"{name} in way {kind}")
    data = path.read_bytes() if path.is_file() else b""
    if kind < 6:
        _replace(path, hostile.damaged_bytes(draw, data))
    elif kind == 6:
        _replace(path, draw.choice((b"", b"\0", b"{}", b"[]", b"null", b"\n" * 99)))
    elif kind == 7:
        _remove(path)
    elif kind == 8:
        _remove(path)
        path.mkdir()
    elif kind == 9:
        _remove(path)
        path.symlink_to(
            draw.choice((outside, run / "nowhere", path, Path("/dev/null")))
        )
    elif kind == 10:
        other = run / draw.choice(ours)
        if other.is_file() and path.is_file():
            theirs = other.read_bytes()
            _replace(other, data)
            _replace(path, theirs)
    elif kind == 11:
        _replace(path, b"[" * 100_000)
    elif kind == 12:
        _replace(path, _damaged_json(case, data))
    elif kind == 13:
        content, is_forged = _damaged_header(case, data)
        _replace(path, content)
        return FORGED if is_forged else name
    else:
        _replace(path, _forged(case, data))
        return FORGED
    return name


def _checkpoints(run: Path) -> list[Path]:
    folder = run / "checkpoints"
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in found if path.name != "foreign.json"]


def _damaged_header(case: Case, data: bytes) -> tuple[bytes, bool]:
    """Arrays whose header says something else; and whether the checksum in it was made
    to belong to it."""
    try:
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
    except (ValueError, RecursionError):
        return _damaged_json(case, data), False
    rest = data[8 + length :]
    changed = hostile.damaged_document(case.random, header)
    case.note("header", changed)
    is_forged = case.random.random() < 0.5
    try:
        if is_forged:
            changed["__metadata__"].pop("sha256", None)
            packed = json.dumps(changed, separators=(",", ":")).encode()
            digest = hashlib.sha256(packed + rest).hexdigest()
            changed["__metadata__"]["sha256"] = digest
        text = json.dumps(changed).encode()
    except (TypeError, ValueError, LookupError, AttributeError):
        # no such table any more, or a number of many digits
        return _damaged_json(case, data), False
    return len(text).to_bytes(8, "little") + text + rest, is_forged


def _forged(case: Case, data: bytes) -> bytes:
    """Other values, and the checksum that belongs to them."""
    try:
        document = json.loads(data)
        document.pop("seal")
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return _damaged_json(case, data)
    changed = hostile.damaged_document(case.random, document)
    case.note("forged", changed)
    try:
        return sealed(changed).encode()
    except (TypeError, ValueError):  # no table any more, or a number of many digits
        return _damaged_json(case, data)


def _damaged_json(case: Case, data: bytes) -> bytes:
    """As valid as before, but with other values; each line by itself."""
    lines = data.split(b"\n")
    with contextlib.suppress(ValueError, RecursionError):
        k = case.random.randrange(len(lines))
        document = hostile.damaged_document(case.random, json.loads(lines[k]))
        case.note("document", document)
        lines[k] = json.dumps(document).encode()
        return b"\n".join(lines)
    with contextlib.suppress(ValueError, RecursionError):
        document = hostile.damaged_document(case.random, json.loads(data))
        case.note("document", document)
        return json.dumps(document).encode()
    return hostile.damaged_bytes(case.random, data)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.is_symlink() or path.exists():
        os.remove(path)


def _replace(path: Path, data: bytes) -> None:
    _remove(path)
    path.write_bytes(data)
