"""Evolution on several devices and in several processes: the same bits as on one."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from safetensors.numpy import load_file

import substrax as sx
from substrax import Resources
from substrax.config import load_experiment
from substrax.evolution import RunDirectory
from substrax.evolution._processes import placed
from substrax.runs import summary, summary_lines
from tests.tensor.test_population import free_port

ROOT = Path(__file__).parents[2]


def start(directory: Path, *arguments: str, devices: int = 1) -> subprocess.Popen:
    flags = f"--xla_force_host_platform_device_count={devices}"
    # (what is compared is computed by code that was compiled alike)
    flags = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
    return subprocess.Popen(
        [sys.executable, "-m", "tests.evolution.spread", str(directory), *arguments],
        cwd=ROOT,
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def digest_of(process: subprocess.Popen) -> str:
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    (line,) = [line for line in out.splitlines() if line.startswith("digest")]
    return line.split()[1]


def in_processes(directory: Path, num: int, *arguments: str) -> list[subprocess.Popen]:
    port = str(free_port())
    return [
        start(directory, "--process", f"{k}", "--of", f"{num}", "--port", port, *more)
        for k in range(num)
        for more in [arguments if k == 0 else ()]
    ]


def finish(processes: list[subprocess.Popen]) -> set[str]:
    try:
        return {digest_of(one) for one in processes}
    finally:
        for one in processes:
            one.kill()


def test_devices_and_processes_evolve_the_same(tmp_path: Path) -> None:
    alone = digest_of(start(tmp_path / "one"))
    spread = digest_of(start(tmp_path / "eight", devices=8))
    some = digest_of(start(tmp_path / "three", "--devices", "3", devices=8))
    together = finish(in_processes(tmp_path / "two", 2))
    assert {spread, some, *together} == {alone}
    # One of them has written the run; the others have written nothing.
    best = [tmp_path / name / "best.safetensors" for name in ("one", "two")]
    assert best[0].read_bytes() == best[1].read_bytes()


@pytest.mark.slow
def test_after_the_loss_of_a_process_a_run_goes_on_with_others(tmp_path: Path) -> None:
    wanted = digest_of(start(tmp_path / "one", "--generations", "6"))
    directory = tmp_path / "lost"
    lost, survivor = in_processes(
        directory, 2, "--generations", "6", "--die-after", "3"
    )
    lost.communicate(timeout=300)
    assert lost.returncode == -signal.SIGKILL
    survivor.kill()  # it waits for the other one, until JAX gives up
    survivor.communicate()
    again = start(directory, "--generations", "6", devices=4)
    assert digest_of(again) == wanted


@pytest.mark.slow
def test_several_processes_resume_a_run_whose_genomes_have_grown(
    tmp_path: Path,
) -> None:
    room = ("--max-nodes", "8")  # which is what genomes begin with
    wanted = digest_of(start(tmp_path / "one", "--generations", "12", *room))
    directory = tmp_path / "two"
    digest_of(start(directory, "--generations", "9", *room))
    more = ("--generations", "12", *room)
    state = max((directory / "checkpoints").glob("*.safetensors"))
    assert max(x.shape[-1] for x in load_file(state).values() if x.ndim == 2) > 16
    port = str(free_port())
    both = [
        start(directory, "--process", f"{k}", "--of", "2", "--port", port, *more)
        for k in range(2)
    ]
    assert finish(both) == {wanted}


@pytest.mark.slow
def test_an_error_of_one_process_ends_the_others(tmp_path: Path) -> None:
    """Of a callback, which only the first one has; and at the start, of a directory."""
    first, second = in_processes(tmp_path / "run", 2, "--raise-after", "1")
    for one, words in ((first, "had enough"), (second, "another process of this run")):
        _, errors = one.communicate(timeout=300)
        assert one.returncode == 1, errors
        assert words in errors
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("somebody's")
    first, second = in_processes(tmp_path / "other", 2)
    for one, words in ((first, "a.txt"), (second, "another process of this run")):
        _, errors = one.communicate(timeout=300)
        assert one.returncode == 1, errors
        assert words in errors


@pytest.mark.slow
def test_four_processes_evolve_the_same(tmp_path: Path) -> None:
    alone = digest_of(start(tmp_path / "one"))
    assert finish(in_processes(tmp_path / "four", 4)) == {alone}


def test_a_run_tells_its_engine_and_a_change_of_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    experiment = load_experiment("xor").with_settings(
        {"population": 30, "depth": 1, "generations": 2}
    )
    runs = []
    for name in ("native", "device"):
        some = experiment.with_settings({"engine": name})
        runs.append(some.evolve(directory=tmp_path / name))
        facts = json.loads((tmp_path / name / "run.json").read_text())
        assert facts["engine"] == ("native" if name == "native" else "device cpu")
    first, second = (run.history[0] for run in runs)
    # The first generation has the same genomes, and so the same networks.
    assert first.mean_hidden == second.mean_hidden
    assert first.mean_network_links == second.mean_network_links
    assert first.mean_fitness == pytest.approx(second.mean_fitness, abs=1e-5)
    assert not caplog.records
    longer = experiment.with_settings({"engine": "device", "generations": 3})
    longer.evolve(directory=RunDirectory(tmp_path / "native"))
    (record,) = caplog.records
    assert "was made by engine native, and goes on with engine device" in record.message
    facts = json.loads((tmp_path / "native" / "run.json").read_text())
    assert facts["engine_changes"] == [2]
    found = summary(tmp_path / "native")
    assert "the engine was changed before generation 2" in str(summary_lines(found))


def test_devices_that_are_not_there_and_engines_that_have_none_are_refused(
    tmp_path: Path,
) -> None:
    said = r"devices is 5000, but JAX has \d+ here .*`--devices none`, or devices=None"
    with pytest.raises(ValueError, match=said):
        load_experiment("xor").with_settings({"devices": 5000}).evolve()
    with pytest.raises(ValueError, match=r"devices is 5000, but JAX has \d+ here"):
        sx.evolve("xor", devices=5000, directory=tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()
    with pytest.raises(ValueError, match="devices are for engine device"):
        Resources(engine="native", devices=2)
    for wrong in (0, -3, True):
        with pytest.raises(ValueError, match=r"devices is .*; give a whole number"):
            Resources(devices=wrong)


def test_what_does_not_fit_a_device_is_left_to_the_native_engine(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """With engine auto, on an accelerator; here it is one by assertion."""
    experiment = load_experiment("xor").with_settings({"depth": 5})
    decoder = experiment.build().decoder
    algorithm = experiment.build().algorithm
    with (
        mock.patch("substrax._resources._automatic", lambda: None),
        mock.patch("substrax._resources.device_memory", lambda: 1 << 30),
    ):
        assert placed(Resources(), algorithm, decoder).engine == "auto"
        assert not caplog.records
    with (
        mock.patch("substrax._resources._automatic", lambda: None),
        mock.patch("substrax._resources.device_memory", lambda: 1 << 16),
    ):
        assert placed(Resources(), algorithm, decoder).engine == "native"
        (record,) = caplog.records
        assert "does not fit the memory of the device" in record.message
        asked = Resources(engine="device")
        assert placed(asked, algorithm, decoder) == asked
        deep = experiment.with_settings({"depth": 14}).build().decoder
        assert not deep.fits_on_device(32, Resources())
