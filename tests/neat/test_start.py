"""First populations that are given."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from substrax.cppn import activation_id
from substrax.neat import (
    NEAT,
    FloatGeneConfig,
    Genome,
    GenomeData,
    NEATConfig,
    genome_from_neat_python,
    presets,
)
from tests.neat.helpers import assert_valid

INPUTS, OUTPUTS = ("x", "y", "one"), ("a", "b")
DATA = GenomeData.read(
    ["near gauss -0.5", "a tanh 0.25"],
    ["x -> near 1.0", "y -> near -1.0 off", "near -> a 2.0", "one -> a -0.8"],
)
CONFIG = NEATConfig(
    num_inputs=3,
    num_outputs=2,
    population_size=20,
    activation_options=("gauss", "tanh", "sin"),
)


def genome() -> Genome:
    return DATA.genome(INPUTS, OUTPUTS)


def first(config: NEATConfig = CONFIG, seed: int = 0, **options) -> Genome:
    return NEAT(config, genome(), **options).init(key=jax.random.key(seed)).population


def test_all_have_the_given_nodes_and_links() -> None:
    population = first()
    assert_valid(population, CONFIG)
    assert (np.asarray(population.num_nodes) == 6).all()
    # b is not fed, so that it gets links from all three inputs
    assert (np.asarray(population.num_links) == 7).all()
    near, a = 5, 3
    source, target = (np.asarray(x)[:, :4] for x in _ends(population))
    assert (source == [0, 1, near, 2]).all() and (target == [near, near, a, a]).all()
    assert (np.asarray(population.link_enabled)[:, :7] == [1, 0, 1, 1, 1, 1, 1]).all()
    names = np.asarray(population.node_activation)
    assert (names[:, 5] == names[0, 5]).all() and (names[:, 3] == names[0, 3]).all()


def _ends(population: Genome):
    return population.link_source, population.link_target


def test_the_first_is_the_genome_and_the_others_differ_by_jitter() -> None:
    weight = np.asarray(first(jitter=0.1).link_weight)[:, :4]
    given = np.array([1.0, -1.0, 2.0, -0.8], np.float32)
    assert (weight[0] == given).all()
    away = weight[1:] - given
    assert 0.05 < away.std() < 0.15
    assert (np.asarray(first(jitter=0.0).link_weight)[:, :4] == given).all()
    bias = np.asarray(first(jitter=0.1).node_bias)
    assert bias[0, 3] == 0.25 and bias[0, 5] == -0.5
    assert 0.03 < (bias[1:, 5] + 0.5).std() < 0.2


def test_biases_that_never_mutate_are_not_moved() -> None:
    still = FloatGeneConfig(
        init_stdev=0.0, mutate_rate=0.0, perturb_rate=0.0, replace_rate=0.0
    )
    bias = np.asarray(first(dataclasses.replace(CONFIG, bias=still)).node_bias)
    assert (bias[:, 5] == -0.5).all() and (bias[:, 3] == 0.25).all()


def test_outputs_that_are_not_fed_are_drawn_as_ever() -> None:
    weight = np.asarray(first().link_weight)[:, 4:7]
    assert 0.7 < weight.std() < 1.3
    fixed = dataclasses.replace(CONFIG, output_activation="sin")
    names = np.asarray(first(fixed).node_activation)
    assert (names[:, 4] == activation_id("sin")).all()  # b, but not a
    assert (names[:, 3] == activation_id("tanh")).all()
    config = dataclasses.replace(CONFIG, initial_connection="none")
    assert (np.asarray(first(config).num_links) == 4).all()


def test_the_start_is_a_function_of_its_key() -> None:
    same, again, other = first(seed=1), first(seed=1), first(seed=2)
    for one, two in zip(jax.tree.leaves(same), jax.tree.leaves(again), strict=True):
        assert np.array_equal(one, two)
    assert not np.array_equal(same.link_weight, other.link_weight)
    roomy = first(dataclasses.replace(CONFIG, max_nodes=32, max_links=64), seed=1)
    assert np.array_equal(roomy.link_weight[:, :7], same.link_weight[:, :7])


def test_evolution_goes_on_from_there() -> None:
    neat = NEAT(presets.substrax(num_inputs=3, num_outputs=2), genome())
    state = neat.init(key=jax.random.key(0))
    tell = jax.jit(neat.tell)
    for k in range(10):
        fitness = jax.random.uniform(jax.random.key(k), (150,))
        state, info = tell(state, fitness, key=jax.random.key(100 + k))
        assert_valid(state.population, neat.config)
        assert not info.ids_exhausted


def test_ids_are_made_those_of_a_first_population() -> None:
    """The best genome of a long run has large ids with gaps."""
    arrays = {k: np.array(v) for k, v in vars(genome()).items()}
    for name in ("node_id", "link_source", "link_target"):
        arrays[name] = np.where(arrays[name] == 5, 1234, arrays[name])
    arrays["link_id"] = np.where(
        arrays["link_id"] < 4, arrays["link_id"] * 10 + 7, arrays["link_id"]
    )
    late = Genome(**{k: jnp.asarray(v) for k, v in arrays.items()})
    one = NEAT(CONFIG, late).init(key=jax.random.key(0)).population
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(first()), strict=True):
        assert np.array_equal(a, b)


def test_a_genome_of_neat_python_is_a_start() -> None:
    document = {
        "nodes": [
            {"id": 0, "activation": "tanh", "bias": 0.5},
            {"id": 1, "activation": "sigmoid", "bias": 0.0},
            {"id": 7, "activation": "gauss", "bias": 0.0},
        ],
        "connections": [[-1, 7, 1.0], [7, 0, 2.0], [-3, 1, 0.5]],
        "input_ids": [-1, -2, -3],
        "output_ids": [0, 1],
    }
    start = genome_from_neat_python(document)
    population = NEAT(CONFIG, start).init(key=jax.random.key(0)).population
    assert_valid(population, CONFIG)
    assert (np.asarray(population.num_links) == 3).all()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"num_inputs": 2}, "does not have 2 inputs and 2 outputs"),
        ({"num_hidden": 1}, "Set num_hidden to 0"),
        ({"max_links": 5}, "max_links is 5, but the first genomes need room for 7"),
        ({"max_nodes": 5}, "max_nodes is 5, but the first genomes need room for 6"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        first(dataclasses.replace(CONFIG, **changes))


@pytest.mark.parametrize("jitter", [-1.0, np.inf, np.nan])
def test_bad_jitter_is_refused(jitter: float) -> None:
    with pytest.raises(ValueError, match="jitter"):
        first(jitter=jitter)


def test_cycles_are_refused() -> None:
    data = GenomeData.read(
        ["h tanh", "k tanh"], ["x -> h 1", "h -> k 1", "k -> h 1", "k -> a 1"]
    )
    with pytest.raises(ValueError, match="cycle"):
        NEAT(CONFIG, data.genome(INPUTS, OUTPUTS))
    NEAT(dataclasses.replace(CONFIG, feed_forward=False), data.genome(INPUTS, OUTPUTS))


# ------------------------------------------------------------------------ as data


def test_a_genome_comes_back_from_its_lines() -> None:
    data = GenomeData.of(genome(), INPUTS, OUTPUTS)
    again = GenomeData.read(data.node_lines, data.link_lines)
    assert again == data
    for a, b in zip(
        jax.tree.leaves(data.genome(INPUTS, OUTPUTS)),
        jax.tree.leaves(genome()),
        strict=True,
    ):
        assert np.array_equal(a, b)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_numbers_come_back_to_the_bit(value: float) -> None:
    data = GenomeData.read([f"a tanh {value!r}"], [f"x -> a {value!r}"])
    back = GenomeData.of(data.genome(INPUTS, OUTPUTS), INPUTS, OUTPUTS)
    one = back.genome(INPUTS, OUTPUTS)
    # Subnormal numbers may be flushed to 0 on the way through JAX.
    assert np.asarray(one.link_weight)[0] in (np.float32(value), 0)
    if abs(value) > 1e-37 or value == 0:
        assert np.asarray(one.link_weight)[0] == np.float32(value)


def test_an_input_and_an_output_of_the_same_name() -> None:
    inputs, outputs = ("x", "bias"), ("weight", "bias")
    data = GenomeData.read(
        ["bias tanh 0.5", "h sin"],
        ["bias -> bias 1.0", "x -> h 2.0", "h -> bias 3.0", "out:bias -> weight 4.0"],
    )
    genome = data.genome(inputs, outputs)
    assert np.asarray(genome.link_source).tolist() == [1, 0, 4, 3]
    assert np.asarray(genome.link_target).tolist() == [3, 4, 3, 2]
    back = GenomeData.of(genome, inputs, outputs)
    assert back.link_lines[0] == "bias -> out:bias 1.0"
    for a, b in zip(
        jax.tree.leaves(back.genome(inputs, outputs)),
        jax.tree.leaves(genome),
        strict=True,
    ):
        assert np.array_equal(a, b)


def test_files(tmp_path) -> None:
    for name in ("g.json", "saved.toml", "saved"):
        DATA.save(tmp_path / name)
        assert GenomeData.load(tmp_path / name) == DATA
    tables = {
        "nodes": [dataclasses.asdict(n) for n in DATA.nodes],
        "links": [dataclasses.asdict(n) for n in DATA.links],
    }
    (tmp_path / "t.json").write_text(json.dumps(tables))
    assert GenomeData.load(tmp_path / "t.json") == DATA
    lines = f"nodes = {DATA.node_lines!r}\nlinks = {DATA.link_lines!r}\n"
    (tmp_path / "g.toml").write_text(lines)
    assert GenomeData.load(tmp_path / "g.toml") == DATA


@pytest.mark.parametrize(
    ("nodes", "links", "sentence"),
    [
        (["near"], [], "is no node"),
        (["near gauss much"], [], "'much' in `near gauss much` is no finite number"),
        (["near gauss nan"], [], "no finite number"),
        (["near gaus"], ["x -> near 1"], "gaus"),
        (["x tanh"], ["x -> a 1"], "x is an input"),
        (["h tanh", "h sin"], [], "the same name"),
        ([], ["x a 1"], "is no link"),
        ([], ["x -> a"], "is no link"),
        ([], ["x -> c 1"], "names 'c'.*outputs a, b"),
        ([], ["x -> a 1", "x -> a 2"], "occurs twice"),
        ([3], [], "neither a line nor a table"),
        ([{"name": "h"}], [], "does not have the fields name, activation, bias"),
        (["h tanh nan"], [], "'nan' in `h tanh nan` is no finite number"),
        ([], ["x -> a 1e39"], "no finite number of 32 bits"),
        ([], [f"x -> a {'9' * 5000}"], "no finite number"),
        ([], ["x -> a " + "1 " * 10**5], "is no link"),
    ],
)
def test_bad_data_is_refused(nodes, links, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        GenomeData.read(nodes, links).genome(INPUTS, OUTPUTS)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("g.json", "{", "is not JSON"),
        ("g.json", "[]", "has no `links`"),
        ("g.json", '{"links": 3}', "g.json: the links of a genome are a list"),
        ("g.json", '{"links": {"a": 1}}', "g.json: the links of a genome are a list"),
        ("g.json", '{"links": "x -> a 1"}', "the links of a genome are a list"),
        ("g.json", '{"links": [[]]}', "g.json:.*neither a line nor a table"),
        ("g.toml", "a = " + "[" * 5000, "g.toml is nested too deeply"),
        ("g.toml", "links = []\nweights = []\n", "'weights', which means nothing"),
    ],
)
def test_bad_files_are_refused(tmp_path, name: str, text: str, sentence: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=sentence):
        GenomeData.load(tmp_path / name)
