"""A run keeps to its own files, notices what was changed, and says what is wrong."""

import errno
import json
import os
import re
from pathlib import Path

import jax
import numpy as np
import pytest

import substrax as sx
import substrax._files as files_module
from substrax._files import remove_temporaries, replacing, write_atomically
from substrax.evolution import (
    DamagedRunError,
    RunDirectory,
    StopReason,
    check_memory,
    evolve,
)
from substrax.evolution._identity import difference
from substrax.neat import NEAT, presets
from substrax.problems import FunctionProblem, HostProblem, checked_fitness
from substrax.report import write_report
from substrax.runs import history_of
from substrax.runs._metrics import to_line
from substrax.substrate import Layout

from .support import Problem, SumOfWeights, parts

GENERATIONS = 3


def finish(directory, generations=GENERATIONS, problem=None, **settings):
    return evolve(
        *parts(problem),
        seed=3,
        generations=generations,
        directory=directory,
        **settings,
    )


@pytest.fixture
def run(tmp_path) -> RunDirectory:
    finish(tmp_path / "run")
    return RunDirectory(tmp_path / "run")


def everything(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


# ------------------------------------------------------------------ files of others


@pytest.mark.parametrize(
    "name", ["checkpoints", "best.json", "metrics.jsonl", ".lock", "report", "run.json"]
)
def test_links_within_a_run_are_refused(run, tmp_path, name):
    place = run.path / name
    elsewhere = tmp_path / "elsewhere"
    if place.exists():
        place.rename(elsewhere)
    else:
        elsewhere.mkdir()
    place.symlink_to(elsewhere)
    before = everything(tmp_path)
    with pytest.raises(ValueError, match=f"{name} is a symbolic link"):
        finish(RunDirectory(run.path), generations=5)
    assert everything(tmp_path) == before


def test_a_checkpoint_that_is_a_link_is_refused(run, tmp_path):
    place = run.path / "checkpoints" / "000003.json"
    place.rename(tmp_path / "kept.json")
    place.symlink_to(tmp_path / "kept.json")
    with pytest.raises(ValueError, match=r"000003\.json is a symbolic link"):
        RunDirectory(run.path)


def test_the_directory_itself_may_be_a_link(run, tmp_path):
    (tmp_path / "link").symlink_to(run.path)
    result = finish(RunDirectory(tmp_path / "link"), generations=4)
    assert result.generations == 4


def test_files_of_others_stay(run):
    others = {
        "checkpoints/notes.json": b"{}",
        "checkpoints/12.json": b"mine",
        "checkpoints/weights.safetensors": b"mine",
        "thoughts.tmp": b"mine",
        "run.json.tmp": b"mine",
        "checkpoints/000001.json.tmp": b"mine",
        "scratch/data": b"mine",
    }
    (run.path / "scratch").mkdir()
    for name, content in others.items():
        (run.path / name).write_bytes(content)
    finish(RunDirectory(run.path), generations=6)
    found = everything(run.path)
    assert {name: found[name] for name in others} == others


def test_what_a_killed_process_left_of_ours_goes(run):
    (run.path / "best.json.0123abcd.tmp").write_bytes(b"half")
    (run.path / "checkpoints" / "000009.json.0123abcd.tmp").write_bytes(b"half")
    finish(RunDirectory(run.path), generations=4)
    assert not list(run.path.rglob("*.tmp"))


def test_a_report_deletes_only_figures_that_a_report_wrote(run):
    pytest.importorskip("matplotlib")
    write_report(run.path)
    figures = run.path / "report" / "figures"
    listed = json.loads((run.path / "report" / "figures.json").read_text())["figures"]
    assert sorted(path.name for path in figures.iterdir()) == listed
    (figures / "mine.png").write_bytes(b"mine")
    (figures / "old-one.png").write_bytes(b"of a report before")
    manifest = {"figures": [*listed, "old-one.png", "../../run.json", 7]}
    (run.path / "report" / "figures.json").write_text(json.dumps(manifest))
    write_report(run.path)
    assert (figures / "mine.png").read_bytes() == b"mine"
    assert not (figures / "old-one.png").exists()
    assert (run.path / "run.json").exists()


def test_a_report_does_not_follow_links(run, tmp_path):
    pytest.importorskip("matplotlib")
    elsewhere = tmp_path / "pictures"
    elsewhere.mkdir()
    (elsewhere / "holiday.png").write_bytes(b"mine")
    (run.path / "report").mkdir()
    (run.path / "report" / "figures").symlink_to(elsewhere)
    with pytest.raises(ValueError, match="figures is a symbolic link"):
        write_report(run.path)
    assert everything(elsewhere) == {"holiday.png": b"mine"}


# ------------------------------------------------------------------------- writing


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def pieces():
        yield b"new"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError) as caught:
        write_atomically(path, pieces())
    assert caught.value.filename == str(path)
    assert everything(tmp_path) == {"file": b"old"}
    write_atomically(path, ["n", b"ew"])
    assert everything(tmp_path) == {"file": b"new"}


def test_an_interrupted_write_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "file") as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert everything(tmp_path) == {}


def test_what_a_link_leads_to_is_replaced_and_not_the_link(tmp_path):
    (tmp_path / "data").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "data").read_bytes() == b"new"


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no such device")
def test_a_device_is_written_to_and_stays_one():
    write_atomically(Path("/dev/null"), b"something")
    with pytest.raises(OSError, match="No space left"):
        write_atomically(Path("/dev/full"), b"something")
    assert Path("/dev/full").is_char_device() and Path("/dev/null").is_char_device()


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="pipes have no names here")
def test_a_pipe_is_written_to(tmp_path):
    reader, writer = os.pipe()
    try:
        write_atomically(Path(f"/dev/fd/{writer}"), b"something")
        assert os.read(reader, 100) == b"something"
    finally:
        os.close(reader)
        os.close(writer)


def test_temporaries_of_others_stay(tmp_path):
    """Only files of our names go, and neither links nor folders of such names."""
    left = "best.json.0123abcd.tmp"
    for folder in ("file", "link", "folder", "other", "unlike"):
        (tmp_path / folder).mkdir()
    (tmp_path / "file" / left).write_bytes(b"half")
    (tmp_path / "data").write_bytes(b"mine")
    (tmp_path / "link" / left).symlink_to(tmp_path / "data")
    (tmp_path / "folder" / left).mkdir()
    (tmp_path / "other" / "mine.json.0123abcd.tmp").write_bytes(b"mine")
    (tmp_path / "unlike" / "best.json.tmp").write_bytes(b"mine")
    for folder in ("file", "link", "folder", "other", "unlike"):
        remove_temporaries(tmp_path / folder, re.compile(r"best\.json"))
    assert not list((tmp_path / "file").iterdir())
    for folder in ("link", "folder", "other", "unlike"):
        assert len(list((tmp_path / folder).iterdir())) == 1, folder


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no list of open files")
def test_no_file_stays_open(tmp_path):
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = open_files()
    for _ in range(3):
        write_atomically(tmp_path / "file", b"content")
    assert open_files() == before


def test_names_reach_the_disk(tmp_path, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda n: synced.append(os.fstat(n)) or real(n))
    write_atomically(tmp_path / "file", b"content")
    assert os.path.samestat(synced[-1], tmp_path.stat())


# -------------------------------------------------------------- a run is its settings


def test_another_setting_is_refused_by_name_and_nothing_changes(run):
    before = everything(run.path)
    with pytest.raises(ValueError, match=r"problem\.wanted was 30\.0 and is 29\.0 now"):
        finish(RunDirectory(run.path), generations=5, problem=SumOfWeights(29.0))
    assert everything(run.path) == before


def test_a_setting_that_run_json_does_not_know_of_is_refused(run, tmp_path):
    """Its file was put together from two runs."""
    other = finish(tmp_path / "other", problem=SumOfWeights(29.0))
    assert other.generations == GENERATIONS
    content = (tmp_path / "other" / "run.json").read_bytes()
    (run.path / "run.json").write_bytes(content)
    with pytest.raises(ValueError, match="its checkpoint says so"):
        finish(RunDirectory(run.path), generations=5, problem=SumOfWeights(29.0))


@pytest.mark.parametrize(
    ("number", "shown"), [(10**59, str(10**59)), (10**60, f"1{'0' * 56}...")]
)
def test_long_values_of_settings_are_shortened(number, shown):
    said = difference({"a": 1, "b": 0}, {"a": 1, "b": number})
    assert said == f"b was 0 and is {shown} now"


def test_data_in_a_file_are_part_of_a_run(tmp_path):
    class WithData(SumOfWeights):
        content = "some"

        def data_digest(self) -> dict[str, str]:
            return {"data": self.content}

    finish(tmp_path / "run", problem=WithData())
    WithData.content = "others"
    with pytest.raises(ValueError, match="data was 'some' and is 'others' now"):
        finish(RunDirectory(tmp_path / "run"), problem=WithData())


# -------------------------------------------------------------------- damaged records


def flips(content: bytes, step: int):
    for place in range(0, 8 * len(content), step):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        yield bytes(changed)


@pytest.mark.parametrize("name", ["best.json", "best.safetensors"])
def test_every_flipped_bit_of_the_best_files_is_noticed(run, name):
    path = run.path / name
    content = path.read_bytes()
    for changed in flips(content, 37):
        path.write_bytes(changed)
        with pytest.raises(DamagedRunError, match=re.escape(f"{path} is damaged")):
            run.best()
    path.write_bytes(content)
    assert run.best() is not None


def test_every_flipped_bit_of_the_facts_is_noticed(run):
    path = run.path / "run.json"
    facts, content = run.facts(), path.read_bytes()
    for changed in flips(content, 17):
        path.write_bytes(changed)
        try:
            assert run.facts() == facts  # the same in other white space
        except DamagedRunError as error:
            assert str(path) in str(error)


@pytest.mark.parametrize("sign", [b"\r", b"\x0b", b"\x1c", b"\x85"])
def test_no_other_sign_is_the_end_of_a_line_of_metrics(run, sign):
    """One flipped bit makes a carriage return of a minus; later lines must not go."""
    path = run.path / "metrics.jsonl"
    first, *rest = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([first[:20] + sign + first[21:], *rest]))
    assert [m["generation"] for m in run.metrics()] == [1, 2]
    assert run.damaged_lines() == [1]


def test_every_flipped_bit_of_the_metrics_costs_a_line_at_most(run):
    path = run.path / "metrics.jsonl"
    records, content = run.metrics(), path.read_bytes()
    for changed in flips(content, 41):
        path.write_bytes(changed)
        found = run.metrics()
        assert all(record in records for record in found)
        # an end of line that is gone joins two
        assert len(found) >= len(records) - 2
        assert run.damaged_lines() or len(found) == len(records) - 1


@pytest.mark.parametrize(
    ("change", "said"),
    [({"best_fitness": ...}, "has no best_fitness"), ({"num_species": "x"}, "'x'")],
)
def test_metrics_of_which_a_field_is_wrong_are_named(run, change, said):
    """Each line is as whole as its checksum, but is no record of a generation."""
    path = run.path / "metrics.jsonl"
    records = [{**record, **change} for record in run.metrics()]
    kept = [{k: v for k, v in r.items() if v is not ...} for r in records]
    with pytest.raises(DamagedRunError, match=re.escape(str(path))) as caught:
        history_of(path, kept)
    assert said in str(caught.value)
    # The run knows by their digest, too, that they are not what it wrote.
    path.write_bytes(b"".join(map(to_line, kept)))
    before = everything(run.path)
    with pytest.raises(DamagedRunError, match="is not what this run wrote"):
        finish(RunDirectory(run.path), generations=4)
    assert everything(run.path) == before
    path.unlink()
    assert finish(RunDirectory(run.path), generations=4).generations == 4


@pytest.mark.parametrize("content", [b"[]", b"{}", b"[" * 100_000, b"", b"\xff", b"1"])
def test_facts_that_are_something_else_are_refused(run, content):
    (run.path / "run.json").write_bytes(content)
    with pytest.raises(DamagedRunError, match=r"run\.json cannot be used"):
        finish(RunDirectory(run.path))


def test_without_its_checkpoints_a_run_does_not_start_anew(run):
    for path in (run.path / "checkpoints").iterdir():
        path.unlink()
    (run.path / "checkpoints").rmdir()
    before = everything(run.path)
    with pytest.raises(DamagedRunError, match="checkpoints is gone"):
        finish(RunDirectory(run.path), generations=5)
    assert everything(run.path) == before


# --------------------------------------------------------------------------- errors


class Failing(SumOfWeights):
    def fitness(self, networks, *, key, resources=None):
        raise RuntimeError("the simulator is gone")


def test_an_error_leaves_its_sentence(tmp_path):
    with pytest.raises(RuntimeError):
        finish(tmp_path / "run", problem=Failing())
    run = RunDirectory(tmp_path / "run")
    assert run.stop_reason() is StopReason.ERROR
    error = run.error()
    assert error is not None
    said = "RuntimeError: the simulator is gone (raised in fitness, in test_trust.py, "
    assert error.startswith(said)
    assert not list(run.path.rglob("*.tmp"))


def test_what_goes_on_forgets_the_error(tmp_path):
    class Sometimes(SumOfWeights):
        fails = True

        def fitness(self, networks, *, key, resources=None):
            if self.fails:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().fitness(networks, key=key, resources=resources)

    with pytest.raises(OSError):
        finish(tmp_path / "run", problem=Sometimes())
    Sometimes.fails = False
    finish(RunDirectory(tmp_path / "run"), problem=Sometimes())
    run = RunDirectory(tmp_path / "run")
    assert run.stop_reason() is StopReason.GENERATIONS
    assert run.error() is None


# -------------------------------------------------------------------------- fitness


class Says(Problem):
    target = float("inf")

    def __init__(self, value) -> None:
        self.value = value

    def fitness(self, networks, *, key, resources=None):
        return self.value


@pytest.mark.parametrize("value", [3e38, -3e38, 0.0])
def test_fitness_may_be_as_large_as_a_float(value):
    result = evolve(*parts(Says(np.full(16, value))), generations=3)
    assert result.best_fitness == np.float32(value)
    assert [record.mean_fitness for record in result.history] == [value] * 3


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "is None"),
        (np.full(16, 1j), "of type complex128"),
        (np.ma.masked_array(np.ones(16), np.ones(16, bool)), "masked"),
        (np.full(16, np.datetime64("2026-01-01")), "of type datetime64"),
        (np.full(16, np.timedelta64(1, "s")), "of type timedelta64"),
        (["1"] * 16, "of type <U1"),
        ([None] * 16, "of type object"),
        ([[1.0, 2.0], [3.0]], "no array"),
        (np.ones((16, 1)), r"the shape \(16, 1\)"),
        (np.full(16, 1e300), "1e.300, which is beyond"),
    ],
)
def test_what_is_no_fitness_is_told(value, said):
    with pytest.raises(ValueError, match=said):
        checked_fitness(value, 16)
    door = HostProblem(lambda networks, key: value, Layout.spread(2, 1))
    with pytest.raises(ValueError, match=said):
        sx.evolve(door, method="neat", population=16, generations=1)


@pytest.mark.parametrize(
    ("value", "said"),
    [(1j, "gave complex64"), ("1.5", "gave str"), (None, "None"), (object(), "object")],
)
def test_what_is_no_fitness_in_jax_is_told(value, said):
    door = FunctionProblem(lambda network, key: value, Layout.spread(2, 1))
    with pytest.raises(ValueError, match=said):
        sx.evolve(door, method="neat", population=16, generations=1)


@pytest.mark.parametrize(
    "value", [np.ones(4, bool), np.arange(4), [1, 2.5, 3, 4], np.ones(4, np.float16)]
)
def test_numbers_of_any_kind_are_fitness(value):
    np.testing.assert_array_equal(checked_fitness(value, 4), np.asarray(value, float))


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"seed": 1 << 32}, "seed is 4294967296. Choose at most 4294967295"),
        ({"seed": -1}, "seed is -1. Choose at least 0"),
        ({"seed": True}, "seed is True. Give a whole number"),
        ({"target": float("nan")}, "target is NaN"),
        ({"seconds": float("nan")}, "seconds is NaN"),
        ({"seconds": -1.0}, "seconds is -1"),
        ({"patience": 0}, "patience is 0. Choose at least 1"),
        (
            {"max_cached_bytes": 1 << 63},
            "Choose at most 9223372036854775807",
        ),
    ],
)
def test_limits_that_make_no_sense_leave_nothing_behind(tmp_path, limits, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        evolve(*parts(), directory=tmp_path / "run", **limits)
    assert not (tmp_path / "run").exists()


def test_a_population_beyond_the_memory_is_refused_by_name():
    config = presets.substrax(
        num_inputs=2, num_outputs=1, population_size=1 << 30, max_nodes=64, max_links=99
    )
    with pytest.raises(ValueError, match=r"population_size 1,073,741,824 .* TiB"):
        check_memory(NEAT(config))


def test_the_memory_of_the_device_is_what_counts(monkeypatch):
    class Device:
        platform = "gpu"
        in_use = 0

        def memory_stats(self):
            return {"bytes_limit": 10_000_000, "bytes_in_use": self.in_use}

    config = presets.substrax(
        num_inputs=2, num_outputs=1, population_size=64, max_nodes=64, max_links=99
    )
    monkeypatch.setattr(jax, "devices", lambda: [Device()])
    check_memory(NEAT(config))
    Device.in_use = 9_000_000
    with pytest.raises(ValueError, match=r"population_size 64 .* are free"):
        check_memory(NEAT(config))


# ----------------------------------------------------------------- what is not there


def test_checkpoints_that_are_gone_are_told(run):
    """An empty folder is as bad as none: the run would begin anew without a word."""
    before = everything(run.path)
    for path in (run.path / "checkpoints").iterdir():
        path.unlink()
    with pytest.raises(DamagedRunError, match="are gone"):
        finish(RunDirectory(run.path), generations=5)
    kept = {n: c for n, c in before.items() if not n.startswith("checkpoints")}
    assert everything(run.path) == kept


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
@pytest.mark.parametrize(
    "name", ["metrics.jsonl", "best.json", "best.safetensors", "config.toml", ".lock"]
)
def test_pipes_are_refused(run, name):
    """Whoever reads one waits for ever."""
    (run.path / name).unlink(missing_ok=True)
    os.mkfifo(run.path / name)
    with pytest.raises(ValueError, match="neither a file nor a folder"):
        RunDirectory(run.path)


def test_no_half_of_a_checkpoint_stays_on_a_full_disk(tmp_path, monkeypatch):
    from substrax.evolution import _checkpoint

    real, full = _checkpoint.write_atomically, []

    def write(path, content):
        if path.suffix == ".json" and path.stem == "000002":
            full.append(path)
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        real(path, content)

    monkeypatch.setattr(_checkpoint, "write_atomically", write)
    with pytest.raises(OSError, match="No space left"):
        finish(tmp_path / "run")
    assert full
    run = RunDirectory(tmp_path / "run")
    assert {p.stem for p in (run.path / "checkpoints").iterdir()} == {"000001"}
    assert run.stop_reason() is StopReason.ERROR


def test_memory_that_is_used_up_is_told_plainly(tmp_path):
    def fitness(networks, key):
        raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes.")

    problem = HostProblem(fitness, Layout.spread(2, 1))
    with pytest.raises(MemoryError, match="smaller population_size"):
        sx.evolve(problem, method="neat", population=16, directory=tmp_path / "run")
    assert "smaller population_size" in (RunDirectory(tmp_path / "run").error() or "")


@pytest.mark.parametrize("left", ["checkpoints", "metrics.jsonl", "best.json"])
def test_a_run_of_which_one_thing_is_left_is_still_a_run(run, left):
    """A new one in its place would take even that away."""
    for path in (run.path / "checkpoints").iterdir():
        if left != "checkpoints":
            path.unlink()
    for name in {"metrics.jsonl", "best.json"} - {left}:
        (run.path / name).unlink()
    before = everything(run.path)
    with pytest.raises(ValueError, match="already holds a run"):
        finish(run.path)
    assert everything(run.path) == before


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no such folder; make it first: .*no"):
        write_atomically(tmp_path / "no" / "model.safetensors", b"")
    assert not [*tmp_path.iterdir()]


def test_a_checkpoint_is_whole_though_its_folder_could_not_be_synchronised(
    tmp_path, monkeypatch
):
    """Its names are there, and so both of its files have to be."""
    real, calls = files_module.sync_folder, []

    def sync(folder):
        if folder.name == "checkpoints":
            calls.append(folder)
            if len(calls) == 2:  # after the second file of the first checkpoint
                raise OSError(errno.EROFS, "Read-only file system")
        real(folder)

    monkeypatch.setattr(files_module, "sync_folder", sync)
    with pytest.raises(OSError, match="Read-only"):
        finish(tmp_path / "run")
    result = finish(RunDirectory(tmp_path / "run"))
    whole = finish(None)
    assert len(calls) > 2
    assert result.best_fitness == whole.best_fitness
    np.testing.assert_array_equal(
        result.state.population.link_weight, whole.state.population.link_weight
    )
