"""Models: called with data as they are, saved and loaded, within JAX too."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.decoders import Direct, emr_hyperneat
from substrax.models import Model
from substrax.neat import genome_from_neat_python
from substrax.network import Networks, Stepper, evaluate
from substrax.problems import XOR, Preparation, data_problem
from substrax.substrate import EMRRule, Layout
from tests.substrate.support import draw_cppns

X = np.random.default_rng(0).normal(size=(20, 2))


def some_network(is_recurrent: bool = False) -> Networks:
    """With three inputs, the last a bias."""
    genome = genome_from_neat_python(draw_cppns(3, 1)[0])
    genomes = jax.tree.map(lambda x: x[None], genome)
    connections = "full" if is_recurrent else "hidden"
    rule = EMRRule(depth=2, connections=connections, weight_threshold=0.0)
    decoder = emr_hyperneat(Layout.spread(3, 2), rule)
    networks = decoder.decode(genomes)
    assert networks.num_links[0] > 10
    return networks


def test_a_model_adds_its_bias_and_scales() -> None:
    network = some_network()
    shift, scale = np.array([1.0, -2.0]), np.array([2.0, 0.5])
    model = Model(network, Preparation(True, shift, scale, np.ones(2), np.full(2, 3.0)))
    assert (model.num_inputs, model.num_outputs) == (2, 2)
    rows = np.column_stack([(X - shift) / scale, np.ones(len(X))]).astype(np.float32)
    expected = evaluate(network, rows)[0] * np.float32(3) + np.float32(1)
    np.testing.assert_allclose(model(X), expected, rtol=1e-5)
    np.testing.assert_array_equal(model(X[0]), model(X)[0])
    np.testing.assert_array_equal(model(X.tolist()), model(X))


@pytest.mark.parametrize("is_recurrent", [False, True])
def test_jax_gives_the_same(is_recurrent: bool) -> None:
    model = Model(some_network(is_recurrent), Preparation(True))
    expected = model(X.astype(np.float32))
    rows = jnp.asarray(X, jnp.float32)
    np.testing.assert_array_equal(model(rows), expected)
    # first called within a jit: nothing of it may stay behind
    model = Model(model.network, model.preparation)
    np.testing.assert_allclose(jax.jit(model)(rows), expected, rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(model)(rows), expected, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.vmap(model))(rows), expected, rtol=1e-5)
    np.testing.assert_array_equal(model(rows), expected)


@pytest.mark.parametrize("is_recurrent", [False, True])
def test_a_model_steps_through_time_as_a_network_does(is_recurrent: bool) -> None:
    model = Model(some_network(is_recurrent))
    stepper = Stepper.of(model.network)
    memory, state = stepper.start(batch=3), model.start(3)
    rng = np.random.default_rng(0)
    for _ in range(4):
        inputs = rng.normal(size=(3, model.num_inputs)).astype(np.float32)
        memory, wanted = stepper(memory, inputs[None])
        state, found = model.step(state, jnp.asarray(inputs))
        np.testing.assert_allclose(found, np.asarray(wanted)[0], atol=1e-5)


@pytest.mark.parametrize("is_recurrent", [False, True])
def test_a_model_has_derivatives(is_recurrent: bool) -> None:
    """Of its inputs, in reverse mode, against finite differences."""
    model = Model(some_network(is_recurrent), Preparation(True))
    row = jnp.asarray(X[0], jnp.float32)
    gradient = jax.grad(lambda row: (model(row) ** 2).sum())(row)
    for k in range(2):
        step = np.zeros(2)
        step[k] = 1e-2
        up, down = ((model(X[0] + s * step) ** 2).sum() for s in (1, -1))
        np.testing.assert_allclose(gradient[k], (up - down) / 2e-2, atol=5e-3)


def test_a_model_in_64_bits_says_what_jax_needs() -> None:
    genome = genome_from_neat_python(draw_cppns(3, 1)[0])
    genomes = jax.tree.map(lambda x: x[None], genome)
    model = Model(Direct(5, 1, precision="f64").decode(genomes))
    assert model(np.zeros((1, 5))).dtype == np.float64
    with pytest.raises(ValueError, match="jax_enable_x64"):
        model(jnp.zeros((1, 5)))


def test_it_is_saved_and_loaded_whole(tmp_path) -> None:
    preparation = Preparation(True, np.zeros(2), np.ones(2), classes=("no", "yes"))
    model = Model(some_network(), preparation, name="mine", fitness=0.5)
    path = model.save(tmp_path / "m.safetensors")
    again = Model.load(path)
    np.testing.assert_array_equal(again(X), model(X))
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert (again.name, again.fitness) == ("mine", 0.5)
    assert again.preparation.classes == ("no", "yes")
    assert repr(again) == repr(model)
    assert [p.name for p in tmp_path.iterdir()] == ["m.safetensors"]


@pytest.mark.parametrize("content", [b"", b"{}", b"x" * 100])
def test_what_is_no_model_is_refused(tmp_path, content: bytes) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"m\.safetensors is no model that can be"):
        Model.load(path)


def test_a_damaged_model_is_noticed(tmp_path) -> None:
    path = Model(some_network()).save(tmp_path / "m.safetensors")
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match="its checksum is wrong"):
        Model.load(path)


def test_wrong_shapes_are_told() -> None:
    model = Model(some_network(), Preparation(True))
    with pytest.raises(ValueError, match=r"rows of 2 numbers \(the bias is added"):
        model(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="rows must hold numbers"):
        model([["a", "b"]])
    with pytest.raises(ValueError, match="a model is one network"):
        Model(Networks.join([some_network(), some_network()]))


def test_problems_know_their_bias() -> None:
    assert XOR().preparation.has_bias
    assert XOR().preparation.classes == (0, 1)


def test_labels_become_outputs_and_answers() -> None:
    y = np.where(X[:, 0] > 0, "right", "left")
    problem = data_problem(X, y)
    assert (problem.num_inputs, problem.num_outputs) == (3, 1)
    assert set(problem.targets[:, 0]) == {0.0, 1.0}
    np.testing.assert_allclose(problem.inputs[:, :2].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(problem.inputs[:, :2].std(axis=0), 1)
    answers = problem.preparation.answers(np.array([[0.9], [0.1]]))
    assert answers.tolist() == ["right", "left"]
    three = data_problem(X, np.arange(20) % 3)
    assert three.num_outputs == 3
    assert three.preparation.answers(np.eye(3)).tolist() == [0, 1, 2]


def test_numbers_are_scaled_back() -> None:
    y = 100 + 5 * X[:, 0]
    problem = data_problem(X, y, test_share=0)
    assert problem.suggested["output_activation"] == "identity"
    np.testing.assert_allclose(
        problem.preparation.outputs(problem.targets)[:, 0], y, rtol=1e-12
    )
    assert data_problem(X, np.arange(20), is_classification=False).num_outputs == 1
    constant = data_problem(np.ones((4, 1)), np.array([0.5, 1.0, 0.5, 1.5]))
    assert np.isfinite(constant.inputs).all()


@pytest.mark.parametrize(
    ("features", "answers", "said"),
    [
        (X, ["a"] * 20, "all labels are 'a'"),
        (np.full((2, 1), 1j), [0, 1], "X must be numbers"),
        (X, np.full((20, 2), "a"), "y must be numbers"),
        ([[1.0], [np.nan]], [0, 1], r"X\[1, 0\] is nan"),
        (X[:5], np.zeros(20), "X has 5 samples"),
    ],
)
def test_data_that_cannot_be_learnt_are_refused(features, answers, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        data_problem(features, answers)


def test_a_file_that_is_no_model_is_told_in_words(tmp_path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="no model that can be used: it is no safe"):
        Model.load(path)
