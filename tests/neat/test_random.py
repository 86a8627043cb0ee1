"""Our draws are those of `jax.random`, whatever the key is."""

import jax
import numpy as np
import pytest

from substrax.neat._random import as_jax_key, bits, split, split_population


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
@pytest.mark.parametrize("is_partitionable", [True, False])
def test_keys_and_bits_are_those_of_jax(impl, is_partitionable):
    with jax.threefry_partitionable(is_partitionable):
        key = jax.random.key(123456789, impl=impl)
        for count in (1, 2, 7):
            expected = jax.random.key_data(jax.random.split(key, count))
            found = jax.random.key_data(as_jax_key(split_population(key, count)))
            np.testing.assert_array_equal(found, expected)
        _, second = split(key)
        child = jax.random.split(key)[1]
        for shape in ((), (5,), (3, 4), (0, 2)):
            np.testing.assert_array_equal(
                bits(second, shape), jax.random.bits(child, shape)
            )
