"""Networks within a jit: their derivatives in reverse mode."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.cppn import activation_id
from substrax.network import TensorNetwork

NUM, NUM_INPUTS, NUM_OUTPUTS = 8, 3, 2
IDS = tuple(sorted(map(activation_id, ("identity", "tanh", "sigmoid"))))


def network(is_acyclic: bool) -> TensorNetwork:
    """Eight nodes, linked at random; in 64 bits."""
    rng = np.random.default_rng(5)
    # Inputs, outputs, hidden nodes; outputs come last.
    rank = np.array([0, 0, 0, 9, 9, 1, 2, 3], np.int32)
    is_linked = rng.random((NUM, NUM)) < 0.7
    is_linked[:, :NUM_INPUTS] = False
    if is_acyclic:
        is_linked &= rank[:, None] < rank[None]
    return TensorNetwork.make(
        weight=jnp.asarray(rng.normal(size=(NUM, NUM))),
        is_linked=jnp.asarray(is_linked),
        bias=jnp.asarray(rng.normal(size=NUM)),
        activation=jnp.asarray(rng.integers(0, 3, NUM), jnp.int32),
        rank=jnp.asarray(rank),
        point=jnp.zeros((NUM, 2)),
        is_node=jnp.ones(NUM, bool),
        num_found=jnp.asarray(-1, jnp.int32),
        num_inputs=NUM_INPUTS,
        num_outputs=NUM_OUTPUTS,
        activation_ids=IDS,
        dialect="plain",
        is_acyclic=is_acyclic,
        steps=3,
    )


def called(network: TensorNetwork, inputs):
    return network(inputs)


def stepped(network: TensorNetwork, inputs):
    """Through time, with the state that is carried along."""

    def step(state, seen):
        return network.step(state, seen)

    state = network.start(inputs.shape[0])
    seen = jnp.stack([inputs, inputs * 0.5, inputs - 1.0])
    return jax.lax.scan(step, state, seen)[1]


@pytest.mark.parametrize("use", [called, stepped])
@pytest.mark.parametrize("is_acyclic", [True, False], ids=["settled", "stepped"])
def test_derivatives_by_links_biases_and_inputs_are_finite_differences(use, is_acyclic):
    with jax.enable_x64(True):
        some = network(is_acyclic)
        inputs = jnp.asarray(np.random.default_rng(6).normal(size=(4, NUM_INPUTS)))

        def loss(values):
            weight, bias, inputs = values
            changed = dataclasses.replace(some, weight=weight, bias=bias)
            return (use(changed, inputs) ** 2).sum()

        values = (some.weight, some.bias, inputs)
        gradients = jax.jit(jax.grad(loss))(values)
        value = jax.jit(loss)
        for which, (array, gradient) in enumerate(zip(values, gradients, strict=True)):
            expected = np.zeros(array.shape)
            for index in np.ndindex(*array.shape):
                up, down = (
                    value(
                        tuple(
                            x.at[index].add(shift) if k == which else x
                            for k, x in enumerate(values)
                        )
                    )
                    for shift in (1e-6, -1e-6)
                )
                expected[index] = (up - down) / 2e-6
            np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)
            assert np.abs(expected).max() > 1e-2
        # Where there is no link, a weight is nothing.
        is_linked = np.asarray(some.is_linked)
        assert (np.asarray(gradients[0])[~is_linked] == 0).all()
        assert is_linked.any()
