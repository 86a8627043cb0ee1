"""Whatever happens to a file of a run, what is said of it stays true, or is refused."""

import dataclasses
import json
import os
import shutil
from pathlib import Path

import pytest

import substrax as sx
from substrax.cli import main
from substrax.evolution import (
    DamagedRunError,
    RunDirectory,
    StopReason,
    _directory,
    evolve,
)
from substrax.runs import SUMMARY, sealed, summary, summary_lines, unsealed
from substrax.sweeps import SeedOutcome, read_outcomes, seeds_table, sum_up

from .support import SumOfWeights, parts

SMALL = [
    "xor", "--method", "neat", "--population", "16", "--target", "5", "--quiet",
]  # fmt: skip


def ran(path: Path, seed: int = 4, generations: int = 4) -> Path:
    words = ["run", *SMALL, "--seed", str(seed), "--generations", str(generations)]
    assert main([*words, "--out", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Two runs, `one` and `other`, whose seeds differ; and `solved`."""
    folder = tmp_path_factory.mktemp("agreement")
    ran(folder / "one")
    ran(folder / "other", seed=5)
    ran(folder / "solved")
    best = summary(folder / "solved")["best"]
    words = ["resume", str(folder / "solved"), "--target", str(best["fitness"] - 1e-6)]
    assert main([*words, "--quiet"]) == 0
    return folder


@pytest.fixture
def runs(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "runs")
    return tmp_path / "runs"


def flip_last_line(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-40] ^= 1
    path.write_bytes(bytes(content))


def take_away(path: Path) -> None:
    path.unlink()


@pytest.fixture(params=[flip_last_line, take_away])
def hurt(request):
    return request.param


# ----------------------------------------------------------------------------- metrics


def test_a_solved_run_is_solved_whatever_became_of_its_metrics(runs, hurt):
    run = runs / "solved"
    known = sx.resume(run)
    assert known.reason is StopReason.TARGET and known.solved_at is not None
    hurt(run / "metrics.jsonl")
    again = sx.resume(run)
    assert again.reason is StopReason.TARGET and again.is_solved
    assert (again.solved_at, again.generations) == (known.solved_at, known.generations)


def test_generations_are_counted_without_metrics(runs, hurt, capsys):
    run, known = runs / "solved", summary(runs / "solved")
    hurt(run / "metrics.jsonl")
    found = summary(run)
    same = ("generations", "solved_at", "best", "stopped")
    for name in same:
        if name != "best":
            assert found[name] == known[name], name
    assert found["best"]["fitness"] == known["best"]["fitness"]
    assert found["best"]["is_solved"]
    said = "\n".join(summary_lines(found))
    assert "of metrics.jsonl" in said and "lost" in said
    # As a killed run, which has not said how far it came: its checkpoints do.
    RunDirectory(run).note_start(found["target"])
    assert summary(run)["generations"] == known["generations"]


def test_runs_of_older_releases_are_told_from_checkpoints_and_metrics(runs):
    run, known = runs / "one", summary(runs / "one")
    facts = RunDirectory(run).facts()
    for name in ("reached", "config"):
        del facts[name]
    (run / "run.json").write_text(sealed(facts))
    for path in (run / "checkpoints").glob("*.json"):
        document = unsealed(path.read_bytes())
        del document["best"]
        path.write_text(sealed(document))
    assert summary(run)["generations"] == known["generations"]
    assert summary(run)["best"]["fitness"] == known["best"]["fitness"]
    assert RunDirectory(run).best() is not None
    shutil.rmtree(run / "checkpoints")
    assert summary(run)["generations"] == known["generations"]


def test_seeds_and_their_table_say_which_metrics_are_damaged(runs, hurt):
    folder = runs / "seeds"
    folder.mkdir()
    for seed, name in enumerate(["solved", "one"]):
        (runs / name).rename(folder / f"seed{seed}")
    known = read_outcomes(folder)
    hurt(folder / "seed0" / "metrics.jsonl")
    found = read_outcomes(folder)
    assert [o.generations for o in found] == [o.generations for o in known]
    assert found[0].solved_at == known[0].solved_at is not None
    assert found[1] == known[1]
    assert "metrics.jsonl" in seeds_table(found).notes[0]
    assert seeds_table(known).notes == ()


def test_generations_to_a_solution_end_with_the_solution():
    outcome = SeedOutcome(0, 9, 1.0, 1.0, True, "target", solved_at=4)
    assert sum_up([outcome])["median_generations_if_solved"] == 5
    unknown = dataclasses.replace(outcome, solved_at=None)
    assert sum_up([unknown])["median_generations_if_solved"] == 9


def test_a_damaged_seed_does_not_hide_the_others(runs):
    folder = runs / "seeds"
    folder.mkdir()
    for seed, name in enumerate(["solved", "one"]):
        (runs / name).rename(folder / f"seed{seed}")
    (folder / "seed0" / "run.json").write_bytes(b"{}")
    assert main(["show", str(folder)]) == 0
    first, second = read_outcomes(folder)
    assert first.words == "damaged" and "run.json cannot be used" in str(first.trouble)
    assert second.is_finished


def test_metrics_of_another_run_are_told_and_not_drawn(runs, capsys):
    shutil.copy(runs / "other" / "metrics.jsonl", runs / "one")
    found = summary(runs / "one")
    assert found["generations"] == 4 and found["seconds"] == 0
    assert "is not what this run wrote" in "\n".join(summary_lines(found))
    for command in ("report", "resume"):
        assert main([command, str(runs / "one")]) == 2
        assert "metrics.jsonl is not what this run wrote" in capsys.readouterr().err
    # A longer one of the same run is no better than that of another.
    longer = ran(runs / "longer", generations=6)
    shutil.copy(longer / "metrics.jsonl", runs / "one")
    assert "is not what" in str(summary(runs / "one")["metrics_trouble"])


# -------------------------------------------------------------------------------- best


def test_best_files_of_another_run_are_refused(runs, capsys):
    for name in ("best.json", "best.safetensors"):
        shutil.copy(runs / "other" / name, runs / "one")
    for command in ("show", "export", "report"):
        assert main([command, str(runs / "one")]) == 2
        error = capsys.readouterr().err
        assert "best.safetensors is not of this run" in error, command
    with pytest.raises(DamagedRunError, match="is not of this run"):
        sx.load(runs / "one")
    assert main(["resume", str(runs / "one"), "--quiet"]) == 0
    assert summary(runs / "one")["best"] is not None


@pytest.mark.parametrize("name", ["best.json", "best.safetensors"])
@pytest.mark.parametrize("is_killed", [False, True])
def test_one_best_file_of_another_run_is_named(runs, capsys, name, is_killed):
    if is_killed:
        RunDirectory(runs / "one").note_start(5.0)
    shutil.copy(runs / "other" / name, runs / "one")
    with pytest.raises(DamagedRunError, match=f"{name} is not of this run"):
        summary(runs / "one")
    with pytest.raises(DamagedRunError, match=f"{name} is not of this run"):
        RunDirectory(runs / "one").best()


def test_a_best_that_is_gone_is_missed(runs):
    (runs / "one" / "best.safetensors").unlink()
    with pytest.raises(DamagedRunError, match=r"best\.safetensors is gone"):
        summary(runs / "one")
    with pytest.raises(DamagedRunError, match=r"best\.safetensors is gone"):
        RunDirectory(runs / "one").best()


class Killed(BaseException):
    pass


@pytest.mark.parametrize("every", [1, 3])
def test_a_run_that_goes_on_agrees_at_every_moment(tmp_path, monkeypatch, every):
    """Best files and metrics are ahead of the checkpoint, and rightly so."""
    config = (
        "[problem]\nname = 'xor'\n[method]\nname = 'neat'\n[run]\ngenerations = 8\n"
    )
    run = RunDirectory.create(tmp_path / "run", seed=3, config_text=config)
    looked = 0

    def look() -> None:
        nonlocal looked
        looked += 1
        found = summary(run.path)
        assert found["metrics_trouble"] is None
        best = RunDirectory(run.path).best()
        assert (best is None) == (found["best"] is None)

    def then_look(real):
        def act(*args, **keywords):
            result = real(*args, **keywords)
            look()
            return result

        return act

    for name in ("write_best", "append_metrics", "write_checkpoint", "write_end"):
        act = then_look(getattr(RunDirectory, name))
        monkeypatch.setattr(RunDirectory, name, act)
    real_write = _directory.write_atomically

    def write_atomically(path, content):
        real_write(path, content)
        if path.name.startswith("best."):
            look()

    monkeypatch.setattr(_directory, "write_atomically", write_atomically)

    def die(generation):
        if generation.number == 4:
            raise Killed

    options = {"seed": 3, "checkpoint_every": every, "directory": run}
    with pytest.raises(Killed):
        evolve(*parts(), generations=8, callbacks=[die], **options)
    look()
    evolve(*parts(), generations=8, **options)
    look()
    evolve(*parts(), generations=9, **options)
    assert looked > 20


def test_an_error_in_a_generation_leaves_files_that_agree(tmp_path):
    def fail(generation):
        if generation.number == 4:
            raise KeyError("score")

    with pytest.raises(KeyError):
        evolve(
            *parts(), seed=3, generations=6, directory=tmp_path / "run",
            callbacks=[fail], checkpoint_every=3,
        )  # fmt: skip
    run = RunDirectory(tmp_path / "run")
    assert run.best() is not None
    error = run.error()
    assert error is not None
    assert error.startswith("KeyError: 'score' (raised in fail, in test_agreement.py")


# ------------------------------------------------------------------------------ config


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("population_size = 16", "population_size = 17"),
        ('name = "xor"', 'name = "parity"'),
        ("seed = 4\n", ""),
    ],
)
def test_an_edited_configuration_is_refused_by_name(runs, capsys, then, now):
    path = runs / "one" / "config.toml"
    text = path.read_text()
    assert then in text
    path.write_text(text.replace(then, now, 1))
    for command in ("show", "export", "report", "resume"):
        assert main([command, str(runs / "one")]) == 2, command
        error = capsys.readouterr().err
        assert "config.toml" in error and "was made with" in error, command


def test_what_changes_no_result_may_be_edited(runs, capsys):
    path = runs / "one" / "config.toml"
    text = path.read_text()
    text = text.replace("generations = 4", "generations = 6")
    text = text.replace('description = "', 'description = "Mine: ')
    path.write_text(text)
    assert summary(runs / "one")["generations_at_most"] == 6
    assert main(["resume", str(runs / "one"), "--quiet"]) == 0
    assert summary(runs / "one")["generations"] == 6


def test_a_problem_in_a_file_may_move(tmp_path):
    source = (
        "import jax.numpy as jnp\n"
        "def fitness(network):\n"
        "    return -jnp.abs(network(jnp.ones((1, 2)))).sum()\n"
    )
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    (tmp_path / "a" / "mine_moved.py").write_text(source)
    words = ["run", f"{tmp_path}/a/mine_moved.py:fitness", "--inputs", "2", *SMALL[1:]]
    run = tmp_path / "run"
    assert main([*words, "--generations", "2", "--out", str(run)]) == 0
    (tmp_path / "a" / "mine_moved.py").rename(tmp_path / "b" / "mine_moved.py")
    config = (run / "config.toml").read_text()
    (run / "config.toml").write_text(config.replace("/a/mine", "/b/mine"))
    assert summary(run)["generations"] == 2
    assert main(["resume", str(run), "--generations", "3", "--quiet"]) == 0
    assert summary(run)["generations"] == 3
    config = (run / "config.toml").read_text()
    (run / "config.toml").write_text(config.replace(":fitness", ":other"))
    with pytest.raises(ValueError, match=r"problem\.name"):
        summary(run)


# ---------------------------------------------------------------------------- the rest


def test_a_copy_by_hard_links_keeps_what_it_was(tmp_path):
    run, backup = tmp_path / "run", tmp_path / "backup"
    evolve(*parts(), seed=3, generations=2, directory=run)

    def copy() -> dict[str, bytes]:
        shutil.copytree(run, backup, copy_function=os.link, dirs_exist_ok=True)
        files = [path for path in backup.rglob("*") if path.is_file()]
        return {str(path): path.read_bytes() for path in files if path.name[0] != "."}

    before = copy()
    evolve(*parts(), seed=3, generations=4, directory=RunDirectory(run))
    assert {name: Path(name).read_bytes() for name in before} == before
    shutil.rmtree(backup)
    # also one that is made while the run goes on
    kept: dict[str, bytes] = {}

    def copy_once(generation) -> None:
        if not kept:
            kept.update(copy())

    directory = RunDirectory(run)
    evolve(*parts(), seed=3, generations=6, directory=directory, callbacks=[copy_once])
    assert {name: Path(name).read_bytes() for name in kept} == kept


def test_fewer_generations_than_were_run_are_refused(runs, capsys):
    config = (runs / "one" / "config.toml").read_bytes()
    words = ["resume", str(runs / "one"), "--quiet", "--generations", "1"]
    assert main(words) == 2
    assert "has done 4 already" in capsys.readouterr().err
    assert (runs / "one" / "config.toml").read_bytes() == config


def test_other_versions_are_noted_and_shown(runs, caplog, monkeypatch):
    now = _directory.versions()
    monkeypatch.setattr(_directory, "versions", lambda: now | {"jax": "99.0"})
    sx.resume(runs / "one", generations=5)
    assert "goes on with jax 99.0 from generation 4 on" in caplog.text
    said = "\n".join(summary_lines(summary(runs / "one")))
    assert f"jax {now['jax']} became 99.0 before generation 4" in said
    caplog.clear()
    sx.resume(runs / "one", generations=6)
    assert "goes on with" not in caplog.text


def test_another_method_has_another_description(runs):
    text = (runs / "one" / "config.toml").read_text()
    assert "EMR-HyperNEAT" not in text.splitlines()[0]


def test_a_summary_is_only_of_the_files_that_it_was_made_of(runs):
    (runs / "one" / SUMMARY).write_text(sealed({"files": {}, "network": "mine"}))
    assert summary(runs / "one")["best"]["network"] != "mine"
    (runs / "one" / SUMMARY).write_text(json.dumps([1]))
    assert summary(runs / "one")["best"] is not None


class Scores(SumOfWeights):
    def fitness(self, networks, *, key, resources=None):
        return {}["score"]


def test_an_error_says_what_it_is_and_where(tmp_path):
    with pytest.raises(KeyError):
        evolve(*parts(Scores()), generations=2, directory=tmp_path / "run")
    error = RunDirectory(tmp_path / "run").error()
    assert error is not None
    assert error.startswith(
        "KeyError: 'score' (raised in fitness, in test_agreement.py"
    )
