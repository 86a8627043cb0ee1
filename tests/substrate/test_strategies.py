"""How discovery is evaluated changes nothing: strategies, populations, threads.

That engines agree is tested in tests/tensor.
"""

import dataclasses

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from substrax.cppn import QueryEngine
from substrax.substrate import EMRRule, ESRule, Layout, num_cells
from tests.substrate.support import (
    SEEDS,
    assert_same_bits,
    assert_same_wirings,
    draw_cppns,
    emr_rules,
    es_rules,
    find,
    layouts,
    make_engine,
    part_of,
)

Parts = tuple[QueryEngine, Layout, ESRule | EMRRule]

# One dialect and one number of outputs for each rule, so that kernels are shared.
KINDS = {
    "es": (es_rules, "neat-python", False),
    "emr": (emr_rules, "plain", True),
}


@dataclasses.dataclass(frozen=True)
class Case:
    kind: str
    seed: int
    dtype: type[np.floating]
    rule: ESRule | EMRRule
    layout: Layout

    def parts(self, num: int = 3) -> Parts:
        """What `find` takes: an engine for `num` genomes, the layout, the rule."""
        _, dialect, leo = KINDS[self.kind]
        cppns = draw_cppns(self.seed, num, leo=leo)
        return make_engine(cppns, dialect, self.dtype), self.layout, self.rule


@st.composite
def cases(draw: st.DrawFn, max_depth: int = 2) -> Case:
    kind = draw(st.sampled_from(["es", "emr"]))
    rule = draw(KINDS[kind][0](max_depth))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    return Case(kind, draw(SEEDS), dtype, rule, draw(layouts(rule.depth)))


@given(case=cases(max_depth=3))
@settings(max_examples=24)
def test_strategies_give_the_same_bits(case: Case) -> None:
    """Hidden points, links, weights and the order of links."""
    parts = case.parts()
    eager, frontier, auto = (
        find(*parts, strategy=strategy) for strategy in ("eager", "frontier", "auto")
    )
    assert_same_wirings(eager, frontier)
    assert_same_wirings(auto, frontier)
    assert auto.num_queries == frontier.num_queries


@given(case=cases(), strategy=st.sampled_from(["eager", "frontier"]))
@settings(max_examples=20)
def test_population_is_the_same_as_its_genomes_one_by_one(
    case: Case, strategy: str
) -> None:
    engine, layout, rule = case.parts(4)
    together = find(engine, layout, rule, strategy=strategy)
    total = 0
    for genome in range(4):
        programs = engine.programs.select(np.array([genome]))
        alone = find(QueryEngine(programs), layout, rule, strategy=strategy)
        assert_same_bits(part_of(alone, 0), part_of(together, genome))
        total += alone.num_queries
    assert total == together.num_queries


@given(case=cases(), order=st.permutations(range(4)))
@settings(max_examples=20)
def test_position_in_the_population_changes_nothing(
    case: Case, order: list[int]
) -> None:
    engine, layout, rule = case.parts(4)
    straight = find(engine, layout, rule)
    moved = find(QueryEngine(engine.programs.select(np.array(order))), layout, rule)
    for place, genome in enumerate(order):
        assert_same_bits(part_of(moved, place), part_of(straight, genome))


def test_number_of_threads_changes_nothing() -> None:
    engine = make_engine(draw_cppns(5, 30, leo=True), "plain", np.float32)
    layout = Layout.spread(4, 2)
    rule = EMRRule(depth=5, variance_threshold=0.003, connections="feedforward")
    wirings = []
    for threads in (1, 4):
        wirings.append(find(engine, layout, rule, strategy="eager", threads=threads))
    assert_same_wirings(*wirings)
    assert len(wirings[0].link_source) > 1000


@given(
    seed=SEEDS,
    rule=emr_rules(4, connections="feedforward", band_threshold=0.0, rounds=0),
)
@settings(max_examples=16)
def test_eager_asks_about_every_candidate_and_equals_the_frontier(
    seed: int, rule: EMRRule
) -> None:
    engine = make_engine(draw_cppns(seed, 2), "plain", np.float32)
    layout = Layout([[-0.3, -1.0]], [[0.0, 1.0]])
    eager = find(engine, layout, rule, strategy="eager")
    assert_same_wirings(eager, find(engine, layout, rule, strategy="frontier"))
    to_output = int(eager.num_found.sum())  # phase 3
    assert eager.num_queries == 2 * num_cells(rule.depth) + to_output


def test_frontier_asks_no_more_than_eager() -> None:
    engine = make_engine(draw_cppns(5, 30, leo=True), "plain", np.float32)
    layout = Layout.spread(4, 2)
    rule = EMRRule(depth=4)
    eager, frontier = (
        find(engine, layout, rule, strategy=strategy).num_queries
        for strategy in ("eager", "frontier")
    )
    assert frontier < eager
