"""The one kernel that evaluates CPPNs.

Queries are evaluated in blocks of a few fixed sizes, each block belonging to one
genome. Within a block, a loop runs over the rows of that genome's program only, and
each row is a vectorised multiply-add and one activation function. A value is therefore
a function of its genome and its point: which batch it came in, what stood next to it
and how the batch was cut change nothing, to the bit.

Two ways of running a program give the same bits. *Alone*: one block after the other,
with a real branch to the row's activation function and all values in the first level
cache; for CPUs. *Together*: many blocks of many genomes side by side, all activation
functions computed and one selected; for accelerators. (Where `distance` is asked for
beside `dx` or `dy`, its last bit may differ between the two.)
"""

import functools
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental.xla_metadata import set_xla_metadata
from jaxtyping import Array, Float, Int

from ._activation import activation_functions
from ._activation_table import Dialect

BLOCK_SIZES = (1024, 256, 64, 16)
"""Queries of a block that runs alone. The largest still fits the cache."""

WIDE_BLOCK = 256
"""Queries of a block that runs together with others."""

TAIL = BLOCK_SIZES[0]
"""Spare entries behind every array of questions: the last block is read whole."""

COORDINATES = ("x1", "y1", "x2", "y2", "bias", "dx", "dy", "distance")
"""What a CPPN may be given: the two points, 1, their differences and distance."""

START, GENOME, LENGTH = range(3)
"""What a block is: where its answers go, whose it is, how many of them are real."""


class Tables(NamedTuple):
    """Programs on the device, padded to bucketed sizes (see `Programs`).

    `row` holds, for each row, the slots of its sources and its activation; `weight` the
    weights of the sources and the bias; `genome` first row, number of rows and output
    slots.
    """

    row: Int[Array | np.ndarray, "rows row_width"]
    weight: Float[Array | np.ndarray, "rows row_width"]
    genome: Int[Array | np.ndarray, "genomes genome_width"]


class Plan(NamedTuple):
    """Blocks by size: size s has `blocks[bounds[s]:bounds[s + 1]]`."""

    blocks: Int[Array | np.ndarray, "blocks 3"]
    bounds: Int[Array | np.ndarray, " bounds"]


class Points(NamedTuple):
    """Questions about pairs of points; one query each."""

    source: Float[Array | np.ndarray, "questions 2"]
    target: Float[Array | np.ndarray, "questions 2"]


class Language(NamedTuple):
    """What the kernel is compiled for: the meaning of a program's numbers."""

    num_slots: int
    coordinates: tuple[str, ...]
    activation_ids: tuple[int, ...]
    dialect: Dialect


Lanes = Float[Array, "..."]


def coordinate_rows(coordinates: tuple[str, ...], part: Points) -> list[Lanes]:
    """The CPPN inputs named by `coordinates`, one array each."""
    x1, y1 = part.source[..., 0], part.source[..., 1]
    x2, y2 = part.target[..., 0], part.target[..., 1]
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


def _fill_inputs(
    values: Float[Array, "slots ..."], rows: list[Float[Array, "..."]]
) -> Float[Array, "slots ..."]:
    # One by one: XLA's concatenation of the rows costs more than a small CPPN.
    for slot, row in enumerate(rows):
        values = lax.dynamic_update_index_in_dim(values, row, slot, 0)
    return values


def run_alone(
    tables: Tables,
    genome: Int[Array, " genome_width"],
    values: Float[Array, "slots lanes"],
    language: Language,
) -> Float[Array, "slots lanes"]:
    """Runs one genome's program on one block whose input slots are filled."""
    functions = activation_functions(language.activation_ids, language.dialect)
    fan_in = tables.row.shape[1] - 1
    num_inputs = len(language.coordinates)

    def run_row(k, values):
        row = genome[0] + k
        z = jnp.broadcast_to(tables.weight[row, fan_in], values.shape[1:])
        for f in range(fan_in):
            operand = lax.dynamic_index_in_dim(
                values, tables.row[row, f], keepdims=False
            )
            z = z + tables.weight[row, f] * operand
        y = lax.switch(tables.row[row, fan_in], functions, z)
        return lax.dynamic_update_index_in_dim(values, y, num_inputs + k, 0)

    return lax.fori_loop(0, genome[1], run_row, values)


def run_together(
    tables: Tables,
    genome: Int[Array, "blocks genome_width"],
    values: Float[Array, "slots blocks lanes"],
    language: Language,
) -> Float[Array, "slots blocks lanes"]:
    """Runs each block's program, row by row in step.

    The longest program decides how many rows run. Shorter ones go on into rows that
    are not theirs and write slots that nobody reads.
    """
    functions = activation_functions(language.activation_ids, language.dialect)
    fan_in = tables.row.shape[1] - 1
    num_inputs = len(language.coordinates)

    def run_row(k, values):
        row = genome[:, 0] + k
        slots, weights = tables.row[row], tables.weight[row]
        z = jnp.broadcast_to(weights[:, fan_in, None], values.shape[1:])
        for f in range(fan_in):
            operand = jnp.take_along_axis(
                values, slots[None, :, f, None], axis=0, mode="clip"
            )[0]
            z = z + weights[:, f, None] * operand
        # As in `run_alone`, nothing of the sum is merged into the activation.
        z = lax.optimization_barrier(z)
        which = slots[:, fan_in, None]
        y = functions[0](z)
        for a, function in enumerate(functions[1:], start=1):
            y = jnp.where(which == a, function(z), y)
        return lax.dynamic_update_index_in_dim(values, y, num_inputs + k, 0)

    return lax.fori_loop(0, jnp.max(genome[:, 1]), run_row, values)


def _part_of_block(questions: Points, block: Int[Array, " 3"], num: int) -> Points:
    """The questions of one block."""
    return Points(
        *(
            lax.dynamic_slice_in_dim(jnp.asarray(q), block[START], num)
            for q in questions
        )
    )


def _part_of_blocks(
    questions: Points, blocks: Int[Array, "blocks 3"], num: int
) -> Points:
    """The questions of several blocks, (blocks, num, 2) each."""
    where = blocks[:, START, None] + jnp.arange(num, dtype=jnp.int32)[None]
    return Points(
        *(jnp.take(jnp.asarray(q), where, axis=0, mode="clip") for q in questions)
    )


def _run_block_alone(tables, plan, questions, language, size):
    num_outputs = tables.genome.shape[1] - 2

    def run_block(b, carry):
        result, values = carry
        start = plan.blocks[b, START]
        zero = jnp.zeros_like(start)  # indices must share a dtype, also under x64
        genome = tables.genome[plan.blocks[b, GENOME]]
        part = _part_of_block(questions, plan.blocks[b], size)
        rows = coordinate_rows(language.coordinates, part)
        values = _fill_inputs(values, rows)
        values = run_alone(tables, genome, values, language)
        new = (
            values[genome[2:]]
            if num_outputs > 1
            else lax.dynamic_slice_in_dim(values, genome[2], 1)
        )
        new = new.reshape(num_outputs, size)
        # Spare lanes reach into other blocks. After a block of the largest size those
        # are still to come; else what is there is put back.
        if size < BLOCK_SIZES[0]:
            is_real = jnp.arange(size, dtype=jnp.int32) < plan.blocks[b, LENGTH]
            old = lax.dynamic_slice(result, (zero, start), (num_outputs, size))
            new = jnp.where(is_real[None], new, old)
        return lax.dynamic_update_slice(result, new, (zero, start)), values

    return run_block


@functools.partial(jax.jit, static_argnames=("num_answers", "language"))
def _run_blocks_alone(
    tables, plan, questions, *, num_answers, language
) -> Float[Array, "rows answers"]:
    dtype = questions[0].dtype
    result = jnp.zeros((tables.genome.shape[1] - 2, num_answers), dtype)
    for s, size in enumerate(BLOCK_SIZES):
        run_block = _run_block_alone(tables, plan, questions, language, size)
        # Slots are written before they are read, so blocks may share the memory.
        values = jnp.zeros((language.num_slots, size), dtype)
        result, _ = lax.fori_loop(
            plan.bounds[s], plan.bounds[s + 1], run_block, (result, values)
        )
    return result


def _run_blocks_together(tables, plan, questions, language, num_blocks):
    num_outputs = tables.genome.shape[1] - 2
    stop = plan.bounds[-1]
    offsets = jnp.arange(WIDE_BLOCK, dtype=jnp.int32)[None]

    def run_blocks(c, result):
        nth = c * num_blocks + jnp.arange(num_blocks, dtype=jnp.int32)
        blocks = plan.blocks[jnp.minimum(nth, plan.blocks.shape[0] - 1)]
        genome = tables.genome[blocks[:, GENOME]]
        where = blocks[:, START, None] + offsets
        part = _part_of_blocks(questions, blocks, WIDE_BLOCK)
        rows = coordinate_rows(language.coordinates, part)
        values = jnp.zeros((language.num_slots, num_blocks, WIDE_BLOCK), result.dtype)
        values = _fill_inputs(values, rows)
        values = run_together(tables, genome, values, language)
        outputs = jnp.take_along_axis(
            values, genome[:, 2:].T[:, :, None], axis=0, mode="clip"
        )
        outputs = outputs.reshape(num_outputs, num_blocks, WIDE_BLOCK)
        is_real = (offsets < blocks[:, LENGTH, None]) & (nth[:, None] < stop)
        where = jnp.where(is_real, where, result.shape[1])
        return result.at[:, where].set(outputs, mode="drop")

    return run_blocks


def _fits_one_function(coordinates: tuple[str, ...]) -> bool:
    """Whether XLA may compile all blocks to one function.

    It aborts (jaxlib 0.10) if such a function has an argument that it does not use:
    both ends of links must matter. And it would round the squares of a distance in
    blocks of one size, and not in those of another.
    """
    if "distance" in coordinates:
        return False
    return all(
        not {"dx", "dy", *end}.isdisjoint(coordinates)
        for end in (("x1", "y1"), ("x2", "y2"))
    )


@functools.partial(jax.jit, static_argnames=("num_answers", "language", "side_by_side"))
def run_queries(
    tables: Tables,
    plan: Plan,
    questions: Points,
    *,
    num_answers: int,
    language: Language,
    side_by_side: int,
) -> Float[Array, "rows answers"]:
    """CPPN outputs of all questions of a plan.

    So many blocks run `side_by_side`, each of `WIDE_BLOCK` queries; or with 0 each
    alone, by `BLOCK_SIZES`. Row o of the result is output o of each question.
    """
    if not side_by_side:
        result = _run_blocks_alone(
            tables,
            plan,
            questions,
            num_answers=num_answers,
            language=language,
        )
        # By itself XLA calls a function for every operation of every row, which for a
        # block of 64 queries takes longer than the queries. Attributes that it does not
        # know are ignored.
        if _fits_one_function(language.coordinates):
            result = set_xla_metadata(
                result, inlineable="false", xla_cpu_small_call="true"
            )
        return cast(Array, result)
    result = jnp.zeros((tables.genome.shape[1] - 2, num_answers), questions[0].dtype)
    run_blocks = _run_blocks_together(tables, plan, questions, language, side_by_side)
    num_groups = (plan.bounds[-1] + side_by_side - 1) // side_by_side
    return lax.fori_loop(0, num_groups, run_blocks, result)
