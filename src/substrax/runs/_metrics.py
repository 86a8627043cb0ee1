"""`metrics.jsonl`: one line for each generation, and each says whether it is whole."""

import hashlib
import json
import os
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from .._files import own_copy, write_atomically
from ._files import DamagedRunError
from ._record import GenerationRecord

_CHECK = ', "crc32": "'
_CHECK_SIZE = len(_CHECK) + 8 + len('"}')


def to_line(record: dict[str, Any]) -> bytes:
    """A record as a line of JSON whose last entry is the checksum of all before it."""
    # The sum is of the bytes themselves: no number has to be written again.
    text = json.dumps(record, allow_nan=False).removesuffix("}").encode()
    return text + f'{_CHECK}{zlib.crc32(text):08x}"}}\n'.encode()


def from_line(line: bytes) -> dict[str, Any] | None:
    """The record of a line; None if the line is not what was written."""
    text, check = line[: -_CHECK_SIZE - 1], line[-_CHECK_SIZE - 1 :]
    if check != f'{_CHECK}{zlib.crc32(text):08x}"}}\n'.encode():
        return None
    try:
        record = json.loads(text + b"}")
    except (ValueError, RecursionError):
        return None
    # (to Python, true and false are whole numbers)
    is_record = isinstance(record, dict) and type(record.get("generation")) is int
    return record if is_record else None


class Lines(NamedTuple):
    """What a file holds."""

    records: list[dict[str, Any]]
    """Those that are whole, each of a later generation than the one before."""
    texts: list[bytes]
    """Their lines."""
    damaged: list[int]
    """Numbers of lines that are not, counted from 1."""

    def before(self, generation: int) -> "Lines":
        """Of the generations before this one."""
        count = sum(record["generation"] < generation for record in self.records)
        return Lines(self.records[:count], self.texts[:count], self.damaged)

    def missing(self, generations: int) -> list[int]:
        """Which of the first generations have no record."""
        present = {record["generation"] for record in self.records}
        return [number for number in range(generations) if number not in present]


def read_lines(path: Path) -> Lines:
    """All lines of a file; a last one that is still being written is left out."""
    found = Lines([], [], [])
    if not path.exists():
        return found
    # Not by `splitlines`, which takes other signs for ends of lines as well: a bit that
    # has flipped may make one of them. What stands behind the last end is being written
    # at this moment, or was when the process was killed: no damage.
    *lines, _ = path.read_bytes().split(b"\n")
    for number, text in enumerate(lines, 1):
        line = text + b"\n"
        record = from_line(line)
        last = found.records[-1]["generation"] if found.records else -1
        # A line that goes back is of another run, or was written twice.
        if record is None or record["generation"] <= last:
            found.damaged.append(number)
        else:
            found.records.append(record)
            found.texts.append(line)
    return found


def history_of(path: Path, records: list[dict[str, Any]]) -> list[GenerationRecord]:
    """The records of a file, with their fields checked; an error names the file."""
    try:
        return [GenerationRecord.from_dict(record) for record in records]
    except ValueError as error:
        raise DamagedRunError(
            f"{path} cannot be used: {error} Put the file back as it was, or take it "
            "away: a run goes on without it, and its results do not depend on it."
        ) from error


class Metrics:
    """The file of a run, and the digest of all that was written to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._digest = hashlib.sha256()

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def append(self, record: dict[str, Any]) -> None:
        """Adds a line, on the disk before this returns."""
        line = to_line(record)
        try:
            own_copy(self.path)
            with open(self.path, "ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            error.filename = str(self.path)  # a full disk is told without it
            raise
        self._digest.update(line)

    def cut(self, generations: int) -> Lines:
        """Cuts off all but the first generations, and damaged lines; what is left."""
        found = read_lines(self.path)
        kept = found.before(generations)
        content = b"".join(kept.texts)
        # What is only cut off at its end need not be written again.
        if kept.damaged:
            write_atomically(self.path, content)
        elif self.path.exists():
            own_copy(self.path)
            os.truncate(self.path, len(content))
        self._digest = hashlib.sha256(content)
        return kept
