"""From what a CPPN says to the weight of a link, within a jit."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..substrate import DEAD_ZONE, WeightMap


def weight_of(
    weight_map: WeightMap, u: Float[Array, "*shape"]
) -> Float[Array, "*shape"]:
    """w(u), as `WeightMap` has it for arrays of NumPy."""
    scale = weight_map.max_weight
    if weight_map.name == "linear":
        return jnp.clip(u * scale, -scale, scale)
    beyond = jnp.maximum(jnp.abs(u) - DEAD_ZONE, 0.0)
    return jnp.copysign(beyond * (scale / (1.0 - DEAD_ZONE)), u)
