"""Compiled code, kept between runs. Only the command line configures JAX."""

import atexit
import hashlib
import os
import platform
import shutil
import sys
import warnings
from pathlib import Path


def cache_folder() -> Path:
    """The user's folder for caches, by the custom of the system."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "substrax" / "jax"


def _processor() -> str:
    """A short name for this kind of processor: compiled code is made for one."""
    info = Path("/proc/cpuinfo")
    first = info.read_text().partition("\n\n")[0] if info.exists() else ""
    kept = [x for x in first.splitlines() if x.startswith(("model name", "flags"))]
    text = "\n".join([platform.machine(), platform.processor(), *kept])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def use_cache() -> None:
    """Lets JAX keep what it compiles, unless it has been told where already."""
    import jax

    if jax.config.values["jax_compilation_cache_dir"]:
        return
    folder = cache_folder() / _processor()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return  # no home to write to: every run compiles
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    _forget_damaged(folder)


def _forget_damaged(folder: Path) -> None:
    """A process that is killed while JAX writes an entry leaves half of it.

    JAX then warns, compiles, and keeps the half. So the entries are removed at the end
    of a run that met one.
    """
    default = warnings.showwarning

    def showwarning(message, category, filename, lineno, file=None, line=None):
        if "persistent compilation cache entry" not in str(message):
            default(message, category, filename, lineno, file, line)
            return
        if "reading" in str(message):
            atexit.register(shutil.rmtree, folder, ignore_errors=True)

    warnings.showwarning = showwarning
