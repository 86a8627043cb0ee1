"""Double pole balancing against Newton's laws, solved as a linear system."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.network import Networks
from substrax.problems import DoublePole
from substrax.problems._double_pole import (
    SCALES,
    START,
    changes,
    has_fallen,
    push,
    varied_starts,
)
from tests.problems.support import network
from tests.reference import double_pole as oracle

KEY = jax.random.key(0)


def some_states(num: int = 50) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.uniform(-1, 1, (num, 6)) * [2.4, 3.0, 0.6, 3.0, 0.6, 6.0]


def test_dynamics_are_those_of_the_oracle() -> None:
    states = some_states()
    force = np.random.default_rng(1).uniform(-10, 10, len(states))
    with jax.enable_x64(True):
        rates = np.asarray(changes(jnp.asarray(states), jnp.asarray(force)))
        after = np.asarray(push(jnp.asarray(states), jnp.asarray(force)))
    for k, state in enumerate(states):
        np.testing.assert_allclose(rates[k], oracle.changes(state, force[k]), 1e-9)
        np.testing.assert_allclose(after[k], oracle.step(state, force[k]), 1e-9)


def test_energy_is_conserved_without_force() -> None:
    """But for the friction of the hinges, which takes a little of it."""
    states = some_states(5)
    before = [oracle.energy(s) for s in states]
    with jax.enable_x64(True):
        now = jnp.asarray(states)
        for _ in range(20):
            now = push(now, jnp.zeros(5))
    after = [oracle.energy(s) for s in np.asarray(now)]
    np.testing.assert_allclose(after, before, rtol=1e-3)
    assert (np.array(after) < before).all()


def test_limits_are_2_4_metres_and_36_degrees() -> None:
    limit = np.deg2rad(36)
    rows = np.zeros((6, 6))
    rows[0] = [2.39, 9, limit - 1e-3, 9, limit - 1e-3, 9]
    rows[1, 0], rows[2, 2], rows[3, 4] = -2.41, limit + 1e-3, -limit - 1e-3
    fallen = np.asarray(has_fallen(jnp.asarray(rows)))
    assert fallen.tolist() == [False, True, True, True, False, False]
    assert fallen.tolist() == [oracle.has_fallen(row) for row in rows]


def test_varied_starts_are_those_of_gruau() -> None:
    starts = varied_starts()
    assert starts.shape == (625, 6) and len(np.unique(starts, axis=0)) == 625
    np.testing.assert_allclose(
        starts.max(0)[:4], [1.944, 1.215, 0.056549, 0.135088], 1e-4
    )
    assert not starts[:, 4:].any()
    np.testing.assert_allclose(starts.mean(0), 0, atol=1e-12)


def controller(gains: list[float], dtype: type[np.floating] = np.float64) -> Networks:
    """Pushes by a weighted sum of what it sees; an output of 0.5 is no force."""
    num = len(gains)
    links = [(k, num, gain) for k, gain in enumerate(gains)]
    return network(num, 1, links, output="identity", dtype=dtype)


GAINS = [2.0, 2.5, -40.0, -12.0, 60.0, 6.0]


def steps_by_oracle(gains: list[float], has_velocities: bool, limit: int) -> int:
    state = np.array(START)
    for count in range(limit):
        seen = state / SCALES
        seen = seen if has_velocities else seen[::2]
        y = float(np.dot([*seen, 1.0], gains))
        state = oracle.step(state, 10 * np.clip(2 * y - 1, -1, 1))
        if oracle.has_fallen(state):
            return count
    return limit


@pytest.mark.parametrize("has_velocities", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_fitness_counts_steps_as_the_oracle_does(
    seed: int, has_velocities: bool
) -> None:
    num = 7 if has_velocities else 4
    gains = np.random.default_rng(seed).normal(size=num).round(3).tolist()
    problem = DoublePole(has_velocities=has_velocities, max_steps=500)
    fitness = problem.fitness(controller(gains), key=KEY)
    assert fitness[0] * 500 == steps_by_oracle(gains, has_velocities, 500)


def balancing() -> list[float]:
    """A linear controller that balances: gains by the Riccati equation, in scales."""
    eye = np.eye(6)
    zero = np.zeros(6)
    a = np.stack(
        [(oracle.step(1e-6 * e, 0.0) - oracle.step(zero, 0.0)) / 1e-6 for e in eye], 1
    )
    b = ((oracle.step(zero, 1e-3) - oracle.step(zero, 0.0)) / 1e-3)[:, None]
    cost, p, gain = np.eye(6), np.eye(6), np.zeros((1, 6))
    for _ in range(5000):
        gain = np.linalg.solve(b.T @ p @ b + 0.1, b.T @ p @ a)
        p = cost + a.T @ p @ (a - b @ gain)
    force_per_state = -gain[0]
    return [*(force_per_state * np.array(SCALES) / 20).tolist(), 0.5]


def test_a_good_controller_solves_it() -> None:
    gains = balancing()
    assert steps_by_oracle(gains, True, 1500) == 1500
    networks = Networks.join([controller([0.0] * 7), controller(gains)])
    problem = DoublePole(max_steps=3000)
    fitness = problem.fitness(networks, key=KEY)
    assert fitness[0] < 0.1 and fitness[1] == 1.0 and problem.is_solved(fitness[1])
    measures = problem.measures(networks[1])
    assert measures["steps"] == 3000 and measures["generalisation"] > 100


def test_damping_rewards_standing_still() -> None:
    gains = balancing()
    networks = Networks.join([controller([0.0] * 7), controller(gains)])
    fitness = DoublePole(damping=True, max_steps=2000).fitness(networks, key=KEY)
    assert fitness[1] == 1.0  # it passes the long test
    assert 0 < fitness[0] < 0.1
    short = DoublePole(damping=True, max_steps=1000)
    assert short.fitness(networks[0], key=KEY)[0] == pytest.approx(fitness[0])


@pytest.mark.parametrize("damping", [False, True])
def test_stages_do_not_matter(damping: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    good, rng = np.array(balancing()), np.random.default_rng(0)
    networks = Networks.join(
        [
            controller((good * factor).tolist())
            for factor in (1 + 0.3 * rng.normal(size=(12, 7)))
        ]
    )
    problem = DoublePole(damping=damping, max_steps=1200)
    staged = problem.fitness(networks, key=KEY)
    monkeypatch.setattr("substrax.problems._double_pole._STAGES", ())
    np.testing.assert_array_equal(problem.fitness(networks, key=KEY), staged)
    alone = [problem.fitness(networks[k], key=KEY)[0] for k in range(12)]
    # alone or among others, a network has the same fitness
    assert alone == staged.tolist()
    if not damping:
        assert min(alone) < 100 / 1200 < 1000 / 1200 < max(alone)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="max_steps"):
        DoublePole(max_steps=0)
