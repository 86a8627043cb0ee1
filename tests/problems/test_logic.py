"""XOR and parity by networks made by hand."""

import jax
import numpy as np
import pytest

from substrax.network import Networks
from substrax.problems import XOR, AbstractProblem, Parity
from substrax.substrate import Layout
from tests.problems.support import network

KEY = jax.random.key(0)


def xor_network(gain: float) -> Networks:
    """a + b - 0.5 > 0 and not a + b - 1.5 > 0."""
    a, b, bias, output, one, two = range(6)
    links = [
        (a, one, gain), (b, one, gain), (bias, one, -0.5 * gain),
        (a, two, gain), (b, two, gain), (bias, two, -1.5 * gain),
        (one, output, gain), (two, output, -gain), (bias, output, -0.5 * gain),
    ]  # fmt: skip
    return network(3, 1, links, num_hidden=2)


def fitness(problem: AbstractProblem, one: Networks) -> float:
    return float(problem.fitness(one, key=KEY)[0])


def test_xor_has_the_coordinates_of_pureples() -> None:
    layout = XOR().layout
    assert layout.inputs.tolist() == [[-1, -1], [0, -1], [1, -1]]
    assert layout.outputs.tolist() == [[0, 1]]


def test_xor_by_hand_is_solved() -> None:
    problem = XOR()
    value = fitness(problem, xor_network(20.0))
    assert 0.999 < value < 1
    assert problem.is_solved(value)
    assert problem.measures(xor_network(20.0)) == {"accuracy": 1.0}


@pytest.mark.parametrize(
    "weight, expected",
    [
        # output a: errors 0, 1, 0, 1
        ((1.0, 0.0, 0.0), 0.5),
        # output a + b: 0, 0, 0, 2 off
        ((1.0, 1.0, 0.0), 0.0),
        # output a half, always
        ((0.0, 0.0, 0.5), 0.75),
        # output a/2 + b/2: 0, 1/2, 1/2, 1 off, squares sum to 3/2
        ((0.5, 0.5, 0.0), 0.625),
    ],
)
def test_xor_fitness_is_one_minus_the_mean_squared_error(
    weight: tuple[float, ...], expected: float
) -> None:
    links = [(k, 3, w) for k, w in enumerate(weight)]
    assert fitness(XOR(), network(3, 1, links, output="identity")) == expected


def test_an_output_of_a_half_answers_nothing() -> None:
    undecided = network(3, 1, [(2, 3, 0.5)], output="identity")
    assert XOR().measures(undecided) == {"accuracy": 0.0}


def test_parity_of_two_bits_is_xor() -> None:
    for gain in (1.0, 3.0, 20.0):
        one = xor_network(gain)
        assert fitness(Parity(2), one) == fitness(XOR(), one)


@pytest.mark.parametrize("num_bits", [2, 3, 5])
def test_parity_by_hand_is_solved(num_bits: int) -> None:
    """Unit k is on if more than k - 1/2 bits are; the units add up with signs."""
    bias, output, gain = num_bits, num_bits + 1, 40.0
    links = [(bias, output, -0.5 * gain)]
    for k in range(1, num_bits + 1):
        unit = output + k
        links += [(i, unit, gain) for i in range(num_bits)]
        links.append((bias, unit, -(k - 0.5) * gain))
        links.append((unit, output, gain if k % 2 else -gain))
    one = network(num_bits + 1, 1, links, num_hidden=num_bits)
    problem = Parity(num_bits)
    assert problem.is_solved(fitness(problem, one))
    assert problem.measures(one) == {"accuracy": 1.0}


def test_parity_counts_all_rows() -> None:
    """The output is the first bit: right in half of the 2^n rows."""
    first = network(5, 1, [(0, 5, 1.0)], output="identity")
    assert fitness(Parity(4), first) == 0.5
    assert np.array_equal(Parity(4).layout.points, Layout.spread(5, 1).points)


@pytest.mark.parametrize("num_bits", [1, 17, -3])
def test_parity_refuses_sizes_without_sense(num_bits: int) -> None:
    with pytest.raises(ValueError, match=f"num_bits must be 2 to 16, not {num_bits}"):
        Parity(num_bits)


def test_networks_with_cycles_make_their_steps() -> None:
    """A value needs as many steps as there are links on its way: a -> hidden -> out."""
    links = [(0, 4, 2.0), (4, 3, 1.0), (4, 4, 0.0)]

    def value(steps: int) -> float:
        one = network(
            3, 1, links, num_hidden=1, hidden="identity", output="identity", steps=steps
        )
        assert not one.is_acyclic
        return fitness(XOR(), one)

    assert value(1) == 0.5  # the output is still 0
    # After two steps it is 2 a: errors 0, 1, 1, 2, squares sum to 6.
    assert value(2) == value(3) == -0.5
