"""What every problem must hold, over the registry."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from substrax.network import Networks
from substrax.problems import (
    PROBLEMS,
    AbstractProblem,
    ArrayProblem,
    CartPole,
    DoublePole,
    DualTask,
    FunctionProblem,
    HardMaze,
    HostProblem,
    Panel,
    Retina,
    WorldProblem,
)
from substrax.substrate import Layout
from tests.network.support import assert_same_bits, random_networks
from tests.problems.support import overflowing

SMALLER: dict[str, dict[str, Any]] = {
    "panel": {"num_rows": 2_000, "num_periods": 10},
    "cartpole": {"num_episodes": 2, "max_steps": 60},
    "double-pole": {"max_steps": 60},
    "hard-maze": {"max_steps": 60},
    "dual-task": {"max_steps": 60},
    "gymnasium": {"env": "CartPole-v1", "max_steps": 30, "test_episodes": 3},
    "gymnax": {"env": "CartPole-v1", "max_steps": 30, "test_episodes": 3},
    "table": {"path": str(Path(__file__).parents[1] / "data" / "table.csv")},
}
"""Settings that make a problem quick, and those that one needs."""

RNG = np.random.default_rng(5)
LAYOUT = Layout.spread(3, 2)
ALL: dict[str, AbstractProblem] = {
    **{
        name: cls(**SMALLER.get(name, {}))
        for name, cls in PROBLEMS.items()
        if name not in ("brax", "playground")  # large libraries, tested elsewhere
    },
    "panel, a sample, squared": Panel(
        num_rows=2_000, num_periods=10, score="squared", samples_per_generation=300
    ),
    "cartpole, no velocities": CartPole(
        num_episodes=2, max_steps=60, has_velocities=False
    ),
    "hard-maze, reference": HardMaze(radar="reference", max_steps=60),
    "dual-task, original, random": DualTask("original", "random", max_steps=60),
    "retina, as bits, with a bias": Retina(dark=0.0, has_bias=True),
    "double-pole, no velocities, damping": DoublePole(False, True, 60),
    "arrays": ArrayProblem(RNG.normal(size=(40, 3)), RNG.integers(0, 2, (40, 2))),
    "function": FunctionProblem(
        lambda network, key: -(network(jax.random.normal(key, (6, 3))) ** 2).sum(),
        LAYOUT,
    ),
    "function, in blocks": FunctionProblem(
        lambda network, key: -(network(jax.random.normal(key, (6, 3))) ** 2).mean(),
        LAYOUT,
        block_size=8,
    ),
    "host": HostProblem(lambda networks, key: networks.num_links, LAYOUT),
}
# Variants of a problem, as against problems, are left to the slow tests.
every_problem = pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] if "," in n else []) for n in ALL],
)


def networks_for(problem: AbstractProblem, **options: Any) -> Networks:
    return random_networks(
        11,
        (0, 1, 9, 4),
        num_inputs=problem.num_inputs,
        num_outputs=problem.num_outputs,
        **({"dtype": np.float32} | options),
    )


def fitness(problem: AbstractProblem, networks: Networks, seed: int = 3) -> np.ndarray:
    return problem.fitness(networks, key=jax.random.key(seed))


@pytest.mark.parametrize("name", PROBLEMS)
def test_registry_names_final_frozen_problems_with_default_settings(name: str) -> None:
    cls = PROBLEMS[name]
    assert cls.name == name
    assert issubclass(cls, AbstractProblem)
    assert not cls.__subclasses__()
    assert dataclasses.is_dataclass(cls)
    if name not in ALL:
        return  # whatever is made of it needs a large library
    needed = {k: v for k, v in SMALLER.get(name, {}).items() if k in ("path", "env")}
    problem = cls(**needed)
    assert isinstance(problem, cls)
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.layout = LAYOUT  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("name", PROBLEMS)
def test_docstrings_define_solved_and_coordinates(name: str) -> None:
    text = PROBLEMS[name].__doc__ or ""
    if issubclass(PROBLEMS[name], WorldProblem):
        text += WorldProblem.__doc__ or ""  # to which it refers
    assert "**Solved**" in text
    assert "**Coordinates" in text


@every_problem
def test_layout_has_the_problem_s_inputs_and_outputs(name: str) -> None:
    problem = ALL[name]
    assert problem.layout.inputs.shape == (problem.num_inputs, 2)
    assert problem.layout.outputs.shape == (problem.num_outputs, 2)
    # Inputs lie below outputs: else forward links could not lead from one to the other.
    assert problem.layout.inputs[:, 1].max() < problem.layout.outputs[:, 1].min()


@every_problem
@pytest.mark.parametrize("cyclic", [False, True])
def test_every_network_gets_a_finite_fitness(name: str, cyclic: bool) -> None:
    values = fitness(ALL[name], networks_for(ALL[name], cyclic=cyclic))
    assert values.shape == (4,)
    assert values.dtype == np.float64
    assert np.isfinite(values).all()


@every_problem
def test_the_key_decides_and_nothing_else(name: str) -> None:
    networks = networks_for(ALL[name], cyclic=True)
    assert_same_bits(fitness(ALL[name], networks), fitness(ALL[name], networks))


@every_problem
@pytest.mark.parametrize("cyclic", [False, True])
def test_neighbours_and_positions_change_no_bit(name: str, cyclic: bool) -> None:
    networks = networks_for(ALL[name], cyclic=cyclic)
    whole = fitness(ALL[name], networks)
    index = [3, 1, 1]
    some = Networks.join([networks[k] for k in index])
    assert_same_bits(fitness(ALL[name], some), whole[index])


@every_problem
def test_slices_are_the_whole_to_the_bit(name: str) -> None:
    """What workers do: slices of any sizes, or of whole blocks where a problem says
    that its networks are computed in blocks."""
    problem = ALL[name]
    sizes = tuple(np.random.default_rng(2).integers(0, 12, 41))
    networks = random_networks(
        13,
        sizes,
        num_inputs=problem.num_inputs,
        num_outputs=problem.num_outputs,
        dtype=np.float32,
    )
    whole = fitness(problem, networks)
    block = problem.block_size or len(networks)
    bounds = [0, 1, 9, 16, 32, 41] if block == 1 else [*range(0, 41, block), 41]
    if 41 - bounds[-2] < block and len(bounds) > 2:
        del bounds[-2]  # nothing smaller than a block
    for begin, stop in itertools.pairwise(bounds):
        some = fitness(problem, networks.part(begin, stop))
        assert_same_bits(some, whole[begin:stop])


@every_problem
def test_an_empty_population_has_no_fitness(name: str) -> None:
    networks = networks_for(ALL[name]).part(0, 0)
    assert fitness(ALL[name], networks).shape == (0,)


@every_problem
def test_both_precisions_agree(name: str) -> None:
    single = networks_for(ALL[name])
    double = networks_for(ALL[name], dtype=np.float64)
    # Cart-pole is chaotic, and functions draw other numbers in 64 bits.
    if not name.startswith(("function", "cartpole", "gymn")):
        np.testing.assert_allclose(
            fitness(ALL[name], single), fitness(ALL[name], double), atol=2e-3
        )
    assert np.isfinite(fitness(ALL[name], double)).all()


@every_problem
def test_a_network_that_overflows_fails_alone(name: str) -> None:
    problem = ALL[name]
    healthy = networks_for(problem)
    broken = dataclasses.replace(
        overflowing(problem.num_inputs, problem.num_outputs), steps=healthy.steps
    )
    joined = Networks.join([healthy.part(0, 2), broken, healthy.part(2, 4)])
    values = fitness(problem, joined)
    if name != "host":  # this one counts links
        assert not np.isfinite(values[2])
    assert not problem.is_solved(float(values[2]))
    assert_same_bits(np.delete(values, 2), fitness(problem, healthy))


@every_problem
def test_measures_are_numbers_of_one_network(name: str) -> None:
    networks = networks_for(ALL[name])
    measures = ALL[name].measures(networks[2])
    assert all(type(v) is float and np.isfinite(v) for v in measures.values())
    assert measures == ALL[name].measures(networks[2])
    with pytest.raises(ValueError, match=r"one network, for example networks\[0\]"):
        ALL[name].measures(networks)


@every_problem
def test_a_network_that_overflows_can_be_measured(name: str) -> None:
    problem = ALL[name]
    measures = problem.measures(overflowing(problem.num_inputs, problem.num_outputs))
    assert all(type(value) is float for value in measures.values())


@every_problem
def test_networks_of_another_shape_are_refused(name: str) -> None:
    problem = ALL[name]
    wrong = random_networks(1, (2,), num_inputs=problem.num_inputs + 1)
    with pytest.raises(ValueError, match=r"inputs and .* outputs, but these networks"):
        fitness(problem, wrong)


@every_problem
def test_solved_is_the_target_or_more(name: str) -> None:
    problem = ALL[name]
    assert problem.is_solved(problem.target)
    assert not problem.is_solved(np.nextafter(problem.target, -np.inf))
    assert not problem.is_solved(float("nan"))
