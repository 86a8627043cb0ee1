"""A population decoded by the tensor engine: one program, in blocks, and again with
more room for those that need it."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Int

from .._memory import show_bytes
from .._resources import Resources, device_memory
from .._types import round_up
from ..neat import NO_NODE, Genome
from ..network import Networks, TensorNetwork, to_host
from ..tensor import Capacity, Shortage, num_cells, over_genomes, population_mesh
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
_HIDDEN_STEP, _QUADS_STEP = 8, 4
"""Room grows in large steps, of hidden nodes and of quads together, so that few
programs are compiled: that takes seconds for each."""
_HIDDEN_FINE = 2
"""Where there is no memory for such a step, hidden nodes grow by this; and quads, if
they are what is short."""


class OnDevice(NamedTuple):
    """What a function said of the networks of a population: a tree of arrays for each
    part, and which genomes these are.

    `grown` are those of them that needed more room than there was at first; `left` are
    genomes that no device has room for, of which nothing was said.
    """

    parts: list[Any]
    numbers: list[Int[np.ndarray, " some"]]
    grown: Int[np.ndarray, " grown"]
    left: Int[np.ndarray, " left"]

    def joined(self) -> Any:
        """The tree of all genomes but those that are left, in their order."""
        order = np.argsort(np.concatenate(self.numbers))
        return jax.tree.map(lambda *x: np.concatenate(x)[order], *self.parts)


class Decoded(NamedTuple):
    """The networks of a population, and which genomes needed what on a device."""

    networks: Networks
    is_grown: Bool[np.ndarray, " genomes"]
    """More room than there was at first."""
    is_on_host: Bool[np.ndarray, " genomes"]
    """The native engine, for want of room on the device."""


def decode_on_device(
    decoder: "AbstractDecoder", genomes: Genome, resources: Resources
) -> Decoded:
    """The networks of a population, by `decoder.trace`."""
    num = len(graph_arrays(genomes)["node_id"])  # refuses what is no population
    is_grown, is_on_host = np.zeros((2, num), bool)
    if not num:
        networks = to_host(_none(decoder, decoder.first_capacity(), genomes))
        return Decoded(networks, is_grown, is_on_host)
    found = run_on_device(
        _itself,
        decoder,
        genomes,
        resources,
        mesh=_own_mesh(num, resources),
        to_host=to_host,
        may_leave=resources.reserve is not None,
    )
    parts, numbers = found.parts, found.numbers
    if found.left.size:
        some = genomes_at(genomes, found.left)
        parts = [*parts, decoder.decode(some, resources.on_host())]
        numbers = [*numbers, found.left]
    whole = Networks.join(parts, resources)
    order = np.argsort(np.concatenate(numbers))
    networks = whole if (order == np.arange(num)).all() else whole.take(order)
    is_grown[found.grown], is_on_host[found.left] = True, True
    return Decoded(networks, is_grown, is_on_host)


def _itself(network: TensorNetwork) -> TensorNetwork:
    return network


def _own_mesh(num: int, resources: Resources) -> Mesh | None:
    """The devices that so many networks for the host are made on. Of several processes,
    each makes its own, and the others may not ask for any; a few are one block."""
    if jax.process_count() > 1 or num <= _BLOCK:
        return None
    mesh = population_mesh(resources.devices)
    return mesh if mesh.size > 1 else None


class _Room(NamedTuple):
    """What a program has room for."""

    capacity: Capacity | None
    num_slots: int
    """Of a genome's nodes."""

    def __lt__(self, other: Any) -> bool:
        return (self.capacity or (), self.num_slots) < (
            other.capacity or (),
            other.num_slots,
        )


def run_on_device(
    fn: Callable[..., Any],
    decoder: "AbstractDecoder",
    genomes: Genome,
    resources: Resources,
    *shared: Any,
    mesh: Mesh | None = None,
    to_host: Callable[[Any], Any] = lambda tree: tree,
    may_leave: bool = False,
) -> OnDevice:
    """`fn(network, *shared)` of the network of each genome: one program from genomes to
    what is asked of their networks, over the devices of a mesh if there is one.

    A program takes one block of genomes, for each device, and is called as often as it
    takes: so there is one for each size of room, whatever the number of genomes.

    Genomes that need more room than there is are taken again with more, each with what
    it needs itself. So how much room a genome gets, and whether it is left because no
    device has as much, depends on the genome and the settings alone, and not on its
    population, nor on which programs there are already. Unless some may be left, that
    is an error.

    Give the same function each time: another one is compiled again. `to_host` gets the
    values of genomes for which there was room.
    """
    genomes = jax.tree.map(np.asarray, genomes)  # the same in all processes
    num, first = genomes.node_id.shape[0], decoder.first_capacity()
    todo: dict[_Room, list[np.ndarray]] = {}
    left: list[np.ndarray] = []

    def put(some: Int[np.ndarray, " some"], *choices: Capacity | None) -> None:
        """Some genomes to where there is so much room."""
        for room, which in _rooms(decoder, choices, genomes, some, resources):
            if room is not None:
                todo.setdefault(room, []).append(which)
            elif may_leave:
                left.append(which)
            else:
                _refuse_size(decoder, choices[-1], genomes, which, resources)

    put(np.arange(num), first)
    found, grown = OnDevice([], [], *np.zeros((2, 0), int)), []
    with jax.enable_x64(decoder.dtype == np.float64):
        while todo:
            room = min(todo)
            members = np.sort(np.concatenate(todo.pop(room)))
            block = _block(decoder, *room)
            program = _program(fn, decoder, room.capacity, block, mesh)
            at_once = block * (1 if mesh is None else mesh.size)
            for begin in range(0, members.size, at_once):
                part = members[begin : begin + at_once]
                some = _trimmed(genomes_at(genomes, part, at_once), room.num_slots)
                values, exceeds, is_sound, shortage = program(some, *shared)
                is_sound = np.asarray(is_sound)[: part.size]
                if not is_sound.all():
                    _refuse(decoder, genomes_at(genomes, part[~is_sound]))
                exceeds = np.asarray(exceeds)[: part.size]
                if not exceeds.all():
                    found.parts.append(to_host(_rows(values, ~exceeds)))
                    found.numbers.append(part[~exceeds])
                    if room.capacity != first:
                        grown.append(part[~exceeds])
                if exceeds.any():
                    assert room.capacity is not None
                    needed = _rows(shortage, exceeds)
                    for choices, rows in _grown_by_need(room.capacity, needed):
                        put(part[exceeds][rows], *choices)
    return found._replace(
        grown=np.sort(np.concatenate(grown)) if grown else found.grown,
        left=np.sort(np.concatenate(left)) if left else found.left,
    )


def _rooms(
    decoder: "AbstractDecoder",
    choices: Sequence[Capacity | None],
    genomes: Genome,
    some: Int[np.ndarray, " some"],
    resources: Resources,
) -> Iterator[tuple[_Room | None, Int[np.ndarray, " part"]]]:
    """Where some genomes find so much room, by the first choice that there is memory
    for: None where there is for none.

    What counts is the size of the genome itself, in powers of two. Genomes have as many
    slots as the largest of their population needs; only where that is too much are
    those without a node cut off, which else would be one more program to compile.
    """
    widest, budget = genomes.node_id.shape[1], resources.device_budget
    own = np.array([round_up(n, 1) for n in _used_slots(genomes, some)], np.int64)
    for num_slots in np.unique(own).tolist():
        which = some[own == num_slots]
        for capacity in choices:
            if decoder.traced_bytes(capacity, num_slots) <= budget:
                fits = decoder.traced_bytes(capacity, widest) <= budget
                yield _Room(capacity, widest if fits else num_slots), which
                break
        else:
            yield None, which


def _used_slots(genomes: Genome, some: Int[np.ndarray, " some"]) -> list[int]:
    is_node = genomes.node_id[some] != NO_NODE
    return (is_node * np.arange(1, is_node.shape[1] + 1)).max(axis=1).tolist()


def _trimmed(genomes: Genome, num_slots: int) -> Genome:
    """Genomes without slots that none of them uses; those in use come first."""
    leaves, structure = jax.tree.flatten(genomes)
    names = [field.name for field in dataclasses.fields(Genome)]
    cut = [
        leaf[:, :num_slots] if name.startswith("node") else leaf
        for name, leaf in zip(names, leaves, strict=True)
    ]
    return jax.tree.unflatten(structure, cut)


def _rows(tree: Any, mask: np.ndarray) -> Any:
    """Some genomes of what a program gave for them, and for those that filled it up."""
    index = np.flatnonzero(mask)
    return jax.tree.map(lambda x: np.asarray(x)[index], tree)


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


def genomes_at(
    genomes: Genome, which: Int[np.ndarray, " some"], size: int = 0
) -> Genome:
    """Some genomes, the last several times, so that there are `size` at least."""
    index = np.append(which, np.repeat(which[-1:], max(0, size - which.size)))
    return jax.tree.map(lambda x: np.asarray(x)[index], genomes)


def _block(
    decoder: "AbstractDecoder", capacity: Capacity | None, num_slots: int
) -> int:
    """How many genomes are decoded side by side: it depends on their sizes, and on the
    memory of the device, alone."""
    of_one = decoder.traced_bytes(capacity, num_slots)
    size = _block_size(of_one, device_memory())
    return size if capacity == decoder.first_capacity() else min(size, _FEW)


def _block_size(of_one: int, of_device: int | None) -> int:
    """A power of two: few sizes, so that devices of one kind agree."""
    at_once, most = _BLOCK_BYTES, _BLOCK
    if of_device is not None:
        at_once, most = of_device // _DEVICE_SHARE, _DEVICE_BLOCK
    return max(1, min(most, 1 << max(0, (at_once // of_one).bit_length() - 1)))


def _grown_by_need(
    capacity: Capacity, needed: Shortage
) -> Iterator[tuple[tuple[Capacity, ...], Int[np.ndarray, " rows"]]]:
    """Room for what each of some genomes was seen to need, the better choice first, and
    whose it is."""
    rows: dict[tuple[Capacity, ...], list[int]] = {}
    for row in range(len(needed.hidden)):
        own = jax.tree.map(lambda x, row=row: x[row], needed)
        choices = _grown(capacity, own), _grown_finely(capacity, own)
        rows.setdefault(choices, []).append(row)
    for choices, some in rows.items():
        yield choices, np.array(some)


def _grown(capacity: Capacity, needed: Shortage) -> Capacity:
    """Room for what was seen to be needed, in few sizes: each is a program to be
    compiled."""
    while _is_short(capacity, needed):
        capacity = _larger(capacity, _HIDDEN_STEP, _QUADS_STEP)
    return capacity


def _grown_finely(capacity: Capacity, needed: Shortage) -> Capacity:
    """The same in smaller steps, and only of what is short."""
    while needed.hidden > capacity.hidden:
        capacity = _larger(capacity, _HIDDEN_FINE, 1)
    while _is_short(capacity, needed):
        capacity = _larger(capacity, 1, _QUADS_STEP)
    return capacity


def _is_short(capacity: Capacity, needed: Shortage) -> bool:
    pairs = zip(capacity.quads, needed.quads, strict=True)
    is_short = any(has < wants for has, wants in pairs)
    return is_short or bool(needed.hidden > capacity.hidden)


def _larger(capacity: Capacity, hidden: int, quads: int) -> Capacity:
    """So many times the room, but no more than there can be nodes and quads. All levels
    grow together."""
    most = num_cells(len(capacity.quads) - 1)
    larger = Capacity(
        max(capacity.hidden, min(most, hidden * capacity.hidden)),
        tuple(min(4**level, quads * has) for level, has in enumerate(capacity.quads)),
    )
    assert larger != capacity  # there cannot be more, so nobody needs more
    return larger


def _refuse_size(
    decoder: "AbstractDecoder",
    capacity: Capacity | None,
    genomes: Genome,
    which: Int[np.ndarray, " some"],
    resources: Resources,
) -> NoReturn:
    """Says that no device has room for some genomes."""
    num_slots = round_up(max(_used_slots(genomes, which)), 1)
    needed = decoder.traced_bytes(capacity, num_slots)
    raise ValueError(
        f"one network needs about {show_bytes(needed)} on a device, more than there "
        f"is for it ({show_bytes(resources.device_budget)}). Raise memory_budget if it "
        "is smaller than the device's memory, lower depth, raise variance_threshold, "
        "or use engine native."
    )


def _refuse(decoder: "AbstractDecoder", genomes: Genome) -> None:
    """Says what is wrong with genomes that cannot be read: the host's reader knows."""
    decoder.check_genomes(genomes)
    raise ValueError("a genome cannot be read as a network; repair the genomes.")
