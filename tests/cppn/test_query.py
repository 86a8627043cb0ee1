"""The query engine against the oracle, and its independence of how it is asked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from substrax import Resources
from substrax.cppn import DIALECTS, QueryEngine, activation_id, compile_programs
from tests.compilations import counted_compilations
from tests.cppns import compile_cppns, random_cppn
from tests.reference.cppn import evaluate

EVERY = ("identity", "tanh", "sigmoid", "sin", "gauss", "abs", "step", "relu", "cos")


def oracle(cppns, genome, source, target, dialect):
    points = np.concatenate([source, target], axis=1).astype(np.float64)
    result = np.zeros((len(genome), 2 if "leo_id" in cppns[0] else 1))
    for g, cppn in enumerate(cppns):
        mine = genome == g
        values = evaluate(cppn, points[mine], dialect=dialect)
        for o, node in enumerate([0, 1][: result.shape[1]]):
            result[mine, o] = values[node]
    return result


def random_queries(rng, num_genomes, num):
    genome = rng.integers(0, num_genomes, num)
    source, target = rng.uniform(-1, 1, (2, num, 2)).astype(np.float32)
    return genome, source, target


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("num_hidden", [0, 1, 3, 8])
def test_float64_equals_the_oracle(dialect, num_hidden):
    rng = np.random.default_rng(num_hidden)
    cppns = [random_cppn(rng, num_hidden, EVERY) for _ in range(5)]
    asked = random_queries(rng, 5, 700)
    engine = QueryEngine(compile_cppns(cppns, dialect, np.float64))
    np.testing.assert_allclose(
        engine.query(*asked), oracle(cppns, *asked, dialect), rtol=1e-11, atol=1e-12
    )


@pytest.mark.parametrize(("dialect", "num_hidden"), [("plain", 4), ("neat-python", 0)])
def test_float32_is_within_1e_6_of_the_oracle_over_ordinary_ranges(dialect, num_hidden):
    """CPPNs as evolution makes them: few nodes, up to eight links into each.

    Weights are of order one, and half of that in the dialect that multiplies them by
    up to five. What one rounding costs grows by that factor from node to node, so the
    bound for longer chains of neat-python's functions is the next test.
    """
    rng = np.random.default_rng(3)
    scale = 1.0 if dialect == "plain" else 0.5
    num = 60
    cppns = [
        random_cppn(rng, int(h), scale=scale)
        for h in rng.integers(0, num_hidden + 1, num)
    ]
    asked = random_queries(rng, num, 30_000)
    values = QueryEngine(compile_cppns(cppns, dialect)).query(*asked)
    assert values.dtype == np.float32
    error = np.abs(values - oracle(cppns, *asked, dialect))
    assert error.max() < 1e-6


def test_float32_error_of_long_chains_stays_at_the_conditioning_of_the_function():
    """No scheme in float32 can do better than the rounding of what is passed on."""
    rng = np.random.default_rng(4)
    cppns = [random_cppn(rng, int(h), scale=0.5) for h in rng.integers(1, 5, 60)]
    asked = random_queries(rng, 60, 30_000)
    values = QueryEngine(compile_cppns(cppns, "neat-python")).query(*asked)
    error = np.abs(values - oracle(cppns, *asked, "neat-python"))
    assert np.quantile(error, 0.99) < 1e-6
    assert error.max() < 1e-5


@pytest.mark.parametrize("name", ["native", "device"])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), num_hidden=st.integers(0, 12))
def test_a_value_does_not_depend_on_the_batch_it_came_in(name, seed, num_hidden):
    """Whole = one by one = shuffled, to the bit."""
    resources = Resources(engine=name)
    rng = np.random.default_rng(seed)
    cppns = [
        random_cppn(rng, int(h), EVERY) for h in rng.integers(0, num_hidden + 1, 4)
    ]
    names = {"activations": EVERY}
    programs = compile_cppns(cppns, "neat-python", **names)
    engine = QueryEngine(programs, resources=resources)
    # Less than a block, a block, and several of them with a part of one.
    counts = np.array([1, 17, 256, 2 * 1024 + 600])
    genome = np.repeat(np.arange(4), counts)
    _, source, target = random_queries(rng, 4, genome.size)
    whole = engine.query(genome, source, target)

    shuffle = rng.permutation(genome.size)
    shuffled = engine.query(genome[shuffle], source[shuffle], target[shuffle])
    np.testing.assert_array_equal(shuffled, whole[shuffle])

    few = rng.choice(genome.size, 40, replace=False)
    np.testing.assert_array_equal(
        engine.query(genome[few], source[few], target[few]), whole[few]
    )
    # Alone in the population, or behind larger neighbours: the same values.
    for g in range(4):
        programs = compile_cppns([cppns[g]], "neat-python", **names)
        alone = QueryEngine(programs, resources=resources)
        mine = genome == g
        np.testing.assert_array_equal(
            alone.query(0, source[mine], target[mine]), whole[mine]
        )


def test_gene_order_changes_nothing():
    rng = np.random.default_rng(0)
    cppn = random_cppn(rng, 6)
    shuffled = {
        **cppn,
        "nodes": cppn["nodes"][::-1],
        "connections": cppn["connections"][::-1],
    }
    _, source, target = random_queries(rng, 1, 500)
    engine = QueryEngine(compile_cppns([cppn, shuffled], "plain"))
    np.testing.assert_array_equal(
        engine.query(0, source, target), engine.query(1, source, target)
    )


def test_large_batches_over_many_genomes_are_cut_without_trace():
    rng = np.random.default_rng(1)
    cppns = [random_cppn(rng, 2) for _ in range(3)]
    programs = compile_cppns(cppns, "plain").select(np.arange(9000) % 3)
    engine = QueryEngine(programs)
    genome = np.sort(rng.integers(0, 9000, 300_000))
    _, source, target = random_queries(rng, 1, genome.size)
    values = engine.query(genome, source, target)
    np.testing.assert_array_equal(values, engine.query(genome % 3, source, target))


def test_leo_is_a_second_output():
    rng = np.random.default_rng(2)
    cppns = [random_cppn(rng, 3, leo=True) for _ in range(4)]
    asked = random_queries(rng, 4, 300)
    values = QueryEngine(compile_cppns(cppns, "plain", np.float64)).query(*asked)
    assert values.shape == (300, 2)
    np.testing.assert_allclose(values, oracle(cppns, *asked, "plain"), atol=1e-12)


def test_differences_and_distance_can_be_inputs():
    rng = np.random.default_rng(4)
    names = ("x1", "y1", "x2", "y2", "bias", "dx", "dy", "distance")
    cppn = {**random_cppn(rng, 3, num_inputs=8), "input_names": names}
    asked = random_queries(rng, 1, 300)
    programs = compile_cppns([cppn], "plain", np.float64)
    values = QueryEngine(programs, coordinates=names).query(*asked)
    np.testing.assert_allclose(values, oracle([cppn], *asked, "plain"), atol=1e-7)


def test_only_nodes_on_a_path_to_an_output_are_evaluated():
    cppn = {
        "nodes": [
            {"id": 0, "activation": "tanh", "bias": 0.0, "response": 1.0},
            {"id": 10, "activation": "sin", "bias": 0.0, "response": 1.0},
            {"id": 11, "activation": "sin", "bias": 0.5, "response": 1.0},
        ],
        "connections": [[-1, 0, 1.0], [-2, 10, 1.0], [11, 0, 1.0]],
        "input_ids": [-1, -2, -3, -4, -5],
        "output_id": 0,
    }
    programs = compile_cppns([cppn], "plain")
    assert programs.num_rows.tolist() == [2]  # node 11 (unfed: its bias) and output


def test_no_compilation_for_batches_of_other_sizes():
    rng = np.random.default_rng(6)
    cppns = [random_cppn(rng, 2) for _ in range(50)]
    resources = Resources(engine="device")
    engine = QueryEngine(compile_cppns(cppns, "plain"), resources=resources)
    engine.query(*random_queries(rng, 50, 500))
    with counted_compilations() as compilations:
        for num in (1, 30, 700, 4000, 50_000):
            engine.query(*random_queries(rng, 50, num))
        other = [random_cppn(rng, 3) for _ in range(60)]
        engine = QueryEngine(compile_cppns(other, "plain"), resources=resources)
        engine.query(*random_queries(rng, 60, 20_000))
    assert not [name for name in compilations.names if "_answer" in name]


class TestBadInputIsAnswered:
    rng = np.random.default_rng(7)
    cppn = random_cppn(rng, 1)

    def engine(self):
        return QueryEngine(compile_cppns([self.cppn], "plain"))

    def test_point_that_is_not_finite(self):
        with pytest.raises(ValueError, match="query point is NaN or infinite"):
            self.engine().query(0, [[0.0, np.nan]], [[0.0, 0.0]])

    def test_genome_that_does_not_exist(self):
        with pytest.raises(ValueError, match="programs 0 to 0"):
            self.engine().query(3, [0.0, 0.0], [0.0, 0.0])

    def test_shapes_that_do_not_fit(self):
        with pytest.raises(ValueError, match=r"shapes \(n,\), \(n, 2\)"):
            self.engine().query(0, [[0.0, 0.0, 0.0]], [[0.0, 0.0]])
        with pytest.raises(ValueError, match="numbers of queries differ"):
            self.engine().query([0, 0], np.zeros((3, 2)), np.zeros((2, 2)))

    def test_wrong_arity(self):
        with pytest.raises(ValueError, match="CPPNs have 5 inputs, but `coordinates`"):
            QueryEngine(compile_cppns([self.cppn], "plain"), coordinates=("x1", "y1"))
        with pytest.raises(ValueError, match="unknown CPPN input 'z1'"):
            QueryEngine(compile_cppns([self.cppn], "plain"), coordinates=("z1",) * 5)

    def test_cells_are_asked_about_at_their_centres(self):
        engine = self.engine()
        cell = np.array([[0, 0], [3, 1]])
        point = np.array([0.25, -1.0])
        centre = (2 * cell + 1) / 4 - 1
        got = engine.query_cells(0, point, 1, cell)
        assert (got == engine.query(0, point, centre)).all()
        back = engine.query_cells(0, point, 1, cell, outgoing=False)
        assert (back == engine.query(0, centre, point)).all()
        with pytest.raises(ValueError, match="from 0 to 2"):
            engine.query_cells(0, point, 1, [[4, 0]])
        with pytest.raises(ValueError, match="whole numbers"):
            engine.query_cells(0, point, 1, [[0.5, 0]])

    def test_no_queries_no_values(self):
        none = np.zeros((0, 2))
        assert self.engine().query(np.zeros(0, int), none, none).shape == (0, 1)


@pytest.mark.parametrize(
    "coordinates",
    [("distance", "bias"), ("x2", "y2"), ("bias", "x1"), ("dx", "dy")],
)
def test_any_coordinates_give_values_that_do_not_depend_on_the_batch(coordinates):
    """Coordinates that leave one end of links out, and such as are rounded."""
    num, rng = len(coordinates), np.random.default_rng(0)
    programs = compile_programs(
        node_id=[range(num + 1)],
        node_activation=[[0] * num + [activation_id("tanh")]],
        node_bias=[[0.1] * (num + 1)],
        link_source=[range(num)],
        link_target=[[num] * num],
        link_weight=[rng.normal(size=num)],
        link_enabled=[[True] * num],
        num_inputs=num,
        num_outputs=1,
        dialect="plain",
    )
    engine = QueryEngine(programs, coordinates)
    source, target = rng.uniform(-1, 1, (2, 1500, 2)).astype(np.float32)
    whole = engine.query(0, source, target)
    for size in (1, 17, 50, 200, 700):
        np.testing.assert_array_equal(
            engine.query(0, source[:size], target[:size]), whole[:size]
        )
    device = QueryEngine(programs, coordinates, resources=Resources(engine="device"))
    values = device.query(0, source, target)
    np.testing.assert_allclose(values, whole, rtol=1e-5, atol=1e-6)
    for size in (1, 17, 50, 200, 700):
        np.testing.assert_array_equal(
            device.query(0, source[:size], target[:size]), values[:size]
        )
