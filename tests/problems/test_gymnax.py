"""Environments in JAX as problems."""

import sys

import gymnax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import substrax as sx
from substrax._resources import Resources
from substrax.network import Networks, Stepper
from substrax.problems import Brax, Gymnax, Playground
from tests.problems.support import network, overflowing

KEY = jax.random.key(5)


@pytest.fixture(scope="module")
def several() -> Networks:
    """Linear ones for CartPole, which balance for different times."""
    rng = np.random.default_rng(0)
    found = [
        network(
            4, 2,
            [(i, 4 + o, float(w)) for (i, o), w in np.ndenumerate(weights)],
            output="identity", dtype=np.float32,
        )
        for weights in rng.normal(size=(6, 4, 2))
    ]  # fmt: skip
    return Networks.join(found)


def one_by_one(problem: Gymnax, networks: Networks, episodes: int) -> np.ndarray:
    """The slow, obvious way, with the keys of `_jax_world`."""
    env, params = gymnax.make(problem.env)
    key_reset, key_run = jax.random.split(KEY)
    middle, half = (x.astype(np.float32) for x in problem.interface.bounds)
    returns = np.zeros((len(networks), episodes))
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        step_fn = jax.jit(env.step_env)
        for n, one in enumerate(networks):
            for e, key in enumerate(jax.random.split(key_reset, episodes)):
                stepper, time, is_over = Stepper.of(one), 0, False
                seen, state = env.reset_env(key, params)
                memory = stepper.start(batch=1)
                while not is_over and time < 500:
                    inputs = (np.asarray(seen) - middle) / half
                    memory, outputs = stepper(memory, inputs[None, None])
                    _, key_step = jax.random.split(jax.random.fold_in(key_run, time))
                    key_step = jax.random.fold_in(key_step, 0)
                    keys = jax.random.split(key_step, episodes)
                    action = jnp.asarray(outputs[0, 0].argmax())
                    seen, state, reward, is_over, _ = step_fn(
                        keys[e], state, action, params
                    )
                    returns[n, e] += float(reward)
                    time += 1
    return returns


def test_all_together_are_as_one_by_one(several):
    problem = Gymnax(env="CartPole-v1", episodes=2)
    expected = one_by_one(problem, several, 2)
    assert len(np.unique(expected)) > 3
    # XLA fuses otherwise within one program, and poles fall a step sooner or later.
    played = problem.play(several, 2, KEY, None)
    np.testing.assert_allclose(played.returns, expected, atol=2)
    np.testing.assert_array_equal(played.returns, played.lengths)


@pytest.mark.parametrize("normalise", ["bounds", "running"])
def test_the_engines_agree(several, normalise):
    problem = Gymnax(env="CartPole-v1", episodes=2, max_steps=30, normalise=normalise)
    native = problem.evaluate(several, key=KEY)
    device = problem.evaluate(several, key=KEY, resources=Resources(engine="device"))
    np.testing.assert_allclose(native.fitness, device.fitness, atol=1)
    if normalise == "running":
        assert native.seen is not None and device.seen is not None
        np.testing.assert_array_equal(native.seen.num, device.seen.num)
        np.testing.assert_allclose(native.seen.total, device.seen.total, atol=1e-3)


def test_statistics_change_the_program_of_no_generation(several):
    """They are arguments: nothing is compiled again."""
    problem = Gymnax(env="CartPole-v1", episodes=2, max_steps=30, normalise="running")
    statistics, traced = problem.first_statistics(), []
    assert statistics is not None
    for _ in range(2):
        evaluation = problem.evaluate(several, key=KEY)
        now = problem.traced()
        assert now is not None and evaluation.seen is not None
        traced.append(now.outcome)
        statistics = statistics.joined(evaluation.seen)
        problem = problem.after(statistics)
    assert traced[0] is traced[1]
    # of what was seen by all networks, not just of one
    assert statistics.num > 2 * len(several)


def test_outputs_that_are_not_finite_fail_one_network_alone(several):
    both = Networks.join([overflowing(4, 2), several[0]])
    fitness = Gymnax(env="CartPole-v1", max_steps=20).fitness(both, key=KEY)
    assert np.isnan(fitness).tolist() == [True, False]


def test_numbers_are_actions_within_their_bounds():
    linear = network(3, 1, [(k, 3, 100.0) for k in range(3)], output="identity")
    problem = Gymnax(env="Pendulum-v1", episodes=2, max_steps=20)
    with jax.enable_x64(True):
        watched = problem.watch(linear, seed=1, mode=None)
    assert len(watched.rewards) == 20
    assert np.isfinite(watched.rewards).all()


def test_a_run_names_its_environment_and_can_be_resumed(tmp_path):
    settings = {
        "env": "CartPole-v1", "method": "neat", "population": 10, "episodes": 2,
        "max_steps": 40, "test_episodes": 5, "target": 1e9, "normalise": "running",
    }  # fmt: skip
    whole = sx.evolve("gymnax", **settings, generations=3)
    sx.evolve("gymnax", **settings, generations=1, directory=tmp_path / "run")
    resumed = sx.resume(tmp_path / "run", generations=3)
    fitness = [[r.mean_fitness for r in run.history] for run in (whole, resumed)]
    assert fitness[0] == fitness[1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Gymnax(env="CartPole"), "did you mean 'CartPole-v1'"),
        (lambda: Gymnax(env="CartPole-v1", env_args=("hue=3",)), "it has .*gravity"),
    ],
)
def test_wrong_settings_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    ("problem", "module", "extra"),
    [
        (Gymnax, "gymnax", "gymnax"),
        (Brax, "brax.envs", "brax"),
        (Playground, "mujoco_playground", "playground"),
    ],
)
def test_what_is_missing_is_said_with_its_extra(problem, module, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"substrax\[{extra}\]"):
        problem(env="CartPole-v1")
