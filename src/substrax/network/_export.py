"""Networks as JSON, NumPy arrays and NetworkX graphs.

The JSON holds numbers in full, so what is read back is the identical network.
"""

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cppn import ACTIVATION_NAMES, activation_id
from ._networks import Networks

if TYPE_CHECKING:
    import networkx

FORMAT, VERSION = "substrax-network", 1


def _single(network: Networks) -> None:
    if len(network) != 1:
        raise ValueError(
            f"export one network at a time, for example networks[0]; these are "
            f"{len(network)}."
        )


def _kind(network: Networks, node: int) -> str:
    if node < network.num_inputs:
        return "input"
    is_output = node < network.num_inputs + network.num_outputs
    return "output" if is_output else "hidden"


def to_json(network: Networks) -> str:
    """One network as text."""
    _single(network)
    nodes = []
    for n in range(int(network.node_bounds[-1])):
        x, y = network.node_point[n].tolist()
        nodes.append(
            {
                "kind": _kind(network, n),
                "activation": network.activation_name(n),
                "bias": float(network.node_bias[n]),
                "rank": int(network.node_rank[n]),
                "point": None if math.isnan(x) else [x, y],
            }
        )
    document = {
        "format": FORMAT,
        "version": VERSION,
        "precision": network.dtype.name,
        "dialect": network.dialect,
        "acyclic": network.is_acyclic,
        "steps": network.steps,
        "positions_found": int(network.num_found[0]),
        "activations": [ACTIVATION_NAMES[a] for a in network.activation_ids],
        "nodes": nodes,
        "links": [
            [int(s), int(t), float(w)]
            for s, t, w in zip(
                network.link_source,
                network.link_target,
                network.link_weight,
                strict=True,
            )
        ],
    }
    return json.dumps(document)


def from_json(text: str) -> Networks:
    """The network that `to_json` wrote, identical to the bit."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"this is not a network: it is not JSON ({error}).") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"this JSON is not a network: its format is not {FORMAT!r}.")
    if document.get("version") != VERSION:
        raise ValueError(
            f"this network has format version {document.get('version')}; this release "
            f"reads version {VERSION}."
        )
    try:
        return _rebuild(document)
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(
            f"this network is incomplete or damaged ({type(error).__name__}: {error})."
        ) from error


def _rebuild(document: dict[str, Any]) -> Networks:
    nodes, links = document["nodes"], document["links"]
    kinds = [node["kind"] for node in nodes]
    num_inputs, num_outputs = kinds.count("input"), kinds.count("output")
    wanted = ["input"] * num_inputs + ["output"] * num_outputs
    if kinds[: num_inputs + num_outputs] != wanted:
        raise ValueError("a network's nodes are inputs, then outputs, then the rest.")
    dtype = np.dtype(document["precision"])
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"unknown precision {document['precision']!r}.")
    ends = np.array([link[:2] for link in links], np.int32).reshape(-1, 2)
    if ends.size and (ends.min() < 0 or ends.max() >= len(nodes)):
        raise ValueError("a link of this network ends at a node that does not exist.")
    points = [node["point"] or (math.nan, math.nan) for node in nodes]
    weight = np.array([link[2] for link in links], dtype)
    bias = np.array([node["bias"] for node in nodes], dtype)
    if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
        raise ValueError("a weight or bias of this network is not finite.")
    return Networks(
        num_inputs=num_inputs,
        num_outputs=num_outputs,
        node_bounds=np.array([0, len(nodes)]),
        node_activation=np.array([activation_id(n["activation"]) for n in nodes]),
        node_bias=bias,
        node_rank=np.array([node["rank"] for node in nodes], np.int64),
        node_point=np.array(points, np.float64).reshape(-1, 2),
        link_bounds=np.array([0, len(links)]),
        link_source=ends[:, 0],
        link_target=ends[:, 1],
        link_weight=weight,
        num_found=np.array([document["positions_found"]]),
        is_acyclic=bool(document["acyclic"]),
        dialect=document["dialect"],
        activation_ids=tuple(activation_id(a) for a in document["activations"]),
        steps=int(document["steps"]),
    )


def to_arrays(network: Networks) -> dict[str, np.ndarray]:
    """One network as plain arrays: points, activations, biases, links, weights."""
    _single(network)
    return {
        "node_point": network.node_point.copy(),
        "node_activation": network.node_activation.copy(),
        "node_bias": network.node_bias.copy(),
        "link_source": network.link_source.copy(),
        "link_target": network.link_target.copy(),
        "link_weight": network.link_weight.copy(),
    }


def to_networkx(network: Networks) -> "networkx.DiGraph":
    """One network as a directed graph; needs `pip install substrax[graph]`."""
    try:
        import networkx
    except ImportError as error:
        raise ImportError(
            "networkx is missing; install it with: pip install 'substrax[graph]'"
        ) from error
    _single(network)
    graph = networkx.DiGraph()
    for n in range(int(network.node_bounds[-1])):
        x, y = network.node_point[n].tolist()
        graph.add_node(
            n,
            kind=_kind(network, n),
            activation=network.activation_name(n),
            bias=float(network.node_bias[n]),
            point=None if math.isnan(x) else (x, y),
        )
    for s, t, w in zip(
        network.link_source, network.link_target, network.link_weight, strict=True
    ):
        graph.add_edge(int(s), int(t), weight=float(w))
    return graph
