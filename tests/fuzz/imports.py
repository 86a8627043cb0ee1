"""What other programs wrote: genomes, networks, INI files, vectors, tables.

Each is sound at first, then damaged: as a document (other values at some places) or as
bytes. It is read, or refused in a sentence that names the file if there is one.
"""

import copy
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from substrax.config import load_experiment
from substrax.decoders import Direct
from substrax.neat import (
    GenomeData,
    from_neat_python_config,
    genome_from_neat_python,
)
from substrax.network import evaluate, from_json, to_json
from substrax.problems import Panel
from substrax.verify import verify_file

from . import hostile
from ._case import Case
from .configurations import toml

ROOT = Path(__file__).parents[2]
INPUTS, OUTPUTS = ("x1", "y1", "x2", "y2", "bias"), ("weight",)

CPPN: dict[str, Any] = {
    "nodes": [
        {"id": 0, "activation": "tanh", "bias": 0.5, "response": 1.0},
        {"id": 1, "activation": "gauss", "bias": -0.25, "response": 2.0},
        {"id": 7, "activation": "sin", "bias": 0.0, "response": 1.0},
    ],
    "connections": [[-1, 1, 0.5], [-2, 1, -1.5], [1, 0, 2.0], [1, 7, 1], [7, 0, -0.5]],
    "input_ids": [-1, -2, -3, -4, -5],
    "output_id": 0,
}
GENOME: dict[str, Any] = {
    "nodes": ["near gauss 0.5", {"name": "h", "activation": "sin", "bias": 0.25}],
    "links": [
        "x1 -> near 1.0", "near -> weight 0.5", "bias -> weight -1.5 off",
        {"source": "x2", "target": "h", "weight": 1.0, "enabled": True},
    ],
}  # fmt: skip
TABLE = "\n".join(
    ["firm,period,size,value,target"]
    + [f"{k},{k // 12},{k % 7}.5,{(k * 37) % 11},{k % 2}" for k in range(48)]
)


def attack_import(case: Case) -> None:
    """Reads one damaged thing."""
    kind = case.random.choice(list(READERS))
    case.note("reader", kind)
    with case.refusals():
        READERS[kind](case)


def _read_neat_python_genome(case: Case) -> None:
    document = hostile.damaged_document(case.random, CPPN)
    case.note("genome", document)
    options: dict[str, Any] = {"feed_forward": case.random.random() < 0.7}
    if case.random.random() < 0.2:
        options["max_nodes"] = case.random.choice((0, 1, 3, 8, 16))
    _check_genome(genome_from_neat_python(document, **options))


def _check_genome(genome: Any) -> None:
    """What was taken for a genome is one: a decoder reads it, or says why not."""
    for name in ("node_bias", "link_weight"):
        assert np.isfinite(np.asarray(getattr(genome, name))).all(), name
    num_inputs = int((np.asarray(genome.node_activation) < 0).sum())
    population = jax.tree.map(lambda x: x[None], genome)
    networks = Direct(num_inputs, 1, is_recurrent=True).decode(population)
    outputs = evaluate(networks, np.zeros((1, num_inputs), np.float32))
    assert outputs.shape == (1, 1, 1)


@functools.cache
def _network() -> dict[str, Any]:
    genome = genome_from_neat_python(CPPN)
    networks = Direct(5, 1).decode(jax.tree.map(lambda x: x[None], genome))
    return json.loads(to_json(networks[0]))


def _read_network(case: Case) -> None:
    text = _text(case, _network(), json.dumps)
    network = from_json(text)
    outputs = evaluate(network, np.zeros((1, network.num_inputs), network.dtype))
    assert outputs.shape == (1, 1, network.num_outputs)
    again = from_json(to_json(network))
    assert np.array_equal(again.link_weight, network.link_weight)


def _text(case: Case, document: Any, write: Callable[[Any], str]) -> str:
    """A damaged document as text."""
    if case.random.random() < 0.2:
        raw = hostile.damaged_bytes(case.random, write(document).encode())
        text = raw.decode("utf-8", "surrogateescape")
    else:
        changed = hostile.damaged_document(case.random, document)
        try:
            text = write(changed)
        except ValueError:  # Python writes no whole numbers of so many digits
            text = write(copy.deepcopy(document))
    case.note("text", text)
    return text


def _write_toml(document: Any) -> str:
    if not isinstance(document, dict):
        return toml(document)
    return "\n".join(f"{toml(str(k))} = {toml(v)}" for k, v in document.items())


def _file(case: Case, name: str, text: str) -> Path:
    path = case.folder / name
    path.write_bytes(
        text.encode("utf-8", "surrogateescape" if _fits(text) else "replace")
    )
    return path


def _fits(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _read_genome_file(case: Case) -> None:
    is_json = case.random.random() < 0.5
    write = json.dumps if is_json else _write_toml
    path = _file(case, "g.json" if is_json else "g.toml", _text(case, GENOME, write))
    try:
        data = GenomeData.load(path)
    except ValueError as error:
        assert path.name in str(error), "the file is not named"
        raise
    genome = data.genome(INPUTS, OUTPUTS)
    for name in ("node_bias", "link_weight"):
        assert np.isfinite(np.asarray(getattr(genome, name))).all(), name
    again = GenomeData.of(genome, INPUTS, OUTPUTS).genome(INPUTS, OUTPUTS)
    assert np.array_equal(again.link_weight, genome.link_weight)


def _read_ini(case: Case) -> None:
    draw = case.random
    lines = (ROOT / "examples" / "neat_python_xor.ini").read_text().splitlines()
    for _ in range(draw.randint(1, 3)):
        k = draw.randrange(len(lines))
        name, equals, _ = lines[k].partition("=")
        kind = draw.randrange(6)
        if kind == 0:
            del lines[k]
        elif kind == 1:
            lines.insert(k, lines[draw.randrange(len(lines))])
        elif kind == 2:
            lines[k] = "  " + lines[k]
        elif equals:
            lines[k] = f"{name}= {_plain(hostile.value(draw, 0))}"
        else:
            lines[k] = hostile.text(draw)
    text = "\n".join(lines) + "\n"
    if draw.random() < 0.2:
        text = hostile.damaged_bytes(draw, text.encode("utf-8", "replace")).decode(
            "utf-8", "surrogateescape"
        )
    case.note("INI", text)
    is_file = draw.random() < 0.7
    config, messages = from_neat_python_config(
        _file(case, "c.ini", text) if is_file else text
    )
    assert all(len(message) < 1000 for message in messages)
    assert config.population_size >= 1


def _plain(value: Any) -> str:
    try:
        return str(value)
    except ValueError:
        return "9" * 5000


@functools.cache
def _vectors() -> dict[str, Any]:
    cases = json.loads((ROOT / "tests" / "data" / "pureples.json").read_text())["cases"]
    small = sorted(cases, key=lambda case: len(json.dumps(case)))
    return {"cases": [small[0], small[len(small) // 3]]}


def _read_vectors(case: Case) -> None:
    text = _text(case, _vectors(), json.dumps)
    # Deep grids are right, and take long.
    text = text.replace('"max_depth": 1', '"max_depth": 2')
    for depth in range(6, 20):
        text = text.replace(f'"max_depth": {depth}', '"max_depth": 4')
    path = _file(case, "vectors.json", text)
    try:
        results = verify_file(path)
    except ValueError as error:
        assert path.name in str(error), "the file is not named"
        raise
    assert all(len("".join(result.differences)) < 1000 for result in results)


def _read_table(case: Case) -> None:
    draw = case.random
    raw = TABLE.encode()
    if draw.random() < 0.5:
        rows = [line.split(",") for line in TABLE.split("\n")]
        row = draw.choice(rows)
        row[draw.randrange(5)] = _plain(hostile.value(draw, 0))
        raw = "\n".join(",".join(row) for row in rows).encode("utf-8", "replace")
        if draw.random() < 0.1:
            raw = raw.replace(b"size", b"s" * 200_000)
    if draw.random() < 0.6:
        raw = hostile.damaged_bytes(draw, raw)
    case.note("CSV", repr(raw))
    name = draw.choice(("t.csv", "t.csv", "t.csv", "t.parquet"))
    path = case.folder / name
    path.write_bytes(raw)
    missing = draw.choice(("error", "zero", "drop"))
    panel = Panel(path=str(path), missing=missing, has_returns=draw.random() < 0.3)
    assert np.isfinite(panel.data.features).all()
    assert panel.layout is not None


def _read_experiment_file(case: Case) -> None:
    raw = (ROOT / "src/substrax/experiments/xor.toml").read_bytes()
    path = case.folder / "e.toml"
    path.write_bytes(hostile.damaged_bytes(case.random, raw))
    case.note("TOML", repr(path.read_bytes()))
    load_experiment(path).build()


READERS: dict[str, Callable[[Case], None]] = {
    "neat-python genome": _read_neat_python_genome,
    "network": _read_network,
    "genome file": _read_genome_file,
    "INI": _read_ini,
    "vectors": _read_vectors,
    "table": _read_table,
    "experiment file": _read_experiment_file,
}
