"""Networks that the native engine evaluates from within JAX's programs.

They are readied once: links sorted by target, nodes in the order of evaluation. A
program gets their number as an argument and hands it to the engine, with the inputs of
all networks; so it depends on nothing about them but how many there are, and the bits
are those of `evaluate`.
"""

import functools
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, UInt32

from .._memory import show_bytes
from .._native import Engine, logger
from .._resources import Resources
from ._check import hold_networks
from ._networks import Networks

_LINK_BYTES, _NODE_BYTES = 12, 40
"""What a link and a node of readied networks take."""

_KINDS = {np.dtype(np.float32): "Float", np.dtype(np.float64): "Double"}


@functools.cache
def calls_native(native: Engine) -> bool:
    """Whether JAX's programs can call the engine here; tells JAX of it."""
    if jax.default_backend() != "cpu":
        return False
    for kind in _KINDS.values():
        readied = getattr(native.module, f"Readied{kind}")
        for name in ("settle", "advance"):
            handler = getattr(readied, f"{name}_handler")()
            if handler is None:  # built without XLA's headers
                return False
            try:
                jax.ffi.register_ffi_target(_target(name, kind), handler, "cpu")
            except Exception as error:  # built for another version of JAX
                logger.warning(
                    "this version of JAX cannot call the native engine (%s), so JAX "
                    "evaluates networks within its own programs, which takes longer. "
                    "Install substrax again.",
                    error,
                )
                return False
    return True


def _target(name: str, kind: str) -> str:
    return f"substrax_{name}_{kind.lower()}"


def _bytes_of(networks: Networks, begin, stop):
    """What some networks take when they are readied."""
    links = networks.link_bounds[stop] - networks.link_bounds[begin]
    nodes = networks.node_bounds[stop] - networks.node_bounds[begin]
    return links * _LINK_BYTES + nodes * _NODE_BYTES


def fits_readied(networks: Networks, num: int, budget: int) -> bool:
    """Whether so many networks at a time may be readied."""
    begin = np.arange(0, len(networks), num)
    stop = np.minimum(begin + num, len(networks))
    return bool((_bytes_of(networks, begin, stop) <= budget).all())


class ReadiedNetworks:
    """Networks that programs can evaluate as long as this object exists."""

    def __init__(
        self, native: Engine, networks: Networks, resources: Resources
    ) -> None:
        needed = int(_bytes_of(networks, 0, len(networks)))
        if needed > resources.budget:
            raise ValueError(
                f"a network of {int(networks.link_bounds[-1]):,} links needs about "
                f"{show_bytes(needed)} within a JAX function, more than memory_budget "
                f"({show_bytes(resources.budget)}). Raise memory_budget, or lower "
                "depth."
            )
        held = hold_networks(native, networks)
        kind = _KINDS[networks.dtype]
        readied = getattr(native.module, f"Readied{kind}")
        self._registration: Any = readied.ready(held, int(networks.steps))
        number = self._registration.number
        self.number = np.array([number & 0xFFFFFFFF, number >> 32], np.uint32)


def settle_natively(
    number: UInt32[Array, " 2"],
    inputs: Float[Array, "networks samples inputs"],
    *,
    num_outputs: int,
    threads: int,
) -> Float[Array, "networks samples outputs"]:
    """Outputs of readied networks without cycles."""
    shape = jax.ShapeDtypeStruct((*inputs.shape[:2], num_outputs), inputs.dtype)
    call = jax.ffi.ffi_call(_target("settle", _KINDS[np.dtype(inputs.dtype)]), shape)
    return call(number, inputs, threads=np.int32(threads))


def advance_natively(
    number: UInt32[Array, " 2"],
    inputs: Float[Array, "networks samples inputs"],
    state: Float[Array, "networks slots samples"],
    *,
    num_outputs: int,
    threads: int,
) -> tuple[
    Float[Array, "networks slots samples"], Float[Array, "networks samples outputs"]
]:
    """Next states and outputs of readied networks with cycles."""
    shapes = (
        jax.ShapeDtypeStruct(state.shape, state.dtype),
        jax.ShapeDtypeStruct((*inputs.shape[:2], num_outputs), inputs.dtype),
    )
    call = jax.ffi.ffi_call(_target("advance", _KINDS[np.dtype(inputs.dtype)]), shapes)
    after, outputs = call(number, inputs, state, threads=np.int32(threads))
    return after, outputs
