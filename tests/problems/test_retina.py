"""The retina, pattern by pattern."""

import dataclasses

import jax
import numpy as np
import pytest

from substrax.network import Networks
from substrax.problems import Retina, retina_patterns
from tests.problems.support import network

LEFT = {0b1000, 0b0100, 0b1100, 0b1111, 0b1011, 0b0111, 0b1110, 0b1101}
RIGHT = {0b1011, 0b0111, 0b1110, 0b1101, 0b0010, 0b0001, 0b0011, 0b1111}
"""The valid halves as gymnasium-retinatask 0.1 lists them, highest bit first."""

KEY = jax.random.key(0)
BITS = Retina(dark=0.0, has_bias=True)
"""Pixels of 0 and 1 and a bias, which are easier to wire by hand."""


def test_patterns_and_labels_are_those_of_gymnasium_retinatask() -> None:
    pixels, labels = retina_patterns()
    assert pixels.shape == (256, 8)
    for pattern in range(256):
        bits = [int(bit) for bit in f"{pattern:08b}"]
        assert pixels[pattern].tolist() == bits
        expected = [(pattern >> 4) in LEFT, (pattern & 15) in RIGHT]
        assert labels[pattern].tolist() == expected


def test_half_of_the_patterns_of_each_side_are_objects() -> None:
    _, labels = retina_patterns()
    both, counts = np.unique(labels, axis=0, return_counts=True)
    assert both.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert counts.tolist() == [64, 64, 64, 64]


def test_objects_are_defined_as_by_kashtan_and_alon() -> None:
    """ "A left object is defined by three or more black pixels or one or two black
    pixels in the left column only." Columns are told by the coordinates."""
    pixels, labels = retina_patterns()
    x = Retina().layout.inputs[:8, 0]
    halves = {0: x < 0, 1: x > 0}
    outer = {0: x == x.min(), 1: x == x.max()}
    for side in (0, 1):
        inner = halves[side] & ~outer[side]
        for row, label in zip(pixels, labels[:, side], strict=True):
            total = row[halves[side]].sum()
            in_outer_only = row[outer[side]].sum() in (1, 2) and not row[inner].any()
            assert label == (total >= 3 or in_outer_only)


def test_pixels_lie_as_they_are_numbered() -> None:
    layout = BITS.layout
    # By columns from the left, the upper pixel first.
    assert layout.inputs[:8, 0].tolist() == sorted(layout.inputs[:8, 0])
    assert (layout.inputs[0:8:2, 1] > layout.inputs[1:8:2, 1]).all()
    assert layout.inputs[8].tolist() == [0, -1]
    assert layout.outputs.tolist() == [[-0.5, 1], [0.5, 1]]
    assert np.array_equal(Retina().layout.inputs, layout.inputs[:8])


def retina_network(gain: float) -> Networks:
    """Three or more; or some in the outer column and none in the inner one."""
    bias, links, unit = 8, [], 11
    for output, outer, inner in ((9, (0, 1), (2, 3)), (10, (6, 7), (4, 5))):
        three, column = unit, unit + 1
        unit += 2
        links += [(p, three, gain) for p in (*outer, *inner)]
        links.append((bias, three, -2.5 * gain))
        links += [(p, column, gain) for p in outer]
        links += [(p, column, -3 * gain) for p in inner]
        links.append((bias, column, -0.5 * gain))
        links += [(three, output, gain), (column, output, gain)]
        links.append((bias, output, -0.5 * gain))
    return network(9, 2, links, num_hidden=4)


def test_a_network_that_has_all_512_answers_right_has_fitness_one() -> None:
    for gain in (8.0, 40.0):
        one = retina_network(gain)
        assert BITS.fitness(one, key=KEY).tolist() == [1.0]
        assert BITS.measures(one) == {
            "accuracy": 1.0,
            "left_accuracy": 1.0,
            "right_accuracy": 1.0,
        }


def test_with_one_answer_wrong_it_is_not_solved() -> None:
    """All right but for the dark retina, which it takes for a left object."""
    problem = BITS
    exact = retina_network(40.0)
    hidden = 15
    links = list(
        zip(exact.link_source, exact.link_target, exact.link_weight, strict=True)
    )
    links += [(p, hidden, -400.0) for p in range(8)]
    links += [(8, hidden, 200.0), (hidden, 9, 100.0)]
    one = network(9, 2, links, num_hidden=5)
    value = float(problem.fitness(one, key=KEY)[0])
    # One of 512 answers is off by 1; what the others are off by is tiny.
    assert value == pytest.approx(1 - 1 / 512, abs=1e-6)
    assert not problem.is_solved(value)
    assert problem.measures(one)["accuracy"] == 255 / 256


def test_fitness_is_one_minus_the_mean_absolute_error() -> None:
    """Left answers "no", right 1/4 always: errors of 1/2 and of (3/4 + 1/4) / 2."""
    one = network(9, 2, [(8, 10, 0.25)], output="identity")
    assert BITS.fitness(one, key=KEY).tolist() == [0.5]
    # Left answers 1/2 always, right "no": nothing is right where the answer is 1/2.
    half = network(9, 2, [(8, 9, 0.5)], output="identity")
    assert BITS.fitness(half, key=KEY).tolist() == [0.5]
    assert BITS.measures(half)["left_accuracy"] == 0.0


def test_a_network_without_bias_is_judged_by_the_same_patterns() -> None:
    one = network(8, 2, [(0, 8, 1.0)], output="identity")
    # The upper left pixel is on in 6 of the 8 left objects, and in 2 others.
    left = 1 - 4 / 16
    bits = Retina(dark=0.0)
    assert bits.fitness(one, key=KEY) == [(left + 0.5) / 2]


def test_dark_pixels_are_minus_one() -> None:
    """(pixel + 1) / 2 of the default is the pixel of 0 and 1."""
    links = [(0, 8, 0.5), (0, 8 + 2, 0.0)]
    one = network(8, 2, links, num_hidden=1, hidden="identity", output="identity")
    half = 0.5 * np.ones(1)
    signed = dataclasses.replace(one, node_bias=np.r_[np.zeros(8), half, 0, 0])
    bits = dataclasses.replace(one, link_weight=np.array([1.0, 0.0]))
    assert Retina().fitness(signed, key=KEY) == Retina(dark=0.0).fitness(bits, key=KEY)
    for wrong in (1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="dark"):
            Retina(dark=wrong)
