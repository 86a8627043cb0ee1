"""What problems say to the tensor engine is what they say otherwise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.network import Networks
from substrax.problems import (
    XOR,
    AbstractProblem,
    ArrayProblem,
    CartPole,
    FunctionProblem,
    HardMaze,
    HostProblem,
    NetworkFunction,
    Parity,
    Retina,
)
from substrax.problems._function import run_outcomes
from substrax.substrate import Layout
from tests.network.support import assert_same_bits, random_network

KEY = jax.random.key(2)
X, Y = np.random.default_rng(0).normal(size=(2, 30, 2))


def noisy(network: NetworkFunction, key: jax.Array) -> jax.Array:
    return -(network(jax.random.normal(key, (7, 3))) ** 2).mean()


PROBLEMS: dict[str, AbstractProblem] = {
    "xor": XOR(),
    "parity": Parity(3),
    "retina": Retina(),
    "retina, bias": Retina(has_bias=True),
    "arrays": ArrayProblem(X, Y),
    "function": FunctionProblem(noisy, Layout.spread(3, 2)),
    "cartpole": CartPole(max_steps=50),
    "maze": HardMaze(max_steps=20),
}


def networks_for(problem: AbstractProblem) -> Networks:
    """Some of several sizes, with the problem's inputs and outputs."""
    rng = np.random.default_rng(3)
    parts = [
        random_network(
            rng,
            num_hidden,
            dtype=np.float32,
            num_inputs=problem.num_inputs,
            num_outputs=problem.num_outputs,
        )
        for num_hidden in (0, 3, 9)
    ]
    return Networks.join(parts)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_traced_fitness_is_the_fitness(name: str) -> None:
    problem = PROBLEMS[name]
    traced = problem.traced()
    assert traced is not None
    again = problem.traced()
    assert again is not None and again.outcome is traced.outcome  # else it is compiled
    networks = networks_for(problem)
    outcomes = run_outcomes(traced.outcome, networks, KEY)
    assert_same_bits(traced.fitness(outcomes), problem.fitness(networks, key=KEY))


def test_problems_that_a_device_cannot_have_are_not_traced() -> None:
    large = np.zeros((5000, 2))
    assert ArrayProblem(large, np.zeros(5000)).traced() is None
    assert ArrayProblem(X, Y, samples_per_generation=5).traced() is None
    host = HostProblem(lambda networks: networks.num_links, Layout.spread(1, 1))
    assert host.traced() is None
    nothing = FunctionProblem(lambda network: jnp.zeros(2), Layout.spread(3, 2))
    traced = nothing.traced()
    assert traced is not None
    with pytest.raises(ValueError, match=r"gave the shape \(2,\) for one network"):
        traced.fitness(np.zeros((5, 2)))
