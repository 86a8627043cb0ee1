"""Rows that are held back as a test: which, and how many, of files and of arrays."""

from typing import Any

import numpy as np
import pytest

import substrax as sx
from substrax.problems import Table

RNG = np.random.default_rng(1)
X = RNG.normal(size=(50, 2))
KINDS = np.array(["often"] * 30 + ["seldom"] * 15 + ["rare"] * 4 + ["once"])
NUMBERS = X[:, 0] + RNG.normal(size=50)


def counts(problem: sx.ArrayProblem) -> tuple[dict[object, int], dict[object, int]]:
    """How many rows of each class there are to learn from, and in the test."""
    assert problem.preparation.classes is not None and problem.test_targets is not None
    both = (problem.targets, problem.test_targets)
    train, test = (targets.sum(axis=0).astype(int).tolist() for targets in both)
    classes = problem.preparation.classes
    return dict(zip(classes, train, strict=True)), dict(zip(classes, test, strict=True))


@pytest.mark.parametrize("y", [KINDS, NUMBERS, KINDS == "often"])
def test_a_fifth_is_held_back_if_nothing_is_said(y):
    problem = sx.data_problem(X, y)
    test = problem.test_samples()
    assert test is not None
    assert len(problem.inputs) == 40 and len(test[0]) == len(test[1]) == 10


def test_data_that_are_given_to_evolve_have_a_test():
    run = sx.evolve((X, KINDS), method="neat", population=8, generations=1)
    assert {"accuracy", "test_accuracy"} <= run.measures().keys()
    run = sx.evolve((X, NUMBERS), method="neat", population=8, generations=1)
    assert "test_squared_loss" in run.measures()


def test_each_label_has_its_share_and_can_be_learnt():
    for seed in range(20):
        train, test = counts(sx.data_problem(X, KINDS, split_seed=seed))
        assert test == {"often": 6, "once": 0, "rare": 1, "seldom": 3}
        assert train == {"often": 24, "once": 1, "rare": 3, "seldom": 12}


def test_rows_are_kept_whole_in_their_order_and_drawn_by_the_seed():
    X = np.arange(100.0)
    drawn = []
    for seed in (0, 0, 1):
        problem = sx.data_problem(X, X * 3 + 0.5, split_seed=seed)
        assert problem.test_inputs is not None and problem.test_targets is not None
        parts = []
        for inputs, targets in (
            (problem.inputs, problem.targets),
            (problem.test_inputs, problem.test_targets),
        ):
            preparation = problem.preparation
            assert preparation.scale is not None and preparation.shift is not None
            rows = inputs[:, 0] * preparation.scale + preparation.shift
            np.testing.assert_allclose(
                preparation.outputs(targets)[:, 0], rows * 3 + 0.5
            )
            assert (np.diff(rows) > 0).all()
            parts.append(np.round(rows))
        assert sorted(np.concatenate(parts)) == X.tolist()
        drawn.append(parts[1].tolist())
    assert drawn[0] == drawn[1] != drawn[2]


def test_scales_are_those_of_the_rows_to_learn_from():
    problem = sx.data_problem(X, NUMBERS)
    np.testing.assert_allclose(problem.inputs[:, :2].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(problem.inputs[:, :2].std(axis=0), 1)
    np.testing.assert_allclose(problem.targets.std(), 1)


def test_files_and_arrays_hold_back_the_same_rows(tmp_path):
    path = tmp_path / "data.csv"
    lines = [f"{a!r},{b!r},{k}" for (a, b), k in zip(X.tolist(), KINDS, strict=True)]
    path.write_text("\n".join(["a,b,kind", *lines]) + "\n")
    choices: list[dict[str, Any]] = [
        {},
        {"test_share": 0.3, "split_seed": 4},
        {"test_share": 0.0},
    ]
    for options in choices:
        table = Table(str(path), **options)
        arrays = sx.data_problem(X, KINDS, **options)
        for ours, theirs in (
            (table.samples(), arrays.samples()),
            (table.test_samples() or (), arrays.test_samples() or ()),
        ):
            for one, other in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(one, other)


def test_nothing_is_held_back_if_it_is_not_wanted():
    assert sx.data_problem(X, KINDS, test_share=0).test_samples() is None
    own = sx.data_problem(X[:40], NUMBERS[:40], X_test=X[40:], y_test=NUMBERS[40:])
    assert len(own.inputs) == 40


def test_of_few_rows_none_is_held_back_unless_asked_for():
    """All four rows of XOR are needed to learn it."""
    few = [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert sx.data_problem(few, [0, 1, 1, 0]).test_samples() is None
    assert sx.data_problem(X[:19], NUMBERS[:19]).test_samples() is None
    assert sx.data_problem(X[:20], NUMBERS[:20]).test_samples() is not None
    test = sx.data_problem(X[:10], NUMBERS[:10], test_share=0.2).test_samples()
    assert test is not None and len(test[0]) == 2


def test_a_label_of_a_column_that_is_only_in_the_test_is_known():
    columns = np.array([["usual"]] * 39 + [["special"]], object)
    for seed in range(10):
        problem = sx.data_problem(columns, NUMBERS[:40], split_seed=seed)
        assert problem.preparation.categories == (("special", "usual"),)


@pytest.mark.parametrize(
    ("y", "options", "said"),
    [
        (NUMBERS, {"test_share": 1.0}, r"test_share must be in \[0, 1\), not 1.0"),
        (NUMBERS, {"test_share": -0.1}, r"test_share must be in \[0, 1\)"),
        (NUMBERS, {"test_share": 0.999}, "50 of 50 rows .* not one to learn from"),
        (KINDS, {"test_share": 0.95}, "48 of 50 .* of each of the 4 labels to learn"),
        (
            NUMBERS,
            {"X_test": X, "y_test": NUMBERS, "test_share": 0.2},
            "X_test and y_test, or test_share, not both",
        ),
        (NUMBERS, {"X_test": X}, "give both X_test and y_test, or neither"),
    ],
)
def test_shares_that_make_no_sense_are_refused(y, options, said):
    with pytest.raises(ValueError, match=said):
        sx.data_problem(X, y, **options)
