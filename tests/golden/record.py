"""Records what version 0.1 makes of the golden cases, bit by bit.

Run once, with version 0.1 (commit c40db1c), whose engine is JAX on a CPU with default
settings (jax 0.10.2, on x86-64 with AVX2 and FMA):

    PYTHONPATH=src:. python tests/golden/record.py

It is kept so that one sees how the data came to be. Do not run it to make a failing
test pass: the data are the results that later engines must reproduce. It writes, beside
itself,

- `genomes.safetensors`: populations, as the fields of `substrax.neat.Genome`;
- `inputs.safetensors`: what networks and CPPNs are given;
- `networks.json`: for each case sizes and digests of the networks' arrays, of the case
  and of each network;
- `outputs.safetensors`: outputs for a few samples, and of networks that carry a state;
- `links.safetensors`: the links themselves of the first networks, if small;
- `queries.safetensors`: outputs of CPPNs, and of single activation functions.
"""

import json
from typing import Any

import jax
import numpy as np
from safetensors.numpy import save_file

from substrax.config import load_experiment
from substrax.cppn import ACTIVATION_NAMES
from substrax.neat import NO_LINK, tell_growing
from substrax.network import evaluate
from tests.cppns import SMOOTH, population_arrays, random_cppn
from tests.golden.cases import (
    ACTIVATION_CASES,
    CASES,
    FOLDER,
    MANY_SHOWN,
    MOST_LINKS,
    QUERY_CASES,
    activation_outputs,
    genomes_of,
    run,
)

Arrays = dict[str, np.ndarray]


# ----------------------------------------------------------------------------- genomes


def evolved() -> dict[str, Arrays]:
    """XOR by EMR-HyperNEAT with 40 genomes, after ten and thirty generations.

    Links are worth something, so that genomes grow also when XOR is solved.
    """
    experiment = load_experiment("xor")
    parts = experiment.with_settings({"population": 40, "method.depth": 2}).build()
    neat = parts.algorithm
    inputs = np.array([(a, b) for a in (0, 1) for b in (0, 1)], np.float32)
    inputs = np.column_stack([inputs, np.ones((4, 1), np.float32)])
    wanted = np.array([0, 1, 1, 0], np.float32)
    key = jax.random.key(3)
    state = neat.init(key=key)
    tell = jax.jit(neat.tell)
    populations = {}
    for generation in range(1, 31):
        population = neat.ask(state)
        networks = parts.decoder.decode(population)
        values = evaluate(networks, inputs[:, : networks.num_inputs])[..., 0]
        fitness = 1 - np.mean((values - wanted) ** 2, axis=1)
        key, now = jax.random.split(key)
        fitness = fitness + 0.02 * np.asarray(population.num_links)
        fitness = jax.numpy.asarray(fitness, jax.numpy.float32)
        state, _ = tell_growing(neat, state, fitness, key=now, tell_fn=tell)
        if generation in (10, 30):
            genomes = neat.ask(state)
            arrays = {k: np.asarray(v) for k, v in vars(genomes).items()}
            populations[f"xor{generation}"] = trimmed(arrays)
    return populations


def trimmed(arrays: Arrays) -> Arrays:
    """The same without the capacity that no genome uses."""
    nodes = int((arrays["node_id"] >= 0).sum(axis=1).max())
    links = max(1, int((arrays["link_id"] != NO_LINK).sum(axis=1).max()))
    return {
        name: a[:, : nodes if name.startswith("node") else links].copy()
        for name, a in arrays.items()
    }


def from_cppns(cppns: list[dict[str, Any]]) -> Arrays:
    arrays = population_arrays(cppns)
    has_link = arrays["link_source"] >= 0
    arrays["link_id"] = np.where(
        has_link, np.arange(has_link.shape[1], dtype=np.int32), np.int32(NO_LINK)
    )
    for name in ("node_bias", "link_weight"):
        arrays[name] = arrays[name].astype(np.float32)
    return arrays


def drawn(
    seed: int,
    sizes: list[int],
    activations: tuple[str, ...] = SMOOTH,
    scales: tuple[float, ...] = (0.4, 1.0),
    **options: Any,
) -> list[dict[str, Any]]:
    """CPPNs with so many hidden nodes, smooth and steep ones by turns.

    Their outputs have functions that take both signs, so that fields are seldom flat
    and LEO seldom says the same everywhere.
    """
    rng = np.random.default_rng(seed)
    cppns = [
        random_cppn(rng, size, activations, scale=scales[k % len(scales)], **options)
        for k, size in enumerate(sizes)
    ]
    for k, cppn in enumerate(cppns):
        for node in cppn["nodes"]:
            if node["id"] < 2:
                node["activation"] = ("sin", "tanh", "identity")[k % 3]
    return cppns


def cyclic(cppns: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """With links between nodes that are no inputs, to themselves as well."""
    rng = np.random.default_rng(seed)
    result = []
    for cppn in cppns:
        ids = [node["id"] for node in cppn["nodes"]]
        known = {(s, t) for s, t, _ in cppn["connections"]}
        extra = [
            [s, t, float(np.float32(rng.normal()))]
            for s in ids
            for t in ids
            if (s, t) not in known and rng.uniform() < min(0.4, 3 / len(ids))
        ]
        result.append({**cppn, "connections": [*cppn["connections"], *extra]})
    return result


def single(activation: str) -> dict[str, Any]:
    """A CPPN that is one function of x1."""
    node = {"id": 0, "activation": activation, "bias": 0.0, "response": 1.0}
    ids = [-1 - i for i in range(5)]
    links = [[-1, 0, 1.0]]
    return {"nodes": [node], "connections": links, "input_ids": ids, "output_id": 0}


def functions() -> Arrays:
    """One genome with one input, and an output for each function."""
    num = len(ACTIVATION_NAMES)
    number = np.arange(num, dtype=np.int32)[None]
    return {
        "node_id": np.arange(num + 1, dtype=np.int32)[None],
        "node_activation": np.concatenate([[[0]], number], axis=1).astype(np.int32),
        "node_bias": np.zeros((1, num + 1), np.float32),
        "link_id": number,
        "link_source": np.zeros_like(number),
        "link_target": number + 1,
        "link_weight": np.ones((1, num), np.float32),
        "link_enabled": np.ones((1, num), bool),
    }


def make_populations() -> dict[str, Arrays]:
    small = [k % 4 for k in range(16)]
    large = [4, 8, 12, 16, 20, 24, 6, 10, 14, 18, 22, 5]
    every = ACTIVATION_NAMES
    drawings = {
        "smooth": drawn(1, small),
        "large": drawn(2, large, every, (0.5, 0.9)),
        # steep enough for values that overflow, here and there
        "wild": drawn(3, large, every, (1.0, 3.0)),
        "leo": drawn(4, [k % 5 for k in range(12)], leo=True),
        "leo_large": drawn(5, large, every, (0.5, 0.9), leo=True),
        "eight": drawn(6, small, num_inputs=8),
        "eight_large": drawn(7, large, every, (0.5, 0.9), num_inputs=8),
        "eight_leo": drawn(8, [k % 4 for k in range(12)], num_inputs=8, leo=True),
        "far": drawn(9, small[:12], num_inputs=6),
        "apart": drawn(10, small[:12], num_inputs=3),
        "recurrent": cyclic(drawn(11, [k % 6 for k in range(12)], leo=True), 1),
        # saturating functions only: others run away along a cycle
        "recurrent_large": cyclic(
            drawn(12, large, (*SMOOTH, "cos", "clamped", "hat", "step"), leo=True), 2
        ),
        "sweep": [single(name) for name in every],
    }
    populations = evolved()
    populations |= {name: from_cppns(cppns) for name, cppns in drawings.items()}
    populations["functions"] = functions()
    return populations


# ------------------------------------------------------------------------------ inputs


def sweep() -> np.ndarray:
    """Numbers of all sizes and both signs, and those where functions have a bend."""
    bends = [0.0, 0.2, 0.5, 1.0, 1.6, 3.4, 12.0, 24.0, 60.0, 88.0, 89.0, 104.0, 1e-7]
    near = [
        np.nextafter(np.float32(b), np.float32(s)) for b in bends for s in (-1, 200)
    ]
    near = [b for b in near if abs(b) > 1e-30]
    sizes = [np.linspace(0, 4, 65), np.linspace(4, 100, 49), np.logspace(-30, 12, 60)]
    positive = np.concatenate([bends, near, *sizes])
    both = np.concatenate([positive, -positive]).astype(np.float32)
    # as bytes, so that 0.0 and -0.0 are two
    return np.unique(both.view(np.uint32)).view(np.float32)


def make_inputs() -> Arrays:
    rng = np.random.default_rng(0)
    values = sweep()
    tiny = np.array([1e-45, 1e-40, 1.1754942e-38, 1.17549435e-38, 2e-38], np.float32)
    tiny = np.concatenate([tiny, -tiny])

    def along_x1(x: np.ndarray) -> np.ndarray:
        return np.column_stack([x, np.zeros((x.size, 3), np.float32)])

    bits = np.array([(a, b) for a in (0, 1) for b in (0, 1)], np.float32)
    few = np.column_stack([bits, np.ones(4, np.float32), bits, -bits, bits])
    few = few.astype(np.float32)
    many = rng.uniform(-1, 1, (70, few.shape[1])).astype(np.float32)
    many[::2] /= 32  # where functions are not saturated
    plane = rng.uniform(-1, 1, (160, 4)).astype(np.float32)
    plane[:40] = rng.integers(-8, 9, (40, 4)) / 8  # where cells are
    return {
        "few": few,
        "many": many,
        "values": values,
        "plane": plane,
        "sweep": along_x1(values),
        "subnormal": along_x1(tiny),
    }


# --------------------------------------------------------------------------- recording


def record_cases(populations: dict[str, Arrays], inputs: Arrays) -> None:
    summaries, outputs, links = {}, {}, {}
    for case in CASES:
        genomes = genomes_of(populations[case.population], case.count)
        result = run(case, genomes, inputs)
        summaries[case.name] = result.summary()
        for kind, values in result.outputs.items():
            shown = values[:, list(MANY_SHOWN)] if kind == "many" else values
            outputs[f"{case.name}/{kind}"] = np.ascontiguousarray(shown)
        bounds = result.networks.link_bounds
        fit = np.searchsorted(bounds, MOST_LINKS[case.precision], side="right") - 1
        for name, array in result.links(int(fit)).items() if fit else ():
            links[f"{case.name}/{name}"] = np.ascontiguousarray(array)
    lines = [
        f"{json.dumps(name)}: {json.dumps(summary, separators=(',', ':'))}"
        for name, summary in summaries.items()
    ]
    # a line for each case
    (FOLDER / "networks.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    save_file(outputs, FOLDER / "outputs.safetensors")
    save_file(links, FOLDER / "links.safetensors")


def record_queries(populations: dict[str, Arrays], inputs: Arrays) -> None:
    answers = {}
    for case in QUERY_CASES:
        genomes = genomes_of(populations[case.population])
        answers[case.name] = np.ascontiguousarray(
            case.ask(genomes, inputs[case.points])
        )
    genomes = genomes_of(populations["functions"])
    for dialect, precision in ACTIVATION_CASES:
        values = activation_outputs(genomes, dialect, precision, inputs["values"])
        answers[f"functions {dialect} {precision}"] = np.ascontiguousarray(values)
    save_file(answers, FOLDER / "queries.safetensors")


def main() -> None:
    populations, inputs = make_populations(), make_inputs()
    save_file(inputs, FOLDER / "inputs.safetensors")
    save_file(
        {
            f"{population}/{field}": array
            for population, arrays in populations.items()
            for field, array in arrays.items()
        },
        FOLDER / "genomes.safetensors",
    )
    record_queries(populations, inputs)
    record_cases(populations, inputs)


if __name__ == "__main__":
    main()
