"""Strict JAX for every test: what passes here promotes nothing by accident."""

import gc
import hashlib
import os
import platform
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import jax
import pytest
from jaxtyping import Array, Key


def _cpu() -> str:
    """A short name for this kind of processor."""
    info = Path("/proc/cpuinfo")
    flags = info.read_text().partition("\n\n")[0] if info.exists() else ""
    kept = [
        line for line in flags.splitlines() if line.startswith(("model name", "flags"))
    ]
    text = "\n".join([platform.machine(), platform.processor(), *kept])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


# Mixed dtypes and silently broadcast ranks are where numerical code goes wrong
# unnoticed. 64-bit floats stay off: a test that needs them says so itself,
# with `with jax.enable_x64(True):`.
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

# Compilation dominates the suite, so its results are kept between runs, in the
# checkout (`make clean` removes them). JAX keys entries by program, options and
# version. The CPU is added here, because compiled code may use instructions that
# another machine lacks; so is the worker, because JAX does not write atomically.
_CACHE = Path(__file__).parent.parent / ".cache" / "jax"
jax.config.update(
    "jax_compilation_cache_dir",
    str(_CACHE / _cpu() / os.environ.get("PYTEST_XDIST_WORKER", "main")),
)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)

# The first call of a test compiles, so time limits per example mean nothing.
# "ci" draws the same examples on every run; "explore" draws new and more ones:
# HYPOTHESIS_PROFILE=explore make test
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000)
# "mutants" is content to know that something fails, and looks for no simpler example.
hypothesis.settings.register_profile(
    "mutants",
    derandomize=True,
    deadline=None,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


_MAPS = Path("/proc/self/maps")
_MOST_MAPS = 20_000
"""Of 65,530 that Linux gives a process unless it is told otherwise."""


@pytest.fixture(scope="module", autouse=True)
def _compiled_programs_are_let_go() -> Iterator[None]:
    """Each program takes some maps of memory, and without them XLA crashes."""
    yield
    if _MAPS.exists() and _MAPS.read_bytes().count(b"\n") > _MOST_MAPS:
        jax.clear_caches()
        gc.collect()


@pytest.fixture
def getkey() -> Callable[[], Key[Array, ""]]:
    """A function that returns a fresh PRNG key at each call, the same in each run."""

    def keys() -> Iterator[Key[Array, ""]]:
        key = jax.random.key(5678)
        while True:
            key, fresh = jax.random.split(key)
            yield fresh

    stream = keys()
    return lambda: next(stream)
