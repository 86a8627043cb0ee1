"""Historical markings: equal structural innovations of a generation share their id.

"By keeping a list of the innovations that occurred in the current generation, it is
possible to ensure that when the same structure arises more than once through
independent mutations in the same generation, each identical mutation is assigned the
same innovation number" (Stanley & Miikkulainen, 2002, section 3.2). Here the list is a
sort: equal innovations become neighbours and are numbered together.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int

from ._counting import running_count


def number_innovations(
    keys: tuple[Int[Array, " population"], ...], mask: Bool[Array, " population"]
) -> tuple[Int[Array, " population"], Int[Array, ""]]:
    """Number the distinct innovations of a generation from 0.

    **Arguments:** what identifies the innovation of each genome, as one or more
    integers; `mask`, which genomes have one.

    **Returns:** the number of each genome's innovation (meaningless outside the mask)
    and how many distinct ones there are.
    """
    population = mask.shape[0]
    index = jnp.arange(population, dtype=jnp.int32)
    # Genomes without an innovation go last: no id is as large as this.
    last = np.iinfo(np.int32).max
    operands = (*(jnp.where(mask, key, last) for key in keys), index)
    # Numbers follow the order of keys, and so do not depend on that of genomes.
    *sorted_keys, order = lax.sort(operands, num_keys=len(keys))
    differs = index == 0
    for key in sorted_keys:
        differs |= key != jnp.roll(key, 1)
    is_first = differs & (sorted_keys[0] != last)
    rank = running_count(is_first) - 1
    number = jnp.zeros(population, jnp.int32).at[order].set(rank, unique_indices=True)
    # Without any innovation all ranks are -1, and this is 0.
    return number, rank[-1] + 1
