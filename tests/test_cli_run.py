"""`substrax run`, `resume`, `show`, `export`, `list`: as a person meets them."""

import errno
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import safetensors.numpy

import substrax as sx
import substrax._memory as memory_module
from substrax.cli import main
from substrax.evolution import TIMES, RunDirectory, StopReason
from substrax.network import from_json

SMALL = [
    "--depth", "2", "--population", "16", "--max_nodes", "16", "--max_links", "32",
    "--target", "2",
]  # fmt: skip


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A finished run of three generations."""
    path = tmp_path_factory.mktemp("cli") / "run"
    words = ["run", "xor", *SMALL, "--generations", "3", "--out", str(path)]
    assert main([*words, "--quiet"]) == 0
    return path


def test_a_run_prints_lines_where_there_is_no_terminal(tmp_path, capsys):
    words = ["run", "xor", *SMALL, "--generations", "2", "--out", str(tmp_path / "a")]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert (
        "xor: EMR-HyperNEAT, depth 2, links feedforward, population 16, seed 0" in out
    )
    assert "generation    best    ever" in out
    assert "stopped because all generations were run" in out
    assert "not solved (target 2)" in out
    assert f"substrax resume {tmp_path / 'a'} --generations 4" in out


def test_without_a_generation_there_is_no_report_and_no_error(tmp_path, capsys):
    words = ["run", "xor", *SMALL, "--generations", "0", "--report"]
    assert main([*words, "--quiet", "--out", str(tmp_path / "run")]) == 0
    assert "no generation was finished" in capsys.readouterr().err
    assert not (tmp_path / "run" / "report").exists()


def test_quiet_json_is_the_result_alone(tmp_path, capsys):
    words = ["run", "xor", *SMALL, "--generations", "1", "--out", str(tmp_path / "a")]
    assert main([*words, "--quiet", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["result"]["generations"] == 1


@pytest.mark.parametrize(
    "words",
    [
        ["xor", "--generations"],
        ["xor", "--depth", "--report"],
        ["xor", "--method"],
        ["xor", "--connections", "--quiet"],
        ["table", "--path", "--report"],
    ],
    ids=" ".join,
)
def test_a_flag_without_its_value(words, capsys):
    assert main(["run", *words]) == 2
    assert "Was its value left out?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "meant"), [(["rnu", "xor"], "'run'"), (["xor"], "`substrax run xor`")]
)
def test_a_misspelt_command_is_told_with_what_was_meant(words, meant, capsys):
    assert main(words) == 2
    said = capsys.readouterr().err
    assert f"there is no command {words[0]!r} (did you mean {meant}?)" in said


def test_a_switch_needs_no_value(capsys):
    assert main(["list", "xor", "--method", "neat", "--is-recurrent"]) == 0
    assert "is_recurrent = true" in capsys.readouterr().out


def test_a_checkpoint_is_no_model(ran):
    place = next((ran / "checkpoints").glob("*.json"))
    with pytest.raises(ValueError, match=f"the directory of a run: {ran}"):
        sx.load(place)


@pytest.mark.parametrize("name", ["config.toml", "checkpoints/000003.safetensors"])
def test_files_of_a_run_that_are_no_model_lead_to_it(ran, name):
    with pytest.raises(ValueError, match=f"the directory of a run: {ran}"):
        sx.load(ran / name)


def test_a_directory_in_use_says_how_to_go_on_in_python(ran):
    with pytest.raises(ValueError, match=r"substrax\.resume\('"):
        sx.evolve("xor", generations=1, directory=ran)


WRONG = {
    "a fitness of many numbers": "return network(network_inputs).sum(axis=1)",
    "a name that is not there": "return nowhere",
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_run_that_is_refused_at_once_leaves_nothing(
    fault, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "import jax.numpy as jnp\nnetwork_inputs = jnp.ones((3, 2))\n"
        f"def fitness(network):\n    {WRONG[fault]}\n"
    )
    words = ["--inputs", "2", "--outputs", "1", "--method", "neat"]
    assert main(["run", "mine.py:fitness", *words, "--population", "16"]) == 2
    assert capsys.readouterr().err
    assert list(Path("runs").iterdir()) == []


def test_a_refused_run_leaves_what_was_there_before(tmp_path):
    def fitness(networks, key):
        raise ValueError("no such world")

    problem = sx.HostProblem(fitness, sx.Layout.spread(2, 1))
    settings = {"method": "neat", "population": 16, "progress": False}
    (tmp_path / "mine").mkdir()
    for name, is_left in (("mine", True), ("new", False)):
        with pytest.raises(ValueError, match="no such world"):
            sx.evolve(problem, directory=tmp_path / name, **settings)
        assert (tmp_path / name).exists() == is_left

    def later(generation):
        raise ValueError("my callback")

    with pytest.raises(ValueError, match="my callback"):
        sx.evolve(
            "xor", depth=2, population=16, callbacks=[later], directory=tmp_path / "a"
        )
    assert sx.resume(tmp_path / "a", generations=2).generations == 2


def test_ctrl_c_in_python_says_how_to_go_on(tmp_path):
    def interrupt(generation):
        raise KeyboardInterrupt

    for directory, word in ((tmp_path / "a", "substrax.resume("), (None, "directory=")):
        with pytest.raises(KeyboardInterrupt) as caught:
            sx.evolve(
                "xor", depth=2, population=16, callbacks=[interrupt],
                directory=directory,
            )  # fmt: skip
        assert word in caught.value.__notes__[0]


def test_quiet_prints_nothing(ran, capsys):
    assert main(["resume", str(ran), "--quiet"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err == ""


def test_json_is_a_line_for_each_generation_and_the_result(tmp_path, capsys):
    path = tmp_path / "run"
    words = ["run", "xor", *SMALL, "--generations", "3", "--out", str(path)]
    assert main([*words, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["generation"] for line in lines[:-1]] == [0, 1, 2]
    assert lines[:-1] == RunDirectory(path).metrics()
    result = lines[-1]["result"]
    assert result["reason"] == "generations" and result["is_solved"] is False
    assert result["directory"] == str(path)


def test_why_it_stopped_is_kept_and_shown(tmp_path, ran, capsys):
    directory = RunDirectory(ran)
    assert directory.stop_reason() is StopReason.GENERATIONS
    assert main(["show", str(ran)]) == 0
    assert "stopped because all generations were run" in capsys.readouterr().out
    directory.note_start(0.98)  # as while it goes on, or after it was killed
    assert main(["show", str(ran), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stopped"] is None
    assert main(["show", str(ran)]) == 0
    assert "still running, or killed" in capsys.readouterr().out
    assert main(["resume", str(ran), "--quiet"]) == 0
    assert directory.stop_reason() is StopReason.GENERATIONS


def test_resume_goes_on_and_keeps_the_new_limit(ran, capsys):
    assert main(["resume", str(ran), "--generations", "4", "--json"]) == 0
    assert main(["resume", str(ran), "--json"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert json.loads(out[0])["generation"] == 3
    assert "generations = 4" in (ran / "config.toml").read_text()
    assert len(RunDirectory(ran).metrics()) == 4
    assert json.loads(out[-1])["result"]["generations"] == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--population", "17"], "neat.population_size is 16 in this run"),
        (["--seed", "1"], "run.seed is 0 in this run"),
        (["--depth", "3"], "method.depth is 2 in this run"),
        (["--method", "es"], "in this run"),
        (["--problem", "parity"], "in this run"),
        (["--generatons", "5"], "did you mean 'generations'"),
    ],
)
def test_resume_refuses_another_experiment(ran, capsys, change, message):
    before = (ran / "config.toml").read_text()
    assert main(["resume", str(ran), *change]) == 2
    assert message in capsys.readouterr().err
    assert (ran / "config.toml").read_text() == before


def test_show_says_what_was_found(ran, capsys):
    assert main(["show", str(ran)]) == 0
    out = capsys.readouterr().out
    assert "best fitness" in out and "accuracy: " in out
    assert "network: 3 inputs" in out
    assert main(["show", str(ran), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["problem"] == "xor" and facts["best"]["is_solved"] is False


def test_export_writes_every_format(ran, tmp_path, capsys):
    network = RunDirectory(ran).best().network  # pyright: ignore
    for ending in ("json", "safetensors", "npz", "graphml"):
        path = tmp_path / f"n.{ending}"
        words = ["export", str(ran), "--format", ending, "--out", str(path)]
        assert main(words) == 0
        assert path.stat().st_size > 0
    again = from_json((tmp_path / "n.json").read_text())
    np.testing.assert_array_equal(again.link_weight, network.link_weight)
    with np.load(tmp_path / "n.npz") as arrays:
        np.testing.assert_array_equal(arrays["link_weight"], network.link_weight)
    arrays = safetensors.numpy.load_file(tmp_path / "n.safetensors")
    np.testing.assert_array_equal(arrays["network.link_weight"], network.link_weight)
    import networkx

    graph = networkx.read_graphml(tmp_path / "n.graphml")
    assert graph.number_of_edges() == network.link_weight.size
    capsys.readouterr()
    assert main(["export", str(ran)]) == 0
    assert capsys.readouterr().out.strip() == str(ran / "network.json")


def test_list_shows_everything_there_is(capsys):
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    for name in ("visual-small", "cartpole", "pureples", "hyperneat", "feedforward"):
        assert name in out
    assert main(["list", "retina"]) == 0
    assert 'name = "retina"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "xxor"], "no experiment 'xxor' (did you mean 'xor'?)"),
        (["run", "nowhere.toml"], "cannot read nowhere.toml: No such file"),
        (["run", "xor", "--dpth", "3"], "did you mean 'depth'"),
        (["run", "xor", "--depth", "deep"], "method.depth is 'deep'"),
        (["run", "xor", "--depth"], "method.depth is 'true'"),
        (["run", "--depth", "3", "--depth", "4", "xor"], "--depth is given twice"),
        (["run", "xor", "--method=emmr"], "did you mean 'emr'"),
        (["run", "xor", "--rule", "es"], "what was rule is method now"),
        (["resume", "nowhere"], "nowhere does not exist"),
        (["show", "nowhere"], "nowhere does not exist"),
        (["report", "nowhere"], "nowhere does not exist"),
        (["export", "nowhere"], "nowhere does not exist"),
        (["list", "xxor"], "did you mean 'xor'"),
    ],
)
def test_a_mistake_is_a_sentence_and_exit_status_2(
    tmp_path, monkeypatch, capsys, words, message
):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("substrax: ") and message in captured.err
    assert "Traceback" not in captured.err
    assert not list(tmp_path.iterdir())  # no directory was made


def test_a_broken_file_is_named(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    path.write_text("[problem\n")
    assert main(["run", str(path)]) == 2
    assert f"{path} is not valid TOML" in capsys.readouterr().err


def test_a_directory_with_another_run_is_left_alone(ran, capsys):
    assert main(["run", "xor", *SMALL, "--out", str(ran)]) == 2
    assert "already holds a run" in capsys.readouterr().err


def test_a_directory_that_cannot_be_made_is_named(tmp_path, capsys):
    (tmp_path / "file").touch()
    place = tmp_path / "file" / "run"
    assert main(["run", "xor", *SMALL, "--out", str(place)]) == 1
    assert f"cannot use {place}: Not a directory" in capsys.readouterr().err


def test_a_full_disk_is_named_and_the_run_can_go_on(tmp_path, monkeypatch, capsys):
    path = tmp_path / "run"
    words = ["run", "xor", *SMALL, "--generations", "3", "--out", str(path), "--quiet"]

    def no_space(self, record):
        raise OSError(28, "No space left on device", str(self.path / "metrics.jsonl"))

    with monkeypatch.context() as patch:
        patch.setattr(RunDirectory, "append_metrics", no_space)
        assert main(words) == 1
    error = capsys.readouterr().err
    assert "metrics.jsonl: No space left on device" in error
    assert "substrax resume" in error
    assert main(["resume", str(path), "--quiet"]) == 0
    assert len(RunDirectory(path).metrics()) == 3


def test_help_and_version_do_not_wait_for_jax():
    code = (
        "import sys\n"
        "from substrax.cli import main\n"
        "try:\n    main(['run', '--help'])\n"
        "except SystemExit:\n    pass\n"
        "print('jax' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "--connections NAME" in result.stdout
    assert result.stdout.splitlines()[-1] == "False"


def test_the_next_directory_is_free(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["run", "xor", *SMALL, "--generations", "0", "--quiet"]
    assert main(words) == 0 and main(words) == 0
    assert {p.name for p in (tmp_path / "runs").iterdir()} == {
        "xor-seed0",
        "xor-seed0-2",
    }


@pytest.fixture
def tiny():
    """Lets a budget be smaller than a block of work."""
    with mock.patch.object(memory_module, "LEAST_BUDGET", 1):
        yield


SPILLING = ["run", "xor", *SMALL, "--memory-budget", "10KiB", "--quiet"]


def assert_same_best(path: Path, other: Path) -> None:
    for name in ("best.json", "best.safetensors"):
        assert (path / name).read_bytes() == (other / name).read_bytes()


def test_a_run_beyond_its_memory_ends_the_same(ran, tmp_path, caplog, tiny):
    path = tmp_path / "run"
    with caplog.at_level("INFO", "substrax"):
        assert main([*SPILLING, "--generations", "3", "--out", str(path)]) == 0
    assert f"go to {path / 'scratch'}" in caplog.text
    assert not (path / "scratch").exists()
    assert_same_best(path, ran)


def test_a_scratch_folder_that_cannot_be_written(ran, tmp_path, capsys, tiny):
    """A file is in its way, which stops even who may write everywhere."""
    path = tmp_path / "run"
    assert main([*SPILLING, "--generations", "0", "--out", str(path)]) == 0
    (path / "scratch").write_text("in the way")
    resume = ["resume", str(path), "--generations", "3", "--quiet"]
    assert main(resume) == 1
    told = capsys.readouterr().err
    assert f"the scratch folder {path / 'scratch'} cannot be written (" in told
    assert "raise memory_budget" in told and len(told.splitlines()) == 1
    assert main([*resume, "--memory-budget", "64MiB"]) == 0
    assert_same_best(path, ran)


def test_a_disk_that_is_full(ran, tmp_path, capsys, tiny):
    path = tmp_path / "run"
    real, num_left = memory_module.open_scratch, 2

    def open_scratch(folder):
        nonlocal num_left
        num_left -= 1
        if num_left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(folder)

    with mock.patch("substrax._resources.open_scratch", open_scratch):
        assert main([*SPILLING, "--generations", "3", "--out", str(path)]) == 1
    told = capsys.readouterr().err
    assert f"the scratch folder {path / 'scratch'} is full" in told
    assert not (path / "scratch").exists()
    (path / "scratch").mkdir()  # left by a process that was killed
    assert main(["resume", str(path), "--quiet"]) == 0
    assert not (path / "scratch").exists()
    assert_same_best(path, ran)


@pytest.mark.slow
def test_a_damaged_compilation_cache_is_made_anew(tmp_path):
    """Half an entry, as a process leaves it that is killed while writing."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}
    environment |= {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    words = ["run", "xor", *SMALL, "--generations", "2", "--json"]

    def run(name: str) -> list[dict]:
        done = subprocess.run(
            [sys.executable, "-m", "substrax.cli", *words, "--out", tmp_path / name],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        lines = [json.loads(line) for line in done.stdout.splitlines()[:-1]]
        return [{k: v for k, v in x.items() if k not in TIMES} for x in lines]

    def entries():
        return [p for p in (tmp_path / "cache").rglob("*-cache") if p.stat().st_size]

    expected = run("first")
    assert entries()
    for path in entries():
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert run("second") == expected  # compiles, and throws the halves away
    assert run("third") == expected  # keeps whole ones
    assert entries()
    assert run("fourth") == expected


def test_several_seeds_are_run_summed_up_and_gone_on_with(tmp_path, capsys):
    words = ["run", "xor", *SMALL, "--generations", "2", "--out", str(tmp_path / "x")]
    assert main([*words, "--seeds", "2"]) == 0
    out = capsys.readouterr().out
    assert "0 of 2 solved (95 % interval 0.00 to 0.66)" in out
    assert out.count("generation    best") == 2
    before = (tmp_path / "x" / "seed1" / "metrics.jsonl").read_bytes()
    assert main([*words, "--seeds", "3", "--json"]) == 0
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last["summary"]["runs"] == 3
    assert (tmp_path / "x" / "seed1" / "metrics.jsonl").read_bytes() == before
    assert len(RunDirectory(tmp_path / "x" / "seed2").metrics()) == 2
    assert main([*words, "--seeds", "2", "--connections", "hidden"]) == 2
    assert "connections is feedforward in this run" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["run", "xor", "--report"], ["report", "nowhere"]])
def test_a_missing_extra_is_told_before_anything_is_done(
    command, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "matplotlib", raising=False)
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: None if name == "matplotlib" else real(name, *more),
    )
    assert main(command) == 1
    assert "pip install 'substrax[report]'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
