"""The most memory that a process had, with nothing but the standard library."""

import contextlib
import sys
from pathlib import Path


def peak_mebibytes() -> float | None:
    """The most memory that this process has had; None where that is not known."""
    # The other count begins with the peak of the process that started this one.
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        line = next(line for line in lines if line.startswith("VmHWM"))
        return int(line.split()[1]) / (1 << 10)
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20) if sys.platform == "darwin" else peak / (1 << 10)
