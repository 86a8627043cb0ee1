"""The baseline against the oracle: the same queries' worth of work, the same links."""

import jax.numpy as jnp
import numpy as np
import pytest

from paper.pureples import pureples_decode
from paper.quadtree import quadtree_decode
from paper.requirements import has_pureples
from substrax.cppn import ACTIVATION_NAMES
from substrax.decoders import CPPNReading, emr_hyperneat, es_hyperneat
from substrax.neat import Genome
from substrax.substrate import ESRule, Layout, WeightMap
from tests.reference import cppn as reference_cppn
from tests.reference import es as reference_es

LAYOUT = Layout.spread(3, 1)
ACTIVATIONS = ("gauss", "sin", "tanh", "sigmoid")


def random_genome(rng, num_hidden=2):
    """One genome with all inputs at all other nodes, and its data for the oracle."""
    ids = list(range(6 + num_hidden))
    names = ["identity"] * 5 + [str(rng.choice(ACTIVATIONS)) for _ in ids[5:]]
    bias = np.where(np.array(ids) < 5, 0.0, 0.3 * rng.normal(size=len(ids)))
    bias = bias.astype(np.float32)
    ends = [(s, t) for t in ids[6:] for s in [*range(5), *range(6, t)]]
    ends += [(s, 5) for s in [*range(5), *ids[6:]]]
    names[5] = "tanh"
    weight = (0.4 * rng.normal(size=len(ends))).astype(np.float32)
    enabled = rng.random(len(ends)) < 0.8
    row = lambda x, dtype: jnp.asarray(np.array(x)[None], dtype)
    genome = Genome(
        node_id=row(ids, jnp.int32),
        node_activation=row([ACTIVATION_NAMES.index(n) for n in names], jnp.int32),
        node_bias=row(bias, jnp.float32),
        link_id=row(range(len(ends)), jnp.int32),
        link_source=row([s for s, _ in ends], jnp.int32),
        link_target=row([t for _, t in ends], jnp.int32),
        link_weight=row(weight, jnp.float32),
        link_enabled=row(enabled, bool),
    )
    data = {
        "nodes": [
            {"id": i, "activation": names[i], "bias": float(bias[i]), "response": 1.0}
            for i in ids[5:]
        ],
        "connections": [
            [s, t, float(w)]
            for (s, t), w, on in zip(ends, weight, enabled, strict=True)
            if on
        ],
        "input_ids": list(range(5)),
        "output_id": 5,
    }
    return genome, data


@pytest.mark.parametrize("dialect", ["neat-python", "plain"])
@pytest.mark.parametrize("weight_map", ["deadzone", "linear"])
@pytest.mark.parametrize("initial_depth", [0, 2])
def test_links_are_those_of_the_oracle(dialect, weight_map, initial_depth):
    rng = np.random.default_rng(3)
    rule = ESRule(depth=2, initial_depth=initial_depth)
    decoder = es_hyperneat(
        LAYOUT,
        rule,
        reading=CPPNReading(dialect=dialect),
        weight_map=WeightMap(weight_map, 5.0),
    )
    parameters = reference_es.Parameters(depth=2, initial_depth=initial_depth)
    num_links = 0
    for _ in range(3):
        genome, data = random_genome(rng)
        found = quadtree_decode(decoder, genome, 0)
        query = reference_cppn.Query(
            data, dialect=dialect, weight_map=weight_map, scalar=True
        )
        wanted = reference_es.recursive(
            query, LAYOUT.inputs, LAYOUT.outputs, parameters
        )
        assert found.links.keys() == wanted.links.keys()
        for ends, weight in found.links.items():
            assert weight == pytest.approx(wanted.links[ends], abs=1e-9)
        assert not found.is_cut
        # it asks for no neighbours of a cell without weight
        assert found.queries <= wanted.queries
        num_links += len(found.links)
    assert num_links > 10


def test_a_genome_that_takes_too_long_is_cut_off():
    genome, _ = random_genome(np.random.default_rng(3))
    decoder = es_hyperneat(LAYOUT, ESRule(depth=5, initial_depth=5))
    found = quadtree_decode(decoder, genome, 0, max_seconds=0.02)
    assert found.is_cut and not found.links
    assert 0.02 <= found.seconds < 1.0


def test_only_rule_es_is_a_quadtree():
    genome, _ = random_genome(np.random.default_rng(3))
    with pytest.raises(ValueError, match="rule es"):
        quadtree_decode(emr_hyperneat(LAYOUT), genome, 0)


@pytest.mark.skipif(not has_pureples(), reason="PUREPLES is no package of an index")
def test_pureples_finds_the_same_links():
    rng = np.random.default_rng(3)
    decoder = es_hyperneat(LAYOUT, ESRule(depth=2))
    for _ in range(3):
        genome, _ = random_genome(rng)
        ours, theirs = (
            f(decoder, genome, 0) for f in (quadtree_decode, pureples_decode)
        )
        assert ours.links.keys() == theirs.links.keys()
        for ends, weight in ours.links.items():
            assert weight == pytest.approx(theirs.links[ends], abs=1e-9)


def test_pureples_reads_one_dialect():
    pytest.importorskip("pureples")
    genome, _ = random_genome(np.random.default_rng(3))
    decoder = es_hyperneat(LAYOUT, reading=CPPNReading(dialect="plain"))
    with pytest.raises(ValueError, match="dialect neat-python"):
        pureples_decode(decoder, genome, 0)
