"""Options for the compiler are left out wherever they are not known."""

import jax
import jax.numpy as jnp
import pytest

from substrax.evolve import _compiler
from substrax.evolve._compiler import compiler_options, quickly_compiled


@pytest.fixture(autouse=True)
def forget():
    compiler_options.cache_clear()
    yield
    compiler_options.cache_clear()


@pytest.mark.parametrize("platform", ["gpu", "tpu", "metal"])
def test_other_platforms_get_none(platform):
    assert compiler_options(platform) is None


def test_unknown_options_are_left_out(monkeypatch):
    monkeypatch.setattr(
        _compiler, "_OPTIONS", {jax.default_backend(): {"xla_of_another_version": 1}}
    )
    assert compiler_options(jax.default_backend()) is None
    assert quickly_compiled(lambda x: x + 1)(jnp.int32(1)) == 2


def test_a_function_stays_what_it_was():
    def double(x):
        """Twice as much."""
        return 2 * x

    quick = quickly_compiled(double)
    assert quick.__doc__ == "Twice as much."
    assert quick(jnp.int32(21)) == 42
