"""Counts and ranks against what NumPy and sorting say."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from substrax.neat import _counting
from substrax.neat._counting import (
    any_true,
    count,
    least,
    most,
    picked,
    rank_descending,
    running_count,
    total,
    true_first,
)

RANDOM = np.random.default_rng(0)
LENGTHS = (1, 5, 32, 33, 64, 100, 1000)


def flags(*shape: int) -> np.ndarray:
    return RANDOM.random(shape) < 0.4


@pytest.mark.parametrize("length", LENGTHS)
def test_rows_are_counted(length):
    mask, x = flags(3, length), RANDOM.integers(-9, 9, (3, length), np.int32)
    numbers = RANDOM.normal(size=(3, length)).astype(np.float32)
    np.testing.assert_array_equal(count(jnp.asarray(mask)), mask.sum(1))
    np.testing.assert_array_equal(total(jnp.asarray(x)), x.sum(1))
    np.testing.assert_array_equal(any_true(jnp.asarray(mask)), mask.any(1))
    np.testing.assert_array_equal(least(jnp.asarray(numbers)), numbers.min(1))
    np.testing.assert_array_equal(most(jnp.asarray(numbers)), numbers.max(1))
    np.testing.assert_array_equal(running_count(jnp.asarray(mask)), mask.cumsum(1))
    each = jax.vmap(running_count)(jnp.asarray(mask))
    np.testing.assert_array_equal(each, mask.cumsum(1))


@pytest.mark.parametrize("length", LENGTHS)
def test_true_entries_come_first(length):
    mask = flags(length)
    places = np.flatnonzero(mask)
    found = np.asarray(true_first(jnp.asarray(mask)))
    np.testing.assert_array_equal(found[: len(places)], places)
    assert (found >= 0).all() and (found < length).all()


def test_one_entry_is_picked():
    chosen = jnp.asarray([[False, True, False], [False] * 3])
    whole = jnp.asarray([[1, 2, 3], [4, 5, 6]], jnp.int32)
    number = jnp.asarray([[0.1, -0.2, 0.3], [jnp.inf, jnp.nan, 1.0]], jnp.float32)
    a, b = picked(chosen, whole, number)
    np.testing.assert_array_equal(a, [2, 0])
    np.testing.assert_array_equal(b, np.array([-0.2, 0.0], np.float32))


@pytest.mark.parametrize("is_sorted", [False, True], ids=["compared", "sorted"])
def test_ranks_are_those_of_a_stable_sort(monkeypatch, is_sorted):
    if is_sorted:
        monkeypatch.setattr(_counting, "_LONGEST_COMPARED", 0)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 1.0, -1.0]
    values = jnp.asarray(RANDOM.choice(special, 60), jnp.float32)
    mask = jnp.asarray(flags(60))
    index = jnp.arange(60, dtype=jnp.int32)
    *_, order = lax.sort((~mask, -values, index), num_keys=3)
    expected = np.empty(60, np.int32)
    expected[np.asarray(order)] = np.arange(60)
    np.testing.assert_array_equal(rank_descending(values, mask), expected)
    whole = jnp.asarray(RANDOM.integers(0, 5, 60), jnp.int32)
    *_, order = lax.sort((~mask, -whole, index), num_keys=3)
    expected[np.asarray(order)] = np.arange(60)
    np.testing.assert_array_equal(rank_descending(whole, mask), expected)
