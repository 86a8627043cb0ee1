"""Several processes that run one evolution together, each on devices of its own.

They were connected by `jax.distributed.initialize`. All of them do the same: every one
has NEAT's state and makes the next generation from the same fitness, which all have
gathered. What only one can know, it tells the others: the first process has the files,
the callbacks and the clock.
"""

import dataclasses
import logging
from typing import TypeVar

import jax
import numpy as np
from jax.experimental import multihost_utils

from .._memory import AUTO
from .._native import engine
from .._resources import Resources
from ..decoders import AbstractDecoder
from ..neat import NEAT, first_capacities
from ..runs import StopReason
from ..tensor import population_mesh

T = TypeVar("T")

_log = logging.getLogger("substrax")

_REASONS = (None, *StopReason)


def are_several() -> bool:
    return jax.process_count() > 1


def is_first() -> bool:
    """Whether this is the process that has the files and the callbacks."""
    return jax.process_index() == 0


def placed(
    resources: Resources, algorithm: NEAT, decoder: AbstractDecoder
) -> Resources:
    """Where a run works. Left to itself, it is the native engine where a device has too
    little memory for one network; several processes work on devices, which must be
    there."""
    if resources.native is None:
        population_mesh(resources.devices)
        is_free = resources.engine == AUTO and resources.devices is None
        num_slots, *_ = first_capacities(algorithm.config)
        fits = decoder.fits_on_device(num_slots, resources)
        if is_free and not fits and not are_several() and engine() is not None:
            _log.warning(
                "a network does not fit the memory of the device, or its grid is too "
                "deep for it, so engine native decodes and evaluates. --engine device "
                "insists."
            )
            return dataclasses.replace(resources, engine="native")
    if not are_several() or resources.native is None:
        return resources
    if resources.engine == "native":
        raise ValueError(
            "several processes work together on devices alone. Use engine device, or "
            "run one process, which uses all cores."
        )
    return resources.on_devices()


def from_first(tree: T) -> T:
    """The arrays of the first process, in all of them; shapes must be the same."""
    if not are_several():
        return tree
    leaves, structure = jax.tree.flatten(tree)
    arrays = [np.asarray(leaf) for leaf in leaves]
    # As bytes: they are sent by sums, which would not keep the sign of every zero.
    sent = np.frombuffer(b"".join(a.tobytes() for a in arrays), np.uint8)
    received = np.asarray(multihost_utils.broadcast_one_to_all(sent)).tobytes()
    begin, result = 0, []
    for array in arrays:
        part = received[begin : begin + array.nbytes]
        new = np.frombuffer(part, array.dtype).reshape(array.shape)
        result.append(jax.device_put(new))
        begin += array.nbytes
    return jax.tree.unflatten(structure, result)


def agreed(reason: StopReason | None) -> StopReason | None:
    """What the first process says."""
    if not are_several():
        return reason
    number = np.int32(_REASONS.index(reason))
    return _REASONS[int(multihost_utils.broadcast_one_to_all(number))]
