"""Command lines of random words, in a folder of their own."""

import os
import random
import shutil
from pathlib import Path

from substrax.settings import known_settings

from . import hostile
from ._case import Case
from .command import contents, run_command
from .configurations import random_document, setting_value, toml
from .directories import _finished_run

COMMANDS = (
    "run", "run", "run", "resume", "resume", "show", "report", "export", "list",
    "verify",
)  # fmt: skip
PLACES = (
    "xor", "run", "good.toml", "random.toml", "missing", "missing.toml", "empty.toml",
    "folder", "notes.txt", "vectors.json", "", ".", "..", "-", "--", "run/config.toml",
    "run/checkpoints", "x" * 300, "/dev/null",
)  # fmt: skip
FLAGS = (
    "--out", "--report", "--quiet", "--json", "--no-cache", "--help", "-h", "--format",
    "--strategy", "--precision", "--version", "--seeds",
    "--start_from", "--method", "--preset", "--population", "--nonsense",
)  # fmt: skip


def attack_command_line(case: Case) -> None:
    """Runs a command; where it is refused, nothing is left behind."""
    folder = case.folder / "here"
    _furnish(folder, case.random)
    words = random_words(case.random)
    before = contents(folder)
    back = os.getcwd()
    os.chdir(folder)
    try:
        status = run_command(case, words)
    finally:
        os.chdir(back)
    if status == 2:
        new = contents(folder).keys() - before.keys()
        assert not new, f"left behind: {sorted(new)}"
    for name in ("notes.txt", "folder/mine.txt"):
        assert contents(folder).get(name) == before[name], f"{name} was touched"


def _furnish(folder: Path, draw: random.Random) -> None:
    shutil.copytree(_finished_run(has_data=False), folder / "run")
    (folder / "folder").mkdir()
    (folder / "folder" / "mine.txt").write_text("mine\n")
    (folder / "notes.txt").write_text("mine\n")
    (folder / "empty.toml").write_text("")
    (folder / "good.toml").write_text('[problem]\nname = "xor"\n')
    text = random_document(draw).encode("utf-8", "surrogatepass")
    (folder / "random.toml").write_bytes(text)
    (folder / "vectors.json").write_text('{"cases": [{"case": 1}]}')


def random_words(draw: random.Random) -> list[str]:
    """A command, a place and some flags, most of them wrong somewhere."""
    # No system hands over a word with a NUL.
    return [word.replace("\0", "") for word in _random_words(draw)]


def _random_words(draw: random.Random) -> list[str]:
    if draw.random() < 0.05:
        return [hostile.text(draw) for _ in range(draw.randrange(4))]
    command = draw.choice(COMMANDS)
    words: list[str] = []
    if draw.random() < 0.9:
        words.append(draw.choice(PLACES))
    for _ in range(draw.choice((0, 1, 1, 2, 3))):
        words += _flag(draw, command)
    if command == "run":
        # What is right after all must not take long.
        words += ["--generations", "0"]
    draw.shuffle(words) if draw.random() < 0.1 else None
    if command == "run" and not {"--generations", "0"} <= set(words):
        words = ["missing"]
    return [command, *words]


def _flag(draw: random.Random, command: str) -> list[str]:
    if command in ("run", "resume") and draw.random() < 0.7:
        known = known_settings(
            "xor", draw.choice(("neat", "emr", "hyperneat")), "substrax"
        )
        key = draw.choice(list(known))
        if key in ("run.generations", "run.engine"):
            return []
        value = setting_value(draw, known[key])
        text = value if isinstance(value, str) else toml(value)
        name = draw.choice((key, key.rpartition(".")[2]))
        return draw.choice(([f"--{name}", text], [f"--{name}={text}"]))
    flag = draw.choice(FLAGS)
    return draw.choice(([flag], [flag, hostile.text(draw)], [f"{flag}=x"]))
