"""The grid of equation 1, as integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from substrax.substrate import num_cells
from substrax.substrate._cells import (
    MAX_DEPTH,
    cell_ids,
    centres,
    find_cells,
    first_id,
    levels_of,
)
from tests.reference import grid


@pytest.mark.parametrize(
    ("depth", "number"), [(0, 4), (4, 1364), (7, 87380), (13, 357913940)]
)
def test_number_of_cells(depth: int, number: int) -> None:
    """N(D) = (4^(D+2) - 4)/3: 1,364 at D=4, 87,380 at D=7, 357,913,940 at D=13."""
    assert num_cells(depth) == number
    assert num_cells(depth) == sum(4 ** (level + 1) for level in range(depth + 1))


def test_ids_run_through_levels_without_gap() -> None:
    depth = 3
    ids = np.arange(num_cells(depth))
    wanted = np.concatenate(
        [grid.cell_points(level).reshape(-1, 2) for level in range(depth + 1)]
    )
    np.testing.assert_array_equal(centres(ids, depth), wanted)
    np.testing.assert_array_equal(find_cells(wanted, depth), ids)
    assert len(np.unique(wanted, axis=0)) == len(ids)  # no two cells share a centre


@given(data=st.data(), depth=st.integers(0, MAX_DEPTH))
def test_a_cell_is_found_by_its_centre(data: st.DataObject, depth: int) -> None:
    level = data.draw(st.integers(0, depth))
    i, j = (
        np.array([data.draw(st.integers(0, 2 ** (level + 1) - 1))]) for _ in range(2)
    )
    ids = cell_ids(level, i, j)
    point = centres(ids, depth)
    assert levels_of(ids, depth).tolist() == [level]
    assert first_id(level) <= ids[0] < first_id(level + 1)
    wanted = [(2 * k[0] + 1) / 2 ** (level + 1) - 1 for k in (i, j)]
    assert point.tolist() == [wanted]
    np.testing.assert_array_equal(point.astype(np.float32), point)  # exact there too
    assert find_cells(point, depth).tolist() == ids.tolist()
    if level:
        assert find_cells(point, level - 1).tolist() == [-1]


@given(
    point=st.tuples(*[st.floats(-1.0, 1.0)] * 2),
    depth=st.integers(0, MAX_DEPTH),
)
def test_a_point_that_is_no_centre_has_no_cell(
    point: tuple[float, float], depth: int
) -> None:
    """Equality is meant, never a tolerance."""
    found = find_cells(np.array([point]), depth)
    if found[0] >= 0:
        assert centres(found, depth).tolist() == [list(point)]


@pytest.mark.parametrize("centre", [-0.5, 0.5, -0.875, 0.125])
def test_neighbouring_floats_of_a_centre_are_no_centres(centre: float) -> None:
    """-0.5 + 2^-54 is a float, but its sum with 1 rounds to 0.5."""
    for other in np.nextafter(centre, [-1.0, 1.0]):
        assert find_cells(np.array([[other, -0.5]]), 3).tolist() == [-1]


@pytest.mark.parametrize(
    "point", [(0.0, 0.5), (1.0, 0.5), (-1.0, -1.0), (0.3, 0.5), (0.5, 0.25)]
)
def test_edges_and_mixed_levels_are_no_centres(point: tuple[float, float]) -> None:
    assert find_cells(np.array([point]), 5).tolist() == [-1]
