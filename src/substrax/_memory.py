"""Memory: how much may be used, and where the rest goes.

Large results stay in memory up to a limit. Beyond it they go to files that have no
name: the system removes them when the last array that looks at them is gone, or the
process is, however it ends.
"""

import contextlib
import errno
import functools
import logging
import mmap
import os
import re
import reprlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

_logger = logging.getLogger(__name__)

AUTO = "auto"
_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_ROWS_AT_A_TIME = 1 << 20
LEAST_BUDGET = 64 << 20
"""What the fixed parts (blocks of queries, groups of small networks) need."""
MOST_BUDGET = 64 << 40
"""More than any machine has; address space for a part of it is reserved."""


def read_budget(value: str | int) -> int:
    """Bytes from `auto`, a number, or a text such as `2GiB` or `500 MB`."""
    if value == AUTO:
        return default_budget()
    number = value
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9.]+)\s*(?:([kmgt])(i?)b?|b)?\s*", value.lower())
        try:
            size = float(match[1]) if match else float("nan")
        except ValueError:
            size = float("nan")
        # Powers of two either way: MB is read as MiB.
        unit = (match[2] or "b") if match else "b"
        number = int(size * _UNITS[unit]) if np.isfinite(size) else None
    if isinstance(number, bool) or not isinstance(number, int):
        raise ValueError(
            f"memory_budget is {reprlib.repr(value)}; give bytes, a text like '2GiB' "
            f"or '500MiB', or '{AUTO}' for half of the memory that is free."
        )
    if number < LEAST_BUDGET:
        raise ValueError(
            f"memory_budget is {show_bytes(number)}; give at least "
            f"{show_bytes(LEAST_BUDGET)}, which a single block of work takes."
        )
    if number > MOST_BUDGET:
        raise ValueError(
            f"memory_budget is {show_bytes(number)}; give at most "
            f"{show_bytes(MOST_BUDGET)}, or '{AUTO}' for half of the memory that is "
            "free."
        )
    return number


_num_sharing = 1
"""Processes that share what is free; see `share_memory`."""


def default_budget() -> int:
    """Half of the memory that is free, as far as the system tells; of it, the share of
    this process."""
    # An argument that changes once a second makes the cache forget.
    half = _free_memory_within(int(time.monotonic())) // 2
    return max(half // _num_sharing, LEAST_BUDGET)


def share_memory(num: int) -> None:
    """This process is one of `num` that work on this machine, and what is free is for
    all of them. Like its cores, that is the process's own matter: no setting of its
    work says it, so that the same work has the same settings elsewhere."""
    global _num_sharing
    _num_sharing = num


@functools.lru_cache(maxsize=1)
def _free_memory_within(second: int) -> int:
    # The system's answer takes longer than to decode a small population.
    return free_memory()


def free_memory() -> int:
    """Bytes that this process may still take, by the system or by its control group."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        line = next(x for x in lines if x.startswith("MemAvailable"))
        return min(int(line.split()[1]) << 10, _group_memory(), _address_space())
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 4 << 30


def _group_memory() -> int:
    folder = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError):
        limit = int((folder / "memory.max").read_text())
        return limit - int((folder / "memory.current").read_text())
    return 1 << 62


def _address_space() -> int:
    """What `ulimit -v` leaves to this process."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            return max(limit - pages * resource.getpagesize(), 0)
    return 1 << 62


def show_bytes(num: int | float) -> str:
    """As a person writes it: 1.5 GiB."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if num < 1024:
            return f"{num:.3g} {unit}" if num < 100 else f"{num:.0f} {unit}"
        num /= 1024
    return f"{num:.3g} TiB"


# ------------------------------------------------------------------------ scratch files


@contextlib.contextmanager
def scratch_in(folder: Path) -> Iterator[Path]:
    """A folder for scratch files, made when it is needed and removed at the end.

    It is removed if nothing is in it: the files that are ours lose their names as soon
    as they are made, so that a process that is killed leaves none.
    """
    try:
        yield folder
    finally:
        with contextlib.suppress(OSError):
            folder.rmdir()


class ScratchError(OSError):
    """Scratch space that is full or cannot be written, in a sentence."""


def scratch_error(error: OSError, folder: Path | None) -> ScratchError:
    """The sentence about what went wrong in a scratch folder."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        what = "is full"
    else:
        reason = error.strerror or os.strerror(error.errno or errno.EIO)
        what = f"cannot be written ({reason})"
    return ScratchError(
        f"the scratch folder {folder or tempfile.gettempdir()} {what}, and the "
        "networks need more than memory_budget. Make space, choose another folder "
        "(TMPDIR, or --out for a run), raise memory_budget, or lower depth"
    )


def open_scratch(folder: Path | None) -> int:
    """The descriptor of a new file without a name in a folder (None: the system's).

    The system removes it when nobody looks at it any more, however a process ends.
    """
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    _logger.info("networks beyond memory_budget go to %s", folder or "the disk")
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        # The file closes here, but lives as long as a descriptor or a map of it.
        return os.dup(file.fileno())


def map_scratch(descriptor: int, dtype: np.dtype, num: int) -> np.ndarray:
    """The numbers in a scratch file, read-only; the descriptor is closed."""
    with os.fdopen(descriptor, "rb") as file:
        if not num:
            return np.zeros(0, dtype)
        return np.memmap(file, dtype, "r", shape=(num,)).view(np.ndarray)


def is_on_disk(array: np.ndarray) -> bool:
    """Whether an array looks at a file, and memory that it takes may be given back."""
    return _file_of(array) is not None


def _file_of(array: np.ndarray) -> mmap.mmap | None:
    """The file that an array looks at, if it was mapped to be read.

    What was written into a map may be nowhere else: its pages must stay.
    """
    base, is_writable = array, False
    while isinstance(base, np.ndarray):
        # In the end, the flag of the array next to the map, not of its views.
        base, is_writable = base.base, base.flags.writeable
    return base if isinstance(base, mmap.mmap) and not is_writable else None


def joined(arrays: list[np.ndarray], limit: int, folder: Path | None) -> np.ndarray:
    """Arrays behind each other; on the disk if they exceed the limit together."""
    if sum(a.nbytes for a in arrays) <= limit:
        return np.concatenate(arrays)
    first, dtype = arrays[0], np.result_type(*arrays)
    descriptor = open_scratch(folder)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            for array in arrays:
                for begin in range(0, len(array), _ROWS_AT_A_TIME):
                    some = array[begin : begin + _ROWS_AT_A_TIME]
                    # In pieces: neither the arrays nor what they become together need
                    # fit the memory.
                    file.write(some.astype(dtype, copy=False).tobytes())
                    forget_pages(array)
    except OSError as error:
        os.close(descriptor)  # what was written is gone with it
        raise scratch_error(error, folder) from error
    num = sum(a.size for a in arrays)
    return map_scratch(descriptor, dtype, num).reshape(-1, *first.shape[1:])


def forget_pages(*arrays: np.ndarray) -> None:
    """Gives back the memory that looking at arrays on the disk has taken."""
    for array in arrays:
        file = _file_of(array)
        if file is not None and hasattr(file, "madvise"):
            file.madvise(mmap.MADV_DONTNEED)
