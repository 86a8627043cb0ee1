"""Runs of several seeds, summed up, against values computed by hand."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from substrax.sweeps import (
    SeedOutcome,
    quartiles,
    seeds_table,
    sum_up,
    summary_sentences,
)

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9)


def outcome(seed: int, **changes: object) -> SeedOutcome:
    values = {
        "generations": 10,
        "best_fitness": 0.5,
        "seconds": 2.0,
        "is_solved": False,
        "stopped": "generations",
    }
    return SeedOutcome(seed, **(values | changes))  # type: ignore[arg-type]


def solved(seed: int, generations: int) -> SeedOutcome:
    return outcome(
        seed,
        generations=generations,
        best_fitness=0.99,
        is_solved=True,
        stopped="target",
    )


@given(NUMBERS)
def test_quartiles_are_those_of_numpy(values):
    np.testing.assert_allclose(
        quartiles(values), np.quantile(values, [0.25, 0.5, 0.75]), rtol=1e-9, atol=1e-6
    )


def test_quartiles_by_hand_and_of_infinite_values():
    assert quartiles([4, 1, 3, 2]) == (1.75, 2.5, 3.25)
    assert quartiles([7]) == (7, 7, 7)
    low, middle, high = quartiles([-math.inf, -math.inf, 1, 3])
    assert (low, middle, high) == (-math.inf, -math.inf, 1.5)
    assert all(map(math.isnan, quartiles([])))


def test_runs_are_summed_up():
    found = sum_up([outcome(0), solved(1, 4), solved(2, 8), solved(3, 6)])
    assert (found["runs"], found["finished"], found["solved"]) == (4, 4, 3)
    assert found["rate"] == 0.75
    assert round(found["rate_low"], 2) == 0.30  # Wilson 1927
    assert round(found["rate_high"], 2) == 0.95
    assert found["median_best_fitness"] == 0.99
    assert math.isclose(found["lower_quartile_best_fitness"], 0.8675)
    assert found["median_generations_if_solved"] == 6
    assert found["lower_quartile_generations_if_solved"] == 5
    assert found["upper_quartile_generations_if_solved"] == 7


def test_what_has_not_come_to_its_end_does_not_count():
    """A run that goes on is not a failure."""
    going = [
        outcome(1, stopped=None),
        outcome(2, stopped="interrupted"),
        outcome(3, stopped="error"),
        SeedOutcome(4, 0, None, 0.0, None, None),
    ]
    found = sum_up([solved(0, 3), *going])
    assert (found["runs"], found["finished"], found["rate"]) == (5, 1, 1.0)
    first, *_ = summary_sentences([solved(0, 3), *going])
    assert first == "1 of 1 solved (95 % interval 0.21 to 1.00); 4 not finished"
    assert summary_sentences(going) == ["none of 4 has come to its end"]
    assert [o.words for o in going] == [
        "running, or killed",
        "interrupted",
        "error",
        "not begun",
    ]


def test_a_run_whose_evaluations_failed_is_the_worst():
    found = sum_up([outcome(0, best_fitness=None), outcome(1), outcome(2)])
    assert found["median_best_fitness"] == 0.5
    assert found["lower_quartile_best_fitness"] == -math.inf


def test_without_a_target_nothing_is_said_of_solving():
    free = [outcome(k, is_solved=None) for k in range(2)]
    first, *others = summary_sentences(free)
    assert first == "2 runs, without a target"
    assert "solution" not in " ".join(others) and free[0].words == "ended"


def test_a_table_has_a_line_for_each_seed():
    table = seeds_table([outcome(0), solved(7, 4)], "xor")
    assert table.columns == ("seed", "result", "generations", "best fitness", "seconds")
    assert table.rows[1] == (7, "solved", 4, 0.99, 2.0)
    assert table.to_text().splitlines()[0] == "xor"


def test_without_a_target_there_is_no_rate():
    found = sum_up([outcome(0, is_solved=None), outcome(1, is_solved=None)])
    assert found["solved"] == 0 and math.isnan(found["rate"])
    assert math.isnan(found["rate_low"]) and math.isnan(found["rate_high"])
