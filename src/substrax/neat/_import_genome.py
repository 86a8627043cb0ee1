"""Genomes of neat-python as ours.

A node has a `response` there that multiplies what it receives; here it is folded into
the weights of the node's incoming links.

What a node yields that no enabled connection feeds depends on the version. Since 2.0,
feed-forward networks there yield `activation(bias)`, as ours do, and nothing is to be
translated. Before, such a node was never evaluated, nor was anything behind it, and an
output never evaluated was 0; the stored vectors are of that time. For these, nodes
that are never evaluated are left out, and an output among them becomes the constant 0
(identity, bias 0, no links). Recurrent networks there, of any version, take an unfed
node for 0 and evaluate what lies behind it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from .._types import as_number, brief, check_counts, shown
from ..cppn import NO_ACTIVATION, activation_id
from ._genome import Genome, empty_genome

_Links = Mapping[tuple[int, int], float]


def _feeding(nodes: Iterable[int], links: _Links) -> dict[int, list[int]]:
    feeding: dict[int, list[int]] = {node: [] for node in nodes}
    for source, target in links:
        feeding[target].append(source)
    return feeding


def _evaluated(nodes: Sequence[int], inputs: Sequence[int], links: _Links) -> set[int]:
    """Nodes that neat-python evaluates: fed, and all that feeds them evaluated."""
    feeding = _feeding(nodes, links)
    unfed = [node for node in nodes if not feeding[node]]
    known = {*inputs, *_in_order([*inputs, *nodes], feeding, {*inputs})}
    # An unfed node is in order, but neither it nor anything behind it is evaluated.
    to_nodes = {ends: 0.0 for ends in links if ends[1] not in {*inputs}}
    return known - _behind(set(unfed) - {*inputs}, to_nodes)


def _in_order(
    nodes: Iterable[int], feeding: Mapping[int, Sequence[int]], given: set[int]
) -> list[int]:
    """Nodes that come after all that feeds them; those that cycles feed are missing."""
    waiting = {n: sum(s not in given for s in feeding.get(n, ())) for n in nodes}
    fed: dict[int, list[int]] = {}
    for node, sources in feeding.items():
        for source in sources:
            if source not in given:
                fed.setdefault(source, []).append(node)
    order = [n for n, number in waiting.items() if not number and n not in given]
    for node in order:  # it grows meanwhile
        for target in fed.get(node, ()):
            waiting[target] -= 1
            if not waiting[target] and target not in given:
                order.append(target)
    return order


def _behind(nodes: set[int], links: _Links) -> set[int]:
    """Some nodes, and all that links lead to from them."""
    fed: dict[int, list[int]] = {}
    for source, target in links:
        fed.setdefault(source, []).append(target)
    found, left = set(nodes), list(nodes)
    while left:
        for target in fed.get(left.pop(), ()):
            if target not in found:
                found.add(target)
                left.append(target)
    return found


def _require_no_cycle(nodes: Iterable[int], links: _Links) -> None:
    feeding = _feeding(nodes, links)
    outside = {source for source, _ in links} - set(feeding)
    open_nodes = set(feeding) - set(_in_order(feeding, feeding, outside))
    if not open_nodes:
        return
    # Whatever is left is fed by something that is left: walking against the links
    # comes back to a node sooner or later.
    walk, place = [min(open_nodes)], {}
    while walk[-1] not in place:
        place[walk[-1]] = len(walk) - 1
        walk.append(min(n for n in feeding[walk[-1]] if n in open_nodes))
    cycle = walk[place[walk[-1]] :][::-1]
    some = [*map(str, cycle[:12]), *(["..."] if len(cycle) > 12 else [])]
    raise ValueError(
        f"The genome's connections make the cycle {' -> '.join(some)}, "
        "which a feed-forward network cannot have. Give feed_forward=False and decode "
        "the genome as a recurrent network, or disable one of these connections."
    )


_MAPPING = (
    "Give a mapping with nodes, connections, input_ids and output_id, or a neat-python "
    "genome."
)


def _fields(genome: Any) -> tuple[dict[int, tuple], dict[tuple[int, int], float]]:
    """Nodes (activation, bias, response) and enabled links of either format."""
    if isinstance(genome, Mapping):
        for name in ("nodes", "connections"):
            if name not in genome:
                raise ValueError(f"The genome has no {shown(name)}. {_MAPPING}")
        return _fields_of_mapping(genome)
    try:
        nodes = {
            _id(key): (n.activation, n.bias, n.response, n.aggregation)
            for key, n in genome.nodes.items()
        }
        links = {
            _ends(key): _number(c.weight, "a connection's weight")
            for key, c in genome.connections.items()
            if _is_enabled(key, c.enabled)
        }
    except (AttributeError, TypeError) as error:
        raise ValueError(
            f"This is no genome of neat-python ({brief(error)}). {_MAPPING}"
        ) from error
    return nodes, links


def _ends(key: Any) -> tuple[int, int]:
    """Source and target of a connection of neat-python, whose key they are."""
    if not isinstance(key, tuple) or len(key) != 2:
        raise ValueError(
            f"The connection {shown(key)} is not (source, target). Its key must be two "
            "ids of nodes."
        )
    return _id(key[0]), _id(key[1])


def _is_enabled(key: Any, value: Any) -> bool:
    """A text is none, though Python takes any but the empty one for true."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(
            f"enabled of the connection {shown(key)} is {shown(value)}. Give True or "
            "False."
        )
    return bool(value)


def _id(value: Any) -> int:
    """The id of a node; a float or a switch is none, though Python would take it."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or abs(int(value)) >= 2**63:
        raise ValueError(
            f"{shown(value)} is no id of a node. Ids are whole numbers of 64 bits."
        )
    return int(value)


def _ids(name: str, values: Any) -> list[int]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ValueError(f"{name} is {shown(values)}. Give a list of ids of nodes.")
    return [_id(value) for value in values]


def _number(value: Any, what: str) -> float:
    number = math.nan if isinstance(value, bool) else as_number(value)
    if not math.isfinite(number):
        raise ValueError(f"{what} is {shown(value)}, which is no finite number.")
    return number


def _items(genome: Mapping[str, Any], name: str) -> list[Any]:
    items = genome[name]
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise ValueError(f"The genome's {name} are {shown(items)}. {_MAPPING}")
    return list(items)


def _fields_of_mapping(genome: Mapping[str, Any]):
    nodes: dict[int, tuple] = {}
    for node in _items(genome, "nodes"):
        if not isinstance(node, Mapping):
            raise ValueError(
                f"The node {shown(node)} is no mapping with id, activation and bias."
            )
        for name in ("id", "activation", "bias"):
            if name not in node:
                raise ValueError(
                    f"The node {shown(dict(node))} has no {shown(name)}; add it."
                )
        key = _id(node["id"])
        if key in nodes:
            raise ValueError(f"Node {key} occurs twice; remove one.")
        nodes[key] = (
            node["activation"], node["bias"], node.get("response", 1.0), "sum"
        )  # fmt: skip
    links: dict[tuple[int, int], float] = {}
    for link in _items(genome, "connections"):
        try:
            source, target, weight = link
            ends = (_id(source), _id(target))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"The connection {shown(link)} is not (source, target, weight), in "
                f"numbers: {brief(error)}."
            ) from error
        if ends in links:
            raise ValueError(
                f"The connection {ends[0]} -> {ends[1]} occurs twice; remove one."
            )
        links[ends] = _number(
            weight, f"The weight of the connection {ends[0]} -> {ends[1]}"
        )
    return nodes, links


def _require_terminals(
    nodes: Mapping[int, Any], input_ids: Sequence[int], output_ids: Sequence[int]
) -> None:
    everything = [*input_ids, *output_ids]
    if len(set(everything)) < len(everything):
        raise ValueError(
            f"input_ids {shown(list(input_ids))} and output_ids "
            f"{shown(list(output_ids))} name a node twice. Name each once."
        )
    for node in input_ids:
        if node in nodes:
            raise ValueError(
                f"input {node} is among the genome's nodes, too, but inputs have no "
                "activation and no bias. Correct input_ids, or remove the node."
            )
    for node in output_ids:
        if node not in nodes:
            raise ValueError(
                f"output {node} is not among the genome's nodes "
                f"({', '.join(map(str, sorted(nodes)[:12]))}"
                f"{', ...' if len(nodes) > 12 else ''}). Correct output_ids."
            )


def genome_from_neat_python(
    genome: Any,
    *,
    input_ids: Sequence[int] | None = None,
    output_ids: Sequence[int] | None = None,
    max_nodes: int | None = None,
    max_links: int | None = None,
    prune_unfed: bool | None = None,
    feed_forward: bool = True,
    dtype: type[np.floating] = np.float32,
) -> Genome:
    """Turn a neat-python genome into ours.

    **Arguments:** a neat-python genome object, or a mapping with `nodes` (id,
    activation, bias, response), enabled `connections` (source, target, weight),
    `input_ids` and `output_id` or `output_ids`; the ids of inputs and outputs, in
    order, which a genome object does not know; capacities, by default just enough.
    `prune_unfed`: whether nodes that nothing feeds are left out (`True`, neat-python
    before 2.0) or yield `activation(bias)` (`False`, feed-forward networks of
    neat-python 2, and ours); by default `True` for a mapping and `False` for a genome
    object. `feed_forward=False` takes genomes with cycles, for recurrent networks.
    `prune_unfed=True` then leaves out the nodes without an incoming connection and
    no others: neat-python's recurrent networks take these for 0. `dtype` is that of
    biases and weights; float64 needs `jax.enable_x64(True)` around the call.

    **Returns:** one genome. Inputs are numbered from 0 in the order of `input_ids`,
    outputs follow, then hidden nodes by ascending id; links get ids in the order of
    their ends. Disabled connections are left out.
    """
    nodes, links = _fields(genome)
    if isinstance(genome, Mapping):
        input_ids = genome.get("input_ids", input_ids)
        output_ids = genome.get("output_ids", output_ids)
        if output_ids is None and "output_id" in genome:
            output_ids = [genome["output_id"]]
    if input_ids is None or output_ids is None:
        raise ValueError(
            "The ids of inputs and outputs are unknown. Give input_ids and output_ids "
            "(for neat-python: config.genome_config.input_keys and output_keys)."
        )
    input_ids, output_ids = _ids("input_ids", input_ids), _ids("output_ids", output_ids)
    for name, capacity in (("max_nodes", max_nodes), ("max_links", max_links)):
        if capacity is not None:
            check_counts(**{name: capacity})
    _require_terminals(nodes, input_ids, output_ids)
    known = {*nodes, *input_ids}
    for source, target in links:
        if source not in known or target not in nodes:
            raise ValueError(
                f"The connection {source} -> {target} leads from or to a node that the "
                "genome does not have. Add the node or remove the connection."
            )
    for node, (_, _, _, aggregation) in nodes.items():
        if aggregation != "sum":
            raise ValueError(
                f"Node {node} aggregates by {shown(aggregation)}. Only 'sum' has a "
                "counterpart here; change the node's aggregation."
            )
    if feed_forward:
        _require_no_cycle(nodes, links)
    if prune_unfed is None:
        prune_unfed = isinstance(genome, Mapping)
    evaluated = known
    if prune_unfed and feed_forward:
        evaluated = _evaluated(list(nodes), input_ids, links)
    elif prune_unfed:
        evaluated = {*input_ids, *(target for _, target in links)}
    # A response multiplies the sum of a node there, so each of its weights here.
    links = {
        (source, target): weight
        * _number(nodes[target][2], f"node {target}'s response")
        for (source, target), weight in links.items()
        if source in evaluated and target in evaluated
    }
    # Outputs stay even if they are never evaluated: they are constant then.
    hidden = sorted(set(nodes) & evaluated - set(output_ids))
    order = [*input_ids, *output_ids, *hidden]
    number = {node: index for index, node in enumerate(order)}
    return _assemble(
        nodes, links, number, len(input_ids), evaluated, max_nodes, max_links, dtype
    )


def _finite(value: Any, dtype: type[np.floating], owner: str, what: str) -> Any:
    given = math.nan if isinstance(value, bool) else as_number(value)
    with np.errstate(over="ignore"):
        number = dtype(given)
    if not np.isfinite(number):
        raise ValueError(
            f"{owner} has the {what} {shown(value)}, which is no finite number of "
            f"{np.dtype(dtype).name}. Correct it."
        )
    return number


def _assemble(
    nodes: Mapping[int, tuple],
    links: Mapping[tuple[int, int], float],
    number: Mapping[int, int],
    num_inputs: int,
    evaluated: set[int],
    max_nodes: int | None,
    max_links: int | None,
    dtype: type[np.floating],
) -> Genome:
    num_nodes, num_links = len(number), len(links)
    max_nodes = num_nodes if max_nodes is None else max_nodes
    max_links = max(num_links, 1) if max_links is None else max_links
    for name, needed, given in (
        ("max_nodes", num_nodes, max_nodes),
        ("max_links", num_links, max_links),
    ):
        if needed > given:
            raise ValueError(
                f"The genome needs {name}={needed}, but {name} is {given}. "
                f"Set {name} to at least {needed}."
            )
    arrays = {
        name: np.array(value)
        for name, value in vars(empty_genome(max_nodes, max_links)).items()
    }
    for name in ("node_bias", "link_weight"):
        arrays[name] = arrays[name].astype(dtype)
    for node, slot in number.items():
        # ids are numbered anew: neat-python's are negative for inputs
        arrays["node_id"][slot] = slot
        if slot < num_inputs:
            arrays["node_activation"][slot] = NO_ACTIVATION
        # what neat-python does not evaluate stays as in an empty genome: constant 0
        elif node in evaluated:
            activation, bias, _, _ = nodes[node]
            arrays["node_activation"][slot] = activation_id(activation)
            arrays["node_bias"][slot] = _finite(bias, dtype, f"Node {node}", "bias")
    # In the order of their ends, so that the same network gives the same genome,
    # however its file is ordered.
    ends = sorted(links, key=lambda ends: (number[ends[0]], number[ends[1]]))
    for slot, (source, target) in enumerate(ends):
        arrays["link_id"][slot] = slot
        arrays["link_source"][slot] = number[source]
        arrays["link_target"][slot] = number[target]
        arrays["link_weight"][slot] = _finite(
            links[source, target],
            dtype,
            f"The connection {source} -> {target}",
            "weight (times the response of its target)",
        )
        arrays["link_enabled"][slot] = True
    return Genome(**{name: jnp.asarray(value) for name, value in arrays.items()})
