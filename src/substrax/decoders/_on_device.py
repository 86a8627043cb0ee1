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
_DEVICE_SHARE, _DEVICE_BLOCK = 8, 64
"""The part of a device's own memory that they may take, and how many they are: they
ask some hundred thousand questions at once, and the last block is filled up."""
_FEW = 8
"""How many are taken again side by side, with more room: mostly there are few."""
_KEPT_BYTES = 5
"""What each pair of nodes takes in a network that is brought to the host."""
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
    num = genomes.node_id.shape[0]
    todo, capacity = np.arange(num), decoder.first_capacity()
    found = OnDevice([], [], 0)
    with jax.enable_x64(decoder.dtype == np.float64):
        while todo.size:
            block = _block(decoder, capacity, genomes, resources)
            program = _program(fn, decoder, capacity, block, mesh)
            at_once = num
            if fn is _itself:
                at_once = _most_kept(decoder, capacity, genomes, resources)
            left, needed = [], []
            for begin in range(0, todo.size, at_once):
                part = todo[begin : begin + at_once]
                # Of all genomes, whole blocks; of those that are left, few numbers of
                # blocks: each number is compiled.
                size = part.size if todo.size == num else round_up(part.size, 1)
                some = _some(genomes, part, block * -(-size // block))
                values, exceeds, is_sound, shortage = program(some, *shared)
                is_sound = np.asarray(is_sound)[: part.size]
                if not is_sound.all():
                    _refuse(decoder, _some(genomes, part[~is_sound], 1))
                exceeds = np.asarray(exceeds)[: part.size]
                if not exceeds.all():
                    found.parts.append(to_host(_rows(values, ~exceeds)))
                    found.numbers.append(part[~exceeds])
                if exceeds.any():
                    seen = _rows(shortage, exceeds)
                    needed.append(jax.tree.map(lambda x: x.max(axis=0), seen))
                left.append(part[exceeds])
            todo = np.concatenate(left)
            if needed:
                assert capacity is not None
                most = jax.tree.map(lambda *x: np.maximum.reduce(x), *needed)
                capacity = _grown(capacity, most)
            found = found._replace(num_grown=max(found.num_grown, todo.size))
    return found


def _rows(tree: Any, mask: np.ndarray) -> Any:
    """Some genomes of what a program gave for them, and for those that filled it up."""
    index = np.flatnonzero(mask)
    return jax.tree.map(lambda x: np.asarray(x)[index], tree)


def _most_kept(
    decoder: "AbstractDecoder",
    capacity: Capacity | None,
    genomes: Genome,
    resources: Resources,
) -> int:
    """How many networks are brought to the host at a time, as matrices."""
    num_nodes = decoder.num_traced_nodes(capacity, genomes.node_id.shape[1])
    return max(1, resources.device_budget // 4 // (_KEPT_BYTES * num_nodes**2))


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


def _some(genomes: Genome, which: np.ndarray, size: int) -> Genome:
    """Some genomes, the last several times, so that there are `size` at least."""
    index = np.append(which, np.repeat(which[-1:], max(0, size - which.size)))
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
    size = _block_size(of_one, device_memory())
    return size if capacity == decoder.first_capacity() else min(size, _FEW)


def _block_size(of_one: int, of_device: int | None) -> int:
    """A power of two: few sizes, so that devices of one kind agree."""
    at_once, most = _BLOCK_BYTES, _BLOCK
    if of_device is not None:
        at_once, most = of_device // _DEVICE_SHARE, _DEVICE_BLOCK
    return max(1, min(most, 1 << max(0, (at_once // of_one).bit_length() - 1)))


def _grown(capacity: Capacity, needed: Shortage) -> Capacity:
    """Room for what was seen to be needed.

    All levels grow together, so that a run meets few capacities: each of them is a
    program to be compiled.
    """
    hidden, quads = capacity.hidden, capacity.quads
    while hidden < needed.hidden:
        hidden *= _GROWTH
    while any(has < wants for has, wants in zip(quads, needed.quads, strict=True)):
        quads = tuple(min(4**level, _GROWTH * has) for level, has in enumerate(quads))
    return Capacity(hidden, quads)


def _refuse(decoder: "AbstractDecoder", genomes: Genome) -> None:
    """Says what is wrong with genomes that cannot be read: the host's reader knows."""
    decoder.check_genomes(genomes)
    raise ValueError("a genome cannot be read as a network; repair the genomes.")
