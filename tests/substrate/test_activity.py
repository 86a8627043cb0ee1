"""Active cells of one field, against the oracles' masks."""

import numpy as np
import pytest

from substrax.substrate import ActiveCells, EMRRule, ESRule, active_cells
from tests.reference import emr as oracle_emr
from tests.reference import es as oracle_es
from tests.reference.grid import cell_points
from tests.substrate.support import MAPS, draw_cppns, make_engine, oracle_query

SOURCE = (0.3, -1.0)


def places(cells: ActiveCells, which: np.ndarray) -> set[tuple[float, float]]:
    return {(float(x), float(y)) for x, y in cells.centre[which]}


def places_of(masks: list[np.ndarray]) -> list[set[tuple[float, float]]]:
    return [
        {(float(x), float(y)) for x, y in cell_points(level)[mask]}
        for level, mask in enumerate(masks)
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("field", ["output", "weight"])
@pytest.mark.parametrize("initial_depth", [0, 1])
def test_emr_cells_are_those_of_the_mask(seed: int, field: str, initial_depth: int):
    """Equation 2: the parent is active and the variance over its children is large."""
    [cppn] = draw_cppns(seed, 1)
    engine = make_engine([cppn], "plain")
    rule = EMRRule(depth=3, field=field, initial_depth=initial_depth)
    cells = active_cells(engine, MAPS["plain"], rule, SOURCE)
    parameters = oracle_emr.Parameters(
        depth=3, field=field, initial_depth=initial_depth
    )
    query = oracle_query(cppn, "plain")
    masks = oracle_emr.active_from(query, parameters, SOURCE)
    for level, expected in enumerate(places_of(masks)):
        assert places(cells, cells.level == level) == expected
    linked = oracle_emr.expressed_targets(
        query, parameters, SOURCE, {SOURCE}, frozenset({"forward"})
    )
    assert places(cells, cells.is_linked) == {target for _, target in linked}
    for place, weight in zip(cells.centre, cells.weight, strict=True):
        assert weight == pytest.approx(query.weight_at(*SOURCE, *place), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_es_cells_are_those_of_the_quadtree(seed: int):
    """Towards an output nothing is cut off, so the whole tree is there."""
    [cppn] = draw_cppns(seed, 1)
    engine = make_engine([cppn])
    output = (0.0, 1.0)
    cells = active_cells(
        engine, MAPS["neat-python"], ESRule(depth=3), output, outgoing=False
    )
    query = oracle_query(cppn, "neat-python")
    parameters = oracle_es.Parameters(depth=3)
    weights = oracle_es.weight_field(query, 3, output, False)
    expected = places_of(oracle_es.existing_cells(weights, parameters))
    for level in range(4):
        assert places(cells, cells.level == level) == expected[level]
    linked = oracle_es.explore_densely(query, parameters, output, False)
    assert places(cells, cells.is_linked) == {source for source, _ in linked}


def test_a_weight_at_the_threshold_is_no_link():
    engine = make_engine(draw_cppns(10, 1), "plain")

    def linked(threshold: float) -> np.ndarray:
        rule = EMRRule(weight_threshold=threshold)
        cells = active_cells(engine, MAPS["plain"], rule, SOURCE)
        return np.abs(cells.weight[cells.is_linked])

    largest = linked(0.1).max()
    assert linked(float(np.nextafter(largest, largest.dtype.type(0)))).size
    assert not linked(float(largest)).size


def test_cells_are_of_the_genome_that_is_asked_for():
    cppns = draw_cppns(7, 2)
    both, second = make_engine(cppns, "plain"), make_engine(cppns[1:], "plain")
    rule = EMRRule(depth=2)
    here = active_cells(both, MAPS["plain"], rule, SOURCE, genome=1)
    alone = active_cells(second, MAPS["plain"], rule, SOURCE)
    assert np.array_equal(here.cell, alone.cell)
    assert np.array_equal(here.weight, alone.weight)
