"""The query engine: arbitrary batches of (genome, source point, target point).

Everything that turns CPPNs into networks asks through here. The host groups the queries
by genome where they are scattered, cuts them into blocks and hands chunks of a few
fixed shapes to the kernel, so that a run compiles two or three kernels and no more.
"""

import dataclasses
import functools
import threading
from typing import TypeVar

import jax
import numpy as np
from jaxtyping import Float, Int

from .._memory import aligned_zeros
from .._threads import map_in_order
from .._types import ArrayLike
from ._kernel import (
    COORDINATES,
    TAIL,
    Kind,
    Language,
    Plan,
    Points,
    Quads,
    Questions,
    Ranges,
    Tables,
    run_queries,
)
from ._plan import ACCELERATOR, BLOCK_CAPACITIES, CPU, Cut, plan_blocks
from ._program import Programs

_CHUNK_SIZES = (1 << 15, 1 << 18)
"""Queries that one kernel call takes: a batch is padded to one of these."""

_FEW_POINTS = 1 << 15
"""The smallest table of points that ranges refer to."""

_MAX_RUNS = 1 << 12
"""Runs (of queries of one genome) that one kernel call takes."""


T = TypeVar("T")


def _round_up(n: int, minimum: int) -> int:
    return max(minimum, 1 << max(0, n - 1).bit_length())


def _pad(array: np.ndarray, length: int) -> np.ndarray:
    padded = aligned_zeros((length, *array.shape[1:]), array.dtype)
    padded[: array.shape[0]] = array
    return padded


class _Scratch(threading.local):
    """Buffers of each thread for what it hands to the kernel.

    They are aligned as XLA wants its arguments, which spares it a copy, and used again
    and again, which spares fresh pages. A chunk's result is awaited before its thread
    takes the next.
    """

    def __init__(self) -> None:
        self.buffers: dict[tuple[str, int, np.dtype], np.ndarray] = {}

    def padded(
        self, name: str, points: np.ndarray, length: int, dtype: np.dtype
    ) -> np.ndarray:
        key = (name, length, dtype)
        if key not in self.buffers:
            self.buffers[key] = aligned_zeros((length, 2), dtype)
        buffer = self.buffers[key]
        # Lanes behind the end are computed and dropped: any finite point will do.
        buffer[: points.shape[0]] = points
        return buffer


_scratch = _Scratch()


def make_language(programs: Programs, coordinates: tuple[str, ...]) -> Language:
    """What the kernel must be compiled for; sizes are rounded up, to compile rarely."""
    return Language(
        num_slots=_round_up(programs.max_slots, 16),
        coordinates=coordinates,
        activation_ids=programs.activation_ids,
        dialect=programs.dialect,
    )


def make_tables(programs: Programs) -> Tables:
    """The programs, padded to bucketed sizes."""
    p = programs
    rows = _round_up(p.bias.size, 1024)
    genomes = _round_up(p.num_genomes, 1024)
    return Tables(
        _pad(np.column_stack([p.source, p.activation]), rows),
        _pad(np.column_stack([p.weight, p.bias]), rows),
        _pad(np.column_stack([p.first_row, p.num_rows, p.output_slot]), genomes),
    )


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
    - `vectorised`: run blocks side by side (accelerators) or one by one (CPUs). Left
      out, the default device decides.
    """

    programs: Programs
    coordinates: tuple[str, ...] = ("x1", "y1", "x2", "y2", "bias")
    vectorised: bool | None = None

    def __post_init__(self) -> None:
        for name in self.coordinates:
            if name not in COORDINATES:
                raise ValueError(
                    f"unknown CPPN input {name!r}; use some of {', '.join(COORDINATES)}"
                )
        if len(self.coordinates) != self.programs.num_inputs:
            raise ValueError(
                f"the CPPNs have {self.programs.num_inputs} inputs, but `coordinates` "
                f"names {len(self.coordinates)}: {', '.join(self.coordinates)}. Make "
                "them agree."
            )

    @property
    def dtype(self) -> np.dtype:
        return self.programs.bias.dtype

    @functools.cached_property
    def _cut(self) -> Cut:
        is_accelerated = (
            jax.default_backend() != "cpu"
            if self.vectorised is None
            else self.vectorised
        )
        return ACCELERATOR if is_accelerated else CPU

    @property
    def has_threads(self) -> bool:
        """Whether it pays to ask from several threads: a CPU has a core for each."""
        return self._cut is CPU

    @functools.cached_property
    def _language(self) -> Language:
        return make_language(self.programs, self.coordinates)

    @functools.cached_property
    def _tables(self) -> Tables:
        return self._put(make_tables(self.programs))

    def _put(self, arrays: T) -> T:
        """Arrays where the kernel finds them, for several calls.

        A CPU reads aligned arrays of NumPy where they are.
        """
        if self._cut is CPU:
            return arrays
        with jax.enable_x64(self.dtype == np.float64):
            return jax.device_put(arrays)

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
        values = self._ask(
            genome[starts], counts, Points(source, target), Kind(), is_checked=False
        )
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
        num = 2 ** (np.atleast_1d(level).astype(np.int64)[:, None] + 1)
        if cell.shape[-1] != 2 or (num < 2).any() or ((cell < 0) | (cell >= num)).any():
            raise ValueError(
                "a cell is a pair (i, j), each from 0 to 2^(level + 1) - 1, of a level "
                "from 0."
            )
        centre = (2.0 * cell + 1.0) / num - 1.0
        ends = (point, centre) if outgoing else (centre, point)
        return self.query(genome, *ends)

    def _check(
        self, genome: ArrayLike, source: ArrayLike, target: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        genome = np.atleast_1d(np.asarray(genome))
        points = [np.atleast_2d(np.asarray(p, self.dtype)) for p in (source, target)]
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
        """The fast path: queries in runs of one genome each, checked by the caller."""
        return self._ask(genome, counts, Points(source, target), Kind())

    def query_quads(
        self,
        genome: Int[np.ndarray, " runs"],
        counts: Int[np.ndarray, " runs"],
        fixed: Float[np.ndarray, "quads 2"],
        centre: Float[np.ndarray, "quads 2"],
        half: Float[np.ndarray, "quads 2"],
        *,
        outgoing: bool,
    ) -> Float[np.ndarray, "outputs 4 quads"]:
        """Outputs at the four children of cells, seen from fixed points.

        The children lie at `centre` plus or minus `half`, (x, y), in the order (-,-),
        (-,+), (+,-), (+,+). `fixed` is the links' source if `outgoing`, else their
        target.
        """
        quads = Quads(fixed, centre, half)
        result = self._ask(genome, counts, quads, Kind(4, outgoing))
        return result.reshape(self.programs.num_outputs, 4, fixed.shape[0])

    def query_ranges(
        self,
        genome: Int[np.ndarray, " ranges"],
        counts: Int[np.ndarray, " ranges"],
        source: Float[np.ndarray, "ranges 2"],
        first_target: Int[np.ndarray, " ranges"],
        target: Float[np.ndarray, "points 2"],
    ) -> Float[np.ndarray, "outputs queries"]:
        """Links from one point each to `counts` points of a table from `first_target`.

        Nothing is laid out per query, which suits all pairs of many positions.
        """
        total = int(counts.sum())
        result = np.empty((self.programs.num_outputs, total), self.dtype)
        length = _FEW_POINTS
        while length < target.shape[0] + TAIL:
            length *= (
                16  # each size is a kernel to compile; what is unused costs little
            )
        table = self._put(_pad(target.astype(self.dtype, copy=False), length))
        ends = np.cumsum(counts)
        for begin, stop, runs, lengths in _chunks(counts, total, 1):
            skipped = np.maximum(begin - (ends[runs] - counts[runs]), 0)
            origin = _pad(source[runs].astype(self.dtype), _MAX_RUNS)
            chunk = next(c for c in _CHUNK_SIZES if c >= stop - begin)
            plan = plan_blocks(
                genome[runs],
                lengths,
                self._cut,
                first_target=first_target[runs] + skipped,
                # One capacity for large chunks: the other would be one kernel more.
                min_blocks=0 if chunk == _CHUNK_SIZES[0] else BLOCK_CAPACITIES[-1],
            )
            questions = Ranges(origin, table)
            self._run(plan, questions, Kind(), chunk + TAIL, result[:, begin:stop])
        return result

    def _ask(
        self,
        genome: np.ndarray,
        counts: np.ndarray,
        questions: Questions,
        kind: Kind,
        *,
        is_checked: bool = True,
    ) -> np.ndarray:
        total = questions[0].shape[0]
        num_rows = self.programs.num_outputs * kind.num_queries
        result = np.empty((num_rows, total), self.dtype)
        genome = np.asarray(genome)
        chunks = list(_chunks(np.asarray(counts), total, kind.num_queries))

        def run(chunk):
            begin, stop, runs, lengths = chunk
            part = (begin, stop, genome[runs], lengths)
            self._run_chunk(questions, kind, is_checked, result, *part)

        _ = self._tables, self._language  # made before threads ask for them
        is_worth_threads = len(chunks) > 1 and self.has_threads
        for _ in map_in_order(run, chunks, None if is_worth_threads else 1):
            pass
        return result

    def _run_chunk(
        self, questions, kind, is_checked, result, begin, stop, genome, counts
    ) -> None:
        size = stop - begin
        chunk = next(c for c in _CHUNK_SIZES if c >= size * kind.num_queries)
        length = (chunk + TAIL) // kind.num_queries
        part = []
        for k, q in enumerate(questions):
            part.append(_scratch.padded(str(k), q[begin:stop], length, self.dtype))
            if not is_checked:
                _check_finite(part[-1][:size])
        plan = plan_blocks(genome, counts, self._cut, kind.num_queries)
        self._run(plan, type(questions)(*part), kind, length, result[:, begin:stop])

    def _run(
        self,
        plan: Plan,
        questions: Questions,
        kind: Kind,
        num_answers: int,
        result: np.ndarray,
    ) -> None:
        """One call of the kernel; the first answers go to `result`."""
        run = functools.partial(
            run_queries,
            self._tables,
            plan,
            questions,
            num_answers=num_answers,
            language=self._language,
            kind=kind,
            side_by_side=self._cut.side_by_side,
        )
        if self.dtype == np.float64:
            with jax.enable_x64(True):
                values = run()
        else:
            values = run()
        result[:] = np.asarray(values)[:, : result.shape[1]]


def _check_finite(points: np.ndarray) -> None:
    # A NaN or an infinity survives the sum of squares, which is several times faster
    # than asking each; only where that overflows a second look is needed.
    flat = points.ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.dot(flat, flat)
    if not np.isfinite(squares) and not np.isfinite(flat).all():
        raise ValueError("a query point is NaN or infinite; repair the points.")


def _chunks(counts: np.ndarray, total: int, num_queries: int):
    """Cuts a batch where a kernel call is full; a run may span several calls.

    Yields the questions from `begin` to `stop`, the runs that they belong to, and how
    many of each run there are.
    """
    if 0 < total <= _CHUNK_SIZES[-1] // num_queries and counts.size <= _MAX_RUNS:
        yield 0, total, slice(0, counts.size), counts
        return
    ends = np.cumsum(counts)
    begin = 0
    while begin < total:
        stop = min(total, begin + _CHUNK_SIZES[-1] // num_queries)
        first = int(np.searchsorted(ends, begin, side="right"))
        last = int(np.searchsorted(ends, stop, side="left")) + 1
        if last - first > _MAX_RUNS:
            last = first + _MAX_RUNS
            stop = int(ends[last - 1])
        runs = slice(first, last)
        upper = np.minimum(ends[runs], stop)
        lower = np.maximum(ends[runs] - counts[runs], begin)
        yield begin, stop, runs, upper - lower
        begin = stop
