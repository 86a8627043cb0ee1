import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from substrax.cppn import (
    ACTIVATION_NAMES,
    DIALECTS,
    activation_form,
    activation_function,
    activation_functions,
    activation_id,
)
from substrax.cppn._activation_table import ACTIVATIONS
from tests.reference.cppn import ARRAY

ROOT = Path(__file__).parents[2]
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


# Where functions have a kink or a pole, in one of the dialects: of z, of |z|, and where
# neat-python clips. A derivative is not promised there.
KINKS = np.array([0.0, 1e-7, 1.0, 3.4, 12.0, 24.0, 60.0])


def far_from_kinks(z: np.ndarray) -> np.ndarray:
    distance = np.abs(np.abs(z)[:, None] - KINKS).min(axis=1)
    return z[distance > 1e-4 * np.maximum(1.0, np.abs(z))]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ACTIVATION_NAMES)
@given(scale=st.sampled_from([0.1, 1.0, 10.0, 100.0]), seed=st.integers(0, 2**16))
def test_derivatives_are_those_of_automatic_differentiation(name, dialect, scale, seed):
    z = far_from_kinks(np.random.default_rng(seed).uniform(-scale, scale, 200))
    form = activation_form(name, dialect)
    with jax.enable_x64(True):
        arguments = jnp.asarray(z)
        expected = np.asarray(jax.vmap(jax.grad(form.function))(arguments))
        found = np.asarray(form.derivative(arguments))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ACTIVATION_NAMES)
def test_float32_derivatives_are_close_to_those_of_float64(name, dialect):
    derivative = activation_form(name, dialect).derivative
    z = far_from_kinks(Z)
    found = np.asarray(derivative(jnp.asarray(z)))
    assert found.dtype == np.float32 and found.shape == z.shape
    with jax.enable_x64(True):
        expected = np.asarray(derivative(jnp.asarray(z.astype(np.float64))))
    scale = np.maximum(1.0, np.abs(expected))
    assert np.max(np.abs(found - expected) / scale) < 2e-5


# What operators of ONNX compute (https://onnx.ai/onnx/operators), with the default
# values of their attributes.
ONNX = {
    "Identity": lambda x: x,
    "Abs": np.abs,
    "Neg": np.negative,
    "Sign": np.sign,
    "Reciprocal": lambda x: 1.0 / x,
    "Exp": np.exp,
    "Log": np.log,
    "Sin": np.sin,
    "Cos": np.cos,
    "Tanh": np.tanh,
    "Sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "Softplus": lambda x: np.logaddexp(x, 0.0),
    "Relu": lambda x: np.maximum(x, 0.0),
    "PRelu": lambda x, slope: np.where(x < 0.0, slope * x, x),
    "Elu": lambda x: np.where(x < 0.0, 1.0 * (np.exp(np.minimum(x, 0.0)) - 1.0), x),
    "Selu": lambda x: (
        1.05070102214813232421875
        * np.where(
            x <= 0.0,
            1.67326319217681884765625 * (np.exp(np.minimum(x, 0.0)) - 1.0),
            x,
        )
    ),
    "Mul": np.multiply,
    "Sub": np.subtract,
    "Min": np.minimum,
    "Max": np.maximum,
    "Clip": np.clip,
    "Greater": np.greater,
    "Where": np.where,
}


def run_onnx(steps, z: np.ndarray) -> np.ndarray:
    values = {"z": z}
    for operator, *inputs in steps:
        given_inputs = (values[x] if isinstance(x, str) else x for x in inputs)
        values["y"] = ONNX[operator](*given_inputs)
    return values["y"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ACTIVATION_NAMES)
@given(scale=st.sampled_from([1.0, 10.0, 100.0]), seed=st.integers(0, 2**16))
def test_operators_of_onnx_compute_the_activation(name, dialect, scale, seed):
    z = np.random.default_rng(seed).uniform(-scale, scale, 200)
    z[:3] = [0.0, -0.0, 1e-8]
    with np.errstate(over="ignore"):
        found = run_onnx(activation_form(name, dialect).onnx, z)
    np.testing.assert_allclose(found, ARRAY[dialect][name](z), rtol=1e-6, atol=1e-12)


def test_the_native_engine_has_the_same_activations_in_the_same_order():
    header = (ROOT / "src/native/activation.hpp").read_text()
    listed = re.search(r"enum class Activation : int \{(.*?)\};", header, re.DOTALL)
    assert listed is not None
    assert tuple(re.findall(r"\w+", listed[1])) == ACTIVATION_NAMES
    assert f"num_activations = {len(ACTIVATION_NAMES)};" in header


def test_the_documentation_lists_every_activation():
    text = (ROOT / "docs/cppn.md").read_text()
    assert [name for name in ACTIVATION_NAMES if f"`{name}`" not in text] == []


def test_positions_of_activations_never_change():
    """Genomes and files hold them."""
    assert ACTIVATION_NAMES[:20] == (
        "identity", "tanh", "sigmoid", "sin", "gauss", "abs", "square", "cube", "step",
        "relu", "cos", "exp", "log", "inv", "clamped", "hat", "softplus", "elu", "selu",
        "lelu",
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_derivatives_within_a_network_are_finite_everywhere(dialect, dtype):
    """One function of a selection must not make NaN of another one's derivative."""
    with jax.enable_x64(dtype == np.float64):
        functions = activation_functions(tuple(range(len(ACTIVATIONS))), dialect)
        extremes = [0.0, 1e-30, 1e-7, 1.0, 60.0, 89.0, 400.0, 1e20, 1e30]
        z = jnp.asarray([*extremes, *(-x for x in extremes)], dtype)
        for activation, function in zip(ACTIVATIONS, functions, strict=True):
            slopes = jax.vmap(jax.grad(function))(z)
            assert np.isfinite(slopes).all(), activation.name
