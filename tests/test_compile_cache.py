"""Compiled code, kept between processes: who may switch it off, what goes wrong."""

import os
import subprocess
import sys
import warnings

import jax
import pytest

from substrax import _compile_cache
from substrax._compile_cache import _Watch, use_cache

FOLDER = "jax_compilation_cache_dir"
SECONDS = "jax_persistent_cache_min_compile_time_secs"
MISS = "/jax/compilation_cache/cache_misses"
HIT = "/jax/compilation_cache/cache_hits"


@pytest.fixture
def no_folder(monkeypatch, tmp_path):
    """As in a process that has not configured JAX; all is put back afterwards."""
    names = (FOLDER, SECONDS, "jax_enable_compilation_cache")
    before = {name: jax.config.values[name] for name in names}
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SUBSTRAX_CACHE", raising=False)
    monkeypatch.setattr(_compile_cache, "_watch", None)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(jax.monitoring, "register_event_listener", lambda f: None)
    jax.config.update(FOLDER, None)
    jax.config.update(SECONDS, 1.0)
    yield tmp_path
    for name, value in before.items():
        jax.config.update(name, value)


def test_a_folder_of_the_user_is_used(no_folder):
    use_cache()
    assert str(no_folder) in jax.config.values[FOLDER]
    assert jax.config.values[SECONDS] == 0.0


@pytest.mark.parametrize("word", ["off", "OFF", "0", "false"])
def test_a_variable_switches_it_off(no_folder, monkeypatch, word):
    monkeypatch.setenv("SUBSTRAX_CACHE", word)
    use_cache()
    assert jax.config.values[FOLDER] is None


def test_a_setting_of_jax_switches_it_off(no_folder):
    jax.config.update("jax_enable_compilation_cache", False)
    use_cache()
    assert jax.config.values[FOLDER] is None


def test_a_folder_chosen_before_stays(no_folder):
    jax.config.update(FOLDER, "elsewhere")
    use_cache()
    assert jax.config.values[FOLDER] == "elsewhere"
    assert jax.config.values[SECONDS] == 1.0


def test_a_shortest_time_chosen_before_stays(no_folder):
    jax.config.update(SECONDS, 5.0)
    use_cache()
    assert jax.config.values[SECONDS] == 5.0


def test_new_entries_and_hits_are_as_they_should_be(tmp_path, caplog):
    watch = _Watch(tmp_path)
    watch.tell_if_rejected()
    (tmp_path / "jit_f-1-cache").touch()
    watch.count(MISS)
    watch.tell_if_rejected()
    watch = _Watch(tmp_path)
    watch.count(HIT)
    watch.count(MISS)  # another process has written this one
    watch.tell_if_rejected()
    assert not caplog.records


def test_a_miss_without_a_new_entry_is_a_rejection(tmp_path, caplog):
    (tmp_path / "jit_f-1-cache").touch()
    watch = _Watch(tmp_path)
    for _ in range(3):
        watch.count(MISS)
        watch.tell_if_rejected()
    assert len(caplog.records) == 1
    assert "rejects on this processor" in caplog.text


def test_a_failed_write_is_no_rejection(tmp_path, caplog):
    watch = _Watch(tmp_path)
    watch.take_warning("Error writing persistent compilation cache entry for 'jit_f'")
    watch.count(MISS)
    watch.tell_if_rejected()
    assert not caplog.records


PROGRAM = """
import logging
import sys

import jax
import substrax.evolution

assert jax.config.values["jax_compilation_cache_dir"] is None  # not by an import
logging.basicConfig(format="%(message)s")

from jax._src import compilation_cache
from substrax._compile_cache import tell_if_rejected, use_cache

use_cache()


def reject(*arguments):
    if sys.argv[1] == "quietly":
        return None, None
    raise RuntimeError(
        "Target machine feature +prefer-no-gather is not supported on the host machine."
    )


if sys.argv[1] != "never":
    compilation_cache.get_executable_and_time = reject
for number in (1.0, 2.0):
    jax.jit(lambda x, n=number: x * n)(number)
    tell_if_rejected()
"""


def test_a_rejecting_jaxlib_is_told_of_once(tmp_path):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}
    environment |= {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    environment.pop("SUBSTRAX_CACHE", None)

    def told(how: str) -> str:
        words = [sys.executable, "-c", PROGRAM, how]
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, check=True
        )
        return done.stderr

    assert told("never") == ""
    assert told("never") == ""
    for how in ("quietly", "loudly"):
        lines = told(how).splitlines()
        assert len(lines) == 1 and "jax issue 38445" in lines[0]
    # entries that are rejected are not damaged: they stay
    assert list(tmp_path.rglob("*-cache"))
