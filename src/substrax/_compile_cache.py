"""Compiled code, kept between processes, so that the next one starts sooner.

JAX can keep what it compiles but has to be told where. Importing substrax configures
nothing; `use_cache` is called where a run starts.
"""

import atexit
import hashlib
import logging
import os
import platform
import shutil
import sys
import threading
import warnings
from pathlib import Path

import jax

_log = logging.getLogger("substrax")

SWITCH = "SUBSTRAX_CACHE"
"""The environment variable that switches the cache off."""

_OFF = ("off", "0", "no", "false")
_JAX_MIN_SECONDS = 1.0
"""What JAX leaves out of a cache unless it is told otherwise: shorter compilations."""

_lock = threading.Lock()
_watch: "_Watch | None" = None
_folder: Path | None = None


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
    # The last three are what ARM's processors are told apart by.
    names = ("model name", "flags", "Features", "CPU implementer", "CPU part")
    kept = [x for x in first.splitlines() if x.startswith(names)]
    text = "\n".join([platform.machine(), platform.processor(), *kept])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def is_switched_off() -> bool:
    """Whether the user wants nothing kept, by our switch or by JAX's own."""
    if os.environ.get(SWITCH, "").strip().lower() in _OFF:
        return True
    return not jax.config.values["jax_enable_compilation_cache"]


def own_folder() -> Path | None:
    """Where JAX keeps what it compiles, if `use_cache` chose the place."""
    return None if is_switched_off() else _folder


def use_cache() -> None:
    """Lets JAX keep what it compiles, unless it has been told where already."""
    global _folder, _watch
    with _lock:
        if is_switched_off() or jax.config.values["jax_compilation_cache_dir"]:
            return
        try:
            folder = cache_folder() / _processor()
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, RuntimeError):
            return  # no home to write to: every run compiles
        jax.config.update("jax_compilation_cache_dir", str(folder))
        _folder = folder
        # Short compilations, too; but a time that the user has chosen stays.
        name = "jax_persistent_cache_min_compile_time_secs"
        if jax.config.values[name] == _JAX_MIN_SECONDS:
            jax.config.update(name, 0.0)
        if _watch is None:
            _watch = _Watch(folder)
            _watch.start()


def num_cache_hits() -> int:
    """How often JAX found what it needed; counted from `use_cache` on."""
    return 0 if _watch is None else _watch.num_hits


def tell_if_rejected() -> None:
    """Says, once in a process, that JAX compiled what it had kept already."""
    if _watch is not None:
        _watch.tell_if_rejected()


class _Watch:
    """Looks at how JAX gets on with the entries of a folder.

    Two things go wrong with them. A process that is killed while JAX writes an entry
    leaves half of it; JAX then warns, compiles, and keeps the half, so the entries are
    removed at the end of a process that met one. And on some processors a jaxlib
    rejects all that it wrote itself (jax issue 38445): there is an entry, but it
    compiles. JAX does not write an entry that exists, so a miss after which there is no
    new file was such an entry.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known = self._entries()
        self.num_hits = self._num_misses = self._num_looked_at = 0
        self._is_doubtful = self._is_told = False

    def start(self) -> None:
        """Listens to JAX from now on; it cannot be asked later."""
        jax.monitoring.register_event_listener(self.count)
        # What JAX says of its entries is told in one sentence at most.
        default = warnings.showwarning

        def showwarning(message, category, filename, lineno, file=None, line=None):
            if "persistent compilation cache entry" in str(message):
                self.take_warning(str(message))
            else:
                default(message, category, filename, lineno, file, line)

        warnings.showwarning = showwarning

    def count(self, event: str, **kwargs: str | int) -> None:
        """Takes an event that JAX reports."""
        self.num_hits += event == "/jax/compilation_cache/cache_hits"
        self._num_misses += event == "/jax/compilation_cache/cache_misses"

    def take_warning(self, message: str) -> None:
        """Takes a warning of JAX that an entry could not be read or written."""
        if "machine" in message:
            self._tell()
            return
        # Entries that are damaged or could not be written make no new file, either.
        self._is_doubtful = True
        if "reading" in message:
            atexit.register(shutil.rmtree, self.folder, ignore_errors=True)

    def tell_if_rejected(self) -> None:
        """Says that entries are rejected if this is how it looks."""
        num_misses = self._num_misses
        # A single hit shows that this processor's entries are taken.
        if self._is_told or self._is_doubtful or self.num_hits:
            return
        if num_misses > self._num_looked_at:
            self._num_looked_at = num_misses
            if len(self._entries() - self._known) < num_misses:
                self._tell()

    def _tell(self) -> None:
        if not self._is_told:
            self._is_told = True
            _log.warning(
                "jaxlib rejects on this processor what it compiled and kept in %s (jax "
                "issue 38445), so every start compiles anew; %s=off keeps nothing.",
                self.folder,
                SWITCH,
            )

    def _entries(self) -> set[str]:
        try:
            return {name for name in os.listdir(self.folder) if name.endswith("-cache")}
        except OSError:
            return set()
