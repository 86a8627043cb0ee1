"""Memory: how much may be used, and where the rest goes.

Large results are columns of equal length that only ever grow at their end. They stay in
memory up to a limit. Beyond it they go to files that have no name: the system removes
them when the last array that looks at them is gone, or the process is, however it ends.
"""

import contextlib
import contextvars
import ctypes
import dataclasses
import errno
import functools
import logging
import mmap
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

_logger = logging.getLogger(__name__)

AUTO = "auto"
_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_ROWS_AT_A_TIME = 1 << 20
LEAST_BUDGET = 64 << 20
"""What the fixed parts (blocks of queries, groups of small networks) need."""


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
        unit = (match[2] or "b") if match else "b"
        number = int(size * _UNITS[unit]) if np.isfinite(size) else None
    if isinstance(number, bool) or not isinstance(number, int):
        raise ValueError(
            f"memory_budget is {value!r}; give bytes, a text such as '2GiB' or "
            f"'500MiB', or '{AUTO}' for half of the memory that is free."
        )
    if number < LEAST_BUDGET:
        raise ValueError(
            f"memory_budget is {show_bytes(number)}; give at least "
            f"{show_bytes(LEAST_BUDGET)}, which a single block of work takes."
        )
    return number


def default_budget() -> int:
    """Half of the memory that is free, as far as the system tells."""
    return max(_free_memory_within(int(time.monotonic())) // 2, LEAST_BUDGET)


@functools.lru_cache(maxsize=1)
def _free_memory_within(second: int) -> int:
    # The system's answer takes longer than to decode a small population.
    return free_memory()


def free_memory() -> int:
    """Bytes that this process may still take, by the system or by its control group."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        line = next(x for x in lines if x.startswith("MemAvailable"))
        return min(int(line.split()[1]) << 10, _group_memory())
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 4 << 30


def keep_freed_memory() -> bool:
    """Has the C library keep up to half a GiB of freed memory for the next request.

    Every generation asks for arrays of some megabytes and frees them. Given back to the
    system each time, their pages come anew and zeroed, which takes up to a third of a
    decoding. `evolve` calls this; it holds for the process, whose threads are to share
    one arena from then on. False where there is no
    such setting (it is glibc's).
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    trim_threshold, mmap_threshold, arena_max = -1, -3, -8  # of malloc.h
    # Those of single threads give their memory back whatever the limit.
    return all(
        mallopt(setting, value)
        for setting, value in (
            (mmap_threshold, 1 << 24),
            (trim_threshold, 1 << 29),
            (arena_max, 1),
        )
    )


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Zeros that begin where XLA wants its arguments to, which spares it a copy."""
    num_bytes = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(num_bytes + 64, np.uint8)
    offset = -raw.ctypes.data % 64
    return raw[offset : offset + num_bytes].view(dtype).reshape(shape)


def _group_memory() -> int:
    folder = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError):
        limit = int((folder / "memory.max").read_text())
        return limit - int((folder / "memory.current").read_text())
    return 1 << 62


def show_bytes(num: int | float) -> str:
    """As a person writes it: 1.5 GiB."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if num < 1024:
            return f"{num:.3g} {unit}" if num < 100 else f"{num:.0f} {unit}"
        num /= 1024
    return f"{num:.3g} TiB"


# ------------------------------------------------------------------------ scratch files

_folder: contextvars.ContextVar[Path | None] = contextvars.ContextVar(
    "scratch_folder", default=None
)


@contextlib.contextmanager
def scratch_in(folder: Path) -> Iterator[None]:
    """Spills into this folder, which is made when it is needed and removed at the end.

    What a process that was killed has left there is removed at the start.
    """
    shutil.rmtree(folder, ignore_errors=True)
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)
        shutil.rmtree(folder, ignore_errors=True)


def scratch_folder() -> Path:
    """Where what exceeds the memory is written."""
    return _folder.get() or Path(tempfile.gettempdir())


class ScratchError(OSError):
    """Scratch space that is full or cannot be written, in a sentence."""


def _sentence(error: OSError) -> ScratchError:
    folder = scratch_folder()
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        what = "is full"
    else:
        what = f"cannot be written ({error.strerror or error})"
    return ScratchError(
        f"the scratch folder {folder} {what}, and the networks need more than "
        "memory_budget. Make space, choose another folder (TMPDIR, or --out for a "
        "run), raise memory_budget, or lower depth"
    )


@dataclasses.dataclass
class Store:
    """Columns of equal length, in memory up to `limit` bytes and beyond it on the disk.

    `append` adds rows; `arrays` ends the writing. Only what was written is mapped, so a
    full disk is an error here and no crash later.
    """

    dtypes: Mapping[str, Any]
    limit: int

    def __post_init__(self) -> None:
        self._parts: dict[str, list[np.ndarray]] = {name: [] for name in self.dtypes}
        self._files: dict[str, IO[bytes]] = {}
        self.num_bytes = 0
        self.num_rows = 0

    def __del__(self) -> None:
        for file in self._files.values():
            file.close()

    @property
    def is_spilled(self) -> bool:
        return bool(self._files)

    def append(self, **columns: np.ndarray) -> None:
        rows = {n: np.ascontiguousarray(columns[n], d) for n, d in self._plain.items()}
        self.num_rows += len(next(iter(rows.values())))
        self.num_bytes += sum(a.nbytes for a in rows.values())
        for name, array in rows.items():
            self._parts[name].append(array)
        # Joining the parts takes as much again.
        if self.is_spilled or 2 * self.num_bytes > self.limit:
            self._spill()

    @property
    def _plain(self) -> dict[str, np.dtype]:
        return {n: np.dtype(d).base for n, d in self.dtypes.items()}

    def _spill(self) -> None:
        try:
            if not self._files:
                folder = scratch_folder()
                folder.mkdir(parents=True, exist_ok=True)
                _logger.info("networks beyond memory_budget go to %s", folder)
                for name in self.dtypes:
                    file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
                    self._files[name] = file
            for name, parts in self._parts.items():
                for array in parts:
                    _write(self._files[name], array)
                parts.clear()
        except OSError as error:
            raise _sentence(error) from error

    def chunks(self, size: int) -> Iterator[list[np.ndarray]]:
        """The columns in pieces of no more than `size` rows; as often as wanted."""
        if not self.is_spilled:
            for rows in zip(*self._parts.values(), strict=True):
                for begin in range(0, len(rows[0]), size):
                    yield [array[begin : begin + size] for array in rows]
            return
        for begin in range(0, self.num_rows, size):
            num = min(size, self.num_rows - begin)
            yield [self._read(name, begin, num) for name in self.dtypes]

    def _read(self, name: str, begin: int, num: int) -> np.ndarray:
        dtype = np.dtype(self.dtypes[name])
        rows = np.empty((num, *dtype.shape), dtype.base)
        view = rows.reshape(-1).view(np.uint8).data
        file = self._files[name]
        file.seek(begin * dtype.itemsize)
        while view:
            view = view[file.readinto(view) :]  # pyright: ignore[reportAttributeAccessIssue]
        return rows

    def arrays(self) -> dict[str, np.ndarray]:
        """The columns, read-only where they are on the disk."""
        result = {}
        for name, dtype in self.dtypes.items():
            plain, shape = np.dtype(dtype).base, np.dtype(dtype).shape
            if self.is_spilled and self.num_rows:
                file = self._files[name]
                rows = np.memmap(file, plain, "r", shape=(self.num_rows, *shape)).view(
                    np.ndarray
                )
                file.close()
            else:
                parts = self._parts[name]
                none = np.zeros((0, *shape), plain)
                rows = parts[0] if len(parts) == 1 else np.concatenate([none, *parts])
                parts.clear()
            result[name] = rows
        return result


def joined(arrays: list[np.ndarray], limit: int) -> np.ndarray:
    """Arrays behind each other; on the disk if they exceed the limit together."""
    if sum(a.nbytes for a in arrays) <= limit:
        return np.concatenate(arrays)
    store = Store({"rows": (arrays[0].dtype, arrays[0].shape[1:])}, 0)
    for array in arrays:
        for begin in range(0, len(array), _ROWS_AT_A_TIME):
            store.append(rows=array[begin : begin + _ROWS_AT_A_TIME])
            forget_pages(array)
    return store.arrays()["rows"]


def _write(file: IO[bytes], array: np.ndarray) -> None:
    view = array.reshape(-1).view(np.uint8).data
    while view:
        view = view[file.write(view) :]


def forget_pages(*arrays: np.ndarray) -> None:
    """Gives back the memory that looking at arrays on the disk has taken."""
    for array in arrays:
        base = array
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, mmap.mmap) and hasattr(base, "madvise"):
            base.madvise(mmap.MADV_DONTNEED)
