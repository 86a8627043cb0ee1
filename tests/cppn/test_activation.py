import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.cppn import (
    ACTIVATION_NAMES,
    DIALECTS,
    activation_function,
    activation_id,
)
from tests.reference.cppn import ARRAY

Z = np.concatenate(
    [np.linspace(-4, 4, 4001), [0.0, 1e-8, -1e-8, 11.9, -11.9, 59.0, -59.0]]
).astype(np.float32)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ACTIVATION_NAMES)
def test_float32_is_within_1e_6_of_the_oracle(name, dialect):
    expected = ARRAY[dialect][name](Z.astype(np.float64))
    computed = jax.jit(activation_function(name, dialect))(jnp.asarray(Z))
    scale = np.maximum(1.0, np.abs(expected))  # functions that grow: relative
    assert np.max(np.abs(computed - expected) / scale) < 1e-6


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ACTIVATION_NAMES)
def test_float64_is_exact_to_rounding(name, dialect):
    z = Z.astype(np.float64)
    expected = ARRAY[dialect][name](z)
    with jax.enable_x64(True):
        computed = np.asarray(activation_function(name, dialect)(jnp.asarray(z)))
    assert computed.dtype == np.float64
    np.testing.assert_allclose(computed, expected, rtol=1e-12, atol=1e-14)


def test_dialects_differ_in_scale():
    half = jnp.asarray(0.5, jnp.float32)
    for name, scale in (("tanh", 2.5), ("sin", 5.0), ("sigmoid", 5.0)):
        scaled = activation_function(name, "neat-python")(half)
        plain = activation_function(name, "plain")(half * scale)
        np.testing.assert_allclose(scaled, plain, rtol=1e-6)


def test_sine_holds_its_accuracy_far_out():
    z = np.linspace(-500, 500, 100_001).astype(np.float32)
    computed = activation_function("sin", "plain")(jnp.asarray(z))
    assert np.max(np.abs(computed - np.sin(z.astype(np.float64)))) < 1e-6


def test_unknown_activation_is_named_with_a_suggestion():
    with pytest.raises(ValueError, match=r"unknown activation 'sigmiod'.*'sigmoid'"):
        activation_id("sigmiod")
    assert activation_id("linear") == activation_id("identity")
    with pytest.raises(ValueError, match="unknown dialect"):
        activation_function("tanh", "french")
