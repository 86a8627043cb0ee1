"""The recursive quadtree of `tests/reference`, which is written to be obvious.

It asks point by point with a general CPPN, as PUREPLES does, but does not copy links.
"""

import time
from typing import Any

import numpy as np

from paper.quadtree import Decoding
from substrax.cppn import ACTIVATION_NAMES
from substrax.decoders import Discovered
from substrax.neat import Genome
from substrax.substrate import ESRule
from tests.reference import cppn as reference_cppn
from tests.reference import es as reference_es

NUM_INPUTS = 5


def _as_vector(genomes: Genome, index: int) -> dict[str, Any]:
    """One genome in the format of the conformance vectors."""
    name = lambda i: -1 - i if i < NUM_INPUTS else i - NUM_INPUTS
    columns = lambda *names: zip(
        *(np.asarray(getattr(genomes, n)[index]).tolist() for n in names), strict=True
    )
    nodes = [
        {
            "id": name(i),
            "activation": ACTIVATION_NAMES[a],
            "bias": bias,
            "response": 1.0,
        }
        for i, a, bias in columns("node_id", "node_activation", "node_bias")
        if i >= NUM_INPUTS
    ]
    links = columns("link_source", "link_target", "link_weight", "link_enabled")
    return {
        "nodes": nodes,
        "connections": [[name(s), name(t), w] for s, t, w, is_on in links if is_on],
        "input_ids": [-1, -2, -3, -4, -5],
        "output_id": 0,
    }


def oracle_decode(decoder: Discovered, genomes: Genome, index: int) -> Decoding:
    """One genome by the oracle, in the dialect of neat-python."""
    rule = decoder.rule
    assert isinstance(rule, ESRule)
    began = time.perf_counter()
    query = reference_cppn.Query(
        _as_vector(genomes, index),
        max_weight=decoder.weight_map.max_weight,
        unfed="silent",
        scalar=True,
    )
    found = reference_es.recursive(
        query,
        decoder.layout.inputs.tolist(),
        decoder.layout.outputs.tolist(),
        reference_es.Parameters(
            depth=rule.depth,
            initial_depth=rule.initial_depth,
            division_threshold=rule.division_threshold,
            variance_threshold=rule.variance_threshold,
            band_threshold=rule.band_threshold,
            iteration_level=rule.iteration_level,
        ),
        count_like_pureples=True,
    )
    seconds = time.perf_counter() - began
    return Decoding(seconds, found.queries, False, dict(found.links))
