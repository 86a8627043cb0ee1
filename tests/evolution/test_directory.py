"""Run directories: whatever happens, a run goes on as if nothing had happened."""

import contextlib
import errno
import hashlib
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
import safetensors.numpy

from substrax import _files as files
from substrax._resources import num_cores
from substrax._safetensors import map_safetensors
from substrax.evolution import (
    DamagedRunError,
    RunDirectory,
    RunLockedError,
    StopReason,
    _checkpoint,
    _directory,
    evolve,
)
from substrax.neat import grow
from substrax.runs import sealed, unsealed

from .support import parts, timeless

GENERATIONS = 6


def finish(directory, generations=GENERATIONS, **settings):
    return evolve(
        *parts(), seed=3, generations=generations, directory=directory, **settings
    )


def contents(run: RunDirectory) -> dict:
    """All that has to be equal: metrics without times, best files byte for byte."""
    return {
        "metrics": timeless(run.metrics()),
        "json": (run.path / "best.json").read_bytes(),
        "arrays": (run.path / "best.safetensors").read_bytes(),
        "checkpoints": {
            path.name: path.read_bytes()
            for path in (run.path / "checkpoints").glob("*.safetensors")
        },
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted run."""
    path = tmp_path_factory.mktemp("whole") / "run"
    result = finish(path)
    return RunDirectory(path), result


def test_a_directory_holds_the_run(whole):
    run, result = whole
    assert timeless(run.metrics()) == timeless(result.history)
    assert run.facts()["seed"] == 3
    assert run.facts()["versions"]["jax"] == jax.__version__
    best = run.best()
    assert best.fitness == result.best_fitness
    np.testing.assert_array_equal(
        best.network.link_weight, result.best_network.link_weight
    )
    num_links = int(result.best_genome.num_links)
    np.testing.assert_array_equal(
        best.genome.link_weight, result.best_genome.link_weight[:num_links]
    )
    names = sorted(p.name for p in (run.path / "checkpoints").iterdir())
    assert names == [
        "000005.json", "000005.safetensors", "000006.json", "000006.safetensors"
    ]  # fmt: skip


def test_a_finished_run_that_is_continued_stays_as_it_is(whole):
    run, result = whole
    before = contents(run)
    again = finish(run)
    assert again.reason is StopReason.GENERATIONS
    assert contents(run) == before
    assert timeless(again.history) == timeless(result.history)


def test_more_generations_continue_a_run(whole, tmp_path):
    finish(tmp_path / "run", generations=2)
    run = RunDirectory(tmp_path / "run")
    finish(run)
    assert contents(run) == contents(whole[0])


class Killed(BaseException):
    """Stands for SIGKILL: nothing catches it, nothing is cleaned up."""


def kill_at(monkeypatch, moment: int, is_torn: bool) -> list[str]:
    """Dies at the given file operation; a torn one is half done by then."""
    done: list[str] = []
    real_write = files.write_atomically
    real_truncate, real_append = os.truncate, RunDirectory.append_metrics

    def count(name):
        done.append(name)
        return len(done) == moment

    def write_atomically(path, content):
        if count(f"write {path.name}"):
            if is_torn:
                temporary = path.with_name(f"{path.name}.0123abcd{files.TEMPORARY}")
                real_write(temporary, content)
                os.truncate(temporary, temporary.stat().st_size // 2)
            raise Killed
        real_write(path, content)

    def append_metrics(self, record):
        if count("append"):
            if is_torn:
                with open(self.path / "metrics.jsonl", "ab") as file:
                    file.write(json.dumps(record).encode()[:50])
            raise Killed
        real_append(self, record)

    def truncate(path, length):
        if count("truncate"):
            raise Killed
        real_truncate(path, length)

    def unlink(self, missing_ok=False):
        if count(f"unlink {self.name}"):
            raise Killed
        if self.exists() or not missing_ok:
            os.unlink(self)

    monkeypatch.setattr(_checkpoint, "write_atomically", write_atomically)
    monkeypatch.setattr(_directory, "write_atomically", write_atomically)
    monkeypatch.setattr(RunDirectory, "append_metrics", append_metrics)
    monkeypatch.setattr(os, "truncate", truncate)
    monkeypatch.setattr(Path, "unlink", unlink)
    return done


@pytest.mark.parametrize("is_torn", [False, True])
def test_killed_at_any_file_operation_a_run_ends_the_same(
    whole, tmp_path, monkeypatch, is_torn
):
    """Every moment between two writes of the run, one after the other."""
    expected = contents(whole[0])
    moment = 0
    while True:
        moment += 1
        path = tmp_path / f"run{moment}"
        run = RunDirectory.create(path, seed=3)
        with monkeypatch.context() as patch:
            done = kill_at(patch, moment, is_torn)
            try:
                finish(run)
                break  # it ran to its end: there was no such moment
            except Killed:
                pass
        # a second death, of the continuation, at the same moment counted from there
        with monkeypatch.context() as patch:
            kill_at(patch, moment, is_torn)
            with contextlib.suppress(Killed):
                finish(RunDirectory(path))
        finish(RunDirectory(path))
        assert contents(RunDirectory(path)) == expected, done
        assert not list(path.rglob("*.tmp"))
    assert moment > 4 * GENERATIONS
    assert {"append", "write best.json", "write 000003.json"} <= set(done)


@pytest.mark.parametrize("every", [2, 4, 100])
def test_rare_checkpoints_change_nothing(whole, tmp_path, monkeypatch, every):
    run = RunDirectory.create(tmp_path / "run", seed=3)

    def die(generation):
        if generation.number == 4:
            raise Killed

    with pytest.raises(Killed):
        finish(run, checkpoint_every=every, callbacks=[die])
    assert len(run.metrics()) == 5
    finish(RunDirectory(run.path), checkpoint_every=every)
    ours, expected = contents(run), contents(whole[0])
    assert ours["metrics"] == expected["metrics"]
    assert ours["json"] == expected["json"]
    assert ours["arrays"] == expected["arrays"]


def truncated(data: bytes) -> bytes:
    return data[:-100]


def flipped(data: bytes) -> bytes:
    return data[:-100] + bytes([data[-100] ^ 1]) + data[-99:]


@pytest.mark.parametrize(
    ("ending", "damage", "said"),
    [
        ("safetensors", truncated, "bytes instead of"),
        ("safetensors", flipped, "checksum is wrong"),
        ("safetensors", lambda data: b"", "bytes instead of"),
        ("json", lambda data: data[:40], "no JSON, or not all of it"),
        ("json", lambda data: b"{}", "no checksum"),
        ("json", lambda data: data.replace(b"6,", b"5,", 1), "checksum is wrong"),
    ],
)
def test_a_damaged_checkpoint_falls_back_to_the_one_before_and_says_so(
    whole, tmp_path, caplog, ending, damage, said
):
    run = RunDirectory.create(tmp_path / "run", seed=3)
    finish(run)
    path = run.path / "checkpoints" / f"000006.{ending}"
    path.write_bytes(damage(path.read_bytes()))
    finish(RunDirectory(run.path))
    assert "after 6 generations" in caplog.text and said in caplog.text
    assert contents(run) == contents(whole[0])


def test_without_an_intact_checkpoint_nothing_is_changed(tmp_path, caplog):
    run = RunDirectory.create(tmp_path / "run", seed=3)
    finish(run)
    for path in (run.path / "checkpoints").glob("*.safetensors"):
        path.write_bytes(b"")
    metrics = (run.path / "metrics.jsonl").read_bytes()
    with pytest.raises(DamagedRunError, match=r"no checkpoint .* is intact"):
        finish(RunDirectory(run.path))
    assert (run.path / "metrics.jsonl").read_bytes() == metrics


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: lines[:2] + lines[3:],
        lambda lines: [
            *lines[:2],
            lines[2].replace(b"species", b"specios"),
            *lines[3:],
        ],
        lambda lines: [*lines[:2], b"\xff\n", b"[1]\n", *lines[3:]],
        lambda lines: [*lines[:2], lines[1], *lines[3:]],
    ],
)
def test_a_run_goes_on_past_damaged_metrics_and_says_so(
    whole, tmp_path, caplog, damage
):
    run = RunDirectory.create(tmp_path / "run", seed=3)
    finish(run)
    path = run.path / "metrics.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(damage(lines)))
    finish(RunDirectory(run.path), generations=GENERATIONS + 1)
    assert "of 6 generations 1 are lost (2)" in caplog.text
    kept = [record["generation"] for record in run.metrics()]
    assert kept == [0, 1, 3, 4, 5, 6]
    assert not run.damaged_lines()


def test_metrics_of_another_run_are_refused(tmp_path):
    runs = [RunDirectory.create(tmp_path / f"run{k}", seed=k) for k in range(2)]
    for seed, run in enumerate(runs):
        evolve(*parts(), seed=seed, generations=2, directory=run)
    content = (runs[0].path / "metrics.jsonl").read_bytes()
    path = runs[1].path / "metrics.jsonl"
    path.write_bytes(content)
    with pytest.raises(DamagedRunError, match="is not what this run wrote"):
        evolve(*parts(), seed=1, generations=3, directory=RunDirectory(runs[1].path))
    assert path.read_bytes() == content
    path.unlink()
    evolve(*parts(), seed=1, generations=3, directory=RunDirectory(runs[1].path))
    assert [record["generation"] for record in runs[1].metrics()] == [2]


def test_a_damaged_best_file_is_named_and_made_anew(whole, tmp_path):
    run = RunDirectory.create(tmp_path / "run", seed=3)
    finish(run)
    path = run.path / "best.safetensors"
    content = path.read_bytes()
    for damaged in (b"", content[:5], content[:900], content[:-1], b"{}" * 99):
        path.write_bytes(damaged)
        with pytest.raises(DamagedRunError, match=r"best\.safetensors is damaged"):
            run.best()
    finish(run)
    assert contents(run) == contents(whole[0])


def test_grown_capacities_are_restored(tmp_path):
    """The state of a checkpoint may be larger than that of a new run."""
    run = RunDirectory.create(tmp_path / "run", seed=3)
    neat, _, _ = parts()
    state = jax.jit(neat.init)(key=jax.random.key(0))
    large = grow(state, max_nodes=40, max_links=70, max_species=90)
    run.write_checkpoint(1, large, {})
    found = run.read_checkpoint(lambda: state)
    assert found is not None
    said, restored = found
    assert said.generation == 1
    for a, b in zip(jax.tree.leaves(large), jax.tree.leaves(restored), strict=True):
        np.testing.assert_array_equal(a, b)


def test_checkpoints_are_written_like_all_arrays_and_older_ones_are_read(
    whole, tmp_path
):
    run = RunDirectory.create(tmp_path / "run", seed=3)
    finish(run, generations=4)
    path = run.path / "checkpoints" / "000004.safetensors"
    arrays, _ = map_safetensors(path)
    # as earlier versions wrote them: by the package of that name
    data = safetensors.numpy.save({name: np.array(x) for name, x in arrays.items()})
    path.write_bytes(data)
    document = unsealed(path.with_suffix(".json").read_bytes())
    document |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    path.with_suffix(".json").write_text(sealed(document))
    finish(RunDirectory(run.path))
    assert contents(run) == contents(whole[0])


def test_facts_count_the_cores_that_may_be_used(whole):
    assert whole[0].facts()["host"]["cores"] == num_cores()


def test_another_seed_or_population_is_refused(whole):
    run, _ = whole
    with pytest.raises(ValueError, match="has seed 3, not 4"):
        evolve(*parts(), seed=4, directory=run)
    with pytest.raises(ValueError, match="population_size was 16 and is 8 now"):
        evolve(*parts(population_size=8), seed=3, directory=run)


def test_a_directory_that_is_in_use_or_not_empty_is_refused(whole, tmp_path):
    with pytest.raises(ValueError, match="already holds a run"):
        finish(whole[0].path)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ValueError, match=r"not empty \(it holds notes\.txt\)"):
        finish(tmp_path)
    with pytest.raises(ValueError, match="is a file"):
        finish(tmp_path / "notes.txt")
    with pytest.raises(ValueError, match="holds no run"):
        RunDirectory(tmp_path)
    with pytest.raises(ValueError, match="does not exist"):
        RunDirectory(tmp_path / "nowhere")


HOLD = """
import sys
from substrax.evolution import RunDirectory
with RunDirectory(sys.argv[1]).lock():
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused_and_a_dead_one_leaves_no_lock(whole):
    run, _ = whole
    command = [sys.executable, "-c", HOLD, str(run.path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(RunLockedError, match=f"in use by process {process.pid}"):
            finish(run)
        process.kill()
        process.wait()
    assert finish(run).reason is StopReason.GENERATIONS


def test_a_full_disk_loses_nothing_that_was_saved(whole, tmp_path, monkeypatch):
    run = RunDirectory.create(tmp_path / "run", seed=3)
    real = os.fsync
    calls = []

    def fsync(number):
        calls.append(number)
        if len(calls) == 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(number)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(OSError, match="No space left"):
            finish(run)
    assert 0 < len(run.metrics()) < GENERATIONS
    finish(RunDirectory(run.path))
    assert contents(run) == contents(whole[0])


def test_best_files_hold_no_times(whole):
    run, _ = whole
    for name in ("best.json", "best.safetensors"):
        text = (run.path / name).read_bytes()
        year = run.facts()["started"][:4].encode()
        assert b"time" not in text and b"second" not in text and year + b"-" not in text


def test_a_state_is_compiled_for_once(whole, tmp_path):
    """Another seed, another rate: nothing is traced again."""
    traces = []

    class Counting(logging.Handler):
        def emit(self, record):
            traces.append(record.getMessage())

    logger = logging.getLogger("jax._src.dispatch")
    handler = Counting(logging.DEBUG)
    logger.addHandler(handler)
    try:
        with jax.log_compiles():
            evolve(*parts(), seed=9, generations=2, directory=tmp_path / "run")
    finally:
        logger.removeHandler(handler)
    assert not [text for text in traces if "_tell" in text or "_init" in text]
