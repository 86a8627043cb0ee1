"""A population decoded by the tensor engine: one program, in blocks, and again with
more room for those that need it."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Int

from .._memory import show_bytes
from .._resources import Resources, device_memory
from .._types import round_up
from ..neat import Genome
from ..network import Networks, TensorNetwork, to_host
from ..tensor import Capacity, Shortage, over_genomes
from ._graphs import graph_arrays

if TYPE_CHECKING:
    from ._base import AbstractDecoder

_BLOCK_BYTES, _BLOCK = 1 << 28, 32
"""Of the genomes that are decoded side by side on a CPU."""
_DEVICE_SHARE, _DEVICE_BLOCK = 8, 1024
"""The part of a device's own memory that they may take, and how many they are."""
_GROWTH = 4
"""Room grows in steps, so that few programs are compiled."""


class OnDevice(NamedTuple):
    """What a function said of the networks of a population: a tree of arrays for each
    part, and which genomes these are. `num_grown` genomes needed more room than there
    was at first."""

    parts: list[Any]
    numbers: list[Int[np.ndarray, " some"]]
    num_grown: int

    def joined(self) -> Any:
        """The tree of all genomes, in their order."""
        order = np.argsort(np.concatenate(self.numbers))
        return jax.tree.map(lambda *x: np.concatenate(x)[order], *self.parts)


def decode_on_device(
    decoder: "AbstractDecoder", genomes: Genome, resources: Resources
) -> Networks:
    """The networks of a population, by `decoder.trace`."""
    num = len(graph_arrays(genomes)["node_id"])  # refuses what is no population
    if not num:
        return to_host(_none(decoder, decoder.first_capacity(), genomes))
    found = run_on_device(_itself, decoder, genomes, resources, to_host=to_host)
    whole = Networks.join(found.parts, resources)
    order = np.argsort(np.concatenate(found.numbers))
    return whole if (order == np.arange(num)).all() else whole.take(order)


def _itself(network: TensorNetwork) -> TensorNetwork:
    return network


def run_on_device(
    fn: Callable[..., Any],
    decoder: "AbstractDecoder",
    genomes: Genome,
    resources: Resources,
    *shared: Any,
    mesh: Mesh | None = None,
    to_host: Callable[[Any], Any] = lambda tree: tree,
) -> OnDevice:
    """`fn(network, *shared)` of the network of each genome: one program from genomes to
    what is asked of their networks, over the devices of a mesh if there is one.

    Genomes that need more room than there is are taken again with more, in the same
    program as all that need as much. Give the same function each time: another one is
    compiled again. `to_host` gets the values of genomes for which there was room.
    """
    genomes = jax.tree.map(np.asarray, genomes)  # the same in all processes
    todo, capacity = np.arange(genomes.node_id.shape[0]), decoder.first_capacity()
    found = OnDevice([], [], 0)
    with jax.enable_x64(decoder.dtype == np.float64):
        while todo.size:
            block = _block(decoder, capacity, genomes, resources)
            some = _some(genomes, todo, block)
            program = _program(fn, decoder, capacity, block, mesh)
            values, exceeds, is_sound, shortage = program(some, *shared)
            is_sound = np.asarray(is_sound)[: todo.size]
            if not is_sound.all():
                _refuse(decoder, _some(genomes, todo[~is_sound], 1))
            exceeds = np.asarray(exceeds)[: todo.size]
            if not exceeds.all():
                index = np.flatnonzero(~exceeds)
                picked = jax.tree.map(lambda x, i=index: np.asarray(x)[i], values)
                found.parts.append(to_host(picked))
                found.numbers.append(todo[index])
            if exceeds.any():
                assert capacity is not None
                needed = jax.tree.map(
                    lambda x, n=todo.size, e=exceeds: np.asarray(x)[:n][e].max(axis=0),
                    shortage,
                )
                capacity = _grown(capacity, needed)
            todo = todo[exceeds]
            found = found._replace(num_grown=max(found.num_grown, todo.size))
    return found


@functools.lru_cache(maxsize=64)
def _program(
    fn: Callable[..., Any],
    decoder: "AbstractDecoder",
    capacity: Capacity | None,
    block: int,
    mesh: Mesh | None,
) -> Callable[..., Any]:
    def one(genome, *shared):
        traced = decoder.trace(genome, capacity)
        value = fn(traced.network, *shared)
        return value, traced.exceeds, traced.is_sound, traced.shortage

    def population(genomes, *shared):
        return over_genomes(one, genomes, *shared, block=block, mesh=mesh)

    return jax.jit(population)


def _none(
    decoder: "AbstractDecoder", capacity: Capacity | None, genomes: Genome
) -> TensorNetwork:
    """The networks of no genomes."""
    with jax.enable_x64(decoder.dtype == np.float64):
        trace = jax.vmap(lambda genome: decoder.trace(genome, capacity).network)
        shapes = jax.eval_shape(trace, genomes)
        return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)


def _some(genomes: Genome, which: np.ndarray, block: int) -> Genome:
    """Some genomes, the last several times: sizes are few, so that little is
    compiled."""
    num = round_up(which.size, block)
    index = np.append(which, np.repeat(which[-1:], num - which.size))
    return jax.tree.map(lambda x: x[index], genomes)


def _block(
    decoder: "AbstractDecoder",
    capacity: Capacity | None,
    genomes: Genome,
    resources: Resources,
) -> int:
    """How many genomes are decoded side by side: it depends on their sizes, and on the
    memory of the device, alone."""
    num_slots = genomes.node_id.shape[1]
    of_one, room = decoder.traced_bytes(capacity, num_slots), resources.device_budget
    if of_one > room:
        raise ValueError(
            f"one network needs about {show_bytes(of_one)} on a device, more than "
            f"there is for it ({show_bytes(room)}). Raise memory_budget if it is "
            "smaller than the device's memory, lower depth, raise "
            "variance_threshold, or use engine native."
        )
    return _block_size(of_one, device_memory())


def _block_size(of_one: int, of_device: int | None) -> int:
    """A power of two: few sizes, so that devices of one kind agree."""
    at_once, most = _BLOCK_BYTES, _BLOCK
    if of_device is not None:
        at_once, most = of_device // _DEVICE_SHARE, _DEVICE_BLOCK
    return max(1, min(most, 1 << max(0, (at_once // of_one).bit_length() - 1)))


def _grown(capacity: Capacity, needed: Shortage) -> Capacity:
    """Room for what was seen to be needed."""

    def more(has: int, wants: int) -> int:
        while has < wants:
            has *= _GROWTH
        return has

    quads = tuple(
        min(4**level, more(has, int(wants)))
        for level, (has, wants) in enumerate(
            zip(capacity.quads, needed.quads, strict=True)
        )
    )
    return Capacity(more(capacity.hidden, int(needed.hidden)), quads)


def _refuse(decoder: "AbstractDecoder", genomes: Genome) -> None:
    """Says what is wrong with genomes that cannot be read: the host's reader knows."""
    decoder.check_genomes(genomes)
    raise ValueError("a genome cannot be read as a network; repair the genomes.")
