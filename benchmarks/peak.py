"""The most memory that a process had, with nothing but the standard library."""

import resource
import sys
from pathlib import Path


def peak_mebibytes() -> float:
    """Of this process; `ru_maxrss` would count what its parent had when it started."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if "VmHWM" in x)
        return int(line.split()[1]) / (1 << 10)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
