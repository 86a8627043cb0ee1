"""What a worker does: a slice of genomes, from arrays to fitness.

It runs in processes that know nothing of the run but what they are sent. The decoder
and the problem are made once, and kept for the slices that follow.
"""

import contextlib
import dataclasses
import importlib.metadata
import pickle
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from .._compile_cache import use_cache
from .._places import place_of
from .._resources import Resources
from ..decoders import AbstractDecoder, NetworkCache
from ..neat import Genome
from ..problems import AbstractProblem
from ..workers import Answer, WorkersError, this_place
from ..worlds import Seen, Statistics
from ._identity import code_of, difference, identity_of_parts
from ._judge import judge

_MOST_KEPT = 8
"""Runs whose decoder and problem a worker keeps: it may serve several."""

_PACKAGES = ("substrax", "jax", "jaxlib")
JAX_SETTINGS = {
    "jax_enable_x64": jax.enable_x64,
    "jax_default_matmul_precision": jax.default_matmul_precision,
    "jax_default_prng_impl": jax.default_prng_impl,
    "jax_threefry_partitionable": jax.threefry_partitionable,
    "jax_numpy_dtype_promotion": jax.numpy_dtype_promotion,
    "jax_numpy_rank_promotion": jax.numpy_rank_promotion,
}
"""What decides about bits, or about what is allowed, and how it is set for a while."""


def versions() -> dict[str, str]:
    """Of what has to be the same everywhere."""
    return {name: importlib.metadata.version(name) for name in _PACKAGES}


@dataclasses.dataclass(frozen=True)
class Source:
    """All that a worker has to be told of a run, once."""

    recipe: bytes
    """Pickled, so that it is read where its errors can be told."""
    settings: Mapping[str, Any]
    """What the results depend on, as the calling side has it."""
    code: Mapping[str, str]
    versions: Mapping[str, str]
    engine: str
    jax_settings: Mapping[str, Any]
    resources: Resources
    keep_compiled: bool


class Slice(NamedTuple):
    """Some genomes, with the key of their generation."""

    genomes: Genome
    """Whose arrays are NumPy's."""
    key_words: np.ndarray
    key_kind: str
    statistics: Statistics | None = None
    """What the problem has to know of the generations before."""


class Judgement(NamedTuple):
    """What comes back."""

    fitness: Float[np.ndarray, " some"]
    num_hidden: Int[np.ndarray, " some"]
    num_links: Int[np.ndarray, " some"]
    num_grown: int
    seen: Seen | None = None
    num_steps: Float[np.ndarray, " some"] | None = None


class _Made(NamedTuple):
    decoder: AbstractDecoder
    problem: AbstractProblem
    source: Source


_made: OrderedDict[str, _Made] = OrderedDict()
_lock = threading.Lock()
_NO_CACHE = NetworkCache(0)


def judge_slice(digest: str, source: Source | None, some: Slice) -> Answer:
    """Decodes and evaluates. What goes wrong is told, not raised: an error of the work
    itself, or trouble that another worker may not have."""
    try:
        is_first = digest not in _made
        made = _found(digest, source)
        if made is None:
            return Answer(needs_source=True)
        began = time.perf_counter()
        judgement = _judged(made, some)
        seconds = time.perf_counter() - began
        return Answer(judgement, seconds, is_settled=not is_first)
    except Exception as error:
        return _told(error)


def _found(digest: str, source: Source | None) -> _Made | None:
    """The decoder and the problem of a run, made if this is the first slice of it."""
    with _lock:  # a worker may have several threads
        made = _made.get(digest)
        if made is None and source is not None:
            made = _made[digest] = _make(source)
            if len(_made) > _MOST_KEPT:
                _made.popitem(last=False)
        if made is not None:
            _made.move_to_end(digest)
        return made


def _make(source: Source) -> _Made:
    for name, version in versions().items():
        if source.versions[name] != version:
            raise _RefusalError(
                f"it has {name} {version}, and the run {source.versions[name]}. "
                "Install the same version everywhere"
            )
    if source.keep_compiled:
        use_cache()
    recipe = pickle.loads(source.recipe)
    decoder, problem = recipe.build()
    changed = difference(source.settings, identity_of_parts(decoder, problem))
    if changed is not None:
        raise _RefusalError(
            f"it would evaluate something else: {changed}. Its files of data have to "
            "be the same as where the run was started"
        )
    code = code_of(problem)
    # (where the source is not at hand, nothing is known)
    if any(code.get(name, then) != then for name, then in source.code.items()):
        raise _RefusalError(
            "the code of the problem is another one there. Copy it to all machines, "
            "and start the workers again"
        )
    engine = source.resources.engine_name
    if engine != source.engine:
        raise _RefusalError(
            f"it has engine {engine}, and the run {source.engine}; they round "
            "differently"
        )
    return _Made(decoder, problem, source)


class _RefusalError(Exception):
    """This worker must not take part."""


def _judged(made: _Made, some: Slice) -> Judgement:
    source, problem = made.source, made.problem
    if some.statistics is not None:
        problem = problem.after(some.statistics)
    with _jax_settings(source.jax_settings):
        key = jax.random.wrap_key_data(jnp.asarray(some.key_words), impl=some.key_kind)
        judged = judge(
            made.decoder, problem, some.genomes, key, _NO_CACHE, source.resources
        )
    return Judgement(
        judged.fitness,
        judged.num_hidden,
        judged.num_links,
        judged.num_grown,
        judged.seen,
        judged.num_steps,
    )


@contextlib.contextmanager
def _jax_settings(values: Mapping[str, Any]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for name, value in values.items():
            if jax.config.values[name] != value:
                stack.enter_context(JAX_SETTINGS[name](value))
        yield


def _told(error: Exception) -> Answer:
    """An error as it is told: the same genome with the same key fails in the same way
    everywhere, but for want of memory and of whatever a machine has or has not."""
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    kind = type(error).__name__
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in text:
        return Answer(trouble=f"a worker ({this_place()}) has no memory left")
    if isinstance(error, OSError):
        return Answer(trouble=f"{kind} on a worker ({this_place()}): {text}")
    if isinstance(error, _RefusalError):
        said = f"a worker ({this_place()}) cannot take part: {text}"
        return Answer(error=WorkersError(said))
    place = place_of(error)
    if isinstance(error, ValueError):
        where = f" (raised in {place.rstrip(',')}, on a worker)" if place else ""
        return Answer(error=ValueError(f"{text}.{where}"))
    return Answer(
        error=WorkersError(
            f"{place or 'evaluation'} failed on a worker ({this_place()}): "
            f"{kind}: {text}"
        )
    )
