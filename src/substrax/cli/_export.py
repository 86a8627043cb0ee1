"""The best network as a file that other programs read."""

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .._files import replacing, write_atomically
from ..evolution import Best, best_to_safetensors
from ..network import json_pieces, to_arrays, to_networkx


def _write_json(best: Best, path: Path) -> None:
    write_atomically(path, itertools.chain(json_pieces(best.network), "\n"))


def _write_safetensors(best: Best, path: Path) -> None:
    write_atomically(path, best_to_safetensors(best))


def _write_npz(best: Best, path: Path) -> None:
    # a file, because NumPy would add an ending of its own to a name
    with replacing(path) as file:
        np.savez(file, allow_pickle=False, **to_arrays(best.network))


def _write_graphml(best: Best, path: Path) -> None:
    graph = to_networkx(best.network)
    import networkx

    for _, attributes in graph.nodes(data=True):
        point = attributes.pop("point")  # GraphML has no pairs
        if point is not None:
            attributes["x"], attributes["y"] = point
    with replacing(path) as file:
        networkx.write_graphml(graph, file)


WRITERS: dict[str, Callable[[Best, Path], None]] = {
    "json": _write_json,
    "safetensors": _write_safetensors,
    "npz": _write_npz,
    "graphml": _write_graphml,
}
"""How to write each format."""
