"""Several processes that run one evolution together, each on devices of its own.

They were connected by `jax.distributed.initialize`. All of them do the same: every one
has NEAT's state and makes the next generation from the same fitness, which all have
gathered. What only one can know, it tells the others: the first process has the files,
the callbacks and the clock.
"""

import contextlib
import dataclasses
import logging
import math
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import jax
import numpy as np
from jax.experimental import multihost_utils

from .._memory import AUTO
from .._native import engine
from .._resources import Resources, device_memory
from ..decoders import AbstractDecoder
from ..neat import NEAT, first_capacities
from ..runs import StopReason
from ..tensor import population_mesh

T = TypeVar("T")

_ELSEWHERE = (
    "another process of this run stopped with an error, which its output shows. What "
    "is saved can be resumed."
)

_log = logging.getLogger("substrax")


def are_several() -> bool:
    return jax.process_count() > 1


def is_first() -> bool:
    """Whether this is the process that has the files and the callbacks."""
    return jax.process_index() == 0


def engine_for(
    resources: Resources, algorithm: NEAT, decoder: AbstractDecoder
) -> Resources:
    """Which engine works. Left to itself, it is the native one where a device has too
    little memory for one network; several processes work on devices."""
    if are_several():
        return resources.on_devices()
    if resources.native is not None or resources.engine != AUTO or resources.devices:
        return resources
    num_slots, *_ = first_capacities(algorithm.config)
    if decoder.fits_on_device(num_slots, resources) or engine() is None:
        return resources
    return dataclasses.replace(resources, engine="native")


def placed(
    resources: Resources, algorithm: NEAT, decoder: AbstractDecoder
) -> Resources:
    """Where a run works: on what there is, and as all processes can."""
    if are_several() and resources.engine == "native":
        raise ValueError(
            "several processes work together on devices alone. Use engine device, or "
            "run one process, which uses all cores."
        )
    chosen = engine_for(resources, algorithm, decoder)
    if chosen.native is None:
        population_mesh(chosen.devices)
    elif resources.native is None:
        _log.warning(
            "a network does not fit the memory of the device, or its grid is too deep "
            "for it, so engine native decodes and evaluates. --engine device insists."
        )
    return _agreed_resources(chosen) if are_several() else chosen


def _agreed_resources(resources: Resources) -> Resources:
    """The least that any process may take: what one refuses, all must refuse, and
    their programs must be the same."""
    of_device = device_memory() or 0
    # In 32 bits, which is what JAX has unless it is told otherwise.
    mine = np.array([resources.device_budget >> 20, of_device >> 20], np.int32)
    everyone = np.atleast_2d(multihost_utils.process_allgather(mine))
    if len({int(mebibytes).bit_length() for mebibytes in everyone[:, 1]}) > 1:
        raise ValueError(
            "the devices of the processes have different memory "
            f"({', '.join(f'{m:,} MiB' for m in everyone[:, 1])}), so their programs "
            "would differ. Start processes on devices of one kind."
        )
    return dataclasses.replace(resources, memory_budget=int(everyone[:, 0].min()) << 20)


def together(work: Callable[[], T]) -> T:
    """What `work` gives in this process. An error in any process ends it in all."""
    if not are_several():
        return work()
    error: Exception | None = None
    result: Any = None
    try:
        result = work()
    except Exception as mistake:
        error = mistake
    has_failed = np.int32(error is not None)
    anybody = bool(np.any(multihost_utils.process_allgather(has_failed)))
    if error is not None:
        raise error
    if anybody:
        raise RuntimeError(_ELSEWHERE)
    return result


def from_first(tree: T) -> T:
    """The arrays of the first process, in all of them. Shapes may differ, as capacities
    of genomes may; all else is the same."""
    if not are_several():
        return tree
    leaves, structure = jax.tree.flatten(tree)
    arrays = [np.asarray(leaf) for leaf in leaves]
    sizes = np.array([n for array in arrays for n in array.shape], np.int32)
    sizes = np.asarray(multihost_utils.broadcast_one_to_all(sizes)).tolist()
    shapes = [tuple(sizes.pop(0) for _ in array.shape) for array in arrays]
    # As bytes: they are sent by sums, which would not keep the sign of every zero.
    sent = np.frombuffer(b"".join(a.tobytes() for a in arrays), np.uint8)
    num_bytes = [
        math.prod(shape) * array.itemsize
        for shape, array in zip(shapes, arrays, strict=True)
    ]
    if not is_first():
        sent = np.zeros(sum(num_bytes), np.uint8)
    received = np.asarray(multihost_utils.broadcast_one_to_all(sent)).tobytes()
    begin, result = 0, []
    for leaf, array, shape, num in zip(leaves, arrays, shapes, num_bytes, strict=True):
        part = received[begin : begin + num]
        new = np.frombuffer(part, array.dtype).reshape(shape)
        result.append(new if isinstance(leaf, np.ndarray) else jax.device_put(new))
        begin += num
    return jax.tree.unflatten(structure, result)


_REASONS = (None, *StopReason)
_FAILED = -1


def agreed(reason: StopReason | None) -> StopReason | None:
    """What the first process says; an error if it has one."""
    if not are_several():
        return reason
    number = _told(_REASONS.index(reason))
    if number == _FAILED:
        raise RuntimeError(_ELSEWHERE)
    return _REASONS[number]


@contextlib.contextmanager
def telling_failure() -> Iterator[None]:
    """What the first process does alone, while the others wait in `agreed`."""
    try:
        yield
    except BaseException:
        if are_several() and is_first():
            _told(_FAILED)
        raise


def _told(number: int) -> int:
    """The number that the first process gives."""
    return int(multihost_utils.broadcast_one_to_all(np.int32(number)))
