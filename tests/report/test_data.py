"""The report of a data set: names, rows, and how well they are answered."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import substrax as sx
from substrax.decoders import Direct
from substrax.problems import ArrayProblem, Table
from substrax.report import save_figure, write_report
from substrax.report._answers import Answers, explained, plot_answers
from substrax.report._names import fitted, named
from tests.network.support import random_networks
from tests.problems.support import network
from tests.report.support import Page, make_run

RNG = np.random.default_rng(2)
SIZES = RNG.normal(10, 2, 40)
COLOURS = RNG.choice(["red", "green"], 40)
KINDS = np.where(SIZES > 10, np.where(COLOURS == "red", "apple", "pear"), "<plum>")


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Forty rows, of which two have a gap."""
    path = tmp_path_factory.mktemp("data") / "fruit.csv"
    lines = [f"{s:.3f},{c},{k}" for s, c, k in zip(SIZES, COLOURS, KINDS, strict=True)]
    lines[3] = f",red,{KINDS[3]}"
    lines[7] = f"11.0,,{KINDS[7]}"
    path.write_text("\n".join(["size of fruit,colour,kind", *lines]) + "\n")
    return str(path)


def genes(num_inputs: int, num_outputs: int) -> dict[str, Any]:
    """A genome whose outputs each see all inputs, with various weights."""
    inputs, outputs = [-1 - k for k in range(num_inputs)], list(range(num_outputs))
    return {
        "input_ids": inputs,
        "output_ids": outputs,
        "nodes": [{"id": k, "activation": "sigmoid", "bias": 0.1} for k in outputs],
        "connections": [
            [i, o, 0.3 * o - 0.2 * i - 0.7] for i in inputs for o in outputs
        ],
    }


def report_of(path: Path, csv: str, target: str, num_outputs: int, **options) -> Path:
    """The report of a run that has not been, on columns of the table."""
    values: dict[str, Any] = {
        "path": csv,
        "target_column": target,
        "missing": "drop",
    } | options
    num_inputs = Table(**values).num_inputs
    problem = 'name = "table"\n' + "\n".join(f"{k} = {v!r}" for k, v in values.items())
    run = make_run(
        path, 'name = "neat"', genes(num_inputs, num_outputs), problem=problem
    )
    return write_report(run.path)


def test_a_table_is_shown_with_its_names_and_rows(tmp_path: Path, csv: str):
    page = report_of(tmp_path / "run", csv, "kind", 3)
    content = Page(page)
    assert content.parts == ["overview", "data", "evolution", "cppn", "run"]
    for words in (
        "Rows40", "Training30", "Test8", "Left out2", "Confusion matrix",
        "size of fruit0mean", "colour1 to 2green, red", "bias3always 1",
        "size of fruitpear", "colour=redapple",
    ):  # fmt: skip
        assert words in content.text, words
    assert "in0" not in content.text and "out0" not in content.text
    svg = (page.parent / "figures" / "genome.svg").read_text()
    for words in ("size of", "fruit", "colour=", "red", "apple", "&lt;plum&gt;"):
        assert words in svg, words
    assert ">in0<" not in svg and ">out0<" not in svg


def test_the_confusion_matrix_counts_the_rows_of_the_test(tmp_path: Path, csv: str):
    page = report_of(tmp_path / "run", csv, "kind", 3)
    text = page.read_text()
    table = text[text.index("Confusion matrix") :]
    rows = table[: table.index("</table>")].split("<tr>")[2:]
    counts = [
        [int(cell.split("<")[0]) for cell in row.split('">')[2:5]] for row in rows
    ]
    assert np.sum(counts) == 8
    assert [row.count("number same") for row in rows] == [1, 1, 1]


@pytest.mark.slow
def test_without_a_test_the_training_rows_are_counted(tmp_path: Path, csv: str):
    page = report_of(tmp_path / "run", csv, "kind", 3, test_share=0.0)
    text = Page(page).text
    assert "Training38" in text and "Test0" in text
    assert "the training rows, as there is no test" in text


def test_numbers_are_drawn_over_targets(tmp_path: Path, csv: str):
    page = report_of(tmp_path / "run", csv, "size of fruit", 1)
    content = Page(page)
    assert "answers" in content.figures
    assert "Confusion matrix" not in content.text
    assert "R\u00b2, the share of the variance" in content.text
    assert ">size of fruit<" in (page.parent / "figures" / "answers.svg").read_text()


@pytest.mark.slow
def test_a_run_from_python_shows_names_too(tmp_path: Path):
    rows = np.array([SIZES, COLOURS], object).T
    problem = sx.data_problem(rows, KINDS, feature_names=["size", "colour"])
    run = sx.evolve(
        problem, population=8, generations=1, method="neat", directory=tmp_path / "run"
    )
    write_report(tmp_path / "run")
    page = run.report()
    assert "colour=green" in Page(page).text


@pytest.mark.slow
def test_inputs_of_a_substrate_can_be_looked_up(tmp_path: Path, csv: str):
    """Its figures call them by their names, and the table of columns numbers them."""
    options: dict[str, Any] = {"population": 8, "generations": 1, "depth": 1}
    run = sx.evolve(
        Table(csv, missing="drop"), directory=tmp_path / "run", method="emr", **options
    )
    content = Page(run.report())
    assert content.parts[1] == "data"
    assert "colour1 to 2green, red" in content.text
    for figure in ("fields", "grid"):
        drawn = (tmp_path / f"run/report/figures/{figure}.svg").read_text()
        assert "from colour=red" in drawn


def test_confusion_by_hand():
    targets = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]])
    outputs = np.array([[0.2], [0.7], [0.9], [0.5], [np.nan]])
    counts = Answers(True, targets, outputs, ("no", "yes")).confusion()
    assert counts.tolist() == [[1, 1, 0], [0, 1, 2]]
    targets = np.eye(3)[[0, 1, 2, 2]]
    outputs = np.array([[0.9, 0.1, 0.2], [0.5, 0.5, 0.1], [0.3, 0.4, 0.2], [0, 0, 1.0]])
    counts = Answers(True, targets, outputs, ("a", "b", "c")).confusion()
    assert counts.tolist() == [[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 0]]


@pytest.mark.parametrize("num_classes", [2, 4])
def test_its_diagonal_is_the_accuracy(num_classes: int):
    X, y = RNG.normal(size=(60, 3)), RNG.integers(0, num_classes, 60)
    problem = sx.data_problem(X, y)
    num_outputs = problem.num_outputs
    for seed in range(3):
        one = random_networks(seed, (4,), num_inputs=4, num_outputs=num_outputs)[0]
        answers = Answers.of(problem, one)
        assert answers is not None
        counts = answers.confusion()
        accuracy = np.trace(counts) / counts.sum()
        assert accuracy == pytest.approx(problem.measures(one)["test_accuracy"])


def test_answers_are_in_the_units_of_the_data():
    X = np.arange(30.0)
    problem = sx.data_problem(X, 100 + 3 * X, test_share=0)
    same = network(2, 1, [(0, 2, 1.0)], output="identity")
    answers = Answers.of(problem, same)
    assert answers is not None and not answers.is_test
    np.testing.assert_allclose(answers.targets[:, 0], 100 + 3 * X)
    np.testing.assert_allclose(answers.outputs, answers.targets)
    assert explained(answers.targets, answers.outputs) == pytest.approx(1.0)
    assert explained(answers.targets, answers.targets * 0 + 143.5) == pytest.approx(0)
    figure = plot_answers(answers, ["y"])
    assert figure is not None
    points = np.asarray(figure.axes[0].collections[0].get_offsets())
    np.testing.assert_allclose(points, np.column_stack([100 + 3 * X] * 2))


def test_a_truth_table_is_in_the_units_of_the_data():
    from substrax.report._run import truth_table

    X = [[1.0, 10.0], [2.0, 30.0], [4.0, 50.0]]
    problem = sx.data_problem(X, [5.5, 6.5, 9.5])
    table = truth_table(problem, network(3, 1, [], output="identity"))
    assert table is not None
    np.testing.assert_allclose(table.inputs, np.column_stack([X, np.ones(3)]))
    np.testing.assert_allclose(table.targets[:, 0], [5.5, 6.5, 9.5])
    np.testing.assert_allclose(table.outputs[:, 0], np.mean([5.5, 6.5, 9.5]))


def test_zeros_and_ones_are_classes_for_a_plain_data_set_as_well():
    problem = ArrayProblem(np.zeros((40, 1)), np.arange(40) % 2)
    answers = Answers.of(problem, network(1, 1, []))
    assert answers is not None and answers.classes == (0, 1)
    assert answers.confusion().tolist() == [[0, 0, 20], [0, 0, 20]]  # always 0.5


def test_networks_without_a_finite_answer_have_no_picture():
    answers = Answers(True, np.ones((3, 1)), np.full((3, 1), np.inf), None)
    assert plot_answers(answers, ["y"]) is None
    some = Answers(True, np.ones((3, 1)), np.array([[1.0], [np.nan], [2.0]]), None)
    figure = plot_answers(some, ["y"])
    assert figure is not None
    assert np.shape(figure.axes[0].collections[0].get_offsets()) == (2, 2)


def test_names_fit_into_boxes_and_are_no_formulas(tmp_path: Path):
    assert fitted("age", 3) == "age"
    assert fitted("sepal length (cm)", 3) == "sepal\nlength (cm)"
    assert fitted("place_of_birth=north", 3) == "place_of_\nbirth=\nnorth"
    assert fitted("a_very_long_name_of_a_column", 2) == "a_very_\nlong_\u2026"
    assert fitted("x" * 30, 3) == "x" * 12 + "\u2026"
    assert fitted("$in$\0", 3) == r"\$in\$ "
    answers = Answers(True, np.zeros((3, 1)), np.ones((3, 1)), None)
    save_figure(plot_answers(answers, ["$\\frac{$ \0"]), tmp_path / "figure")
    decoder = named(Direct(3, 2), ArrayProblem([[1.0, 2.0]], [[3, 4]]).preparation)
    assert decoder.genome_outputs == ("out0", "out1")
    with pytest.raises(ValueError, match="2 input_names for 3 inputs"):
        Direct(3, 1, input_names=("a", "b"))
