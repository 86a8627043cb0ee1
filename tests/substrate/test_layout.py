"""Where inputs and outputs may lie, and what is said where they may not."""

import numpy as np
import pytest

from substrax.substrate import Layout, line, normalise, rectangle


def test_spread_puts_inputs_at_the_lower_and_outputs_at_the_upper_edge() -> None:
    layout = Layout.spread(3, 1)
    assert layout.inputs.tolist() == [[-1, -1], [0, -1], [1, -1]]
    assert layout.outputs.tolist() == [[0, 1]]
    assert layout.points.tolist() == [[-1, -1], [0, -1], [1, -1], [0, 1]]


def test_rectangle_is_filled_row_by_row_from_below() -> None:
    points = rectangle(2, 3, -1.0, 0.0)
    wanted = [[-1, -1], [1, -1], [-1, -0.5], [1, -0.5], [-1, 0], [1, 0]]
    assert points.tolist() == wanted
    assert rectangle(2, 1, -1.0, 0.0).tolist() == [[-1, -0.5], [1, -0.5]]


def test_lines_and_rectangles_need_points() -> None:
    with pytest.raises(ValueError, match="at least one point, not 0"):
        line(0, 0.5)
    with pytest.raises(ValueError, match="num must be a whole number, not True"):
        line(True, 0.5)
    with pytest.raises(ValueError, match="at least one point, not 0"):
        rectangle(0, 2, -1.0, 1.0)
    with pytest.raises(ValueError, match="at least one row, not 0"):
        rectangle(2, 0, -1.0, 1.0)


def test_normalise_scales_each_axis_into_the_plane() -> None:
    points = [[0.0, 10.0], [4.0, 10.0], [1.0, 10.0]]
    assert normalise(points).tolist() == [[-1, 0], [1, 0], [-0.5, 0]]
    assert normalise([[3.0, -7.0]]).tolist() == [[0, 0]]


@pytest.mark.parametrize("name", ["inputs", "outputs"])
def test_a_point_outside_the_plane_is_refused_with_the_offer_to_normalise(
    name: str,
) -> None:
    points = {"inputs": [[0.0, -1.0], [0.5, -1.0]], "outputs": [[0.0, 1.0], [0.5, 1.0]]}
    points[name][1][0] = 1.5
    with pytest.raises(ValueError, match="outside the plane") as raised:
        Layout(**points)
    assert f"{name}[1] = (1.5, " in str(raised.value)
    assert "Layout.normalised(inputs, outputs)" in str(raised.value)
    Layout.normalised(**points)


def test_inputs_and_outputs_are_normalised_together() -> None:
    layout = Layout.normalised([[-2.0, -2.0], [2.0, -2.0]], [[0.0, 2.0]])
    assert layout.inputs.tolist() == [[-1, -1], [1, -1]]
    assert layout.outputs.tolist() == [[0, 1]]


def test_coordinates_that_are_no_numbers_get_a_sentence() -> None:
    with pytest.raises(ValueError, match="inputs must be rows"):
        Layout([["a", "b"]], [[0.0, 1.0]])


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ([[0.5, -1.0], [0.5, -1.0]], [[0.0, 1.0]]),
        ([[0.5, -1.0]], [[0.0, 1.0], [0.25, 1.0], [0.0, 1.0]]),
        ([[0.0, 1.0]], [[-0.0, 1.0]]),
    ],
    ids=["two inputs", "two outputs", "an input on an output"],
)
def test_a_place_holds_one_node(inputs: list, outputs: list) -> None:
    with pytest.raises(ValueError, match="place of more than one input or output"):
        Layout(inputs, outputs)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_coordinates_are_finite(bad: float) -> None:
    with pytest.raises(ValueError, match="outputs hold a NaN or infinite coordinate"):
        Layout([[0.0, -1.0]], [[bad, 1.0]])
    with pytest.raises(ValueError, match="points hold a NaN or infinite coordinate"):
        normalise([[bad, 1.0]])


@pytest.mark.parametrize(
    "inputs", [[], [0.0, 1.0], [[0.0, 0.5, 1.0]], [[[0.0, 1.0]]], np.zeros((0, 2))]
)
def test_points_come_in_rows_of_two(inputs: list) -> None:
    with pytest.raises(ValueError, match=r"inputs need the shape \(n, 2\)"):
        Layout(inputs, [[0.0, 1.0]])


def test_a_layout_keeps_its_own_copy() -> None:
    """What was checked cannot be changed behind its back."""
    inputs = np.array([[0.0, -1.0]])
    layout = Layout(inputs, [[0.0, 1.0]])
    inputs[0, 0] = 7.0
    assert layout.inputs.tolist() == [[0.0, -1.0]]


def test_a_line_has_as_many_points_as_there_can_be() -> None:
    with pytest.raises(ValueError, match="num must lie between"):
        line(2**40, 0.0)
