"""Cart-pole against a plain NumPy oracle."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.network import Networks
from substrax.problems import CartPole
from substrax.problems._cartpole import has_fallen, push
from tests.problems.support import network
from tests.reference import cartpole as oracle

KEY = jax.random.key(3)


def test_dynamics_are_those_of_the_oracle() -> None:
    rng = np.random.default_rng(0)
    states = rng.uniform(-1, 1, (50, 4)) * [2.4, 3.0, 0.3, 3.0]
    is_right = rng.uniform(size=50) < 0.5
    expected = [
        oracle.step(state, 10.0 if right else -10.0)
        for state, right in zip(states, is_right, strict=True)
    ]
    with jax.enable_x64(True):
        actual = push(jnp.asarray(states), jnp.asarray(is_right))
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=1e-12, atol=1e-14)


def test_a_pole_at_rest_falls_away_from_the_push() -> None:
    """By hand: upright and at rest, pushed to the right by 10 N.

    thrust = 10 / 1.1; the pole turns by -thrust / (0.5 (4/3 - 0.1 / 1.1)), the cart by
    thrust - 0.05 * that / 1.1.
    """
    thrust = 10 / 1.1
    turn = -thrust / (0.5 * (4 / 3 - 0.1 / 1.1))
    expected = [0, 0.02 * (thrust - 0.05 * turn / 1.1), 0, 0.02 * turn]
    state = push(jnp.zeros((1, 4)), jnp.array([True]))
    np.testing.assert_allclose(np.asarray(state)[0], expected, rtol=1e-6)
    assert expected[1] == pytest.approx(0.19512195, abs=1e-6)  # known from Gymnasium
    assert expected[3] == pytest.approx(-0.29268292, abs=1e-6)


def test_limits_are_2_4_metres_and_12_degrees() -> None:
    limit = np.deg2rad(12)
    states = jnp.array(
        [
            [2.39, 9, 0, 9],
            [2.41, 0, 0, 0],
            [-2.41, 0, 0, 0],
            [0, 9, limit - 1e-3, 9],
            [0, 0, limit + 1e-3, 0],
            [0, 0, -limit - 1e-3, 0],
        ]
    )
    expected = [False, True, True, False, True, True]
    assert np.asarray(has_fallen(states)).tolist() == expected


def controller(*gains: float, dtype: type[np.floating] = np.float64) -> Networks:
    """Pushes right if the weighted sum of what it sees is positive."""
    num = len(gains)
    links = [(k, num + 1, gain) for k, gain in enumerate(gains)]
    return network(num, 2, links, output="identity", dtype=dtype)


def starts(num: int) -> np.ndarray:
    with jax.enable_x64(True):
        drawn = jax.random.uniform(KEY, (num, 4), jnp.float64, -0.05, 0.05)
        return np.asarray(drawn)


@pytest.mark.parametrize(
    "gains",
    [
        (0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 1.0, 0.0),
        (0.0, 0.5, 1.0, 0.0),
        (0.1, 0.4, 3.0, 0.8),
    ],
)
def test_episodes_last_as_long_as_with_the_oracle(gains: tuple[float, ...]) -> None:
    problem = CartPole(num_episodes=4, max_steps=200)
    lengths = [
        oracle.episode(start, lambda s: float(np.dot(gains, s)) > 0, 200)
        for start in starts(4)
    ]
    value = problem.fitness(controller(*gains), key=KEY)
    assert value.tolist() == [sum(lengths) / 800]


def test_a_linear_controller_solves_it() -> None:
    problem = CartPole()
    good = controller(0.1, 0.4, 3.0, 0.8, dtype=np.float32)
    assert problem.is_solved(float(problem.fitness(good, key=KEY)[0]))
    assert problem.measures(good) == {"mean_steps": 500.0}


def test_starts_are_shared_by_the_networks_of_a_generation() -> None:
    same = Networks.join([controller(0.0, 0.0, 1.0, 0.0)] * 3)
    problem = CartPole(max_steps=100)
    first = problem.fitness(same, key=KEY)
    assert first[0] == first[1] == first[2]
    others = [problem.fitness(same, key=jax.random.key(k))[0] for k in range(3)]
    assert len(set(others)) > 1


def remembering(gain: float) -> Networks:
    """Sees position and angle only; subtracts what it saw one step before.

    Hidden 4 and 5 hold the inputs of this step, 6 and 7 those of the step before. The
    right output adds them up, two steps late.
    """
    links = [
        (0, 4, 1.0), (1, 5, 1.0), (4, 6, 1.0), (5, 7, 1.0),
        (4, 3, 0.05 + gain * 10), (6, 3, -gain * 10),
        (5, 3, 3.0 + gain * 50), (7, 3, -gain * 50),
    ]  # fmt: skip
    return network(
        2,
        2,
        links,
        num_hidden=4,
        hidden="identity",
        output="identity",
        is_recurrent=True,
        steps=1,
    )


def test_state_is_carried_so_that_a_network_can_know_velocities() -> None:
    problem = CartPole(has_velocities=False, num_episodes=4)
    forgetful = controller(0.05, 3.0)
    values = [
        float(problem.fitness(one, key=KEY)[0])
        for one in (forgetful, remembering(0.0), remembering(1.0))
    ]
    assert values[2] > 5 * max(values[:2])


def test_carried_state_is_that_of_the_oracle() -> None:
    """The memory of one episode is not that of another, and starts at zero."""
    problem = CartPole(has_velocities=False, num_episodes=3, max_steps=150)
    lengths = []
    for start in starts(3):
        values = np.zeros(8)

        def is_right(state: np.ndarray, values: np.ndarray = values) -> bool:
            values[:2] = state[[0, 2]]
            now, before = values[4:6].copy(), values[6:8].copy()
            values[3] = 10.05 * now[0] - 10 * before[0] + 53 * now[1] - 50 * before[1]
            values[4:6], values[6:8] = values[:2], now
            return bool(values[3] > 0)

        lengths.append(oracle.episode(start, is_right, 150))
    value = problem.fitness(remembering(1.0), key=KEY)
    assert value.tolist() == [sum(lengths) / 450]


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="num_episodes must be positive, not 0"):
        CartPole(num_episodes=0)
    with pytest.raises(ValueError, match="max_steps must be positive, not -1"):
        CartPole(max_steps=-1)
    assert CartPole(has_velocities=False).num_inputs == 2
