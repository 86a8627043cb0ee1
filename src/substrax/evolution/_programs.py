"""Compiled programs, kept whole between processes, so that a start need not trace.

JAX's own cache saves the compiler's work, but a function has to be traced and lowered
before its entry can be looked up, which takes a second for `tell`. Entries here are
found by what the function depends on: its source, the shapes and settings of its
arguments, the versions, the processor. Whatever goes wrong (no folder, an entry that is
damaged or rejected, a jaxlib that cannot do this), the function is compiled as usual.

An entry is machine code, and is trusted as JAX's cache is: both belong to the user.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from .._compile_cache import own_folder
from .._files import write_atomically

MAX_ENTRIES = 64
"""Programs that are kept; the one that was used least recently goes first."""

_SUFFIX = ".program"


def find(name: str, arguments: tuple[Any, ...], options: Any) -> "Entry | None":
    """Where the program of a function for such arguments is, or is to be, kept."""
    folder = own_folder()
    if folder is None or not _is_supported() or not _is_ours(arguments):
        return None
    text = repr((name, _describe(arguments), options, _surroundings()))
    digest = hashlib.sha256(text.encode()).hexdigest()[:32]
    return Entry(folder / "programs" / f"{name}-{digest}{_SUFFIX}")


class Entry:
    """One program on the disk: the digest of the rest, then what JAX made of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.stem.replace("-", "_")

    def load(
        self, arguments: tuple[Any, ...], out_tree: Callable[[], Any]
    ) -> Callable[..., Any] | None:
        """The program; None if there is none that works."""
        from jax.experimental import serialize_executable

        try:
            _check_owner(self.path)
            content = self.path.read_bytes()
            digest, payload = content[:32], content[32:]
            if hashlib.sha256(payload).digest() != digest:
                raise ValueError("damaged")
            # As JAX has it for positional arguments, with no others by name.
            in_tree = jax.tree.structure((arguments, {}))
            program = serialize_executable.deserialize_and_load(
                payload, in_tree, out_tree()
            )
            # Some faults show only when it runs. It is pure, so once more does no harm.
            jax.block_until_ready(program(*arguments))
        # Nothing is there, or it is somebody else's: then it is not ours to delete.
        except (FileNotFoundError, PermissionError):
            return None
        except Exception:  # which one depends on what is wrong
            self.forget()
            return None
        with contextlib.suppress(OSError):
            # Used just now, for those who forget what was not.
            os.utime(self.path)
        return program

    def forget(self) -> None:
        """Removes what does not work, JAX's copy too, so that it is written anew."""
        for path in (self.path, *self.path.parent.parent.glob(f"jit_{self.name}-*")):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    def keep(self, program: Any) -> None:
        """Writes a program, if that is possible."""
        from jax.experimental import serialize_executable

        try:
            # Without the trees beside it, which `load` has from arguments and `like`.
            payload = serialize_executable.serialize(program)[0]
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # By a name of its own first: several processes may write the same program.
            own = self.path.with_name(f"{self.path.name}.{os.getpid()}")
            write_atomically(own, [hashlib.sha256(payload).digest(), payload])
            own.chmod(0o600)  # whatever the user's habit: see _check_owner
            os.replace(own, self.path)
            _forget_oldest(self.path.parent)
        except Exception:  # no room, no such function: the next process compiles
            return


def _forget_oldest(folder: Path) -> None:
    entries = sorted(folder.glob(f"*{_SUFFIX}"), key=lambda p: p.stat().st_mtime)
    for path in entries[:-MAX_ENTRIES]:
        Entry(path).forget()


def _check_owner(path: Path) -> None:
    """Refuses what others could have written: loading a program means to run it."""
    if os.name != "posix":
        return
    for place in (path, path.parent):
        facts = place.stat()
        if facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
            raise PermissionError(f"{place} can be written by others.")


def state_of_jax() -> tuple[Any, ...]:
    """What may change while a process runs, and another program is needed then."""
    return (jax.default_backend(), float_type(), own_folder(), _is_supported())


def _is_supported() -> bool:
    # Elsewhere nobody has tried it; several devices would have to be named. Whoever
    # debugs wants JAX to look at what it runs.
    is_debugging = any(
        jax.config.values[name]
        for name in ("jax_disable_jit", "jax_debug_nans", "jax_debug_infs")
    )
    return (
        jax.default_backend() == "cpu" and len(jax.devices()) == 1 and not is_debugging
    )


def _is_ours(arguments: tuple[Any, ...]) -> bool:
    """Whether all code comes from this package, whose source is part of the key."""
    classes = (type(x) for x in arguments if isinstance(x, eqx.Module))
    return all(c.__module__.startswith("substrax.") for c in classes)


def float_type() -> str:
    """What floats are at present: 64-bit ones can be switched on for a while."""
    return str(jnp.result_type(float))


def _describe(arguments: tuple[Any, ...]) -> str:
    """Settings that are static, and shapes and types of all that is not."""
    leaves, structure = jax.tree.flatten(arguments)
    kinds = [str(jax.typeof(x)) + str(jax.typeof(x).weak_type) for x in leaves]
    return f"{structure} {kinds}"


def _surroundings() -> tuple[Any, ...]:
    """All else that a program depends on."""
    values = jax.config.values
    # Where code is kept and what is logged makes no other program. The processor is not
    # among these: it is part of the folder's name.
    names = sorted(n for n in values if "cache" not in n and "log" not in n)
    return (
        _source_digest(),
        platform.python_version(),
        [importlib.metadata.version(x) for x in ("jax", "jaxlib", "equinox")],
        os.environ.get("XLA_FLAGS", ""),
        float_type(),
        [(name, str(values[name])) for name in names],
    )


@functools.cache
def _source_digest() -> str:
    """Of all that `tell` is made of: another version of it is another program."""
    digest = hashlib.sha256()
    package = Path(__file__).parent.parent
    own = ("evolution/_loop.py", "evolution/_compiler.py")
    others = [
        path for part in ("neat", "cppn", ".") for path in (package / part).glob("*.py")
    ]
    for path in sorted([*others, *(package / name for name in own)]):
        digest.update(path.read_bytes())
    return digest.hexdigest()
