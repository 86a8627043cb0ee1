"""What is left of programs that have ended: processes, and files."""

import time
from pathlib import Path

MARK = "SUBSTRAX_HURT"
"""A variable of the environment, which all descendants of a process inherit, also those
whose parent is gone."""

_PATIENCE_SECONDS = 10.0
"""In which a process has noticed that whoever started it is gone."""


def marked(mark: str) -> list[int]:
    """The processes whose environment says so, and zombies among their children."""
    wanted = f"{MARK}={mark}".encode()
    found, zombies = set(), {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            # What stands behind the name, which may have any characters in it.
            state, parent = (place / "stat").read_text().rpartition(")")[2].split()[:2]
            if state == "Z":  # which has no environment any more
                zombies[int(place.name)] = int(parent)
            elif wanted in (place / "environ").read_bytes().split(b"\0"):
                found.add(int(place.name))
        except OSError:  # gone meanwhile, or somebody else's
            continue
    return sorted(found | {pid for pid, parent in zombies.items() if parent in found})


def still_there(mark: str, seconds: float = _PATIENCE_SECONDS) -> list[int]:
    """Those that are there after some seconds, too."""
    end = time.monotonic() + seconds
    while (pids := marked(mark)) and time.monotonic() < end:
        time.sleep(0.1)
    return pids


def files_below(folder: Path) -> list[Path]:
    """All of them, but for those by which Dask knows which directories it uses."""
    if not folder.exists():
        return []
    files = (path for path in folder.rglob("*") if not path.is_dir())
    return [path for path in files if path.suffix not in (".lock", ".dirlock")]
