"""Tables from files: what is read, what is held back, what is said of bad ones."""

from pathlib import Path

import jax
import numpy as np
import pytest

import substrax as sx
from substrax.cli import main
from substrax.config import load_experiment
from substrax.front._experiment import as_experiment
from substrax.problems import Table, data_in_words

ROWS = """size,colour,weight,kind
1.0,red,10,apple
2.0,green,20,pear
1.5,red,12,apple
2.5,yellow,24,pear
1.1,green,11,apple
2.2,yellow,21,pear
1.3,red,14,apple
2.4,green,25,pear
1.2,red,13,apple
2.6,yellow,26,pear
"""


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "fruit.csv"
    path.write_text(ROWS)
    return str(path)


def test_texts_become_columns_of_labels_and_answers_become_classes(csv):
    problem = Table(csv, test_share=0.0)
    assert problem.preparation.classes == ("apple", "pear")
    assert problem.preparation.categories == ((), ("green", "red", "yellow"), ())
    inputs, targets = problem.samples()
    assert inputs.shape == (10, 1 + 3 + 1 + 1) and targets.shape == (10, 1)
    np.testing.assert_array_equal(inputs[:2, 1:4], [[0, 1, 0], [1, 0, 0]])
    np.testing.assert_allclose(inputs[:, [0, 4]].mean(0), 0, atol=1e-12)
    np.testing.assert_array_equal(targets[:, 0], [0, 1] * 5)
    assert problem.suggested == {"output_activation": "sigmoid"}


def test_numbers_are_predicted_as_numbers(csv):
    problem = Table(csv, "size", test_share=0.0)
    assert problem.preparation.classes is None
    assert problem.suggested["output_activation"] == "identity"
    _, targets = problem.samples()
    np.testing.assert_allclose(targets.std(), 1.0)
    back = problem.preparation.outputs(targets)
    np.testing.assert_allclose(back[:3, 0], [1.0, 2.0, 1.5])


def test_rows_that_are_held_back_are_others_and_depend_on_the_seed(csv):
    halves = Table(csv, test_share=0.3).data
    assert halves.test_inputs is not None
    assert len(halves.inputs) == 7 and len(halves.test_inputs) == 3
    other = Table(csv, test_share=0.3, split_seed=1).data
    assert not np.array_equal(halves.inputs, other.inputs)
    again = Table(csv, test_share=0.3).data
    np.testing.assert_array_equal(halves.inputs, again.inputs)


def test_parquet_says_the_same_as_csv(csv, tmp_path):
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    path = str(tmp_path / "fruit.parquet")
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(csv), path)
    a, b = Table(csv).data, Table(path).data
    np.testing.assert_array_equal(a.inputs, b.inputs)
    np.testing.assert_array_equal(a.targets, b.targets)


@pytest.mark.parametrize(
    ("change", "settings", "sentence"),
    [
        (("red", ""), {}, "4 rows of .* have no 'colour'; the first .* is row 1.*drop"),
        (("1.5,red", "1.5,"), {}, r"row 3 of .* has no 'colour'\. Fill it in, leave"),
        (("", ""), {"target_column": "knd"}, "no column 'knd' .did you mean 'kind'"),
        (("", ""), {"feature_columns": ("size", "kind")}, "is to be predicted"),
        (("", ""), {"test_share": 1.0}, r"test_share must be in \[0, 1\)"),
        (("pear", "apple"), {}, "all labels are 'apple'"),
        (("\n", ",1\n"), {"path": "x.txt"}, "there is no file x.txt"),
    ],
)
def test_bad_tables_are_told_in_a_sentence(tmp_path, change, settings, sentence):
    path = tmp_path / "data.csv"
    path.write_text(ROWS.replace(*change) if change[0] else ROWS)
    with pytest.raises(ValueError, match=sentence):
        _ = Table(**{"path": str(path), **settings}).data


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1.5,red,pear\n2,green,apple\n", "first line of a CSV file must name its"),
        ("size:kind\n1:pear\n", "separates fields: commas, semicolons, tabs"),
        ("size,kind\n1,red,pear\n", "names 2 columns, separated by commas. Name every"),
        (",size,kind\n0,1,pear\n", r"column 1 of .* has no name\..*index=False"),
    ],
    ids=["none", "colons", "short", "unnamed"],
)
def test_a_wrong_header_is_told_in_a_sentence(tmp_path, text, sentence):
    path = tmp_path / "data.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence):
        _ = Table(str(path), target_column="label").data


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_what_separates_fields_is_told_from_the_header(csv, tmp_path, mark):
    path = tmp_path / "other.csv"
    path.write_text(Path(csv).read_text().replace(",", mark))
    a, b = Table(csv).data, Table(str(path)).data
    np.testing.assert_array_equal(a.inputs, b.inputs)
    np.testing.assert_array_equal(a.targets, b.targets)
    # where there are commas in the header, it may be said
    path.write_text(f"size, cm{mark}kind\n" + f"1{mark}a\n2{mark}b\n" * 4)
    with pytest.raises(ValueError, match=r"has 1 field, .* separated by commas\."):
        _ = Table(str(path)).data
    said = "tab" if mark == "\t" else mark
    names = Table(str(path), separator=said).data.preparation.feature_names
    assert names == ("size, cm",)


def test_a_file_of_one_column_is_told_what_would_separate_more(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("size:kind\n1:a\n2:b\n")
    with pytest.raises(ValueError, match=r"besides 'size:kind'.* semicolons, tabs and"):
        _ = Table(str(path)).data
    with pytest.raises(ValueError, match=r"besides 'size:kind'.*';' should separate"):
        _ = Table(str(path), separator=";").data
    assert Table(str(path), separator=":").data.num_inputs == 2
    for wrong in ("::", "", '"'):
        with pytest.raises(ValueError, match="give one character, such as ';', or tab"):
            Table(str(path), separator=wrong)


def test_decimal_commas_are_no_labels(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("size;kind\n" + "1,5;a\n;b\n2;b\n" * 4)
    with pytest.raises(ValueError, match=r"'size' of .*data\.csv holds .*such as 1,5"):
        _ = Table(str(path)).data


def test_a_column_of_names_is_told_with_its_file(tmp_path):
    path = tmp_path / "data.csv"
    rows = "".join(f"name {k},{k},{'ab'[k % 2]}\n" for k in range(60))
    path.write_text(f"name,size,kind\n{rows}")
    said = r"column 'name' of .*data\.csv holds 60 different .* \(feature_columns, "
    with pytest.raises(ValueError, match=said):
        _ = Table(str(path)).data
    assert Table(str(path), feature_columns=("size",)).data.num_inputs == 2


def test_data_without_rows_are_told():
    for empty in (np.zeros((0, 2)), np.zeros(0)):
        with pytest.raises(ValueError, match="X and y have no rows"):
            sx.evolve((empty, np.zeros(0)), generations=1)


@pytest.mark.parametrize("huge", ["1e400", "-1e400", "1e19"])
def test_numbers_beyond_whole_ones_are_no_labels(tmp_path, huge):
    path = tmp_path / "data.csv"
    rows = "".join(f"{k},{huge if k == 2 else k % 2}\n" for k in range(20))
    path.write_text(f"a,b\n{rows}")
    table = Table(str(path), test_share=0.0)
    if "400" in huge:
        with pytest.raises(ValueError, match=r"is -?inf: networks"):
            _ = table.data
    else:
        assert table.data.targets.max() > 1  # numbers, and no classes


def test_rows_with_missing_values_may_be_dropped(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(ROWS.replace("2.0,green", ",green").replace("25,pear", "NA,pear"))
    assert len(Table(str(path), missing="drop", test_share=0.0).data.inputs) == 8


def test_a_table_needs_a_path():
    with pytest.raises(ValueError, match="say which table"):
        load_experiment("table").check()


def test_the_command_line_asks_for_it_too(capsys):
    assert main(["run", "table"]) == 2
    assert "[problem] say which table" in capsys.readouterr().err


def test_what_a_table_suggests_depends_on_its_answers(csv):
    table = load_experiment("table").with_settings({"method": "emr"})
    for column, wanted in (("kind", "sigmoid"), ("size", "identity")):
        changed = table.with_settings({"path": csv, "target_column": column})
        assert changed.values["method.output_activation"] == wanted


def test_a_table_is_run_shown_and_used(csv, tmp_path, capsys):
    path = tmp_path / "run"
    words = ["run", "table", "--path", csv, "--target-column", "kind"]
    words += ["--population", "16", "--generations", "2", "--out", str(path)]
    words += ["--test-share", "0.2"]
    assert main(words) == 0
    assert "test_accuracy" in capsys.readouterr().out
    assert main(["resume", str(path), "--generations", "3"]) == 0
    model = sx.load(path)
    rows = [[1.0, "red", 10], [2.5, "yellow", 24]]
    assert set(model.predict(rows)) <= {"apple", "pear"}
    assert model(rows[0]).shape == (1,)
    assert model.feature_names == ["size", "colour", "weight"]
    assert model.classes == ["apple", "pear"]
    with pytest.raises(ValueError, match="column 'colour' has 'blue'; this model know"):
        model([[1.0, "blue", 10]])
    with pytest.raises(ValueError, match="column 'size' must hold numbers"):
        model([["much", "red", 10]])
    with pytest.raises(ValueError, match="labels, which JAX's arrays cannot hold"):
        model(jax.numpy.ones((2, 3)))


def test_columns_of_texts_in_python_are_labels_too():
    X = [[1.0, "red"], [2.0, "green"], [1.2, "red"], [2.2, "green"]]
    problem = sx.data_problem(X, ["a", "b", "a", "b"])
    assert problem.preparation.categories == ((), ("green", "red"))
    run = sx.evolve(problem, method="neat", population=8, generations=1)
    assert run.best(X).shape == (4, 1)


def test_a_column_of_names_is_no_column_of_labels():
    X = [[f"name {k}"] for k in range(60)]
    with pytest.raises(ValueError, match="column 0 of X holds 60 different texts"):
        sx.data_problem(X, [0, 1] * 30)


def test_a_column_of_numbers_with_a_text_among_them_is_no_column_of_labels():
    X = [[str(k), "a"] for k in range(9)] + [["?", "b"]]
    y = np.arange(10) % 2
    with pytest.raises(ValueError, match=r"column 0 are numbers, .* row 9 .* '\?'"):
        sx.data_problem(X, y)
    X[3][0] = "none"
    assert sx.data_problem([["x", *row[1:]] for row in X], y).num_inputs == 4


def test_answers_that_are_numbers_are_not_bounded_by_an_activation():
    X = np.random.default_rng(0).normal(size=(30, 2))
    problem = sx.data_problem(X, X[:, 0] * 10)
    for method, name in (("neat", "neat"), ("emr", "method")):
        values = as_experiment(problem, None, None, method, {}).values
        assert values[f"{name}.output_activation"] == "identity"
    values = as_experiment(problem, None, None, "neat", {}).values
    assert values["neat.mutation.mutate_output_activation"] is False
    labels = sx.data_problem(X, X[:, 0] > 0)
    values = as_experiment(labels, None, None, "neat", {}).values
    assert values["neat.mutation.mutate_output_activation"] is True
    own = {"output_activation": "tanh", "mutate_output_activation": True}
    values = as_experiment(problem, None, None, "neat", own).values
    assert values["neat.output_activation"] == "tanh"
    assert values["neat.mutation.mutate_output_activation"] is True


def test_labels_of_a_test_may_be_shorter_texts():
    X = np.arange(40.0)[:, None]
    y = np.where(X[:, 0] > 20, "category", "cat")
    problem = sx.data_problem(X, y, X_test=X[:3], y_test=np.array(["cat"] * 3))
    assert problem.test_targets is not None
    np.testing.assert_array_equal(problem.test_targets, 0.0)
    assert problem.preparation.classes == ("cat", "category")


def test_it_is_said_how_a_table_was_understood(csv, tmp_path):
    assert data_in_words(Table(csv, test_share=0.2)) == (
        "10 rows, of them 2 held back as a test, 3 columns; 'kind' as labels: "
        "'apple', 'pear'"
    )
    words = data_in_words(Table(csv, "size"))
    assert words is not None and words.startswith("10 rows, none held back, 3 columns;")
    assert words.endswith("'size' as a number, mean 1.78, deviation 0.593")
    more = tmp_path / "more.csv"
    more.write_text("a,n\n" + "".join(f"{i},{i % 9}\n" for i in range(30)) + "4,\n")
    words = data_in_words(Table(str(more), missing="drop"))
    assert words is not None
    assert "1 left out, as a value is missing, 1 column;" in words
    assert words.endswith("labels: 0, 1, 2, 3, 4, 5 and 3 more")
    assert data_in_words(sx.load_experiment("xor").problem) is None


def test_a_run_of_a_table_is_named_after_its_file(csv, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["run", "table", "--path", "fruit.csv", "--method", "neat"]
    assert main([*words, "--population", "20", "--generations", "1"]) == 0
    out = capsys.readouterr().out
    assert "10 rows, none held back, 3 columns; 'kind' as labels" in out
    assert (tmp_path / "runs" / "fruit-seed0" / "run.json").exists()


def test_a_table_is_no_experiment_but_near_to_one(csv, capsys):
    assert main(["run", csv]) == 2
    assert f"substrax run table --path {csv}" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"evolve\('table', path="):
        sx.evolve(csv)
