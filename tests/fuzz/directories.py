"""A run directory whose files were damaged: it is read, continued, or refused.

Whatever happens, files that are not ours stay as they are, and a run that goes on to
its end has found what it would have found without the damage.
"""

import contextlib
import functools
import json
import os
import shutil
import tempfile
from pathlib import Path

from substrax.runs import sealed

from . import hostile
from ._case import Case
from .command import run_command

RUN = (
    "run", "xor", "--method", "neat", "--generations", "4", "--population", "16",
    "--target", "5", "--seed", "4", "--quiet",
)  # fmt: skip
FORGED = "forged"
OURS = ("run.json", "metrics.jsonl", "best.json", "best.safetensors", "config.toml")


@functools.cache
def _finished_run() -> Path:
    """A small run, made once, whose best came late; with files of somebody else."""
    folder = tempfile.TemporaryDirectory(prefix="substrax-fuzz-run-")
    _KEPT.append(folder)
    case = Case("directories", 0, 0, Path(folder.name))
    path = Path(folder.name) / "run"
    assert run_command(case, [*RUN, "--out", str(path)]) == 0
    assert json.loads((path / "best.json").read_text())["generation"] == 3
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
    sound = _finished_run()
    run = case.folder / "run"
    shutil.copytree(sound, run)
    outside = case.folder / "outside"
    outside.write_text("mine\n")
    draw = case.random
    damaged = [_damage(case, run, outside) for _ in range(draw.choice((1, 1, 2, 4)))]
    foreign = {name: (run / name).read_bytes() for name in FOREIGN}
    for _ in range(draw.randint(1, 3)):
        words = _command(draw, run)
        status = run_command(case, words)
        for name, data in foreign.items():
            path = run / name
            assert path.is_file() and path.read_bytes() == data, f"{name} was touched"
        assert outside.read_text() == "mine\n", "a file outside was touched"
        # Another configuration may ask for more generations, or fewer; and who forges
        # checksums may have any result.
        is_same = not {"config.toml", FORGED} & set(damaged)
        if words[0] == "resume" and status == 0 and is_same:
            now, then = (p / "best.safetensors" for p in (run, sound))
            assert now.read_bytes() == then.read_bytes(), "another best network"


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
    draw = case.random
    ours = [*OURS, *(f"checkpoints/{p.name}" for p in _checkpoints(run))]
    name = draw.choice(ours)
    path = run / name
    kind = draw.randrange(15)
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
    else:
        _replace(path, _forged(case, data))
        return FORGED
    return name


def _checkpoints(run: Path) -> list[Path]:
    folder = run / "checkpoints"
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in found if path.name != "foreign.json"]


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
