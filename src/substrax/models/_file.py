"""Networks and models as files: arrays, and facts in JSON beside them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._files import write_atomically
from .._safetensors import map_safetensors, safetensors_pieces
from ..cppn import ACTIVATION_NAMES, activation_id
from ..network import Networks, check_network, secured
from ..problems import Preparation

FORMAT, VERSION = "substrax-model", 1

_NODE_COLUMNS = ("node_activation", "node_bias", "node_rank", "node_point")
_LINK_COLUMNS = ("link_source", "link_target", "link_weight")

INCOMPLETE = (
    KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError,
    json.JSONDecodeError,
)  # fmt: skip
"""What reading a file raises that is not what it should be."""


def network_arrays(network: Networks) -> dict[str, np.ndarray]:
    """The arrays of one network, under names for a file."""
    columns = (*_NODE_COLUMNS, *_LINK_COLUMNS)
    return {f"network.{name}": getattr(network, name) for name in columns}


def network_facts(network: Networks) -> dict[str, Any]:
    """What else a network is."""
    return {
        "activations": ACTIVATION_NAMES,
        "network_activations": [ACTIVATION_NAMES[a] for a in network.activation_ids],
        "num_inputs": network.num_inputs,
        "num_outputs": network.num_outputs,
        "positions_found": int(network.num_found[0]),
        "dialect": network.dialect,
        "acyclic": network.is_acyclic,
        "steps": network.steps,
    }


def activation_numbers(facts: Mapping[str, Any]) -> np.ndarray:
    """Of functions as they are numbered now; a file knows them by name."""
    return np.array([activation_id(name) for name in facts["activations"]], np.int32)


def network_from(
    arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]
) -> Networks:
    """What `network_arrays` and `network_facts` made, checked."""
    nodes: dict[str, Any] = {
        name: np.array(arrays[f"network.{name}"]) for name in _NODE_COLUMNS
    }
    # Links stay on the disk: they may be larger than the memory. Nodes are few.
    links: dict[str, Any] = {name: arrays[f"network.{name}"] for name in _LINK_COLUMNS}
    nodes["node_activation"] = activation_numbers(facts)[nodes["node_activation"]]
    for columns in (nodes, links):
        # Before the bounds are made of the length of one of them.
        if len({len(array) for array in columns.values()}) > 1:
            raise ValueError("its arrays are not of one length.")
    network = Networks(
        **nodes,
        **links,
        num_inputs=facts["num_inputs"],
        num_outputs=facts["num_outputs"],
        node_bounds=np.array([0, len(nodes["node_rank"])]),
        link_bounds=np.array([0, len(links["link_weight"])]),
        num_found=np.array([facts["positions_found"]]),
        is_acyclic=facts["acyclic"],
        dialect=facts["dialect"],
        activation_ids=tuple(activation_id(x) for x in facts["network_activations"]),
        steps=facts["steps"],
    )
    check_network(network)
    return secured(network)


def write_model(
    path: Path,
    network: Networks,
    preparation: Preparation,
    name: str,
    fitness: float | None,
) -> None:
    """Writes a model; the file is there whole, or not at all."""
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "name": name,
        "fitness": fitness,
        "preparation": preparation.to_document(),
        **network_facts(network),
    }
    write_atomically(path, _pieces(network_arrays(network), facts))


def _pieces(
    arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]
) -> Iterator[bytes | memoryview]:
    return safetensors_pieces(arrays, {"substrax": json.dumps(facts)})


def read_facts(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays of a file of ours, and what is said of them.

    Arrays are read when they are looked at; all of the file is compared with its digest
    at once.
    """
    arrays, metadata = map_safetensors(path)
    if "substrax" not in metadata:
        raise ValueError("it holds arrays, but does not say of which network.")
    return arrays, json.loads(metadata["substrax"])
