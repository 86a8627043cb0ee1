"""Strict JAX for every test: what passes here promotes nothing by accident."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import jax
import pytest
from jaxtyping import Array, Key

# Mixed dtypes and silently broadcast ranks are where numerical code goes wrong
# unnoticed. 64-bit floats stay off: a test that needs them says so itself,
# with `with jax.enable_x64(True):`.
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

# Compilation dominates the suite, so its results are kept between runs (in the
# checkout, so that `make clean` removes them). JAX keys the entries by program,
# options, version and CPU features: an old entry is never used for new code.
jax.config.update(
    "jax_compilation_cache_dir", str(Path(__file__).parent.parent / ".cache" / "jax")
)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)

# The first call of a test compiles, so time limits per example mean nothing.
# "ci" draws the same examples on every run; "explore" draws new and more ones:
# HYPOTHESIS_PROFILE=explore make test
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


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
