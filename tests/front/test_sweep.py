"""Sweeps as a user begins, repeats, changes and reads them; runs are done in processes
of their own, as few and as small as they can be."""

import importlib.util
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import numpy as np
import pytest

import substrax as sx
from substrax.evolution import RunDirectory
from substrax.front._sweep_plan import prepare, read_shard, shared
from substrax.runs import FACTS, SWEEP, DamagedRunError
from substrax.sweeps import SweepPlan, is_sweep
from tests.evolution.support import timeless

ROOT = Path(__file__).parent.parent.parent
SMALL = {
    "method": "neat", "population": 40, "generations": 3, "target": 2,
    "max_nodes": 16, "max_links": 32,
}  # fmt: skip
GRID = {"add_node_rate": [0.1, 0.4]}
KEYWORDS = {"experiment": "xor", "seeds": 2, "settings": SMALL, "grid": GRID}


@pytest.fixture(autouse=True)
def shared_cache(monkeypatch):
    """What is compiled by one process of these tests is there for the next."""
    cache = jax.config.values["jax_compilation_cache_dir"] + "-cli"
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", cache)
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Two arms, two seeds."""
    path = tmp_path_factory.mktemp("sweep") / "rates"
    with pytest.MonkeyPatch.context() as patch:
        cache = jax.config.values["jax_compilation_cache_dir"] + "-cli"
        patch.setenv("JAX_COMPILATION_CACHE_DIR", cache)
        sx.sweep(**KEYWORDS, directory=path, jobs=1, progress=False)
    return path


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy to be changed."""
    return Path(shutil.copytree(made, tmp_path / "rates"))


def contents(folder: Path) -> dict[str, tuple]:
    """All that runs have found, by their directories; nothing of when."""
    found = {}
    for path in sorted((folder / "runs").iterdir()):
        files = ("config.toml", "best.json", "best.safetensors")
        facts = RunDirectory(path).facts()
        found[path.name] = (
            timeless(RunDirectory(path).metrics()),
            *((path / name).read_bytes() for name in files),
            {k: facts[k] for k in ("seed", "settings", "stopped", "error")},
        )
    return found


def stamps(folder: Path) -> dict[str, int]:
    """When the files of runs were written."""
    return {
        str(p.relative_to(folder)): p.stat().st_mtime_ns
        for p in sorted((folder / "runs").rglob("*"))
        if p.is_file()
    }


def test_a_sweep_has_a_run_directory_for_each_run(made: Path):
    names = sorted(path.name for path in (made / "runs").iterdir())
    assert len(names) == 4
    assert {name.rsplit("-", 1)[0] for name in names} == {
        "xor-neat-seed0",
        "xor-neat-seed1",
    }
    assert (made / "plan.toml").read_text().startswith('experiment = "xor"\nseeds = 2')
    for name in names:
        assert len(RunDirectory(made / "runs" / name).metrics()) == 3
    # and nothing that could be executed, or is left of writing
    files = {path.name for path in made.rglob("*") if path.is_file()}
    assert not [name for name in files if name.endswith((".pkl", ".pickle", ".tmp"))]


def test_a_run_of_a_sweep_is_the_run_that_evolve_makes(made: Path, tmp_path: Path):
    settings = {"neat.mutation.add_node_rate": 0.4, **SMALL}
    sx.evolve("xor", seed=1, directory=tmp_path / "run", progress=False, **settings)
    metrics = timeless(RunDirectory(tmp_path / "run").metrics())
    found = sx.Sweep.read(made)["add_node_rate 0.4"]
    ours = found.arm.runs[1].path
    assert timeless(RunDirectory(ours).metrics()) == metrics
    best = "best.safetensors"
    assert (ours / best).read_bytes() == (tmp_path / "run" / best).read_bytes()


def test_a_sweep_says_what_its_arms_came_to(made: Path):
    found = sx.Sweep.read(made)
    assert len(found) == 4 and found.is_finished
    assert [arm.arm.label for arm in found] == [
        "add_node_rate 0.1",
        "add_node_rate 0.4",
    ]
    text = repr(found)
    assert "4 of 4 runs are done, 0 of them solved" in text
    assert "0 % [0, 66]" in text and str(made) in text
    assert found.summary()["add_node_rate 0.1"]["finished"] == 2
    columns = found.columns()
    assert columns["seed"].tolist() == [0, 1, 0, 1]
    assert columns["setting_add_node_rate"].tolist() == [0.1, 0.1, 0.4, 0.4]
    assert np.isfinite(columns["best_fitness"]).all()
    assert len(found.frame()) == 4
    (pair,) = found.comparisons()
    assert pair.fitness is not None and pair.fitness.is_corrected
    assert pair.generations is None  # nothing was solved
    assert "add_node_rate 0.4 - add_node_rate 0.1" in found.comparison_table().to_text()
    assert "<pre>" in found._repr_html_() and "data:image/png" in found._repr_html_()
    with pytest.raises(KeyError):
        found["nobody"]


def test_results_are_written_as_parquet(made: Path):
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(made / "results.parquet").to_pylist()
    assert rows == sx.Sweep.read(made).rows()


def test_what_is_done_is_never_done_again(folder: Path):
    before = stamps(folder)
    found = sx.sweep(**KEYWORDS, directory=folder, jobs=1, progress=False)
    assert found.is_finished and stamps(folder) == before
    assert sx.sweep(folder, jobs=1, progress=False).is_finished
    assert stamps(folder) == before


def test_a_changed_plan_does_what_is_new_and_keeps_what_is_old(folder: Path):
    before, names = contents(folder), set(stamps(folder))
    grid = {"add_node_rate": [0.4, 0.2]}
    found = sx.sweep(
        **{**KEYWORDS, "grid": grid}, directory=folder, jobs=1, progress=False
    )
    assert [arm.arm.label for arm in found] == [
        "add_node_rate 0.4",
        "add_node_rate 0.2",
    ]
    after = contents(folder)
    assert len(after) == 6 and {k: after[k] for k in before} == before
    assert names <= set(stamps(folder))
    # and back: the arm that was left out is still there
    assert sx.sweep(**KEYWORDS, directory=folder, jobs=1, progress=False).is_finished
    assert contents(folder) == after


def names_of(folder: Path, **change) -> set[str]:
    plan = SweepPlan(**{**KEYWORDS, **change})
    arms = prepare(plan, folder, Path()).folder.arms
    return {run.path.name for arm in arms for run in arm.runs}


def test_a_directory_is_named_by_what_results_depend_on(made: Path):
    usual = names_of(made)
    assert usual == {path.name for path in (made / "runs").iterdir()}
    for same in ({"threads": 1}, {"memory_budget": "1GiB"}, {"checkpoint_every": 2}):
        assert names_of(made, settings=SMALL | same) == usual
    for other in ({"generations": 4}, {"target": 3}, {"patience": 2}, {"depth": 1}):
        changed = SMALL | other | ({"method": "emr"} if "depth" in other else {})
        assert not names_of(made, settings=changed) & usual
    # neither the order of arms nor their names matter
    rows = [{"name": "b", "add_node_rate": 0.4}, {"name": "a", "add_node_rate": 0.1}]
    assert names_of(made, grid={}, rows=rows) == usual


MINE = """
import jax.numpy as jnp

def fitness(network):
    return -jnp.mean((network(jnp.ones((4, 2))) - {wanted}) ** 2)
"""


def test_own_problems_are_named_by_their_code(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = {"experiment": "mine.py:fitness", "seeds": 1, "grid": {}}
    settings = {**SMALL, "inputs": 2, "outputs": 1}

    def name(folder: str, wanted: float, comment: str = "") -> str:
        place = tmp_path / folder
        place.mkdir()
        (place / "mine.py").write_text(comment + MINE.format(wanted=wanted))
        monkeypatch.chdir(place)
        (found,) = names_of(tmp_path, **own, settings=settings)
        return found

    first = name("a", 0.5)
    assert first.startswith("fitness-neat-seed0-")
    assert name("b", 0.5, "# elsewhere, with a comment\n") == first
    assert name("c", 0.25) != first


def test_own_problems_and_their_arguments_run_in_processes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE.format(wanted=0.5))
    found = sx.sweep(
        experiment="mine.py:fitness",
        seeds=1,
        settings={**SMALL, "inputs": 2},
        grid={"outputs": [1, 2]},
        directory="own",
        jobs=1,
        progress=False,
    )
    assert found.is_finished and [a.arm.label for a in found] == [
        "outputs 1",
        "outputs 2",
    ]
    # resumed from another folder: the plan's paths count from where it was begun
    monkeypatch.chdir("/")
    assert sx.sweep(tmp_path / "own", jobs=1, progress=False).is_finished


def test_data_count_by_their_content(tmp_path, monkeypatch):
    rows = "\n".join(f"{k % 7},{k % 3},{k % 2}" for k in range(40))
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text(f"a,b,y\n{rows}\n")
    (tmp_path / "other.csv").write_text(f"a,b,y\n{rows}\n1,2,0\n")
    data = {"target_column": "y", "is_classification": True, **SMALL}
    names = [
        names_of(
            tmp_path,
            experiment="table",
            settings={**data, "path": str(tmp_path / f"{name}.csv")},
            seeds=1,
            grid={},
        )
        for name in ("one", "two", "other")
    ]
    assert names[0] == names[1] and not names[0] & names[2]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"settings": {"generatoins": 3}}, "did you mean 'generations'"),
        (
            {"grid": {"add_node_rate": [0.1, "much"]}},
            "arm 'add_node_rate much'.*number",
        ),
        ({"grid": {"add_node_rate": [0.1, 7.0]}}, "arm 'add_node_rate 7.0'"),
        ({"experiment": "xro"}, "did you mean 'xor'"),
        ({"grid": {"threads": [1, 2]}}, "have the same runs"),
        ({"seeds": [1 << 33]}, "no seed"),
        ({"experiment": lambda network: 1.0}, "say how many inputs and outputs"),
        ({"experiment": 3}, "experiment is 3, but must be the name of an experiment"),
    ],
)
def test_mistakes_are_said_before_anything_is_written(tmp_path, change, sentence):
    with pytest.raises(ValueError, match=sentence):
        sx.sweep(**{**KEYWORDS, **change}, directory=tmp_path / "new", progress=False)
    assert not (tmp_path / "new").exists()


def test_a_problem_that_no_file_has_cannot_be_swept(tmp_path):
    sizes = {"inputs": 2, "outputs": 1}
    with pytest.raises(ValueError, match="put the problem, or the fitness, at the top"):
        sx.sweep(
            experiment=lambda network: 1.0,
            settings=sizes,
            directory=tmp_path / "new",
            progress=False,
        )


@pytest.mark.parametrize("name", ["notes.txt", FACTS])
def test_folders_of_others_are_left_alone(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(ValueError, match=r"not empty|holds a run"):
        sx.sweep(**KEYWORDS, directory=tmp_path, progress=False)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_files_of_others_in_the_folder_stay(folder: Path):
    (folder / "notes.txt").write_text("mine")
    (folder / "runs" / "thoughts.txt").write_text("mine")
    sx.sweep(**KEYWORDS, directory=folder, jobs=1, progress=False)
    assert (folder / "notes.txt").read_text() == "mine"
    assert (folder / "runs" / "thoughts.txt").read_text() == "mine"


def test_the_plan_may_lie_in_the_folder_itself(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text(SweepPlan(**{**KEYWORDS, "seeds": 1, "grid": {}}).to_toml())
    found = sx.sweep(plan, directory=tmp_path, jobs=1, progress=False)
    assert found.is_finished and is_sweep(tmp_path)


def test_a_failing_run_does_not_stop_the_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "from substrax.problems import HostProblem\n"
        "from substrax.substrate import Layout\n"
        "def judge(networks):\n"
        "    raise RuntimeError('no ground below')\n"
        "def good(networks):\n"
        "    return [1.0] * len(networks)\n"
        "bad = HostProblem(judge, Layout.spread(2, 1))\n"
        "fine = HostProblem(good, Layout.spread(2, 1))\n"
    )
    rows = [{"experiment": "mine.py:bad"}, {"experiment": "mine.py:fine"}]
    small = {**SMALL, "generations": 1, "preset": "substrax"}
    found = sx.sweep(rows=rows, settings=small, directory="own", jobs=1, progress=False)
    (failure,) = found.failures.values()
    assert "no ground below" in failure
    assert [len(arm.finished) for arm in found] == [0, 1]
    assert "no ground below" in repr(found)


@pytest.mark.parametrize("name", ["run.json", "config.toml", "metrics.jsonl"])
def test_damaged_files_of_a_run_are_said_and_the_rest_goes_on(folder: Path, name):
    victim = next((folder / "runs").iterdir())
    text = (victim / name).read_bytes()
    (victim / name).write_bytes(text[: len(text) // 2])
    before = contents_without(folder, victim)
    grid = {"add_node_rate": [0.1, 0.4, 0.2]}
    found = sx.sweep(
        **{**KEYWORDS, "grid": grid}, directory=folder, jobs=1, progress=False
    )
    after = contents_without(folder, victim)
    assert {k: after[k] for k in before} == before and len(after) == len(before) + 2
    if name == "metrics.jsonl":  # which tells what happened; nothing depends on it
        assert found.is_finished
    else:
        assert list(found.failures) == [victim.name]
        assert name in found.failures[victim.name]


def contents_without(folder: Path, victim: Path) -> dict[str, tuple]:
    hidden = folder.parent / "hidden"
    victim.rename(hidden)
    try:
        return contents(folder)
    finally:
        hidden.rename(victim)


def test_lost_best_files_are_made_anew(folder: Path):
    before = contents(folder)
    victim = next((folder / "runs").iterdir())
    (victim / "best.safetensors").unlink()
    (victim / "best.json").unlink()
    sx.sweep(**KEYWORDS, directory=folder, jobs=1, progress=False)
    assert contents(folder) == before


def test_a_damaged_list_is_said_and_made_anew_by_hand(folder: Path):
    (folder / SWEEP).write_text("{}")
    with pytest.raises(DamagedRunError, match="Delete it"):
        sx.Sweep.read(folder)
    (folder / SWEEP).unlink()
    (folder / "results.parquet").unlink()
    before = stamps(folder)
    sx.sweep(**KEYWORDS, directory=folder, jobs=1, progress=False)
    assert stamps(folder) == before


@pytest.mark.parametrize("place", ["../elsewhere", "/etc", "a/b", "..", "", 3])
def test_a_list_leads_nowhere_else(folder: Path, place):
    from substrax.runs import sealed, unsealed

    document = unsealed((folder / SWEEP).read_bytes())
    document["arms"][0]["runs"][0]["folder"] = place
    (folder / SWEEP).write_text(sealed(document))
    with pytest.raises(DamagedRunError):
        sx.Sweep.read(folder)


def test_shares_are_all_runs_and_none_is_in_two(tmp_path):
    prepared = prepare(SweepPlan(**{**KEYWORDS, "seeds": 5}), tmp_path, Path())
    jobs = prepared.jobs(threads=None, keep_compiled=True)
    for count in (1, 2, 3, 7, 20):
        parts = [shared(jobs, (k, count)) for k in range(1, count + 1)]
        keys = [job.key for part in parts for job in part]
        assert sorted(keys) == sorted(job.key for job in jobs)
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_shards_do_together_what_one_process_does(made: Path, tmp_path):
    for shard in ("1/2", "2/2"):
        found = sx.sweep(
            **KEYWORDS, directory=tmp_path / "s", jobs=1, shard=shard, progress=False
        )
        assert found.is_finished == (shard == "2/2")
    assert contents(tmp_path / "s") == contents(made)


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/2/3", "-1/3", "1/0", ""])
def test_shares_are_counted_from_one(text):
    with pytest.raises(ValueError, match="from 1 on"):
        read_shard(text)


def test_any_executor_gives_the_same_bits(made: Path, tmp_path):
    with ThreadPoolExecutor(2) as executor:
        found = sx.sweep(
            **KEYWORDS, directory=tmp_path / "e", executor=executor, progress=False
        )
    assert found.is_finished and contents(tmp_path / "e") == contents(made)


def test_an_executor_has_its_own_number_of_workers(tmp_path):
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(ValueError, match="Leave one"),
    ):
        sx.sweep(**KEYWORDS, directory=tmp_path / "e", executor=executor, jobs=2)


@pytest.mark.parametrize("text", ["processes:", "processes:x", "processes:0", "ray:"])
def test_executors_by_name_are_checked_before_anything_is_written(tmp_path, text):
    with pytest.raises(ValueError, match=r"processes:8|at least 1|dask://"):
        sx.sweep(**KEYWORDS, directory=tmp_path / "e", executor=text)
    assert not (tmp_path / "e").exists()


def test_what_is_missing_is_said_before_runs_begin(monkeypatch):
    from substrax.front import missing_extras

    assert missing_extras() == []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    text = " ".join(missing_extras())
    for name in ("matplotlib", "scipy", "results.parquet"):
        assert name in text


TWO = """
import sys
import substrax as sx

sx.sweep(sys.argv[1], directory=sys.argv[2], jobs=1, progress=False)
"""


def test_two_processes_share_a_folder(made: Path, tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text((made / "plan.toml").read_text())
    words = [sys.executable, "-c", TWO, str(plan), str(tmp_path / "s")]
    both = [subprocess.Popen(words, stderr=subprocess.PIPE) for _ in range(2)]
    for process in both:
        _, error = process.communicate(timeout=300)
        assert process.returncode == 0, error.decode()
    assert contents(tmp_path / "s") == contents(made)


def test_plans_and_keywords_do_not_mix():
    with pytest.raises(ValueError, match="Give the plan alone"):
        sx.sweep("plan.toml", seeds=3)


def test_a_plan_is_a_dictionary_too(folder: Path):
    before = stamps(folder)
    assert sx.sweep(KEYWORDS, directory=folder, jobs=1, progress=False).is_finished
    assert stamps(folder) == before


def test_the_list_is_what_the_plan_says(made: Path):
    document = json.loads((made / SWEEP).read_text())
    assert [arm["settings"] for arm in document["arms"]] == [
        {"add_node_rate": 0.1},
        {"add_node_rate": 0.4},
    ]
