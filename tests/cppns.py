"""CPPNs for tests: drawn at random, as the oracle's plain data and as our arrays."""

from typing import Any

import numpy as np

from substrax.cppn import Programs, activation_id, compile_programs

SMOOTH = ("tanh", "sin", "gauss", "sigmoid")


def random_cppn(
    rng: np.random.Generator,
    num_hidden: int,
    activations: tuple[str, ...] = SMOOTH,
    *,
    num_inputs: int = 5,
    leo: bool = False,
    bias: bool = False,
    scale: float = 1.0,
) -> dict[str, Any]:
    """An acyclic CPPN in the format of `tests/data/pureples.json`.

    Outputs have ids 0 (1 with LEO, 2 with biases), hidden ones 10, 11, ... in random
    topological order; some nodes are unfed or lead nowhere.
    """
    inputs = [-1 - i for i in range(num_inputs)]
    outputs = [0, *([1] if leo else []), *([2] if bias else [])]
    hidden = [int(h) for h in 10 + rng.permutation(num_hidden)]
    order = [*inputs, *hidden, *outputs]
    connections = []
    for place, target in enumerate(order):
        if target in inputs:
            continue
        allowed = [s for s in order[:place] if s not in outputs]
        fan_in = int(rng.integers(0 if target in hidden else 1, 9))
        for source in rng.permutation(allowed)[:fan_in]:
            weight = float(np.float32(rng.normal() * scale))
            connections.append([int(source), target, weight])
    nodes = [
        {
            "id": node,
            "activation": str(rng.choice(activations)),
            "bias": float(np.float32(rng.normal() * scale)),
            "response": 1.0,
        }
        for node in [*outputs, *hidden]
    ]
    return {
        "nodes": nodes,
        "connections": [connections[i] for i in rng.permutation(len(connections))],
        "input_ids": inputs,
        "output_id": 0,
        **({"leo_id": 1} if leo else {}),
        **({"bias_id": 2} if bias else {}),
    }


OUTPUT_KEYS = {"weight": "output_id", "leo": "leo_id", "bias": "bias_id"}


def output_names(cppn: dict[str, Any]) -> tuple[str, ...]:
    return tuple(name for name, key in OUTPUT_KEYS.items() if key in cppn)


def population_arrays(
    cppns: list[dict[str, Any]], outputs: tuple[str, ...] | None = None
) -> dict[str, np.ndarray]:
    """The arrays that `compile_programs` takes; ids as it wants them.

    `outputs` is the order in which the genomes have them.
    """
    max_nodes = max(len(c["nodes"]) + len(c["input_ids"]) for c in cppns)
    max_links = max(1, *(len(c["connections"]) for c in cppns))
    size = len(cppns)
    arrays = {
        "node_id": np.full((size, max_nodes), -1, np.int32),
        "node_activation": np.zeros((size, max_nodes), np.int32),
        "node_bias": np.zeros((size, max_nodes), np.float64),
        "link_source": np.full((size, max_links), -1, np.int32),
        "link_target": np.full((size, max_links), -1, np.int32),
        "link_weight": np.zeros((size, max_links), np.float64),
        "link_enabled": np.zeros((size, max_links), bool),
    }
    for g, cppn in enumerate(cppns):
        num_inputs = len(cppn["input_ids"])
        names = outputs or output_names(cppn)
        ids = {node: i for i, node in enumerate(cppn["input_ids"])}
        ids |= {cppn[OUTPUT_KEYS[n]]: num_inputs + i for i, n in enumerate(names)}
        for node in cppn["nodes"]:
            ids.setdefault(node["id"], num_inputs + len(names) + node["id"])
        arrays["node_id"][g, :num_inputs] = range(num_inputs)
        for n, node in enumerate(cppn["nodes"], start=num_inputs):
            arrays["node_id"][g, n] = ids[node["id"]]
            arrays["node_activation"][g, n] = activation_id(node["activation"])
            arrays["node_bias"][g, n] = node["bias"]
        responses = {node["id"]: node["response"] for node in cppn["nodes"]}
        for k, (source, target, weight) in enumerate(cppn["connections"]):
            arrays["link_source"][g, k] = ids[source]
            arrays["link_target"][g, k] = ids[target]
            arrays["link_weight"][g, k] = weight * responses[target]
            arrays["link_enabled"][g, k] = True
    return arrays


def compile_cppns(
    cppns: list[dict[str, Any]], dialect: str, dtype: Any = np.float32, **options: Any
) -> Programs:
    first = cppns[0]
    return compile_programs(
        **population_arrays(cppns),
        num_inputs=len(first["input_ids"]),
        num_outputs=len(output_names(first)),
        dialect=dialect,
        dtype=dtype,
        **options,
    )
