"""The query engine: arbitrary batches of (genome, source point, target point).

The native engine answers them on CPUs. On accelerators, and where it was not built,
they are cut into blocks of one genome each, and JAX answers some blocks at a time.
"""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .._native import Engine, native_array
from .._resources import Resources
from .._types import ArrayLike, as_numbers, round_up
from ._native_programs import check_coordinates, check_types, hold_programs
from ._program import Programs
from ._traced import CPPN, Vocabulary, ask_cppn

_BLOCK, _BLOCKS = 256, 64
"""Queries of one genome that a kernel of JAX answers together, and how many such blocks
one call takes."""

_NATIVE_RUN = 1 << 14
"""Queries that one thread of the native engine takes at a time."""

_MAX_LEVEL = 50
"""The deepest level whose centres are all different in float64."""


def _cppns(programs: Programs, num_slots: int) -> CPPN:
    """Programs as CPPNs within a jit, with an axis for genomes in front."""
    num, num_inputs = programs.num_genomes, programs.num_inputs
    shape = (num, num_slots, programs.source.shape[1])
    source, weight = np.zeros(shape, np.int32), np.zeros(shape, programs.bias.dtype)
    bias, activation = np.zeros(shape[:2], weight.dtype), np.zeros(shape[:2], np.int32)
    genome = np.repeat(np.arange(num), programs.num_rows)
    first = np.cumsum(programs.num_rows) - programs.num_rows
    nth = np.arange(genome.size) - first[genome]
    row, place = programs.first_row[genome] + nth, (genome, num_inputs + nth)
    source[place], weight[place] = programs.source[row], programs.weight[row]
    bias[place], activation[place] = programs.bias[row], programs.activation[row]
    fan_in = np.zeros(shape[:2], np.int32)
    # (a slot of a row that is not used has the weight 0)
    fan_in[place] = shape[2]
    arrays = (
        source,
        weight,
        fan_in,
        bias,
        activation,
        programs.output_slot.astype(np.int32),
        (num_inputs + programs.num_rows).astype(np.int32),
        np.ones(num, bool),
    )
    with jax.enable_x64(weight.dtype == np.float64):
        return CPPN(*map(jnp.asarray, arrays))


@functools.partial(jax.jit, static_argnames="vocabulary")
def _answer(
    cppns: CPPN,
    source: Float[Array, "blocks queries 2"],
    target: Float[Array, "blocks queries 2"],
    vocabulary: Vocabulary,
) -> Float[Array, "blocks outputs queries"]:
    def answer(cppn, source, target):
        return ask_cppn(cppn, source, target, vocabulary)

    return jax.vmap(answer)(cppns, source, target)


def _runs(genome: Int[np.ndarray, " queries"]) -> tuple[np.ndarray, np.ndarray]:
    """First position and length of each run of equal entries."""
    starts = np.flatnonzero(genome[1:] != genome[:-1]) + 1
    bounds = np.concatenate([[0], starts, [genome.size]])
    return bounds[:-1], np.diff(bounds)


@dataclasses.dataclass(frozen=True)
class QueryEngine:
    """Answers queries to the CPPNs of one population.

    **Arguments:**

    - `programs`: from `compile_programs`; their dtype is the precision of the engine.
    - `coordinates`: what the CPPN's inputs are, of `COORDINATES`, in input order.
    - `resources`: which engine answers, and how many threads.
    """

    programs: Programs
    coordinates: tuple[str, ...] = ("x1", "y1", "x2", "y2", "bias")
    resources: Resources = dataclasses.field(default_factory=Resources)

    def __post_init__(self) -> None:
        check_types(self.programs)
        check_coordinates(self.programs, self.coordinates)

    @property
    def dtype(self) -> np.dtype:
        return self.programs.bias.dtype

    @functools.cached_property
    def _vocabulary(self) -> Vocabulary:
        programs = self.programs
        return Vocabulary(
            self.coordinates,
            programs.num_outputs,
            programs.activation_ids,
            programs.dialect,
        )

    @functools.cached_property
    def _cppns(self) -> CPPN:
        # One of few sizes, so that little is compiled.
        return _cppns(self.programs, round_up(self.programs.max_slots, 16))

    def query(
        self, genome: ArrayLike, source: ArrayLike, target: ArrayLike
    ) -> Float[np.ndarray, "queries outputs"]:
        """CPPN outputs for each (genome index, source point, target point).

        `source` and `target` have shape `(queries, 2)` or `(2,)`, and may lie anywhere;
        `genome` has shape `(queries,)` or is one index. Answers come in the order of
        the questions; queries of one genome are best asked behind each other.
        """
        genome, source, target = self._check(genome, source, target)
        if not genome.size:
            return np.zeros((0, self.programs.num_outputs), self.dtype)
        starts, counts = _runs(genome)
        self._check_genomes(genome[starts])
        order = None
        if starts.size > 4 * self.programs.num_genomes:
            order = np.argsort(genome, kind="stable")
            genome, source, target = genome[order], source[order], target[order]
            starts, counts = _runs(genome)
        _check_finite(source)
        _check_finite(target)
        values = self.query_runs(genome[starts], counts, source, target)
        if order is not None:
            scattered = np.empty_like(values)
            scattered[:, order] = values
            values = scattered
        return values.T

    def query_cells(
        self,
        genome: ArrayLike,
        point: ArrayLike,
        level: ArrayLike,
        cell: ArrayLike,
        *,
        outgoing: bool = True,
    ) -> Float[np.ndarray, "queries outputs"]:
        """CPPN outputs for links between points and integer cells of the plane.

        Cell (i, j) of level d has its centre at `((2i + 1) / 2^(d+1) - 1, ...)`, there
        being 2^(d+1) cells along each axis; `cell` has shape `(queries, 2)` or `(2,)`.
        Links lead to the cells if `outgoing`, else from them.
        """
        level, cell = np.asarray(level), np.atleast_2d(np.asarray(cell))
        if level.dtype.kind not in "iu" or cell.dtype.kind not in "iu":
            raise ValueError("levels and cells are whole numbers; points go to query.")
        level = np.atleast_1d(level)
        is_one_each = level.size == 1 or len(cell) in (1, level.size)
        if level.ndim != 1 or cell.ndim != 2 or not is_one_each:
            raise ValueError(
                f"cells need the shape (n, 2) and levels (n,), a single one counting "
                f"for all; these are {cell.shape} and {level.shape}."
            )
        num = 2 ** (level.clip(0, _MAX_LEVEL).astype(np.int64)[:, None] + 1)
        is_level = (level >= 0) & (level <= _MAX_LEVEL)
        if cell.shape[1] != 2 or not (is_level.all() and _is_within(cell, num)):
            raise ValueError(
                "a cell is a pair (i, j), each from 0 to 2^(level + 1) - 1, of a level "
                f"from 0 to {_MAX_LEVEL}."
            )
        centre = (2.0 * cell + 1.0) / num - 1.0
        ends = (point, centre) if outgoing else (centre, point)
        return self.query(genome, *ends)

    def _check(
        self, genome: ArrayLike, source: ArrayLike, target: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        genome = _as_genomes(genome)
        points = [_as_points(p, self.dtype) for p in (source, target)]
        source, target = points
        if source.shape == target.shape == (*genome.shape, 2):
            return genome, source, target
        shapes = f"genome {genome.shape}, source and target {[p.shape for p in points]}"
        if genome.ndim != 1 or any(p.ndim != 2 or p.shape[1] != 2 for p in points):
            raise ValueError(
                "queries need shapes (n,), (n, 2) and (n, 2), a single genome or point "
                f"counting for all; these are {shapes}."
            )
        try:
            (num,) = np.broadcast_shapes(genome.shape, *(p.shape[:1] for p in points))
        except ValueError as error:
            raise ValueError(f"numbers of queries differ: {shapes}.") from error
        source, target = (np.broadcast_to(p, (num, 2)) for p in points)
        return np.broadcast_to(genome, (num,)), source, target

    def _check_genomes(self, genome: Int[np.ndarray, " runs"]) -> None:
        low, high = genome.min(), genome.max()
        if low < 0 or high >= self.programs.num_genomes:
            raise ValueError(
                f"genome indices run from {low} to {high}, but this engine has "
                f"programs 0 to {self.programs.num_genomes - 1}."
            )

    def query_runs(
        self,
        genome: Int[np.ndarray, " runs"],
        counts: Int[np.ndarray, " runs"],
        source: Float[np.ndarray, "queries 2"],
        target: Float[np.ndarray, "queries 2"],
    ) -> Float[np.ndarray, "outputs queries"]:
        """The fast path: queries in runs of one genome each, of finite points."""
        source, target = (_as_points(p, self.dtype) for p in (source, target))
        genome, counts = self._check_runs(genome, counts, source, target)
        native = self.resources.native
        if native is not None:
            return self._ask_native(native, genome, counts, source, target)
        return self._ask_device(genome, counts, source, target)

    def _check_runs(
        self,
        genome: ArrayLike,
        counts: ArrayLike,
        source: np.ndarray,
        target: np.ndarray,
    ) -> tuple[Int[np.ndarray, " runs"], Int[np.ndarray, " runs"]]:
        genome, counts = _as_genomes(genome), np.asarray(counts)
        num = len(source)
        is_good = (
            source.shape == target.shape == (num, 2)
            and genome.shape == counts.shape == (genome.size,)
            and (counts.dtype.kind in "iu" or not counts.size)
            and _is_within(counts, num + 1)
            and int(counts.sum()) == num
        )
        if not is_good:
            raise ValueError(
                "runs of queries need one genome and one number of queries each, and "
                "points (queries, 2) for as many as these numbers add up to."
            )
        if genome.size:
            self._check_genomes(genome)
        return genome, counts.astype(np.int64)

    def _ask_native(
        self, native: Engine, genome, counts, source, target
    ) -> Float[np.ndarray, "outputs queries"]:
        # Long runs are cut, so that all threads have some.
        pieces = -(-counts // _NATIVE_RUN)
        owner = np.repeat(np.arange(counts.size), pieces)
        nth = np.arange(owner.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        first = np.cumsum(counts) - counts
        begins = first[owner] + nth * _NATIVE_RUN
        answers = native.module.query(
            self._held(native),
            genome[owner].astype(np.int32),
            np.append(begins, source.shape[0]).astype(np.int64),
            native_array(source, self.dtype),
            native_array(target, self.dtype),
            self.resources.num_threads,
        )
        return answers.reshape(self.programs.num_outputs, source.shape[0])

    def _held(self, native: Engine) -> Any:
        return hold_programs(native, self.programs, self.coordinates)

    def _ask_device(
        self, genome, counts, source, target
    ) -> Float[np.ndarray, "outputs queries"]:
        # Blocks of one size, the last of each run filled up, and as many in each call:
        # what is compiled does not depend on the batch, and neither do its bits.
        pieces = -(-counts // _BLOCK)
        owner = np.repeat(np.arange(counts.size), pieces)
        nth = np.arange(owner.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        begin = (np.cumsum(counts) - counts)[owner] + nth * _BLOCK
        length = np.minimum(counts[owner] - nth * _BLOCK, _BLOCK)
        result = np.empty((self.programs.num_outputs, source.shape[0]), self.dtype)
        lane = np.arange(_BLOCK)
        for first in range(0, owner.size, _BLOCKS):
            some = np.arange(first, first + _BLOCKS).clip(max=owner.size - 1)
            is_real = lane < length[some, None]
            is_real[owner.size - first :] = False
            where = np.where(lane < length[some, None], begin[some, None] + lane, 0)
            which = genome[owner[some]]
            with jax.enable_x64(self.dtype == np.float64):
                answers = _answer(
                    jax.tree.map(lambda x, w=which: x[w], self._cppns),
                    source[where].astype(self.dtype),
                    target[where].astype(self.dtype),
                    self._vocabulary,
                )
                values = np.asarray(answers).transpose(1, 0, 2)
            result[:, where[is_real]] = values[:, is_real]
        return result


def _as_genomes(genome: ArrayLike) -> np.ndarray:
    array = np.atleast_1d(np.asarray(genome))
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"genomes are named by whole numbers, not by {array.dtype}.")
    return array if array.size else array.astype(np.int64)


def _as_points(points: ArrayLike, dtype: np.dtype) -> np.ndarray:
    return np.atleast_2d(
        as_numbers("points must be rows (x, y) of numbers", points, dtype)
    )


def _is_within(index: np.ndarray, stop: np.ndarray | int) -> bool:
    return bool(((index >= 0) & (index < stop)).all())


def _check_finite(points: np.ndarray) -> None:
    # A NaN or an infinity survives the sum of squares, which is several times faster
    # than asking each; only where that overflows a second look is needed.
    flat = points.ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.dot(flat, flat)
    if not np.isfinite(squares) and not np.isfinite(flat).all():
        raise ValueError("a query point is NaN or infinite; repair the points.")
