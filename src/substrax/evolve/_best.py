"""The best genome of a run and its network, as files without time stamps."""

import dataclasses
import json
from typing import Any

import jax.numpy as jnp
import numpy as np
import safetensors.numpy

from ..cppn import ACTIVATION_NAMES, activation_id
from ..neat import Genome
from ..network import Networks, from_json, to_arrays, to_json

FORMAT, VERSION = "substrax-best", 1


@dataclasses.dataclass(frozen=True)
class Best:
    """The best of a run: one genome (without a leading axis) and its network."""

    fitness: float
    generation: int
    genome: Genome
    network: Networks


def _genes(genome: Genome) -> dict[str, np.ndarray]:
    """A genome's arrays, without the empty slots behind the genes."""
    num_nodes, num_links = int(genome.num_nodes), int(genome.num_links)
    arrays = {f.name: getattr(genome, f.name) for f in dataclasses.fields(genome)}
    return {
        name: np.asarray(array)[: num_nodes if name.startswith("node") else num_links]
        for name, array in arrays.items()
    }


def genome_to_document(genome: Genome) -> dict[str, list[Any]]:
    """A genome as lists; activations by name, numbers in full."""
    document = {name: array.tolist() for name, array in _genes(genome).items()}
    names = [ACTIVATION_NAMES[a] for a in document["node_activation"]]
    return document | {"node_activation": names}


def genome_from_document(document: dict[str, list[Any]]) -> Genome:
    """The genome that `genome_to_document` wrote, without empty slots."""
    ids = [activation_id(name) for name in document["node_activation"]]
    values = document | {"node_activation": ids}
    types = {"node_bias": jnp.float32, "link_weight": jnp.float32, "link_enabled": bool}
    return Genome(
        **{
            field.name: jnp.asarray(
                np.array(values[field.name], types.get(field.name, jnp.int32))
            )
            for field in dataclasses.fields(Genome)
        }
    )


def best_to_json(best: Best) -> str:
    """The content of `best.json`."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "fitness": best.fitness,
        "generation": best.generation,
        "genome": genome_to_document(best.genome),
        "network": json.loads(to_json(best.network)),
    }
    return json.dumps(document) + "\n"


def best_from_json(text: str) -> Best:
    """What `best_to_json` wrote, identical to the bit."""
    try:
        document = json.loads(text)
        if document["format"] != FORMAT or document["version"] != VERSION:
            raise ValueError(
                f"its format is {document['format']} {document['version']}, this "
                f"release reads {FORMAT} {VERSION}."
            )
        return Best(
            fitness=float(document["fitness"]),
            generation=int(document["generation"]),
            genome=genome_from_document(document["genome"]),
            network=from_json(json.dumps(document["network"])),
        )
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"it is incomplete ({type(error).__name__}: {error})") from (
            error
        )


def best_to_safetensors(best: Best) -> bytes:
    """The content of `best.safetensors`: arrays `genome.*` and `network.*`."""
    arrays = {f"genome.{name}": a for name, a in _genes(best.genome).items()}
    network = best.network
    arrays |= {f"network.{name}": a for name, a in to_arrays(network).items()}
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "fitness": best.fitness,
        "generation": best.generation,
        "activations": ACTIVATION_NAMES,
        "num_inputs": network.num_inputs,
        "num_outputs": network.num_outputs,
        "dialect": network.dialect,
        "acyclic": network.is_acyclic,
        "steps": network.steps,
    }
    # one entry, because safetensors writes several in no fixed order
    return safetensors.numpy.save(
        {name: np.asarray(array, order="C") for name, array in arrays.items()},
        metadata={"substrax": json.dumps(facts)},
    )
