"""What a CPPN is given of two points."""

import jax.numpy as jnp
from jaxtyping import Array, Float

COORDINATES = ("x1", "y1", "x2", "y2", "bias", "dx", "dy", "distance")
"""What a CPPN may be given: the two points, 1, their differences and distance."""


def coordinate_rows(
    coordinates: tuple[str, ...],
    source: Float[Array, "*n 2"],
    target: Float[Array, "*n 2"],
) -> list[Float[Array, "*n"]]:
    """The CPPN inputs named by `coordinates`, one array each."""
    x1, y1 = source[..., 0], source[..., 1]
    x2, y2 = target[..., 0], target[..., 1]
    dx, dy = x2 - x1, y2 - y1
    available = {
        "x1": x1,
        "y1": y1,
        "x2": x2,
        "y2": y2,
        "bias": jnp.ones_like(x1),
        "dx": dx,
        "dy": dy,
        "distance": jnp.sqrt(dx * dx + dy * dy),
    }
    return [available[name] for name in coordinates]
