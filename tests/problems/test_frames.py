"""Data frames: columns are known by their names, whatever their order."""

import json
from typing import Any

import numpy as np
import pyarrow
import pytest

import substrax as sx
from substrax._safetensors import map_safetensors, safetensors_pieces
from substrax.models import Model
from substrax.problems import Preparation
from tests.problems.support import network

pandas = pytest.importorskip("pandas")

RNG = np.random.default_rng(3)
COLUMNS: dict[str, list[Any]] = {
    "age": RNG.normal(40, 10, 30).tolist(),
    "income": RNG.normal(3000, 500, 30).tolist(),
    "colour": RNG.choice(["red", "green", "blue"], 30).tolist(),
}
ANSWERS = ["young" if age < 40 else "old" for age in COLUMNS["age"]]


class Frame:
    """What polars has: names as a list, and a column for a name."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns
        self.columns = list(columns)
        self.shape = (len(next(iter(columns.values()))), len(columns))

    def __getitem__(self, name: str) -> np.ndarray:
        return np.array(self._columns[name])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(list(self._columns.values()), object).T


every_library = pytest.mark.parametrize(
    "make", [pandas.DataFrame, Frame, pyarrow.table], ids=["pandas", "polars", "arrow"]
)


def some_model(problem: sx.ArrayProblem) -> Model:
    """Of which each input matters in another way."""
    links = [(k, problem.num_inputs, 0.3 + 0.4 * k) for k in range(problem.num_inputs)]
    return Model(network(problem.num_inputs, 1, links), problem.preparation)


@every_library
def test_columns_in_another_order_give_the_same_answers(make):
    problem = sx.data_problem(make(COLUMNS), ANSWERS)
    model = some_model(problem)
    assert model.feature_names == ["age", "income", "colour"]
    assert model.classes == ["old", "young"]
    rows = np.array(list(COLUMNS.values()), object).T
    turned = make(dict(reversed(COLUMNS.items())))
    np.testing.assert_array_equal(model(turned), model(rows))
    np.testing.assert_array_equal(model(make(COLUMNS)), model(rows))
    np.testing.assert_array_equal(model.predict(turned), model.predict(rows))


@every_library
def test_missing_and_surplus_columns_are_named(make):
    model = some_model(sx.data_problem(make(COLUMNS), ANSWERS))
    without = {name: COLUMNS[name] for name in ("colour", "age")}
    with pytest.raises(ValueError, match=r"has no column 'income'\. Its columns must"):
        model(make(without))
    with pytest.raises(ValueError, match=r"no column 'income'; it has 'wage' instead"):
        model.predict(make(without | {"wage": COLUMNS["income"]}))
    with pytest.raises(ValueError, match=r"the column 'answer' besides.*feature_names"):
        model(make(COLUMNS | {"answer": ANSWERS}))
    with pytest.raises(ValueError, match="the columns 'answer', 'x' besides"):
        model(make({"answer": ANSWERS} | COLUMNS | {"x": COLUMNS["age"]}))


@every_library
def test_a_test_is_put_in_order_too(make):
    turned = dict(reversed(COLUMNS.items()))
    problem = sx.data_problem(
        make(COLUMNS), ANSWERS, X_test=make(turned), y_test=ANSWERS
    )
    assert problem.test_inputs is not None
    np.testing.assert_array_equal(problem.test_inputs, problem.inputs)
    with pytest.raises(ValueError, match="X_test has no columns 'age', 'colour'"):
        sx.data_problem(
            make(COLUMNS),
            ANSWERS,
            X_test=make({"income": COLUMNS["income"]}),
            y_test=ANSWERS,
        )


def test_a_plain_data_set_knows_names_as_well():
    numbers = {name: COLUMNS[name] for name in ("age", "income")}
    turned = pandas.DataFrame(dict(reversed(numbers.items())))
    y = pandas.Series(COLUMNS["age"], name="years")
    problem = sx.ArrayProblem(
        pandas.DataFrame(numbers), y, X_test=turned, y_test=y, has_bias=True
    )
    assert problem.test_inputs is not None
    np.testing.assert_array_equal(problem.test_inputs, problem.inputs)
    assert problem.preparation.feature_names == ("age", "income")
    assert problem.preparation.target_names == ("years",)


def test_frames_without_names_go_by_position():
    numbered = pandas.DataFrame(np.array([COLUMNS["age"], COLUMNS["income"]]).T)
    problem = sx.data_problem(numbered, ANSWERS)
    assert problem.preparation.feature_names is None
    named = numbered.rename(columns={0: "b", 1: "a"})
    model = some_model(problem)
    np.testing.assert_array_equal(model(named), model(named.to_numpy()))
    # and a model that knows names takes numbered columns as they come
    model = some_model(sx.data_problem(named, ANSWERS))
    np.testing.assert_array_equal(model(numbered), model(named))


def test_names_are_saved_with_a_model(tmp_path):
    model = some_model(sx.data_problem(pandas.DataFrame(COLUMNS), ANSWERS))
    again = sx.load(model.save(tmp_path / "m.safetensors"))
    assert again.feature_names == ["age", "income", "colour"]
    turned = pandas.DataFrame(dict(reversed(COLUMNS.items())))
    np.testing.assert_array_equal(again(turned), model(turned))


def rewritten(path, change):
    """The file of a model, with another preparation."""
    arrays, metadata = map_safetensors(path)
    facts = json.loads(metadata["substrax"])
    change(facts["preparation"])
    pieces = safetensors_pieces(arrays, {"substrax": json.dumps(facts)})
    path.write_bytes(b"".join(bytes(piece) for piece in pieces))
    return path


def test_models_of_earlier_releases_have_no_names(tmp_path):
    model = some_model(sx.data_problem(pandas.DataFrame(COLUMNS), ANSWERS))
    path = model.save(tmp_path / "m.safetensors")

    def without(preparation):
        del preparation["feature_names"], preparation["target_names"]

    old = sx.load(rewritten(path, without))
    assert old.feature_names is None
    frame = pandas.DataFrame(COLUMNS)
    np.testing.assert_array_equal(old(frame), model(frame))


@pytest.mark.parametrize(
    "names", [["a"], ["a", "b", "a"], "abc", 3, [1, 2, 3], [["a"], "b", "c"]]
)
def test_a_model_whose_names_are_wrong_is_refused(tmp_path, names):
    model = some_model(sx.data_problem(pandas.DataFrame(COLUMNS), ANSWERS))
    path = model.save(tmp_path / "m.safetensors")
    rewritten(path, lambda preparation: preparation.update(feature_names=names))
    with pytest.raises(ValueError, match=r"no model that can be used: .*feature_names"):
        sx.load(path)


def test_names_must_fit_the_network():
    wrong = Preparation(True, feature_names=("a", "b", "c"))
    with pytest.raises(ValueError, match="3 feature_names, but this model takes rows"):
        Model(network(3, 1, []), wrong)


def test_arrays_may_be_given_names():
    X = np.array([COLUMNS["age"], COLUMNS["income"]]).T
    problem = sx.data_problem(
        X, COLUMNS["age"], feature_names=["age", "income"], target_names=["age"]
    )
    assert problem.preparation.input_names(3) == ["age", "income", "bias"]
    assert problem.preparation.output_names(1) == ["age"]
    with pytest.raises(ValueError, match="3 feature_names for 2 columns"):
        sx.data_problem(X, ANSWERS, feature_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="leave out feature_names"):
        sx.data_problem(pandas.DataFrame(COLUMNS), ANSWERS, feature_names=["a"])


def test_inputs_and_outputs_are_called_by_columns_and_classes():
    problem = sx.data_problem(pandas.DataFrame(COLUMNS), ANSWERS)
    preparation = problem.preparation
    colours = ["colour=blue", "colour=green", "colour=red"]
    assert preparation.input_names(6) == ["age", "income", *colours, "bias"]
    assert preparation.output_names(1) == ["young"]
    three = Preparation(classes=("a", "b", "c"))
    assert three.output_names(3) == ["a", "b", "c"]
    numbers = Preparation(classes=(1, 2, 3), target_names=("kind",))
    assert numbers.output_names(3) == ["kind 1", "kind 2", "kind 3"]
    # one output for the classes 0 and 1 is called by its column
    assert Preparation(classes=(0, 1), target_names=("won",)).output_names(1) == ["won"]
    assert Preparation(True).input_names(3) == ["in0", "in1", "bias"]
    assert Preparation().output_names(2) == ["out0", "out1"]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (["red", None] * 15, r"X\[1, 'colour'\] is missing"),
        (["red", float("nan")] * 15, r"X\[1, 'colour'\] is missing"),
        ([1.0, float("nan")] * 15, r"X\[1, 'colour'\] is nan"),
        ([f"name {k}" for k in range(60)], "column 'colour' of X holds 60"),
        (pandas.array([1, None] * 15, dtype="Int64"), r"X\[1, 'colour'\] is nan"),
        (pandas.date_range("2020", periods=30), "the column 'colour' holds times"),
    ],
)
def test_columns_that_cannot_be_learnt_from_are_named(column, said):
    times = len(column) // 30
    frame = pandas.DataFrame({"age": COLUMNS["age"] * times, "colour": column})
    with pytest.raises(ValueError, match=said):
        sx.data_problem(frame, ANSWERS * times)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (["young", None] * 15, r"y\[1\] is missing"),
        (["young", 3] * 15, "labels must be all texts or all numbers"),
    ],
)
def test_answers_that_are_missing_or_mixed_are_told(answers, said):
    with pytest.raises(ValueError, match=said):
        sx.data_problem(pandas.DataFrame(COLUMNS), np.array(answers, object))


def test_two_columns_of_one_name_are_refused():
    frame = pandas.DataFrame(np.zeros((30, 2)), columns=["a", "a"])
    with pytest.raises(ValueError, match="two columns named 'a'; rename one"):
        sx.data_problem(frame, ANSWERS)


@pytest.mark.parametrize("is_text", [False, True])
def test_a_test_with_another_number_of_columns_is_told(is_text):
    X = np.array([["a", "b"], ["c", "d"]] * 5) if is_text else np.eye(10)[:, :2]
    with pytest.raises(ValueError, match=r"X has 2 columns, but X_test has the shape"):
        sx.data_problem(X, ["u", "v"] * 5, X_test=X[:, :1], y_test=["u"] * 10)
