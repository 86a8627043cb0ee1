"""Environments of gymnasium as problems."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import gymnasium as gym
import jax
import numpy as np
import pytest

import substrax as sx
from substrax.network import Networks, Stepper
from substrax.problems import Gymnasium
from tests.problems import lines
from tests.problems.support import network, overflowing

KEY = jax.random.key(5)


@pytest.fixture(autouse=True)
def _registered():
    lines.register()


@pytest.fixture(scope="module")
def networks():
    """Some that evolution begins with, of each kind."""
    lines.register()
    found = []
    for method in ("neat", "emr"):
        settings = {"connections": "full", "steps": 1, "depth": 1}
        sx.evolve(
            Gymnasium(env="Line-v0"),
            method=method,
            population=12,
            generations=1,
            target=1e9,
            callbacks=[lambda generation: found.append(generation.networks)],
            **(settings if method == "emr" else {}),
        )
    return found


def one_by_one(problem, networks, key, episodes):
    """The slow, obvious way: one network, one episode, one step at a time."""
    words = np.asarray(jax.random.key_data(key)).ravel().tolist()
    seeds = np.random.SeedSequence(words).generate_state(episodes).tolist()
    middle, half = problem.interface.bounds
    returns = np.zeros((len(networks), episodes))
    for n, one in enumerate(networks):
        for e, seed in enumerate(seeds):
            env, stepper = gym.make(problem.env), Stepper.of(one)
            seen, _ = env.reset(seed=seed)
            memory, is_over = stepper.start(batch=1), False
            while not is_over:
                inputs = (seen - middle.astype(np.float32)) / half.astype(np.float32)
                memory, outputs = stepper(memory, inputs[None, None])
                action = int(outputs[0, 0].argmax())
                seen, reward, ended, cut, _ = env.step(action)
                returns[n, e] += reward
                is_over = ended or cut
    return returns


@pytest.mark.parametrize("kind", [0, 1])
def test_all_together_are_as_one_by_one(networks, kind):
    problem, some = Gymnasium(env="Line-v0", episodes=3), networks[kind]
    expected = one_by_one(problem, some, KEY, 3)
    assert len(np.unique(expected)) > 2  # they do differ
    played = problem.play(some, 3, KEY, None)
    np.testing.assert_array_equal(played.returns, expected)
    fitness = problem.fitness(some, key=KEY)
    np.testing.assert_array_equal(fitness, expected.mean(axis=1))
    parts = [problem.fitness(some.part(k, k + 1), key=KEY) for k in range(len(some))]
    np.testing.assert_array_equal(np.concatenate(parts), fitness)


def test_running_statistics_do_not_depend_on_who_is_evaluated_with_whom(networks):
    problem = Gymnasium(env="Line-v0", normalise="running")
    first = problem.first_statistics()
    assert first is not None
    whole = problem.evaluate(networks[1], key=KEY)
    parts = [problem.evaluate(one, key=KEY) for one in networks[1]]
    assert whole.seen is not None
    for k, name in enumerate(whole.seen._fields):
        together = np.concatenate([p.seen[k] for p in parts if p.seen is not None])
        np.testing.assert_array_equal(together, whole.seen[k], name)
    statistics = first.joined(whole.seen)
    later = problem.after(statistics)
    np.testing.assert_array_equal(later.preparation.shift, statistics.mean)
    assert (later.fitness(networks[1], key=KEY) != whole.fitness).any()
    again = problem.prepared(later.preparation)
    np.testing.assert_array_equal(
        again.fitness(networks[1], key=KEY), later.fitness(networks[1], key=KEY)
    )


def test_what_an_environment_says_of_itself_is_taken():
    problem = Gymnasium(env="Line-v0")
    assert (problem.steps, problem.target) == (12, 10)
    assert problem.layout.inputs.tolist() == [[-1, -1], [1, -1]]
    placed = Gymnasium(env="Placed-v0")
    assert placed.layout.inputs.tolist() == [[-0.5, -1], [0.5, -1]]
    mine = Gymnasium(env="Placed-v0", input_points=(0.0, -1.0, 0.0, 0.0))
    assert mine.layout.inputs.tolist() == [[0, -1], [0, 0]]
    assert Gymnasium(env="Line-v0", max_steps=5).steps == 5
    assert Gymnasium(env="Line-v0", max_steps=50).steps == 12


def test_actions_are_repeated_and_limited(networks):
    problem = Gymnasium(env="Line-v0", action_repeat=5, env_args=("noise=0",))
    played = problem.play(networks[0], 2, KEY, None)
    assert played.lengths.max() == 12  # not 15


def test_drawn_actions_are_the_same_for_everybody(networks):
    problem = Gymnasium(env="Line-v0", choice="sample")
    whole = problem.fitness(networks[0], key=KEY)
    alone = [problem.fitness(one, key=KEY)[0] for one in networks[0]]
    assert whole.tolist() == alone
    assert (whole != Gymnasium(env="Line-v0").fitness(networks[0], key=KEY)).any()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"env": ""}, "env is missing"),
        ({"env": "Lime-v0"}, "cannot make 'Lime-v0'"),
        ({"env": "Endless-v0"}, "no limit of steps.*max_steps"),
        ({"env": "Line-v0", "hidden": (5,)}, "hidden has 5"),
        (
            {"env": "Line-v0", "env_args": ("colour=red",)},
            "cannot make 'Line-v0'.*colour",
        ),
        ({"env": "Line-v0", "env_args": ("red",)}, "name=value"),
        ({"env": "Line-v0", "episodes": 0}, "episodes"),
        ({"env": "Line-v0", "normalise": "often"}, "bounds, running, none"),
        ({"env": "Line-v0", "input_points": (0.0, 0.0)}, "2 inputs.*there are 1"),
        ({"env": "Line-v0", "input_points": (0.0,)}, "shape"),
    ],
)
def test_wrong_settings_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        Gymnasium(**settings).layout  # noqa: B018


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("raises", "Line-v0 failed in step.*RuntimeError: the motor is on fire"),
        ("short", "Line-v0 failed in step.*expected 5, got 3"),
        ("shape", "not in its space"),
        ("reward", "reward 'much'"),
    ],
)
def test_an_environment_that_misbehaves_is_named(networks, fault, words):
    problem = Gymnasium(env="Line-v0", env_args=(f"fault={fault}",))
    with pytest.raises(ValueError, match=words):
        problem.fitness(networks[0], key=KEY)


def test_nan_from_an_environment_fails_the_network_and_is_said(networks, caplog):
    problem = Gymnasium(env="Line-v0", env_args=("fault=nan", "at=8"))
    fitness = problem.fitness(networks[0], key=KEY)
    assert np.isnan(fitness).any()
    assert np.isfinite(fitness).any()  # of those that ended before
    assert "NaN or infinite" in caplog.text


def test_outputs_that_are_not_finite_fail_one_network_alone():
    links = [(0, 2, 1.0), (1, 3, 1.0)]
    good = network(2, 2, links, output="identity", dtype=np.float32)
    both = Networks.join([overflowing(2, 2), good])
    problem = Gymnasium(env="Line-v0", normalise="none")
    fitness = problem.fitness(both, key=KEY)
    assert np.isnan(fitness).tolist() == [True, False]


def test_whoever_is_sent_a_problem_makes_environments_of_their_own():
    problem = Gymnasium(env="Line-v0")
    assert problem.layout is not None
    again = pickle.loads(pickle.dumps(problem))
    assert "_pool" not in again.__dict__
    assert again.layout.inputs.tolist() == problem.layout.inputs.tolist()


def test_a_run_with_running_statistics_goes_on_and_is_shared_to_the_bit(tmp_path):
    settings = {
        "env": "Line-v0", "normalise": "running", "method": "neat", "population": 16,
        "target": 1e9, "episodes": 2, "seed": 3,
    }  # fmt: skip
    whole = sx.evolve("gymnasium", **settings, generations=4)
    sx.evolve("gymnasium", **settings, generations=2, directory=tmp_path / "run")
    resumed = sx.resume(tmp_path / "run", generations=4)
    assert resumed.best_fitness == whole.best_fitness
    fitness = [[r.mean_fitness for r in run.history] for run in (whole, resumed)]
    assert fitness[0] == fitness[1]
    for name in ("shift", "scale"):
        values = [getattr(r.best.preparation, name) for r in (whole, resumed)]
        np.testing.assert_array_equal(*values)
    # the model says what its network was given when it was evaluated
    saved = sx.load(tmp_path / "run")
    np.testing.assert_array_equal(saved.preparation.shift, whole.best.preparation.shift)


def test_a_policy_acts_as_in_the_evaluation(tmp_path):
    run = sx.evolve(
        "gymnasium", env="Line-v0", normalise="running", method="emr", depth=1, steps=1,
        connections="full", population=12, generations=3, target=1e9, num_frames=2,
    )  # fmt: skip
    run.best.save(tmp_path / "m.safetensors")
    policy = sx.load(tmp_path / "m.safetensors").policy
    env = gym.make("Line-v0")
    assert isinstance(run.problem, Gymnasium)
    watched = run.problem.watch(run.best.network, seed=7)
    seen, _ = env.reset(seed=7)
    state, rewards, is_over = policy.start(), [], False
    while not is_over:
        state, action = policy(state, seen)
        seen, reward, ended, cut, _ = env.step(action)
        rewards.append(reward)
        is_over = ended or cut
    assert rewards == watched.rewards.tolist()


def test_workers_change_nothing_and_steps_are_counted(tmp_path):
    settings = {
        "env": "Line-v0", "normalise": "running", "method": "neat", "population": 8,
        "target": 1e9, "episodes": 2, "generations": 2, "test_episodes": 2,
    }  # fmt: skip
    alone = sx.evolve("gymnasium", **settings)
    with ThreadPoolExecutor(1) as pool:
        shared = sx.evolve("gymnasium", **settings, executor=pool)
    both = [[(r.mean_fitness, r.num_steps) for r in x.history] for x in (alone, shared)]
    assert both[0] == both[1]
    assert 8 * 2 * 3 <= alone.history[0].num_steps <= 8 * 2 * 12
    np.testing.assert_array_equal(
        alone.best.preparation.shift, shared.best.preparation.shift
    )


OWN = """
import gymnasium as gym
from tests.problems.lines import Line

gym.register("Own-v0", Line, max_episode_steps=5)
"""


def test_an_environment_in_a_file_is_found_again(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    settings = {"population": 8, "test_episodes": 2, "method": "neat"}
    sx.evolve(
        "gymnasium", env="mine.py:Own-v0", **settings, generations=1, directory="run"
    )
    monkeypatch.chdir("/")
    run = sx.resume(tmp_path / "run", generations=2)
    assert run.generations == 2
    assert run.problem.env == f"{tmp_path / 'mine.py'}:Own-v0"  # pyright: ignore


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ("nothing.py:Own-v0", "nothing.py, does not exist"),
        ("fails.py:Own-v0", "fails.py cannot be run: ZeroDivisionError"),
        ("fails:Own-v0", "'fails'.*cannot be imported.*mean fails.py:Own-v0"),
        ("Lime-v0", "my_file.py:Name-v0"),
    ],
)
def test_an_environment_that_is_nowhere_is_told(env, words, tmp_path, monkeypatch):
    (tmp_path / "fails.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=words):
        Gymnasium(env=env)


def test_a_policy_refuses_observations_of_another_shape():
    run = sx.evolve(
        "gymnasium", env="Line-v0", method="neat", population=8, generations=1,
        test_episodes=2,
    )  # fmt: skip
    policy = run.best.policy
    for num, shape in ((None, (3,)), (None, (2, 2)), (4, (3, 2)), (4, (2,))):
        with pytest.raises(ValueError, match=r"observations of the shape \(2,\)"):
            policy(policy.start(num), np.zeros(shape, np.float32))
    with pytest.raises(ValueError, match=r"begin with policy.start\(\)"):
        policy(None, np.zeros(2))  # pyright: ignore[reportArgumentType]
