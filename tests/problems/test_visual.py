"""Visual discrimination: trials, score, and transfer to finer fields."""

import jax
import numpy as np
import pytest

from substrax.decoders import CPPNReading, FixedSubstrate, HyperNEAT
from substrax.neat import genome_from_neat_python
from substrax.network import Networks
from substrax.problems import VisualDiscrimination, VisualSmall, transfer
from substrax.problems._visual import _all_trials, _draw, _evolution_trials
from substrax.problems._visual_small import small_fields
from substrax.substrate import Layout, WeightMap
from tests.problems.support import network

KEY = jax.random.key(0)


def test_the_75_trials_are_those_of_the_paper() -> None:
    trials = _evolution_trials()
    assert trials.shape == (75, 4)
    small = {(x, y) for x, y, _, _ in trials.tolist()}
    # "at 25 uniformly distributed locations"
    assert small == {(x, y) for x in range(1, 11, 2) for y in range(1, 11, 2)}
    # "The large object wraps around ... moved the smallest distance possible that
    # places it fully in view": 5 + 5 = 10 is moved to 9; 7 + 5 wraps to 1.
    moved = {1: 6, 3: 8, 5: 9, 7: 1, 9: 3}
    for x, y in small:
        expected = {(x, moved[y]), (moved[x], y), (moved[x], moved[y])}
        rows = trials[(trials[:, 0] == x) & (trials[:, 1] == y)]
        assert {(a, b) for _, _, a, b in rows.tolist()} == expected


def test_all_trials_are_all_placements_that_leave_the_boxes_apart() -> None:
    expected = [
        (x, y, far_x, far_y)
        for x in range(11)
        for y in range(11)
        for far_x in range(1, 10)
        for far_y in range(1, 10)
        if (x - far_x) ** 2 + (y - far_y) ** 2 >= 9
    ]
    assert sorted(map(tuple, _all_trials().tolist())) == expected
    drawn = _draw(_all_trials(), 1)
    assert (drawn.sum(axis=1) == 10).all()  # 1 + 9 pixels: they never overlap


@pytest.mark.parametrize("scale", [1, 3, 5])
def test_fields_show_the_boxes_with_the_same_brightness_in_all(scale: int) -> None:
    fields = _draw(_evolution_trials(), scale)
    assert fields.shape == (75, (11 * scale) ** 2)
    np.testing.assert_allclose(fields.sum(axis=1), 10.0)
    x, y, far_x, far_y = _evolution_trials()[4]
    picture = fields[4].reshape(11 * scale, 11 * scale) > 0
    expected = np.zeros_like(picture)
    expected[y * scale : (y + 1) * scale, x * scale : (x + 1) * scale] = True
    expected[
        (far_y - 1) * scale : (far_y + 2) * scale,
        (far_x - 1) * scale : (far_x + 2) * scale,
    ] = True
    np.testing.assert_array_equal(picture, expected)


def blur(problem: VisualDiscrimination, reach: float) -> Networks:
    """Each output adds up the pixels within `reach` cells, near ones counting more."""
    n = problem.resolution
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(n), np.arange(n)))
    far = np.maximum(np.abs(x[:, None] - x), np.abs(y[:, None] - y)) * 11 / n
    weight = np.maximum(0.0, reach - far)
    source, target = np.nonzero(weight)
    ends = zip(source.tolist(), (target + n * n).tolist(), strict=True)
    links = [(s, t, float(weight[s, t - n * n])) for s, t in ends]
    return network(n * n, n * n, links, output="identity", dtype=np.float32)


@pytest.mark.parametrize("resolution", [11, 33])
def test_a_blur_finds_the_larger_box_at_any_resolution(resolution: int) -> None:
    problem = VisualDiscrimination(resolution)
    one = blur(problem, 2.0)
    assert problem.fitness(one, key=KEY).tolist() == [1.0]
    assert problem.measures(one) == {
        "hit_rate": 1.0,
        "mean_distance": 0.0,
        "root_mean_square_distance": 0.0,
    }


def test_a_blur_generalises_to_all_placements() -> None:
    problem = VisualDiscrimination(trials="all")
    value = problem.fitness(blur(problem, 2.0), key=KEY)
    assert problem.is_solved(float(value[0]))


def test_score_falls_with_the_squared_distance_to_zero() -> None:
    """A network that always chooses the middle, (5, 5), at both resolutions."""
    far = _evolution_trials()[:, 2:]
    squared = ((far - 5) ** 2).sum(axis=1)
    expected = np.maximum(0, 1 - squared / 30).mean()
    for resolution in (11, 33):
        problem = VisualDiscrimination(resolution)
        pixels, middle = resolution**2, (resolution**2 - 1) // 2
        links = [(p, pixels + middle, 1.0) for p in range(pixels)]
        one = network(pixels, pixels, links, output="identity")
        assert problem.fitness(one, key=KEY)[0] == pytest.approx(expected, abs=1e-12)
        measures = problem.measures(one)
        assert measures["mean_distance"] == pytest.approx(np.sqrt(squared).mean())
        rms = measures["root_mean_square_distance"]
        assert rms == pytest.approx(np.sqrt(squared.mean()))
        assert measures["hit_rate"] == (squared == 0).mean()


def test_of_equal_outputs_the_first_is_chosen() -> None:
    silent = network(121, 121, [])
    squared = (_evolution_trials()[:, 2:] ** 2).sum(axis=1)
    expected = np.maximum(0, 1 - squared / 30).mean()
    value = VisualDiscrimination().fitness(silent, key=KEY)[0]
    assert value == pytest.approx(expected, abs=1e-12)


def test_centres_of_cells_stay_where_they_are_at_finer_resolutions() -> None:
    coarse = VisualDiscrimination(11).layout
    fine = VisualDiscrimination(11).at_resolution(33).layout
    for name in ("inputs", "outputs"):
        middle = getattr(fine, name).reshape(33, 33, 2)[1::3, 1::3].reshape(-1, 2)
        np.testing.assert_allclose(middle, getattr(coarse, name), atol=1e-12)


@pytest.mark.parametrize("resolution", [0, 12, 22, 44, -11])
def test_other_resolutions_are_refused(resolution: int) -> None:
    with pytest.raises(ValueError, match=r"odd multiple of 11 .*, not"):
        VisualDiscrimination(resolution)


def test_unknown_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown trials 'some': use one of evolution"):
        VisualDiscrimination(trials="some")


def sandwich(layout: Layout) -> HyperNEAT:
    """The paper's substrate: every input to every output, and nothing between."""
    return HyperNEAT(
        FixedSubstrate.layered([layout.inputs, layout.outputs]),
        reading=CPPNReading(dialect="neat-python", activations=("gauss", "identity")),
        weight_map=WeightMap("linear", 3.0),
        output_activation="identity",
    )


def locality_genome():
    """A CPPN that falls off with distance: links where output and input lie alike.

    Two gausses, one of x2 - x1 and one of y2 - y1 - 3/2 (the outputs' band lies that
    much higher), are added and lowered.
    """
    return genome_from_neat_python(
        {
            "input_ids": [-1, -2, -3, -4, -5],
            "output_ids": [0],
            "nodes": [
                {"id": 0, "activation": "gauss", "bias": -2.0},
                {"id": 1, "activation": "gauss", "bias": 0.0},
                {"id": 2, "activation": "gauss", "bias": 0.0},
            ],
            "connections": [
                [-1, 1, -1.7], [-3, 1, 1.7],
                [-2, 2, -6.8], [-4, 2, 6.8], [-5, 2, -10.2],
                [1, 0, 1.0], [2, 0, 1.0],
            ],
        }
    )  # fmt: skip


def test_a_genome_solves_finer_fields_without_further_evolution() -> None:
    """At 33 x 33 there are 81 times as many links, from the same genome."""
    problem = VisualDiscrimination()
    result = transfer(problem, locality_genome(), sandwich, resolutions=(11, 33))
    assert list(result) == [11, 33]
    for measures in result.values():
        assert problem.is_solved(measures["fitness"])
        assert {"hit_rate", "mean_distance"} <= measures.keys()


def test_small_fields_are_25_pixels_and_16_squares() -> None:
    fields, labels = small_fields()
    assert fields.shape == (41, 25)
    assert len(np.unique(fields, axis=0)) == 41
    assert fields.sum(axis=1).tolist() == [1] * 25 + [4] * 16
    assert labels[:, 0].tolist() == [0] * 25 + [1] * 16
    for field in fields[25:].reshape(-1, 5, 5):
        rows, columns = np.nonzero(field)
        assert np.ptp(rows) == np.ptp(columns) == 1  # four pixels within 2 x 2


def test_counting_pixels_solves_the_small_task() -> None:
    links = [(p, 26, 1.0) for p in range(25)] + [(25, 26, -2.5)]
    one = network(26, 1, links)
    problem = VisualSmall()
    assert problem.fitness(one, key=KEY).tolist() == [1.0]
    assert problem.measures(one) == {"accuracy": 1.0}


def test_small_fitness_is_one_minus_the_mean_squared_error() -> None:
    silent = network(26, 1, [], output="identity")
    value = VisualSmall().fitness(silent, key=KEY)[0]
    assert value == pytest.approx(25 / 41, abs=1e-15)
    assert VisualSmall().measures(silent) == {"accuracy": 25 / 41}
    assert VisualSmall(has_bias=False).num_inputs == 25
