"""What is compiled for the loop: options, and programs that are kept whole."""

import os
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax import _compile_cache
from substrax.evolution import _compiler, _programs
from substrax.evolution._compiler import Compiled, compiler_options
from tests.compilations import counted_compilations


@pytest.fixture(autouse=True)
def forget():
    compiler_options.cache_clear()
    yield
    compiler_options.cache_clear()


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """As after `use_cache` in a process of its own."""
    monkeypatch.delenv(_compile_cache.SWITCH, raising=False)
    monkeypatch.setattr(_compile_cache, "_folder", tmp_path)
    # On a machine with much to do, JAX keeps what takes long here, too, and what it
    # has loaded cannot be kept again.
    name = "jax_persistent_cache_min_compile_time_secs"
    before = jax.config.values[name]
    jax.config.update(name, 1e9)
    yield tmp_path / "programs"
    jax.config.update(name, before)


def double(x):
    """Twice as much."""
    return {"twice": 2 * x}


def kept_double() -> Compiled:
    return Compiled(double, like=lambda x: {"twice": x})


X = jnp.asarray(np.arange(3, dtype=np.float32))


def answer(function: Compiled) -> list[float]:
    return np.asarray(function(X)["twice"]).tolist()


@pytest.mark.parametrize("platform", ["gpu", "tpu", "metal"])
def test_other_platforms_get_none(platform):
    assert compiler_options(platform) is None


def test_unknown_options_are_left_out(monkeypatch):
    monkeypatch.setattr(
        _compiler, "_OPTIONS", {jax.default_backend(): {"xla_of_another_version": 1}}
    )
    assert compiler_options(jax.default_backend()) is None
    assert Compiled(lambda x: x + 1)(jnp.int32(1)) == 2


def test_a_function_stays_what_it_was():
    function = Compiled(double)
    assert function.__doc__ == "Twice as much."
    assert answer(function) == [0.0, 2.0, 4.0]


def test_a_kept_program_is_neither_traced_nor_compiled_again(folder):
    assert answer(kept_double()) == [0.0, 2.0, 4.0]
    assert len(list(folder.iterdir())) == 1
    traced = []

    def watched(x):
        traced.append(x)
        return double(x)

    watched.__name__ = "double"
    again = Compiled(watched, like=lambda x: {"twice": x})
    compiler_options(jax.default_backend())
    with counted_compilations() as compilations:
        assert answer(again) == [0.0, 2.0, 4.0]
    assert not traced
    assert compilations.names == []


@pytest.mark.skipif(os.name != "posix", reason="files have no such modes elsewhere")
def test_what_others_could_have_written_is_not_run(folder):
    before = os.umask(0)  # everybody may write what this process makes
    try:
        kept_double()(X)
    finally:
        os.umask(before)
    (path,) = folder.iterdir()
    load = lambda: _programs.Entry(path).load(
        (X,), lambda: jax.tree.structure({"twice": 0})
    )
    assert load() is not None
    path.chmod(0o666)
    assert load() is None
    assert path.exists()


def test_other_shapes_and_settings_are_other_programs(folder, monkeypatch):
    function = kept_double()
    function(X)
    function(X[:2])
    assert len(list(folder.iterdir())) == 2
    monkeypatch.setattr(_programs, "_source_digest", lambda: "another version")
    kept_double()(X)
    assert len(list(folder.iterdir())) == 3


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_a_damaged_program_is_compiled_and_written_anew(folder, damage):
    kept_double()(X)
    (path,) = folder.iterdir()
    whole = bytearray(path.read_bytes())
    if damage == "flip":
        whole[len(whole) // 2] ^= 1
    path.write_bytes({"flip": whole, "cut": whole[:-7], "empty": b""}[damage])
    assert answer(kept_double()) == [0.0, 2.0, 4.0]
    (path,) = folder.iterdir()
    assert path.stat().st_size > 7
    assert _programs.Entry(path).load((X,), lambda: jax.tree.structure({"twice": 0}))


def test_what_jax_loaded_from_its_cache_is_not_written_again(folder, monkeypatch):
    hits = iter([0, 1])
    monkeypatch.setattr(_compiler, "num_cache_hits", lambda: next(hits))
    assert answer(kept_double()) == [0.0, 2.0, 4.0]
    assert not folder.exists()


def test_a_program_that_does_not_run_is_compiled_anew(folder, monkeypatch):
    kept_double()(X)

    def load(*args):
        def fail(x):
            raise jax.errors.JaxRuntimeError("a part is missing")

        return fail

    from jax.experimental import serialize_executable

    monkeypatch.setattr(serialize_executable, "deserialize_and_load", load)
    assert answer(kept_double()) == [0.0, 2.0, 4.0]


def test_without_a_cache_nothing_is_written(folder, monkeypatch):
    monkeypatch.setenv(_compile_cache.SWITCH, "off")
    assert answer(kept_double()) == [0.0, 2.0, 4.0]
    assert not folder.exists()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write")
def test_a_folder_that_cannot_be_written_is_no_error(folder):
    folder.parent.chmod(0o500)
    assert answer(kept_double()) == [0.0, 2.0, 4.0]


def test_the_oldest_programs_are_forgotten(folder, monkeypatch):
    monkeypatch.setattr(_programs, "MAX_ENTRIES", 2)
    function = kept_double()
    for length in (1, 2, 3):
        function(X[:length])
        for age, path in enumerate(sorted(folder.iterdir(), key=_modified)):
            os.utime(path, (age, age))
    assert len(list(folder.iterdir())) == 2


def _modified(path: Path) -> float:
    return path.stat().st_mtime
