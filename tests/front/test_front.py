"""The front door: whatever a problem is given as, a run comes out that can be used."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import substrax as sx
from substrax.cli import main
from substrax.config import load_experiment, load_run
from substrax.evolution import RunDirectory
from substrax.problems import XOR
from tests.front import own

HERE = Path(__file__).parent / "own.py"
SMALL: dict[str, Any] = {
    "population": 16,
    "generations": 3,
    "max_nodes": 16,
    "max_links": 32,
}
X = np.random.default_rng(0).normal(size=(30, 2))
Y = np.where(X[:, 0] > 0, "right", "left")


def _host() -> sx.HostProblem:
    def many_links(networks: Any) -> Any:
        return networks.num_links

    return sx.HostProblem(many_links, sx.Layout.spread(2, 1))


def evolve(problem: Any, **settings: Any) -> sx.Run:
    options: dict[str, Any] = {"method": "neat"} | SMALL | settings
    return sx.evolve(problem, **options)


def test_the_names_are_there_and_nothing_else_is_imported():
    code = (
        "import sys, substrax as sx; assert 'jax' not in sys.modules; "
        "print(*dir(sx)); sx.evolve; sx.methods.NEAT; sx.report.plot_fitness"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert {"evolve", "resume", "load", "Model", "methods"} <= set(run.stdout.split())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("evolv", "no attribute 'evolv' (did you mean 'evolve'?)"),
        ("methds", "no attribute 'methds' (did you mean 'methods'?)"),
        ("qqqqqq", "no attribute 'qqqqqq'"),
    ],
)
def test_a_misspelt_name_gets_a_suggestion_and_only_one(name, said):
    with pytest.raises(AttributeError, match=rf"{re.escape(said)}$"):
        getattr(sx, name)
    run = subprocess.run(
        [sys.executable, "-c", f"import substrax; substrax.{name}"],
        capture_output=True,
        text=True,
    )
    assert run.stderr.endswith(f"{said}\n")


@pytest.mark.parametrize(
    ("problem", "sizes"),
    [
        (own.fitness, {"inputs": 2, "outputs": 1}),
        (lambda net, key: net(jnp.zeros((1, 2)))[0, 0], {"inputs": 2, "outputs": 1}),
        ((X, Y), {}),
        (XOR(), {}),
        (own.made, {}),
        (own.Links(2), {}),
        (own.Links, {}),
        ("xor", {}),
        (f"{HERE}:fitness", {"inputs": 2, "outputs": 1}),
        (f"{HERE}:made", {}),
        (f"{HERE}:make", {}),
        ("tests.front.own:Links", {"wanted": 4}),
    ],
)  # fmt: skip
def test_any_kind_of_problem_is_evolved(problem, sizes):
    run = evolve(problem, **sizes)
    assert run.generations == 3 or run.is_solved
    rows = np.zeros((4, 2))
    assert run.best(rows).shape == (4, 1)
    assert run.best.fitness == run.best_fitness
    assert run.experiment.method.title in repr(run)
    assert f"best fitness {run.best_fitness:z.6g}" in repr(run)


def test_the_same_call_gives_the_same_run():
    first, second = (evolve((X, Y), seed=5) for _ in range(2))
    np.testing.assert_array_equal(first.best(X), second.best(X))
    assert first.experiment.run.seed == 5
    other = evolve((X, Y), seed=6)
    assert other.history[0].mean_fitness != first.history[0].mean_fitness


def test_methods_are_given_by_name_or_as_objects():
    emr = sx.methods.EMRHyperNEAT(depth=1, connections="full", max_weight=3.0)
    run = evolve("xor", method=emr)
    assert run.experiment.method == emr
    again = evolve("xor", method="emr", depth=1, connections="full", max_weight=3.0)
    np.testing.assert_array_equal(run.best(X), again.best(X))
    with pytest.raises(ValueError, match="did you mean 'emr'"):
        evolve("xor", method="emmr")


class Unknown(sx.methods.NEAT):
    """Of no settings that a configuration knows."""


def test_a_method_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match=r"one of substrax\.methods"):
        evolve("xor", method=Unknown())


@pytest.mark.parametrize(
    ("problem", "settings", "said"),
    [
        (own.fitness, {}, "how many inputs and outputs"),
        (own.fitness, {"inputs": 0, "outputs": 1}, "inputs must be at least 1, not 0"),
        (XOR(), {"inputs": 3}, "follows from the problem"),
        ("xor", {"outputs": 2}, "follows from the problem"),
        (3, {}, "a fitness function, data"),
        ("xxor", {}, "did you mean 'xor'"),
        ("xor", {"populaton": 3}, "did you mean 'population'"),
        (f"{HERE}:NUMBER", {}, "neither a problem nor a function"),
        (f"{HERE}:fitnes", {}, "did you mean 'fitness'"),
        (f"{HERE}:fitness", {}, "say how many inputs"),
        ("nowhere.py:f", {}, "nowhere.py, does not exist"),
        ("nowhere:f", {}, "there is no module nowhere"),
        ("tests.front.own:Path", {}, "there is no Path in"),
        ("tests.front.own:Layout", {}, "which is no problem"),
    ],
)
def test_mistakes_are_told_before_anything_is_written(
    tmp_path, problem, settings, said
):
    with pytest.raises(ValueError, match=said):
        evolve(problem, directory=tmp_path / "run", **settings)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("problem", "sizes"),
    [
        (own.fitness, {"inputs": 2, "outputs": 1}),
        (own.Links(2), {}),
        (XOR(), {}),
        ((X, Y), {}),
        ((X, X), {"max_links": 64}),
        ("tests.front.own:make", {"wanted": 1.5}),
    ],
)
def test_a_run_from_python_is_as_good_as_any(tmp_path, capsys, problem, sizes):
    run = evolve(problem, directory=tmp_path / "run", target=9.0, **sizes)
    whole = evolve(problem, target=9.0, **(sizes | {"generations": 5}))
    assert main(["show", str(run.directory)]) == 0
    assert f"{run.best_fitness:z.6g}" in capsys.readouterr().out
    shutil.copytree(tmp_path / "run", tmp_path / "other")
    assert main(["resume", str(run.directory), "--generations", "5", "--quiet"]) == 0
    more = sx.resume(tmp_path / "other", generations=5)
    for best in (sx.load(tmp_path / "run"), more.best):
        np.testing.assert_array_equal(best(X), whole.best(X))
    experiment, _ = load_run(tmp_path / "run")
    assert experiment.values == more.experiment.values


@pytest.mark.parametrize(
    "problem",
    [lambda: XOR(), lambda: (X, Y), lambda: own.made, lambda: own.Links(2), _host],
)
def test_a_problem_has_one_name_wherever_it_is_told(tmp_path, capsys, problem):
    run = evolve(problem(), directory=tmp_path / "run")
    name = run.experiment.problem.name
    assert str(run).startswith(f"{name} by NEAT")
    assert main(["show", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{name}, method neat")
    assert "\nengine: " in shown


def test_data_move_with_their_run(tmp_path):
    run = evolve((X, Y), directory=tmp_path / "run")
    assert run.directory is not None
    moved = run.directory.rename(tmp_path / "moved")
    more = sx.resume(moved, generations=5)
    np.testing.assert_array_equal(more.best(X), evolve((X, Y), generations=5).best(X))
    assert more.best.predict(X)[0] in ("left", "right")
    config = (moved / "config.toml").read_text()
    sx.resume(moved, problem=run.experiment.problem)
    assert (moved / "config.toml").read_text() == config  # which names its data
    assert ">engine<" in more.report().read_text()
    data = bytearray((moved / "data.safetensors").read_bytes())
    data[-1] ^= 1
    (moved / "data.safetensors").write_bytes(bytes(data))
    with pytest.raises(ValueError, match="its checksum is wrong"):
        sx.resume(moved, generations=6)


def test_data_of_somebody_else_are_not_overwritten(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "data.safetensors").write_bytes(b"mine")
    with pytest.raises(ValueError, match=r"it holds data\.safetensors"):
        evolve((X, Y), directory=tmp_path / "run")
    assert (tmp_path / "run" / "data.safetensors").read_bytes() == b"mine"
    # what a process left that was killed while it made the directory
    (tmp_path / "run" / ".lock").touch()
    assert evolve((X, Y), directory=tmp_path / "run").generations == 3


def test_a_problem_without_a_name_goes_on_where_it_is(tmp_path, capsys):
    X_and_loss = sx.ArrayProblem(X, X[:, 0], loss=lambda y, t: ((y - t) ** 4).mean(2))
    run = evolve(X_and_loss, directory=tmp_path / "run")
    assert main(["resume", str(run.directory), "--generations", "5"]) == 2
    assert "exists only in the Python program" in capsys.readouterr().err
    assert main(["show", str(run.directory)]) == 0
    more = sx.resume(tmp_path / "run", problem=X_and_loss, generations=5)
    whole = evolve(X_and_loss, generations=5)
    np.testing.assert_array_equal(more.best(X), whole.best(X))
    with pytest.raises(ValueError, match=r"problem\..* now"):
        other = sx.ArrayProblem(X + 1, X[:, 0], loss=X_and_loss.loss)
        sx.resume(tmp_path / "run", problem=other, generations=6)
    assert more.report().exists()


def test_a_function_goes_on_with_what_its_run_has_recorded(tmp_path):
    """Without its sizes, its target and how many networks it is compiled for."""
    fitness = lambda network: own.fitness(network)
    path = tmp_path / "run"
    settings = {"inputs": 2, "outputs": 1, "target": 2.0, "block_size": 8}
    evolve(fitness, directory=path, **settings)
    more = sx.resume(path, problem=fitness, generations=5)
    assert more.generations == 5
    problem = more.experiment.problem
    assert (problem.num_inputs, problem.num_outputs, problem.target) == (2, 1, 2.0)
    assert problem.block_size == 8
    with pytest.raises(ValueError, match="num_inputs was 2 and is 3 now"):
        sx.resume(path, problem=fitness, inputs=3, generations=6)
    with pytest.raises(ValueError, match=r"^resume takes a fitness function"):
        sx.resume(path, problem=3)
    # one that was killed before it noted what it is
    place = RunDirectory.create(tmp_path / "new", seed=0, config_text="x")
    with pytest.raises(ValueError, match=r"resume\(DIR, problem=fitness, inputs=3"):
        sx.resume(place.path, problem=fitness)


def test_a_script_is_found_again_where_it_moved_with_its_run(tmp_path, capsys):
    (tmp_path / "old" / "runs").mkdir(parents=True)
    text = Path(own.__file__).read_text()
    (tmp_path / "old" / "mine.py").write_text(text)
    name, sizes = f"{tmp_path}/old/mine.py:fitness", {"inputs": 2, "outputs": 1}
    evolve(name, directory=tmp_path / "old" / "runs" / "a", target=9.0, **sizes)
    (tmp_path / "old").rename(tmp_path / "new")
    run = tmp_path / "new" / "runs" / "a"
    assert main(["resume", str(run), "--generations", "4", "--quiet"]) == 0
    assert f'"{tmp_path}/new/mine.py:fitness"' in (run / "config.toml").read_text()
    # where it is elsewhere, it is said what helps, and that does help
    (tmp_path / "new" / "mine.py").rename(tmp_path / "mine.py")
    for command, *more in (("resume", "--generations", "5"), ("report",)):
        assert main([command, str(run), *more]) == 2
        said = capsys.readouterr().err
        assert f"write in problem.name of {run}/config.toml" in said
        assert "problem=..." in said
    config = (run / "config.toml").read_text()
    edited = config.replace("/new/mine.py", "/mine.py")
    (run / "config.toml").write_text(edited)
    assert main(["resume", str(run), "--generations", "5", "--quiet"]) == 0
    (run / "config.toml").write_text(config)
    (tmp_path / "other").mkdir()
    (tmp_path / "mine.py").rename(tmp_path / "other" / "mine.py")
    mine = load_experiment(f"{tmp_path}/other/mine.py:fitness")
    fitness = mine.with_settings({f"problem.{k}": n for k, n in sizes.items()}).problem
    more = sx.resume(run, problem=fitness, generations=6)
    assert more.generations == 6
    assert f'"{tmp_path}/other/mine.py:fitness"' in (run / "config.toml").read_text()


def test_a_python_file_needs_a_name():
    said = rf"{HERE}:NAME; NAME may be fitness, make, made, Links\."
    with pytest.raises(ValueError, match=said):
        evolve(HERE)


def test_a_fitness_of_minus_nothing_is_nothing():
    def nothing(networks, key):
        return np.full(len(networks), -0.0)

    problem = sx.HostProblem(nothing, sx.Layout.spread(2, 1), target=1.0)
    run = evolve(problem, generations=1)
    assert str(run.best_fitness) == "-0.0"
    assert "best fitness 0\n" in repr(run)
    assert "fitness 0" in repr(run.best) and "-0" not in repr(run.best)


def test_models_of_data_know_scales_and_labels(tmp_path):
    run = evolve((X * 100 + 7, Y), generations=5)
    model = sx.load(run.best.save(tmp_path / "m.safetensors"))
    assert set(model.predict(X * 100 + 7)) <= {"left", "right"}
    assert model.num_inputs == 2


def test_a_notebook_shows_pictures_and_a_summary():
    for method in ("neat", "emr"):
        page = evolve("xor", method=method)._repr_html_()
        assert page.count("data:image/png;base64") == 2
        assert "best fitness" in page


def test_a_run_that_was_not_saved_has_a_report_where_it_is_told(tmp_path):
    run, saved = evolve("xor"), evolve("xor", directory=tmp_path / "run")
    page = run.report(tmp_path / "new" / "page")
    assert page == tmp_path / "new" / "page" / "index.html"
    text = page.read_text("utf-8")
    assert "This run was not saved" in text and "../config.toml" not in text
    assert f"found in generation {run.result.state.last_improved}" in text
    elsewhere = saved.report(tmp_path / "elsewhere")
    assert "../config.toml" not in elsewhere.read_text("utf-8")
    # pictures, and what is said of them, are those of the same run if it is saved
    for name in ("fitness.png", "genome.svg"):
        pictures = {p.parent / "figures" / name for p in (page, saved.report())}
        assert len({picture.read_bytes() for picture in pictures}) == 1
    assert run.report(page.parent) == page  # an older report is replaced


def test_a_run_that_was_not_saved_finds_a_place_for_its_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "index.html").write_text("mine")
    first, second = evolve("xor"), evolve("xor", seed=1)
    place = first.report().absolute()
    assert place == tmp_path / "report-2" / "index.html"
    assert second.report().absolute().parent == tmp_path / "report-3"
    monkeypatch.chdir("/")
    assert first.report() == place  # the same run, the same place
    assert (tmp_path / "report" / "index.html").read_text() == "mine"


def test_a_report_writes_over_nothing_but_reports(tmp_path):
    run = evolve("xor")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match=r"something else .*\(file\)"):
        run.report(tmp_path)
    with pytest.raises(ValueError, match="is a file"):
        run.report(tmp_path / "file")
    with pytest.raises(ValueError, match=r"Say .*page, for example"):
        run.report(tmp_path / "page.html")
    with pytest.raises(ValueError, match="no finished generation"):
        evolve("xor", generations=0).report(tmp_path / "none")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_report_of_a_problem_without_a_name_says_how_to_go_on(tmp_path):
    run = evolve((X, Y))
    text = run.report(tmp_path / "page").read_text("utf-8")
    assert "call evolve() again with this seed" in text
    assert "substrax run config.toml" not in text


def test_seeds_are_summed_up(tmp_path):
    runs = sx.evolve_seeds(
        "xor", seeds=3, method="neat", directory=tmp_path / "runs", **SMALL
    )
    assert len(runs) == 3 and [r.experiment.run.seed for r in runs] == [0, 1, 2]
    facts = runs.summary()
    assert facts["runs"] == 3 and facts["solved"] == sum(r.is_solved for r in runs)
    assert runs.best.fitness == max(r.best_fitness or 0 for r in runs)
    assert (tmp_path / "runs" / "seed2" / "best.json").exists()
    assert "of 3 solved" in repr(runs)
    with pytest.raises(ValueError, match=r"seeds is 0\. Choose at least 1"):
        sx.evolve_seeds("xor", seeds=0)


def test_progress_is_lines_where_it_is_asked_for(capsys):
    evolve("xor", progress=True)
    assert "generation    best" in capsys.readouterr().out
    evolve("xor")
    assert capsys.readouterr().out == ""


def test_runs_start_from_genomes_that_are_at_hand():
    first = evolve("xor")
    data = {
        "nodes": ["h tanh 0.5"],
        "links": ["in0 -> h 1.0", "h -> out0 -1.0"],
    }
    starts = [first, first.best_genome, data]
    for start in starts:
        run = evolve("xor", start_from=start)
        assert run.experiment.start.genome == "given"
        assert run.experiment.start.links
        again = sx.evolve(run.experiment)
        assert again.best_fitness == run.best_fitness
    with pytest.raises(ValueError, match="give the name of a seed"):
        evolve("xor", start_from=3)


def test_room_for_genomes_may_change_within_a_run(tmp_path):
    """It changes no result, neither at the start nor later."""
    whole = evolve("xor", generations=6, target=2.0)
    evolve("xor", generations=3, target=2.0, directory=tmp_path / "run")
    more = sx.resume(
        tmp_path / "run", generations=6, max_nodes=40, max_links=50, max_species=9
    )
    assert [r.best_fitness for r in more.history] == [
        r.best_fitness for r in whole.history
    ]


@pytest.mark.slow
def test_functions_of_one_s_own_have_nodes_with_biases():
    """Without biases XOR of two inputs has no solution: networks are odd functions."""
    sizes = {"inputs": 2, "outputs": 1}

    def outputs(problem: Any, method: str, **settings: Any) -> tuple[str, ...]:
        small = {**SMALL, "generations": 1, "max_nodes": 32, "max_links": 64}
        run = sx.evolve(problem, method=method, **small, **settings)
        return run.experiment.method.outputs  # pyright: ignore[reportAttributeAccessIssue]

    both = ("weight", "bias")
    for method in ("emr", "hyperneat"):
        for problem, options in (
            (own.fitness, sizes),
            (f"{HERE}:fitness", sizes),
            (own.made, {}),
            (f"{HERE}:made", {}),
        ):
            assert outputs(problem, method, **options) == both
    assert outputs("xor", "emr") == outputs((X, Y), "emr") == ("weight",)
    assert outputs(own.fitness, "es", **sizes) == ("weight",)
    mine = {"method.outputs": "weight,leo"}
    assert outputs(own.fitness, "emr", **sizes, **mine) == ("weight", "leo")
    weight = sx.HostProblem(
        lambda networks: networks.num_links,
        sx.Layout.spread(2, 1),
        suggested={"outputs": ("weight",)},
    )
    assert outputs(weight, "emr") == ("weight",)


@pytest.mark.slow
def test_the_default_method_learns_xor_from_a_function():
    """With weights alone none of ten seeds is better than 0.9375 after 30 generations;
    with biases each one reaches 0.95."""
    runs = sx.evolve_seeds(
        own.fitness,
        inputs=2,
        outputs=1,
        seeds=3,
        target=0.95,
        generations=30,
        population=100,
    )
    assert runs.summary()["solved"] == 3


def test_what_is_held_back_of_data_is_a_setting():
    run = evolve((X, Y), test_share=0.5, split_seed=3)
    problem = run.experiment.problem
    assert isinstance(problem, sx.ArrayProblem) and len(problem.inputs) == 15
    assert "test_accuracy" in run.measures()
    assert "test_accuracy" not in evolve((X, Y), test_share=0).measures()
