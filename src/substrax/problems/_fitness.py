"""What a fitness function says, looked at before anything is made of it."""

from typing import Any

import numpy as np
from jaxtyping import Float

_MOST_FITNESS = float(np.finfo(np.float32).max)


def checked_fitness(value: Any, num: int) -> Float[np.ndarray, " networks"]:
    """What a fitness function said, as numbers; or a sentence on what it is."""
    wanted = f"it needs one number for each of the {num} networks."
    if value is None:
        raise ValueError(f"the fitness is None (no `return`?); {wanted}")
    if np.ma.isMaskedArray(value):
        raise ValueError(
            "the fitness is a masked array; fill it, with NaN for networks "
            "that failed (numpy.ma.filled)."
        )
    try:
        fitness = np.asarray(value)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"the fitness is no array; {wanted}") from error
    if fitness.shape != (num,):
        raise ValueError(f"the fitness has the shape {fitness.shape}; {wanted}")
    if not (np.issubdtype(fitness.dtype, np.number) or fitness.dtype == np.bool_) or (
        np.issubdtype(fitness.dtype, np.complexfloating)
        or np.issubdtype(fitness.dtype, np.timedelta64)
    ):
        raise ValueError(f"the fitness is of type {fitness.dtype}; {wanted}")
    fitness = fitness.astype(np.float64)
    too_large = np.isfinite(fitness) & (np.abs(fitness) > _MOST_FITNESS)
    if too_large.any():
        raise ValueError(
            f"the fitness has {fitness[too_large][0]:g}, which is beyond the "
            f"{_MOST_FITNESS:.3g} that NEAT's numbers of 32 bits hold; divide it."
        )
    return fitness
