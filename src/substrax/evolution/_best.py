"""The best genome of a run and its network, as files without time stamps."""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from .._safetensors import safetensors_pieces
from ..cppn import ACTIVATION_NAMES, NO_ACTIVATION
from ..models import (
    INCOMPLETE,
    Model,
    activation_numbers,
    network_arrays,
    network_facts,
    network_from,
    read_facts,
)
from ..neat import NO_LINK, NO_NODE, Genome
from ..network import Networks, json_pieces
from ..problems import Preparation

FORMAT, VERSION = "substrax-best", 2
_PIECE = 1 << 22


@dataclasses.dataclass(frozen=True)
class Best:
    """The best of a run: one genome (without a leading axis) and its network."""

    fitness: float
    generation: int
    genome: Genome
    network: Networks
    preparation: Preparation = dataclasses.field(default_factory=Preparation)
    problem: str = ""
    """What it was evolved for."""

    @property
    def model(self) -> Model:
        """The network as a model, to be called and saved."""
        return Model(self.network, self.preparation, self.problem, self.fitness)


def genome_size(genome: Genome) -> tuple[int, int]:
    """Nodes and links of one genome, counted on the host: nothing is compiled."""
    num_nodes = (np.asarray(genome.node_id) != NO_NODE).sum()
    num_links = (np.asarray(genome.link_id) != NO_LINK).sum()
    return int(num_nodes), int(num_links)


def _genes(genome: Genome) -> dict[str, np.ndarray]:
    """A genome's arrays, without the empty slots behind the genes."""
    num_nodes, num_links = genome_size(genome)
    arrays = {f.name: getattr(genome, f.name) for f in dataclasses.fields(genome)}
    return {
        name: np.asarray(array)[: num_nodes if name.startswith("node") else num_links]
        for name, array in arrays.items()
    }


def genome_to_document(genome: Genome) -> dict[str, list[Any]]:
    """A genome as lists; activations by name (none for inputs), numbers in full."""
    document = {name: array.tolist() for name, array in _genes(genome).items()}
    names = [
        None if a == NO_ACTIVATION else ACTIVATION_NAMES[a]
        for a in document["node_activation"]
    ]
    return document | {"node_activation": names}


def best_to_json(best: Best) -> Iterator[str]:
    """The content of `best.json`, piece by piece."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "fitness": best.fitness,
        "generation": best.generation,
        "genome": genome_to_document(best.genome),
    }
    # As text: a network comes in pieces, and may be larger than the memory.
    text = json.dumps(document).removesuffix("}") + ', "network": '
    return _with_digest([text], json_pieces(best.network))


# The last entry, and always as long: found from the end of a file of any size.
_DIGEST = ', "sha256": "'
_DIGEST_SIZE = len(_DIGEST) + 64 + len('"}\n')


def _with_digest(*parts: Iterable[str]) -> Iterator[str]:
    """An object of JSON that was not closed yet, and the digest of it as its end."""
    digest = hashlib.sha256()
    for part in parts:
        for piece in part:
            digest.update(piece.encode())
            yield piece
    yield f'{_DIGEST}{digest.hexdigest()}"}}\n'


def check_best_json(path: Path) -> None:
    """Raises a `ValueError` if the file is not what `best_to_json` wrote."""
    size, digest = path.stat().st_size - _DIGEST_SIZE, hashlib.sha256()
    with open(path, "rb") as file:
        for begin in range(0, max(size, 0), _PIECE):
            digest.update(file.read(min(_PIECE, size - begin)))
        end = file.read()
    if end != f'{_DIGEST}{digest.hexdigest()}"}}\n'.encode():
        raise ValueError("its checksum is wrong")


def best_to_safetensors(best: Best) -> Iterator[bytes | memoryview]:
    """The content of `best.safetensors`, piece by piece: arrays `genome.*` and
    `network.*`, and in the metadata whatever else they are."""
    arrays = {f"genome.{name}": a for name, a in _genes(best.genome).items()}
    arrays |= network_arrays(best.network)
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "fitness": best.fitness,
        "generation": best.generation,
        "name": best.problem,
        "preparation": best.preparation.to_document(),
        **network_facts(best.network),
    }
    return safetensors_pieces(arrays, {"substrax": json.dumps(facts)})


def read_best(path: Path) -> Best:
    """What `best_to_safetensors` wrote, identical to the bit.

    The links of the network stay on the disk until they are looked at.
    """
    try:
        arrays, facts = read_facts(path)
        if facts["format"] != FORMAT or facts["version"] != VERSION:
            raise ValueError(
                f"its format is {facts['format']} {facts['version']}, this release "
                f"reads {FORMAT} {VERSION}."
            )
        return Best(
            fitness=float(facts["fitness"]),
            generation=int(facts["generation"]),
            # numbers of functions may have changed since; names have not
            genome=_genome(arrays, activation_numbers(facts)),
            network=network_from(arrays, facts),
            preparation=Preparation.from_document(facts["preparation"]),
            problem=str(facts["name"]),
        )
    except INCOMPLETE as error:
        raise ValueError("it does not say all that a best network is") from error


def _genome(arrays: dict[str, np.ndarray], ids: np.ndarray) -> Genome:
    names = [field.name for field in dataclasses.fields(Genome)]
    genes = {name: arrays[f"genome.{name}"] for name in names}
    stored = genes["node_activation"]
    genes["node_activation"] = np.where(stored == NO_ACTIVATION, stored, ids[stored])
    # A copy: the arrays may be pages of a file that is replaced later.
    return Genome(**{k: jax.device_put(np.array(v)) for k, v in genes.items()})
