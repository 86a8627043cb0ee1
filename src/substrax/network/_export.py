"""Networks as JSON, NumPy arrays and NetworkX graphs.

The JSON holds numbers in full, so what is read back is the identical network.
"""

import json
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .._documents import parse_json
from .._extra import require_extra
from .._types import as_number, brief, shown
from ..cppn import ACTIVATION_NAMES, DIALECTS, activation_id
from ._check import secured
from ._networks import Networks

if TYPE_CHECKING:
    import networkx

FORMAT, VERSION = "substrax-network", 1

_NODES_AT_A_TIME, _LINKS_AT_A_TIME = 1 << 12, 1 << 16
"""How much of a network is text, or is looked at, at a time."""


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
    return "".join(json_pieces(network))


def json_pieces(network: Networks) -> Iterator[str]:
    """What `to_json` returns, piece by piece, for networks as large as the memory."""
    _single(network)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "precision": network.dtype.name,
        "dialect": network.dialect,
        "acyclic": network.is_acyclic,
        "steps": network.steps,
        "positions_found": int(network.num_found[0]),
        "activations": [ACTIVATION_NAMES[a] for a in network.activation_ids],
    }
    # The document is left open, and goes on in pieces of text.
    yield json.dumps(document).removesuffix("}") + ', "nodes": ['
    yield from _listed(_nodes(network))
    yield '], "links": ['
    yield from _listed(_links(network))
    yield "]}"


def _listed(parts: Iterable[list[Any]]) -> Iterator[str]:
    """The text of one list, of its parts, without brackets."""
    separator = ""
    for part in parts:
        yield separator + json.dumps(part)[1:-1]
        separator = ", "


def _nodes(network: Networks) -> Iterator[list[dict[str, Any]]]:
    num = int(network.node_bounds[-1])
    for begin in range(0, num, _NODES_AT_A_TIME):
        nodes = []
        for n in range(begin, min(begin + _NODES_AT_A_TIME, num)):
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
        yield nodes


def _links(network: Networks) -> Iterator[list[tuple[int, int, float]]]:
    columns = (network.link_source, network.link_target, network.link_weight)
    for some in network.link_slices(_LINKS_AT_A_TIME):
        yield list(zip(*(column[some].tolist() for column in columns), strict=True))


def from_json(text: str) -> Networks:
    """The network that `to_json` wrote, identical to the bit."""
    if not isinstance(text, str | bytes):
        raise ValueError(f"this is not a network: give a text, not {shown(text)}.")
    document = parse_json(text, "this is not a network: it")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"this JSON is not a network: its format is not {FORMAT!r}.")
    if document.get("version") != VERSION:
        raise ValueError(
            f"this network has format version {shown(document.get('version'))}; this "
            f"release reads version {VERSION}."
        )
    try:
        return _rebuild(document)
    except (KeyError, TypeError, IndexError, OverflowError, AttributeError) as error:
        raise ValueError(
            "this network is incomplete or damaged "
            f"({type(error).__name__}: {brief(error)})."
        ) from error


def _integers(name: str, values: list[Any], dtype: Any = np.int64) -> np.ndarray:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    # (to Python, true and false are whole numbers)
    if not all(type(value) is int and low <= value <= high for value in values):
        raise ValueError(
            f"a {name} of this network is not an integer of "
            f"{np.dtype(dtype).itemsize * 8} bits; it is damaged."
        )
    return np.array(values, dtype)


def _numbers(name: str, values: list[Any], dtype: np.dtype) -> np.ndarray:
    if not all(type(value) in (int, float) for value in values):
        raise ValueError(f"a {name} of this network is not a number; it is damaged.")
    with np.errstate(over="ignore"):
        # A whole number beyond all floats becomes NaN, and is refused as such.
        array = np.array([as_number(value) for value in values], dtype)
    if not np.isfinite(array).all():
        raise ValueError(f"a {name} of this network is not finite; it is damaged.")
    return array


def _kinds(nodes: list[dict[str, Any]]) -> tuple[int, int]:
    kinds = [node["kind"] for node in nodes]
    num_inputs, num_outputs = kinds.count("input"), kinds.count("output")
    num_hidden = len(kinds) - num_inputs - num_outputs
    # Everywhere else it follows from a node's number what it is.
    wanted = {"input": num_inputs, "output": num_outputs, "hidden": num_hidden}
    if kinds != [kind for kind, num in wanted.items() for _ in range(num)]:
        raise ValueError(
            "a network's nodes are inputs, then outputs, then hidden ones; these are "
            "not."
        )
    return num_inputs, num_outputs


def _points(nodes: list[dict[str, Any]]) -> np.ndarray:
    points = np.full((len(nodes), 2), np.nan)
    for n, node in enumerate(nodes):
        if node["point"] is not None:
            if not isinstance(node["point"], list) or len(node["point"]) != 2:
                raise ValueError("the point of a network's node is [x, y], or null.")
            points[n] = _numbers("coordinate", node["point"], points.dtype)
    return points


def _rebuild(document: dict[str, Any]) -> Networks:
    nodes, links = document["nodes"], document["links"]
    for name, items in (("nodes", nodes), ("links", links)):
        if not isinstance(items, list):
            raise ValueError(
                f"this network is incomplete or damaged: its {name} are no list."
            )
    if not isinstance(document["acyclic"], bool):
        raise ValueError(
            "this network is incomplete or damaged: it does not say whether it is "
            "acyclic, true or false."
        )
    # What an array cannot tell is checked first; `check_network` sees the whole at the
    # end, before anything unchecked could reach the engine.
    num_inputs, num_outputs = _kinds(nodes)
    if document["precision"] not in ("float32", "float64"):
        raise ValueError(
            f"unknown precision {shown(document['precision'])} of a network."
        )
    if document["dialect"] not in DIALECTS:
        raise ValueError(f"unknown dialect {shown(document['dialect'])} of a network.")
    dtype = np.dtype(document["precision"])
    if any(not isinstance(link, list) or len(link) != 3 for link in links):
        raise ValueError("a link of a network is [source, target, weight].")
    source = _integers("link's source", [link[0] for link in links], np.int32)
    target = _integers("link's target", [link[1] for link in links], np.int32)
    activation = [activation_id(node["activation"]) for node in nodes]
    activation_ids = tuple(activation_id(name) for name in document["activations"])
    rank = _integers("rank", [node["rank"] for node in nodes])
    (steps,) = _integers("number of steps", [document["steps"]])
    network = Networks(
        num_inputs=num_inputs,
        num_outputs=num_outputs,
        node_bounds=np.array([0, len(nodes)]),
        node_activation=np.array(activation, np.int32),
        node_bias=_numbers("bias", [node["bias"] for node in nodes], dtype),
        node_rank=rank,
        node_point=_points(nodes),
        link_bounds=np.array([0, len(links)]),
        link_source=source,
        link_target=target,
        link_weight=_numbers("weight", [link[2] for link in links], dtype),
        num_found=_integers("number of positions", [document["positions_found"]]),
        is_acyclic=document["acyclic"],
        dialect=document["dialect"],
        activation_ids=activation_ids,
        steps=int(steps),
    )
    check_network(network)
    return secured(network)


def check_network(network: Networks) -> None:
    """Refuses one network that was read and contradicts itself."""
    if network.steps < 1:
        raise ValueError(f"a network's steps must be positive, not {network.steps}.")
    if not np.isin(network.node_activation, network.activation_ids).all():
        raise ValueError("a node's activation is not among this network's activations.")
    rank = network.node_rank
    for some in network.link_slices(_LINKS_AT_A_TIME):
        source, target = network.link_source[some], network.link_target[some]
        for ends in (source, target):
            if ends.min() < 0 or ends.max() >= rank.size:
                raise ValueError(
                    "a link of this network ends at a node that is not there."
                )
        if not np.isfinite(network.link_weight[some]).all():
            raise ValueError("a weight of this network is not finite; it is damaged.")
        # Links into inputs carry nothing, so they may lead anywhere.
        rises = (rank[source] < rank[target]) | (target < network.num_inputs)
        if network.is_acyclic and not rises.all():
            raise ValueError(
                "this network is said to be acyclic, but a link does not lead to a "
                "higher rank; it is damaged."
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
    require_extra("networkx", "graph")
    import networkx

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
