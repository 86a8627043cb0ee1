"""Networks of genomes that come again: elites and clones are not built twice."""

import bisect
import dataclasses
import hashlib
from typing import Any

import numpy as np
from jaxtyping import Int, UInt8

from .._resources import Resources
from ..cppn import Programs
from ..neat import Genome
from ..network import Networks
from ._base import AbstractCPPNDecoder, AbstractDecoder
from ._on_device import Decoded, decode_on_device, genomes_at


class NetworkCache:
    """Keeps the networks of the last population for genomes that come again.

    A network is found by all that it depends on: the decoder's fields and the genome's
    program, compared in full. So what `decode` returns is the same to the bit as what
    the decoder returns, whatever was kept.

    What lives on has been in the generation before; so what a call did not ask for is
    forgotten. Should its networks take more than `max_bytes`, some are kept: first
    those that have come again already. With 0, none are.

    Only decoders that read genomes as CPPNs are helped: where the genome is the
    network, reading it is all the work there is. One of your own must have no fields
    but plain values, arrays, tuples and dataclasses of such; others are not helped.
    """

    def __init__(self, max_bytes: int) -> None:
        if max_bytes < 0:
            raise ValueError(
                f"max_bytes is {max_bytes}. Choose at least 0, which keeps nothing."
            )
        self.max_bytes = max_bytes
        self.num_bytes = 0
        """Bytes that are kept now."""
        self.num_hits = 0
        """Networks, in all calls so far, that were not built because they were there:
        kept from the call before, or built for another genome of the same one."""
        self._kept: Decoded | None = None
        self._place: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._place)

    def decode(
        self,
        decoder: AbstractDecoder,
        genomes: Genome,
        resources: Resources | None = None,
    ) -> Networks:
        """What `decoder.decode(genomes, resources)` returns."""
        return self.decode_counted(decoder, genomes, resources).networks

    def decode_counted(
        self,
        decoder: AbstractDecoder,
        genomes: Genome,
        resources: Resources | None = None,
    ) -> Decoded:
        """The same, and which genomes needed more room on a device, whether they were
        decoded in this call or before."""
        resources = resources or Resources()
        if not (self.max_bytes and isinstance(decoder, AbstractCPPNDecoder)):
            return decode_counted(decoder, genomes, resources)
        try:
            # A digest: a substrate's arrays may be large, and are in every key.
            configuration = hashlib.blake2b(_bytes_of(decoder)).digest()
        except TypeError:
            return decode_counted(decoder, genomes, resources)
        programs = decoder.reading.compile(genomes)
        keys = [configuration + content for content in program_contents(programs)]
        # where each genome's network is, built ones behind those that were kept
        first_built = 0 if self._kept is None else len(self._kept.networks)
        place = dict(self._place)
        missing = []
        for genome, key in enumerate(keys):
            if key not in place:
                place[key] = first_built + len(missing)
                missing.append(genome)
        # Of equal genomes of this population, too, only the first is among the missing.
        built = _build(decoder, genomes, programs, np.array(missing, int), resources)
        self.num_hits += len(keys) - len(missing)
        if len(missing) < len(keys):
            sources = [built] if self._kept is None else [self._kept, built]
            found = _pick(sources, [place[key] for key in keys], resources)
        else:
            found = built
        self._keep(found, keys, resources)
        return found

    def _keep(self, found: Decoded, keys: list[bytes], resources: Resources) -> None:
        """Forgets what was, and keeps of these networks what fits."""
        size = _sizes(found.networks) + np.fromiter(map(len, keys), np.int64, len(keys))
        kept: Decoded | None = found
        if size.sum() > self.max_bytes:
            again = np.fromiter((key in self._place for key in keys), bool, len(keys))
            order = np.argsort(~again, kind="stable")
            fits = np.cumsum(size[order]) <= self.max_bytes
            # In the population's order again: neighbours are copied together.
            some = np.sort(order[fits])
            kept = _pick([found], some.tolist(), resources) if some.size else None
            keys, size = [keys[k] for k in some], size[some]
        self._kept = kept
        self._place = {key: place for place, key in enumerate(keys)}
        self.num_bytes = int(size.sum())


def decode_counted(
    decoder: AbstractDecoder, genomes: Genome, resources: Resources
) -> Decoded:
    """What `decoder.decode(genomes, resources)` returns, and where it was made."""
    # Where the genome is the network, it is read on the host.
    if resources.native is None and isinstance(decoder, AbstractCPPNDecoder):
        return decode_on_device(decoder, genomes, resources)
    networks = decoder.decode(genomes, resources)
    return Decoded(networks, *np.zeros((2, len(networks)), bool))


def _build(
    decoder: AbstractCPPNDecoder,
    genomes: Genome,
    programs: Programs,
    missing: Int[np.ndarray, " some"],
    resources: Resources,
) -> Decoded:
    """The networks of some genomes."""
    if resources.native is not None:
        networks = decoder.decode_programs(programs.select(missing), resources)
        return Decoded(networks, *np.zeros((2, len(networks)), bool))
    # On a device genomes are read as they are, and not as programs.
    return decode_counted(decoder, genomes_at(genomes, missing), resources)


def _pick(sources: list[Decoded], places: list[int], resources: Resources) -> Decoded:
    """Networks by their places in sources behind each other, as new arrays."""
    starts = np.cumsum([0, *(len(source.networks) for source in sources)]).tolist()
    parts = []
    begin = 0
    while begin < len(places):
        source = bisect.bisect_right(starts, places[begin]) - 1
        end = begin + 1
        # neighbours that were neighbours are taken together
        while (
            end < len(places)
            and places[end] == places[end - 1] + 1 < starts[source + 1]
        ):
            end += 1
        first = places[begin] - starts[source]
        parts.append(sources[source].networks.part(first, first + end - begin))
        begin = end
    is_grown = np.concatenate([source.is_grown for source in sources])
    is_on_host = np.concatenate([source.is_on_host for source in sources])
    networks = Networks.join(parts, resources)
    return Decoded(networks, is_grown[places], is_on_host[places])


def _sizes(networks: Networks) -> Int[np.ndarray, " networks"]:
    """Bytes that each network takes."""
    node = (networks.node_activation, networks.node_bias, networks.node_rank)
    link = (networks.link_source, networks.link_target, networks.link_weight)
    of_node = sum(x.itemsize for x in node) + 2 * networks.node_point.itemsize
    of_link = sum(x.itemsize for x in link)
    own = 3 * networks.node_bounds.itemsize
    return networks.num_nodes * of_node + networks.num_links * of_link + own


def program_contents(programs: Programs) -> list[bytes]:
    """All that each CPPN is, so that equal ones have equal bytes, and others others."""
    # an index into the functions of this population would not last
    activation = np.array(programs.activation_ids, np.int32)[programs.activation]
    columns = (activation, programs.bias, programs.source, programs.weight)
    table = np.concatenate([_rows_of_bytes(x) for x in columns], axis=1)
    outputs = _rows_of_bytes(programs.output_slot)
    # One text for all, and slices of it: programs are many and small.
    rows, width = table.tobytes(), table.shape[1]
    begin = programs.first_row.astype(np.int64) * width
    end = begin + programs.num_rows.astype(np.int64) * width
    return [
        rows[b:e] + slots.tobytes()
        for b, e, slots in zip(begin.tolist(), end.tolist(), outputs, strict=True)
    ]


def _rows_of_bytes(array: np.ndarray) -> UInt8[np.ndarray, "rows bytes"]:
    length = array.itemsize * int(np.prod(array.shape[1:]))
    return np.ascontiguousarray(array).view(np.uint8).reshape(len(array), length)


def _bytes_of(value: Any) -> bytes:
    """A value as bytes that tell it apart from all others; its parts by name."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str}{value.shape}".encode() + value.tobytes()
    if isinstance(value, np.generic):
        return _bytes_of(np.asarray(value))
    # With its type, as 1, 1.0 and True are equal to Python.
    if value is None or type(value) in (bool, int, float, str):
        return f"{type(value).__name__} {value!r}".encode()
    if isinstance(value, tuple):
        parts = [(str(k), part) for k, part in enumerate(value)]
    elif dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        parts = [(name, getattr(value, name)) for name in names]
    else:
        raise TypeError(f"{type(value)} is not a plain value")
    kind = type(value)
    content = [f"{kind.__module__}.{kind.__qualname__} {len(parts)}".encode()]
    for name, part in parts:
        data = _bytes_of(part)
        # Lengths come first, or one value might look like two others behind each other.
        content += [f" {name} {len(data)} ".encode(), data]
    return b"".join(content)
