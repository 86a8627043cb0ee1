"""Writing files so that a reader finds the old one or the new one, never a part."""

import os
from collections.abc import Iterable
from pathlib import Path

TEMPORARY = ".tmp"

Piece = bytes | memoryview | str


def write_atomically(path: Path, content: Piece | Iterable[Piece]) -> None:
    """Writes beside the file, then puts it in its place.

    The content, which may come in pieces, reaches the disk before the name does: after
    a power failure, too, the file is either the old one or the new one.
    """
    pieces = [content] if isinstance(content, Piece) else content
    temporary = path.with_name(path.name + TEMPORARY)
    with open(temporary, "wb") as file:
        for piece in pieces:
            file.write(piece.encode() if isinstance(piece, str) else piece)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def remove_temporaries(folder: Path) -> None:
    """What a process that was killed while writing has left behind."""
    for path in folder.glob("*" + TEMPORARY):
        path.unlink(missing_ok=True)
