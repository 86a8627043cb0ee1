"""Speciation (Stanley & Miikkulainen, 2002, section 3.3)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.neat import NEATConfig, SpeciationConfig
from substrax.neat._speciation import empty_species, keep_species, speciate
from tests.neat.helpers import make_genome, stack


def _genome(weight):
    return make_genome([(0, 0, 2, weight, True)], max_nodes=4, max_links=4)


def _config(**kwargs):
    # The distance is then the difference of the one weight.
    return NEATConfig(speciation=SpeciationConfig(weight_coefficient=1.0, **kwargs))


@jax.jit
def _speciate(config, genomes, table):
    return speciate(
        config, jnp.float32(1.0), genomes, table, table.num_species, jnp.int32(3)
    )


def _place(config, weights, representatives=(), max_species=8):
    genomes = stack(*map(_genome, weights))
    table = empty_species(max_species, 4, 4)
    if representatives:
        rows = stack(*map(_genome, representatives))
        count = len(representatives)
        fill = lambda x, y: x.at[:count].set(y)
        table = table.__class__(
            species_id=fill(table.species_id, jnp.arange(count, dtype=jnp.int32)),
            created=table.created,
            last_improved=table.last_improved,
            best_score=table.best_score,
            representative=jax.tree.map(fill, table.representative, rows),
            num_species=jnp.int32(count),
        )
    return _speciate(config, genomes, table)


def test_a_genome_joins_the_first_compatible_species():
    """ "A given genome g is placed in the first species in which g is compatible with
    the representative genome of that species." """
    placed = _place(_config(), [0.6, 1.1], representatives=[0.0, 1.0])
    # 0.6 is nearer to the second species, but the first one takes it.
    np.testing.assert_array_equal(placed.species_index, [0, 1])


def test_a_genome_joins_the_nearest_species_where_asked():
    config = _config(assignment="nearest")
    placed = _place(config, [0.1, 0.6, 1.1], representatives=[0.0, 1.0])
    np.testing.assert_array_equal(placed.species_index, [0, 1, 1])


def test_a_genome_compatible_with_none_founds_a_species():
    """ "If g is not compatible with any existing species, a new species is created
    with g as its representative." """
    placed = _place(_config(), [0.0, 5.0, 5.5, 9.0, 0.2], representatives=[0.0])
    np.testing.assert_array_equal(placed.species_index, [0, 1, 1, 2, 0])
    np.testing.assert_array_equal(placed.table.species_id[:3], [0, 1, 2])
    assert float(placed.table.representative.link_weight[1, 0]) == 5.0
    assert int(placed.table.created[1]) == 3
    assert int(placed.next_species_id) == 3


@pytest.mark.parametrize("assignment", ["first", "nearest"])
def test_founding_is_sequential(assignment):
    weights = np.random.default_rng(0).uniform(0.0, 6.0, 700).astype(np.float32)
    placed = _place(_config(assignment=assignment), weights.tolist(), max_species=16)
    representatives, expected = [], []
    for weight in weights:
        distances = [abs(weight - r) for r in representatives]
        near = [i for i, d in enumerate(distances) if d < 1.0]
        if not near:
            representatives.append(weight)
            expected.append(len(representatives) - 1)
        elif assignment == "first":
            expected.append(near[0])
        else:
            expected.append(int(np.argmin(distances)))
    assert not bool(placed.overflow)
    np.testing.assert_array_equal(placed.species_index, expected)


def test_a_species_that_nobody_joins_vanishes():
    placed = _place(_config(), [5.0, 5.2], representatives=[0.0, 5.0])
    assert int(placed.table.num_species) == 1
    assert int(placed.table.species_id[0]) == 1
    np.testing.assert_array_equal(placed.species_index, [0, 0])


def test_the_nearest_genome_becomes_the_representative_where_asked():
    config = _config(representative="nearest", assignment="nearest")
    placed = _place(config, [3.0, 0.4, 7.0], representatives=[0.0, 0.1])
    # The first species takes the genome at 0.4, the second the nearest of the rest,
    # however far; so no species vanishes.
    np.testing.assert_array_equal(placed.species_index, [1, 0, 2])
    weights = placed.table.representative.link_weight[:3, 0]
    np.testing.assert_allclose(weights, [0.4, 3.0, 7.0])


def test_too_many_species_are_flagged_and_everybody_still_has_one():
    placed = _place(_config(), [0.0, 5.0, 10.0, 15.0], max_species=2)
    assert bool(placed.overflow)
    assert int(placed.table.num_species) == 2
    assert set(np.asarray(placed.species_index).tolist()) <= {0, 1}


def test_species_keep_their_order_when_others_are_dropped():
    table = _place(_config(), [0.0, 5.0, 10.0]).table
    kept, slots = keep_species(table, jnp.array([True, False, True] + [False] * 5))
    assert int(kept.num_species) == 2
    np.testing.assert_array_equal(kept.species_id[:3], [0, 2, -1])
    assert int(slots[2]) == 1
