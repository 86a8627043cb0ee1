"""Genomes to fitness by workers: the calling side."""

import contextlib
import dataclasses
import hashlib
import logging
import pickle
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from .._memory import LEAST_BUDGET
from .._resources import Resources
from ..decoders import AbstractDecoder
from ..neat import NO_LINK, NO_NODE, Genome
from ..problems import AT_ONCE, AbstractProblem
from ..workers import (
    AbstractCrew,
    ProcessCrew,
    Share,
    Sizes,
    Span,
    check_executor,
    open_crew,
)
from ..worlds import Statistics
from ._identity import code_of, identity_of_parts
from ._judge import Judged
from ._processes import are_several
from ._recipe import AbstractRecipe, Objects, written
from ._worker import (
    JAX_SETTINGS,
    Judgement,
    Slice,
    Source,
    judge_slice,
    versions,
)

_log = logging.getLogger("substrax")

SLICE_TIMEOUT = 600.0
"""Seconds after which a worker counts as hung, unless a run says otherwise."""
_SMALL = 1 << 16
"""Bytes of a source that goes with every slice; a larger one, to those who ask."""
_NUM_CHECKED = 3
_WORKER = judge_slice.__module__


def check_shared(problem: AbstractProblem) -> None:
    """Refuses a problem whose networks have to be evaluated together."""
    if are_several():
        raise ValueError(
            "an executor is for one process, and here are several that work together "
            "on devices. Leave `executor` out."
        )
    if problem.is_separable is False:
        raise ValueError(
            f"the fitness of {problem.name!r} depends on the whole population "
            "(is_separable is False), so it cannot be shared out. Leave `executor` out."
        )


def child_environment() -> dict[str, str]:
    """What processes that are started here have to know of JAX's configuration."""
    names = {
        "JAX_COMPILATION_CACHE_DIR": "jax_compilation_cache_dir",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": (
            "jax_persistent_cache_min_compile_time_secs"
        ),
        "JAX_PLATFORMS": "jax_platforms",
    }
    values = {name: jax.config.values[key] for name, key in names.items()}
    return {name: str(value) for name, value in values.items() if value is not None}


@contextlib.contextmanager
def sharing(
    executor: Executor | str | None,
    decoder: AbstractDecoder,
    problem: AbstractProblem,
    recipe: AbstractRecipe | None,
    resources: Resources,
    timeout: float | None,
    keep_compiled: bool,
) -> "Iterator[SharedJudge | None]":
    """Who judges a run's genomes, if there is an executor; what was started for that
    ends with it, however it ends."""
    if executor is None:
        yield None
        return
    check_executor(executor)
    check_shared(problem)
    sent = written(recipe or Objects(decoder, problem))
    crew = open_crew(executor, child_environment(), [_WORKER])
    try:
        yield SharedJudge(
            crew, decoder, problem, sent, resources, timeout, keep_compiled
        )
    finally:
        crew.close()


class SharedJudge:
    """Shares populations out among workers."""

    def __init__(
        self,
        crew: AbstractCrew,
        decoder: AbstractDecoder,
        problem: AbstractProblem,
        recipe: bytes,
        resources: Resources,
        timeout: float | None,
        keep_compiled: bool,
    ) -> None:
        self._crew, self._problem, self._timeout = crew, problem, timeout
        self._is_native = resources.native is not None
        self._sizes = Sizes()
        self._is_checked = problem.is_separable is True
        self._source = Source(
            recipe=recipe,
            settings=identity_of_parts(decoder, problem),
            code=code_of(problem),
            versions=versions(),
            engine=resources.engine_name,
            jax_settings={name: jax.config.values[name] for name in JAX_SETTINGS},
            resources=_for_workers(resources, crew),
            keep_compiled=keep_compiled,
        )
        content = pickle.dumps(self._source)
        self._digest = hashlib.sha256(content).hexdigest()
        self._is_small = len(content) <= _SMALL
        self._is_told = False
        self.num_redone = 0
        """Slices that were lost and done again, so far."""

    def judge(
        self,
        genomes: Genome,
        key: Key[Array, ""],
        statistics: Statistics | None = None,
    ) -> Judged:
        """What `judge` says, to the bit."""
        genomes = jax.tree.map(np.asarray, genomes)
        total = len(genomes.node_id)
        words = np.asarray(jax.random.key_data(key))
        kind = str(jax.random.key_impl(key))

        def ask(span: Span, is_full: bool) -> tuple[Any, tuple]:
            some = jax.tree.map(lambda x: x[span.begin : span.stop], genomes)
            asked = Slice(self._trimmed(some), words, kind, statistics)
            return self._call(asked, is_full)

        share = self._share(ask)
        self._tell_of_blocks(total, share.step)
        parts = share.run(total)
        self.num_redone += share.num_redone
        judged = _joined(parts, total)
        if not self._is_checked:
            self._check(judged, genomes, words, kind, statistics)
            self._is_checked = True
        return judged

    def _share(self, ask: Any) -> Share:
        is_traced = self._problem.traced() is not None
        # On devices all blocks have one size already.
        step = (self._problem.block_size or AT_ONCE) if self._is_native else 1
        return Share(
            self._crew,
            ask,
            sizes=self._sizes,
            timeout=self._timeout,
            step=step,
            is_compiled=is_traced and self._is_native,
        )

    def _tell_of_blocks(self, total: int, step: int) -> None:
        """Says, once, that there is nothing to be shared."""
        if self._is_told or total >= 2 * step or step == 1:
            return
        self._is_told = True
        if self._crew.num_workers() > 1:
            _log.warning(
                "the fitness is one program for blocks of %d networks, so that one "
                "worker evaluates all %d of a generation. With a smaller block_size, "
                "such as 32, several do: FunctionProblem(..., block_size=32), or the "
                "setting of that name, for a new run.",
                step,
                total,
            )

    def _call(self, some: Slice, is_full: bool) -> tuple[Any, tuple]:
        source = self._source if is_full or self._is_small else None
        return judge_slice, (self._digest, source, some)

    def _trimmed(self, genomes: Genome) -> Genome:
        """Without the room that none of these uses, if that compiles nothing anew."""
        if not self._is_native:
            return genomes
        num_nodes = int((genomes.node_id != NO_NODE).sum(axis=1).max(initial=1))
        num_links = int((genomes.link_id != NO_LINK).sum(axis=1).max(initial=1))
        leaves, structure = jax.tree.flatten(genomes)
        # Slots in use come first.
        trimmed = [
            np.ascontiguousarray(x[:, : num_nodes if "node" in name else num_links])
            for name, x in zip(_FIELDS, leaves, strict=True)
        ]
        return jax.tree.unflatten(structure, trimmed)

    def _check(
        self,
        judged: Judged,
        genomes: Genome,
        words: np.ndarray,
        kind: str,
        statistics: Statistics | None,
    ) -> None:
        """Whether a fitness depends on neighbours: some genomes, in other company."""
        total = len(judged.fitness)
        index = np.unique(np.linspace(0, total - 1, _NUM_CHECKED).astype(int))[::-1]

        def ask(span: Span, is_full: bool) -> tuple[Any, tuple]:
            which = index[span.begin : span.stop]
            some = jax.tree.map(lambda x: x[which], genomes)
            asked = Slice(self._trimmed(some), words, kind, statistics)
            return self._call(asked, is_full)

        whole = Share(self._crew, ask, sizes=_Whole(), timeout=self._timeout)
        again = _joined(whole.run(len(index)), len(index)).fitness
        before = judged.fitness[index]
        same = (again == before) | (np.isnan(again) & np.isnan(before))
        if not same.all():
            k = int(np.flatnonzero(~same)[0])
            raise ValueError(
                f"genome {index[k]} has the fitness {float(before[k])!r} among some "
                f"networks and {float(again[k])!r} among others, so the population "
                f"cannot be shared out. If the fitness of {self._problem.name!r} draws "
                "random numbers, draw them from the key, the same for every network. "
                "If it compares networks, set is_separable to False, and leave "
                "`executor` out. If it differs each time it is asked, and shall, set "
                "is_separable to True."
            )


_FIELDS = tuple(field.name for field in dataclasses.fields(Genome))


class _Whole(Sizes):
    def size(self, total: int, num_workers: int) -> int:
        return total


def _for_workers(resources: Resources, crew: AbstractCrew) -> Resources:
    """What each worker may take."""
    is_native = resources.native is not None
    engine = "native" if is_native else "device"
    given = dataclasses.replace(
        resources, engine=engine, on_progress=None, scratch=None
    )
    if not isinstance(crew, ProcessCrew):
        # A task is a core to Dask and to MPI, unless somebody says otherwise.
        return dataclasses.replace(given, threads=resources.threads or 1)
    num = crew.num_workers()
    return dataclasses.replace(
        given,
        threads=max(1, resources.num_threads // num),
        # (less than the least is refused; a block of work takes so much anyway)
        memory_budget=max(LEAST_BUDGET, resources.budget // num),
    )


def _joined(parts: list[tuple[Span, Judgement]], total: int) -> Judged:
    """The spans in their order; where two overlap they agree."""
    fitness = np.zeros(total)
    num_hidden, num_links = np.zeros((2, total), np.int64)
    num_grown, more = 0, None
    for span, part in parts:
        place = slice(span.begin, span.stop)
        some = part.seen, part.num_steps
        if more is None:
            more = jax.tree.map(lambda x: np.zeros((total, *x.shape[1:])), some)
        for whole, own in zip(*map(jax.tree.leaves, (more, some)), strict=True):
            whole[place] = own
        fitness[place] = part.fitness
        num_hidden[place], num_links[place] = part.num_hidden, part.num_links
        num_grown += part.num_grown
    return Judged(
        *(fitness, num_hidden, num_links, None, num_grown),
        seen=None if more is None else more[0],
        num_steps=None if more is None else more[1],
    )
