"""A lock that ends with its process, however that ends."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


class RunLockedError(ValueError):
    """Another process is working in the directory."""


def _try_lock(file: IO[str]) -> bool:
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            # far behind the text, which others have to be able to read
            os.lseek(file.fileno(), 1 << 20, os.SEEK_SET)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # pyright: ignore
    except OSError:
        return False
    return True


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Holds the lock file `path`; refused while another process holds it.

    The operating system holds the lock for the process, so that one that was killed
    leaves nothing behind. The file itself stays: deleting it would let two processes
    lock two files of the same name.
    """
    # Not by way of a link, which would lead to a file of somebody else's.
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags, 0o666), "a+") as file:
        if not _try_lock(file):
            file.seek(0)
            holder = file.read().strip() or "another process"
            raise RunLockedError(
                f"{path.parent} is in use by {holder}. Wait until that run has ended "
                "or stop it, or choose another directory."
            )
        file.seek(0)
        file.truncate()
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield
