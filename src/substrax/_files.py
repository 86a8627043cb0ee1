"""Writing files so that a reader finds the old one or the new one, never a part."""

import contextlib
import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

TEMPORARY = ".tmp"
_TEMPORARY_NAME = re.compile(r"(?P<name>.+)\.[0-9a-f]{8}\.tmp")

Piece = bytes | memoryview | str


def write_atomically(path: Path, content: Piece | Iterable[Piece]) -> None:
    """Replaces a file by content that may come in pieces; see `replacing`."""
    pieces = [content] if isinstance(content, Piece) else content
    with replacing(path) as file:
        for piece in pieces:
            file.write(piece.encode() if isinstance(piece, str) else piece)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to that takes the place of `path` once it is complete.

    Content and name reach the disk in this order: after a power failure, too, the file
    is either the old one or the new one. Whatever goes wrong, nothing is left behind.
    What is no ordinary file, such as a device or a pipe, is written to directly, and
    where a link leads to a file, that file is replaced and not the link.
    """
    if not path.parent.is_dir():
        why = "there is no such folder; make it first"
        raise FileNotFoundError(errno.ENOENT, why, str(path.parent))
    try:
        if path.exists() and not path.is_file():
            with open(path, "wb") as file:
                yield file
            return
        target = Path(os.path.realpath(path))
        temporary, descriptor = _new_file(target)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(target.parent)
    except OSError as error:
        # A full disk is told without saying what was being written.
        if error.filename is None:
            error.filename = str(path)
        raise


def _new_file(target: Path) -> tuple[Path, int]:
    """A file beside the target that did not exist, with the user's usual rights."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        name = f"{target.name}.{secrets.token_hex(4)}{TEMPORARY}"
        temporary = target.with_name(name)
        with contextlib.suppress(FileExistsError):
            return temporary, os.open(temporary, flags, 0o666)


def sync_folder(folder: Path) -> None:
    """New names in a folder reach the disk before this returns."""
    if os.name != "posix":  # elsewhere folders cannot be opened
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems know no such thing, and need none.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def own_copy(path: Path) -> None:
    """Before a file is written to in its place: if it has other names (hard links, as
    `cp -al` makes them), a copy takes its place here, and they keep what there was."""
    try:
        has_links = os.stat(path).st_nlink > 1
    except FileNotFoundError:
        return
    if has_links:
        write_atomically(path, path.read_bytes())


def new_folder(path: Path) -> Path:
    """Makes a folder of this name, or with a number behind it where that is taken."""
    number, folder = 1, path
    while True:
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            number += 1
            folder = path.with_name(f"{path.name}-{number}")


def remove_temporaries(
    folder: Path, names: re.Pattern[str], least_age: float = 0.0
) -> None:
    """What a process that was killed while it wrote files of these names has left.

    Where other processes may be writing, `least_age` leaves them so many seconds.
    """
    for path in folder.glob("*" + TEMPORARY):
        is_file = path.is_file() and not path.is_symlink()
        if not is_file or not is_temporary_of(path.name, names):
            continue
        with contextlib.suppress(FileNotFoundError):  # just renamed, or removed
            if not least_age or time.time() - path.stat().st_mtime >= least_age:
                path.unlink(missing_ok=True)


def is_temporary_of(name: str, names: re.Pattern[str]) -> bool:
    """Whether a file of this name is one that `replacing` makes for such names."""
    found = _TEMPORARY_NAME.fullmatch(name)
    return found is not None and names.fullmatch(found["name"]) is not None


def refuse_links(paths: Iterable[Path]) -> None:
    """Raises if one of these is a symbolic link: who writes there writes elsewhere; or
    a pipe or a device, where whoever reads may wait for ever."""
    for path in paths:
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            continue
        if stat.S_ISLNK(mode):
            raise ValueError(
                f"{path} is a symbolic link. A run reads and writes within its own "
                "directory only: put what the link leads to in its place, or give the "
                "directory itself another place (that may be a link)."
            )
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise ValueError(
                f"{path} is neither a file nor a folder, and nothing that a run makes. "
                "Take it away."
            )
