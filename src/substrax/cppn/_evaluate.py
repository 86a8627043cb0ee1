"""Programs evaluated on given input rows: every genome on every sample.

This is what plain NEAT needs (the genome is the network). The same row-by-row code as
in queries runs here; only where the inputs come from differs.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from .._types import ArrayLike
from ._kernel import Language, Tables, run_together
from ._program import Programs
from ._query import make_language, make_tables

_LANES = 1024
"""Values that a row computes at once: genomes side by side times their samples."""


@functools.partial(jax.jit, static_argnames=("language", "num_together", "num_samples"))
def _evaluate(
    tables: Tables,
    inputs: Float[Array, "blocks inputs samples"],
    *,
    language: Language,
    num_together: int,
    num_samples: int,
) -> Float[Array, "genomes outputs samples_padded"]:
    num_inputs = inputs.shape[1]
    groups = jnp.asarray(tables.genome).reshape(
        -1, num_together, tables.genome.shape[1]
    )

    def run_group(index):
        genome = groups[index // inputs.shape[0]]
        block = inputs[index % inputs.shape[0]]
        values = jnp.zeros(
            (language.num_slots, num_together, num_samples), inputs.dtype
        )
        for slot in range(num_inputs):
            row = jnp.broadcast_to(block[slot], values.shape[1:])
            values = lax.dynamic_update_index_in_dim(values, row, slot, 0)
        values = run_together(tables, genome, values, language)
        return jnp.take_along_axis(
            values, genome[:, 2:].T[:, :, None], axis=0, mode="clip"
        )

    # [group, block, output, genome, sample]
    result = lax.map(run_group, jnp.arange(groups.shape[0] * inputs.shape[0]))
    result = result.reshape(groups.shape[0], inputs.shape[0], *result.shape[1:])
    result = result.transpose(0, 3, 2, 1, 4)
    return result.reshape(tables.genome.shape[0], result.shape[2], -1)


def evaluate_programs(
    programs: Programs, inputs: ArrayLike
) -> Float[np.ndarray, "genomes samples outputs"]:
    """Outputs of every program for every row of `inputs` (samples, num_inputs)."""
    rows = np.asarray(inputs, programs.bias.dtype)
    if rows.ndim != 2 or rows.shape[1] != programs.num_inputs:
        raise ValueError(
            f"inputs have shape {rows.shape}, but these programs take "
            f"{programs.num_inputs} values: give (samples, {programs.num_inputs})."
        )
    if not np.isfinite(rows).all():
        raise ValueError("an input value is NaN or infinite; repair the inputs.")
    num = rows.shape[0]
    size = min(256, max(4, 1 << max(0, num - 1).bit_length()))
    padded = np.zeros((-(-num // size) * size, rows.shape[1]), rows.dtype)
    padded[:num] = rows
    blocks = padded.reshape(-1, size, rows.shape[1]).transpose(0, 2, 1)
    together = _LANES // size
    with jax.enable_x64(rows.dtype == np.float64):
        result = _evaluate(
            make_tables(programs),
            np.ascontiguousarray(blocks),
            language=make_language(programs, ("",) * programs.num_inputs),
            num_together=together,
            num_samples=size,
        )
        result = np.asarray(result)
    return result[: programs.num_genomes, :, :num].transpose(0, 2, 1)
