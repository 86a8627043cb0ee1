"""Writing files so that a reader finds the old one or the new one, never a part."""

import os
from pathlib import Path

TEMPORARY = ".tmp"


def write_atomically(path: Path, content: bytes | str) -> None:
    """Writes beside the file, then puts it in its place.

    The content reaches the disk before the name does: after a power failure, too, the
    file is either the old one or the new one.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(path.name + TEMPORARY)
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def remove_temporaries(folder: Path) -> None:
    """What a process that was killed while writing has left behind."""
    for path in folder.glob("*" + TEMPORARY):
        path.unlink(missing_ok=True)
