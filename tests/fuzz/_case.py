"""One case: where its random numbers come from, and what it may end with."""

import contextlib
import random
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SECONDS = 60
"""After so long a case is said to hang."""

_LONGEST_MESSAGE = 3000


class HangError(BaseException):
    """No `Exception`, so that nobody who is tested catches it."""


class Case:
    """The random numbers of a case, a folder of its own, and notes of what it did."""

    def __init__(self, target: str, seed: int, number: int, folder: Path) -> None:
        self.target, self.seed, self.number = target, seed, number
        self.random = random.Random(f"{target} {seed} {number}")
        self.folder = folder
        self.notes: list[str] = []

    def note(self, what: str, value: Any) -> None:
        """What was handed over, for the one who reads a finding."""
        try:
            text = value if isinstance(value, str) else repr(value)
        except ValueError:  # Python writes no whole numbers of so many digits
            text = "something with a number of very many digits"
        if len(text) > 4000:
            text = f"{text[:4000]} ... ({len(text)} characters)"
        self.notes.append(f"{what}: {text}")

    @contextlib.contextmanager
    def refusals(self) -> Iterator[None]:
        """A `ValueError` in a sentence is as good as an answer; nothing else is."""
        try:
            yield
        except ValueError as error:
            check_sentence(str(error))
            self.notes.append(f"refused: {error}")


def check_sentence(text: str) -> None:
    assert text.endswith((".", ").", "?")), f"no sentence: {text[:500]!r}"
    assert len(text) <= _LONGEST_MESSAGE, f"{len(text)} characters: {text[:200]!r} ..."


@contextlib.contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    """Ends what is within with a `HangError`, where the system has alarms."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(number: int, frame: Any) -> None:
        raise HangError(f"still running after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run_case(target: str, run: Callable[[Case], None], seed: int, number: int) -> Case:
    """Runs a case. A finding is what it raises, with the case's notes attached."""
    with tempfile.TemporaryDirectory(prefix="substrax-fuzz-") as folder:
        case = Case(target, seed, number, Path(folder))
        try:
            with no_longer_than(SECONDS):
                run(case)
        except BaseException as error:
            for note in case.notes:
                error.add_note(note)
            raise
        return case
