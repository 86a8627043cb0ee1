"""Run directories for the tests of the report: one evolved, the others made by hand."""

import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from substrax.config import Experiment
from substrax.evolution import Best, RunDirectory
from substrax.neat import Genome, genome_from_neat_python

EVOLVED = """
[run]
generations = 3
target = 2.0
seed = 5
[problem]
name = "xor"
[method]
name = "emr"
depth = 2
connections = "full"
[neat]
population_size = 16
max_nodes = 16
max_links = 32
"""

RIDGES: dict[str, Any] = {
    "input_ids": [-1, -2, -3, -4, -5],
    "output_ids": [0],
    "nodes": [
        {"id": 0, "activation": "tanh", "bias": -0.5},
        {"id": 1, "activation": "gauss", "bias": 0.0},
        {"id": 2, "activation": "gauss", "bias": 0.25},
        {"id": 3, "activation": "sin", "bias": 0.0},  # leads nowhere
    ],
    "connections": [
        [-1, 1, 3.0],
        [-3, 1, -3.0],
        [-4, 2, 4.0],
        [1, 0, 1.5],
        [2, 0, -1.0],
        [-5, 3, 1.0],
    ],
}
"""A CPPN with ridges where x1 = x2 and near y2 = 0."""

CONSTANT: dict[str, Any] = {
    "input_ids": [-1, -2, -3, -4, -5],
    "output_ids": [0],
    "nodes": [{"id": 0, "activation": "tanh", "bias": 0.0}],
    "connections": [[-5, 0, 0.001]],
}
"""A CPPN whose field is the same everywhere, and next to nothing."""

PLAIN: dict[str, Any] = {
    "input_ids": [-1, -2, -3],
    "output_ids": [0],
    "nodes": [
        {"id": 0, "activation": "sigmoid", "bias": -2.0},
        {"id": 1, "activation": "sigmoid", "bias": 0.0},
    ],
    "connections": [[-1, 1, 6.0], [-2, 1, 6.0], [-1, 0, 4.0], [1, 0, -7.0]],
}
"""A network for plain NEAT."""


def genome(description: Mapping[str, Any]) -> Genome:
    return jax.tree.map(jnp.asarray, genome_from_neat_python(dict(description)))


def metrics_line(generation: int, **changes: Any) -> dict[str, Any]:
    """What a generation might have written."""
    return {
        "generation": generation,
        "best_fitness": 0.5 + 0.1 * generation,
        "best_ever": 0.5 + 0.1 * generation,
        "mean_fitness": 0.4,
        "num_species": 2,
        "species_size": [{"id": 0, "size": 10}, {"id": generation + 1, "size": 6}],
        "mean_genome_nodes": 6.0,
        "mean_genome_links": 5.0,
        "mean_hidden": 3.0,
        "mean_network_links": 9.0,
        "best_hidden": 4,
        "best_network_links": 12,
        "threshold": 3.0,
        "num_failed": 0,
        "num_empty": 1,
        "seconds": 0.5,
        "compile_seconds": 0.1,
        **changes,
    }


def make_run(
    path: Path,
    decoder: str,
    description: Mapping[str, Any] | None,
    lines: list[dict[str, Any]] | None = None,
    problem: str = 'name = "xor"',
) -> RunDirectory:
    """A run directory without a run: its best genome is the one described."""
    preset = "neat_python" if '"neat"' in decoder else "pureples"
    text = f'[problem]\n{problem}\n[method]\n{decoder}\n[neat]\npreset = "{preset}"\n'
    experiment = Experiment.from_toml(text)
    run = RunDirectory.create(path, seed=0, config_text=experiment.to_toml())
    for line in [metrics_line(0), metrics_line(1)] if lines is None else lines:
        run.append_metrics(line)
    if description is not None:
        best = genome(description)
        networks = experiment.build().decoder.decode(
            jax.tree.map(lambda x: x[None], best)
        )
        run.write_best(Best(0.5, 0, best, networks[0]))
    return run


class Page(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(path.read_text("utf-8"))
        self.text = re.sub(r"\s+", " ", self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def parts(self) -> list[str | None]:
        return [section["id"] for section in self.all("section")]

    @property
    def figures(self) -> list[str]:
        return [str(f["id"]).removeprefix("figure-") for f in self.all("figure")]
