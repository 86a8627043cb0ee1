"""An episode as figure and as film."""

import jax
import numpy as np
import pytest
from PIL import Image

import substrax as sx
from substrax.cli import main
from substrax.network import Networks, Stepper, evaluate, node_values
from substrax.problems import Watched
from substrax.report import write_animation
from substrax.report._episode import episode_figure
from tests.problems import lines
from tests.problems.support import network

LINKS = [(0, 4, 1.5), (1, 4, -0.5), (4, 2, 2.0), (0, 3, 1.0), (4, 3, -1.0)]


@pytest.mark.parametrize("is_recurrent", [False, True])
def test_values_of_nodes_are_those_that_lead_to_the_outputs(is_recurrent: bool) -> None:
    links = [*LINKS, (4, 4, 0.5)] if is_recurrent else LINKS
    one = network(2, 2, links, num_hidden=1, is_recurrent=is_recurrent)
    rows = np.random.default_rng(0).normal(size=(7, 2))
    values = node_values(one, rows)
    assert values.shape == (7, 5)
    np.testing.assert_allclose(values[:, :2], rows)
    if not is_recurrent:
        outputs = evaluate(one, rows)[0]
    else:
        stepper, outputs = Stepper.of(one), np.zeros((7, 2))
        memory = stepper.start(batch=1)
        for k, row in enumerate(rows):
            memory, now = stepper(memory, row[None, None])
            outputs[k] = now[0, 0]
    np.testing.assert_allclose(values[:, 2:4], outputs, rtol=1e-12)


def watched(one: Networks, *, has_pictures: bool) -> Watched:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20, 2)).astype(one.dtype)
    pictures = [np.full((4, 6, 3), 10 * k, np.uint8) for k in range(20)]
    return Watched(rows, rows, rows, np.ones(20), pictures if has_pictures else [])


@pytest.mark.parametrize("has_pictures", [False, True])
def test_a_figure_has_a_row_for_each_node(has_pictures: bool) -> None:
    one = network(2, 2, LINKS, num_hidden=1)
    figure = episode_figure(
        watched(one, has_pictures=has_pictures),
        one,
        ["place", "speed"],
        ["left", "right"],
    )
    parts = figure.subfigs or [figure]
    axes = [a for part in parts for a in part.axes]
    labels = [text.get_text() for a in parts[-1].axes for text in a.get_yticklabels()]
    assert labels[:5] == ["left", "right", "hidden 0", "place", "speed"]
    assert sum(bool(a.images) for a in axes) == 1 + 6 * has_pictures


def test_a_film_has_a_frame_for_each_step(tmp_path) -> None:
    one = network(2, 2, LINKS, num_hidden=1)
    path = write_animation(watched(one, has_pictures=True), one, tmp_path / "film.gif")
    with Image.open(path) as film:
        assert film.n_frames == 20  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ValueError, match=r"neither .gif nor .mp4"):
        write_animation(watched(one, has_pictures=True), one, tmp_path / "film.avi")
    assert [p.name for p in tmp_path.iterdir()] == ["film.gif"]


def test_a_run_is_played_from_its_directory(tmp_path, capsys, monkeypatch) -> None:
    lines.register()
    monkeypatch.chdir(tmp_path)
    sx.evolve(
        "gymnasium", env="Line-v0", method="neat", population=8, generations=1,
        test_episodes=2, directory="run",
    )  # fmt: skip
    assert main(["play", "run", "--out", "line.gif"]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[0] == "line.gif"
    assert "episode 0:" in said and "return" in said
    # in a window, which this environment does not have
    assert main(["play", "run"]) == 2
    assert "cannot be watched in a window" in capsys.readouterr().err
    assert main(["play", "run", "--episode", "-1"]) == 2
    sx.evolve("xor", population=8, generations=1, depth=1, directory="xor")
    assert main(["play", "xor"]) == 2
    assert "nothing to be watched" in capsys.readouterr().err
    assert main(["report", "run"]) == 0
    assert (tmp_path / "run/report/figures/episode.svg").is_file()


def test_a_policy_is_the_same_in_jax_and_in_numpy() -> None:
    lines.register()
    run = sx.evolve(
        "gymnasium", env="Line-v0", env_args=("is_continuous=true",), method="emr",
        depth=1, steps=1, connections="full", population=8, generations=2,
        test_episodes=2, num_frames=2, normalise="running",
    )  # fmt: skip
    policy = run.best.policy
    state, in_jax = policy.start(3), policy.start(3, for_jax=True)
    step = jax.jit(policy.__call__)
    for seen in np.random.default_rng(0).normal(size=(4, 3, 2)).astype(np.float32):
        state, actions = policy(state, seen)
        in_jax, others = step(in_jax, seen)
        np.testing.assert_allclose(actions, others, atol=1e-5)
        assert actions.shape == (3, 1)
    with pytest.raises(ValueError, match="does not know its environment"):
        sx.evolve("xor", population=8, generations=1, depth=1).best.policy  # noqa: B018
