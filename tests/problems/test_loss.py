"""Losses, the area under the ROC curve, and sums that no chunk size changes."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from substrax.network import Networks, evaluate
from substrax.problems import LOSSES, ArrayProblem, Panel, auc
from tests.network.support import assert_same_bits, random_networks

RNG = np.random.default_rng(8)
NUM = 9_000
X = RNG.uniform(-1, 1, (NUM, 3)).astype(np.float32)
Y = RNG.integers(0, 2, (NUM, 2)).astype(np.float64)
KEY = jax.random.key(4)


def networks() -> Networks:
    return random_networks(2, (6, 0, 2), dtype=np.float32)


@pytest.mark.parametrize("loss", LOSSES)
def test_any_chunk_size_gives_the_same_bits(loss: str) -> None:
    whole = ArrayProblem(X, Y, loss=loss, chunk_size=10**9).fitness(networks(), key=KEY)
    for chunk_size in (1, 1000, 4096, 4097, NUM):
        problem = ArrayProblem(X, Y, loss=loss, chunk_size=chunk_size)
        assert_same_bits(problem.fitness(networks(), key=KEY), whole)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_chunked_loss_is_the_mean_over_all_samples(loss: str) -> None:
    outputs = evaluate(networks(), X).astype(np.float64)
    expected = 1 - LOSSES[loss](outputs, Y).mean(axis=1)
    value = ArrayProblem(X, Y, loss=loss).fitness(networks(), key=KEY)
    np.testing.assert_allclose(value, expected, rtol=1e-12)


@pytest.mark.parametrize("score", ["auc", "squared"])
def test_the_panel_s_fitness_does_not_depend_on_the_chunk_size(score: str) -> None:
    many = random_networks(2, (6, 0, 2), num_inputs=21, num_outputs=1)
    values = [
        Panel(num_rows=11_000, score=score, chunk_size=size).fitness(many, key=KEY)
        for size in (700, 5_000, 10**6)
    ]
    assert_same_bits(values[0], values[1])
    assert_same_bits(values[0], values[2])


def test_losses_by_hand() -> None:
    outputs = np.array([[[0.5, 0.25], [2.0, 1.0]]])
    targets = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert LOSSES["squared"](outputs, targets).tolist() == [[0.15625, 2.0]]
    assert LOSSES["absolute"](outputs, targets).tolist() == [[0.375, 1.0]]
    # The largest output is the answer: 0 is right, then 0 is wrong.
    assert LOSSES["misclassified"](outputs, targets).tolist() == [[0.0, 1.0]]
    entropy = LOSSES["cross_entropy"](outputs, targets)
    assert entropy[0, 0] == pytest.approx(-(np.log(0.5) + np.log(0.75)) / 2)
    assert 8 < entropy[0, 1] < 8.1  # a certain answer that is wrong costs 16


def test_undecided_answers_are_wrong() -> None:
    misclassified = LOSSES["misclassified"]
    assert misclassified(np.array([[[0.5]]]), np.array([[1.0]])).tolist() == [[1.0]]
    assert misclassified(np.array([[[0.5]]]), np.array([[0.0]])).tolist() == [[1.0]]
    tie = np.array([[[0.7, 0.7, 0.1]]])
    assert misclassified(tie, np.array([[1.0, 0.0, 0.0]])).tolist() == [[1.0]]


def slow_auc(scores: np.ndarray, labels: np.ndarray) -> float:
    """Over all pairs of a 1 and a 0: how often the 1 scores higher, ties half."""
    pairs = scores[labels == 1][:, None] - scores[labels == 0]
    return float(((pairs > 0) + 0.5 * (pairs == 0)).mean())


@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=40
    ).filter(lambda rows: 0 < sum(label for _, label in rows) < len(rows))
)
def test_auc_counts_pairs(rows: list[tuple[int, bool]]) -> None:
    scores = np.array([score for score, _ in rows], float)
    labels = np.array([label for _, label in rows], float)
    assert auc(scores, labels) == pytest.approx(slow_auc(scores, labels), abs=1e-12)


def test_auc_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    scores = np.round(RNG.normal(size=5_000), 2)
    labels = (RNG.uniform(size=5_000) < 0.3).astype(float)
    expected = metrics.roc_auc_score(labels, scores)
    assert auc(scores, labels) == pytest.approx(expected, abs=1e-12)


def test_auc_without_meaning_is_nan() -> None:
    assert np.isnan(auc(np.array([1.0, 2.0]), np.array([1.0, 1.0])))
    assert np.isnan(auc(np.array([1.0, np.nan]), np.array([0.0, 1.0])))
    assert np.isnan(auc(np.array([1.0, np.inf]), np.array([0.0, 1.0])))


def test_a_sample_is_drawn_by_the_key_and_shared_by_all_networks() -> None:
    problem = ArrayProblem(X, Y, samples_per_generation=50)
    first = problem.fitness(networks(), key=jax.random.key(1))
    again = problem.fitness(networks(), key=jax.random.key(1))
    other = problem.fitness(networks(), key=jax.random.key(2))
    assert_same_bits(first, again)
    assert (first != other).all()
    for k, one in enumerate(networks()):
        assert_same_bits(problem.fitness(one, key=jax.random.key(1)), first[k : k + 1])


def test_a_sample_of_all_is_all() -> None:
    """Samples are drawn without repetition, and kept in order."""
    every = ArrayProblem(X, Y).fitness(networks(), key=KEY)
    drawn = ArrayProblem(X, Y, samples_per_generation=NUM)
    assert_same_bits(drawn.fitness(networks(), key=KEY), every)
