"""The firm panel: how it is generated, and panels read from files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from substrax.problems import Panel, PanelData, auc, generate_panel, read_panel
from substrax.problems._panel_data import centred_ranks
from tests.problems.support import network


@pytest.fixture(scope="module")
def panel() -> Iterator[Panel]:
    yield Panel()


def test_it_has_94464_rows_20_features_and_40_periods(panel: Panel) -> None:
    assert panel.data.features.shape == (94_464, 20)
    assert np.bincount(panel.data.period).tolist() == [2362] * 24 + [2361] * 16
    assert (np.diff(panel.data.period) >= 0).all()
    assert len(set(panel.data.feature_names)) == 20


def test_the_last_fifth_of_the_periods_is_held_back(panel: Panel) -> None:
    is_test = panel.data.is_test(0.2)
    assert set(panel.data.period[is_test]) == set(range(32, 40))
    assert set(panel.data.period[~is_test]) == set(range(32))
    (inputs, labels), (test_inputs, test_labels) = panel.train, panel.test
    assert len(inputs) == len(labels) == 75_576
    assert len(test_inputs) == len(test_labels) == 18_888
    np.testing.assert_array_equal(inputs[:, :20], panel.data.features[~is_test])
    assert (inputs[:, 20] == 1).all() and (test_inputs[:, 20] == 1).all()


def test_features_are_ranks_within_their_period_and_8_percent_are_missing(
    panel: Panel,
) -> None:
    features = panel.data.features
    assert np.abs(features).max() < 1
    assert (features == 0).mean() == pytest.approx(0.08, abs=0.002)
    for period in (0, 39):
        rows = features[panel.data.period == period]
        for column in rows.T:
            there = np.sort(column[column != 0])
            # Evenly spaced, but for the middle one, which may be 0 itself.
            assert np.abs(there.mean()) < 1e-3
            assert np.diff(there).max() < 3 * 2 / len(there)


def test_half_of_each_period_is_above_its_median(panel: Panel) -> None:
    for period in range(40):
        share = panel.data.target[panel.data.period == period].mean()
        assert abs(share - 0.5) < 1e-3


def test_features_persist_from_period_to_period(panel: Panel) -> None:
    """AR(1) with 0.6 to 0.98: each feature remembers, some much longer."""
    data = panel.data
    first, second = (data.features[data.period == t][:2361] for t in (32, 33))
    memory = [
        np.corrcoef(a[there], b[there])[0, 1]
        for a, b in zip(first.T, second.T, strict=True)
        for there in [(a != 0) & (b != 0)]
    ]
    assert 0.3 < min(memory) < 0.7
    assert 0.8 < max(memory) < 1


def test_known_terms_foretell_and_their_parts_do_not(panel: Panel) -> None:
    u, y = panel.data.features, panel.data.target
    assert auc(u[:, 0] * u[:, 1], y) > 0.6
    assert auc(np.sign(u[:, 2]) * u[:, 3] ** 2, y) > 0.57
    assert auc(np.sin(np.pi * u[:, 4]), y) > 0.55
    # Features share factors, so others know a little of u2 and u4.
    for k in (0, 1, 3, *range(5, 20)):
        assert abs(auc(u[:, k], y) - 0.5) < 0.05


def test_without_information_nothing_foretells() -> None:
    data = generate_panel(ic=0.0)
    u, y = data.features, data.target
    assert abs(auc(u[:, 0] * u[:, 1], y) - 0.5) < 0.01
    assert abs(auc(np.sin(np.pi * u[:, 4]), y) - 0.5) < 0.01


def test_the_seed_decides() -> None:
    first, again = (generate_panel(num_rows=2_000, seed=3) for _ in range(2))
    other = generate_panel(num_rows=2_000, seed=4)
    np.testing.assert_array_equal(first.features, again.features)
    np.testing.assert_array_equal(first.target, again.target)
    assert not np.array_equal(first.features, other.features)


@pytest.mark.slow
def test_a_linear_model_finds_little_and_boosting_finds_more(panel: Panel) -> None:
    """Logistic regression has a test AUC of about 0.587, gradient boosting 0.67."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    ensemble = pytest.importorskip("sklearn.ensemble")
    (inputs, labels), (test_inputs, test_labels) = panel.train, panel.test
    models = {
        0.587: linear_model.LogisticRegression(),
        0.670: ensemble.HistGradientBoostingClassifier(random_state=0),
    }
    for expected, model in models.items():
        model.fit(inputs[:, :20], labels)
        scores = model.predict_proba(test_inputs[:, :20])[:, 1]
        assert auc(scores, test_labels) == pytest.approx(expected, abs=0.005)


def test_a_network_that_orders_by_a_feature_has_that_feature_s_auc(
    panel: Panel,
) -> None:
    one = network(21, 1, [(2, 21, 1.0), (20, 21, 0.3)])
    inputs, labels = panel.test
    measures = panel.measures(one)
    assert measures["test_auc"] == auc(inputs[:, 2], labels)
    assert measures["train_auc"] == auc(panel.train[0][:, 2], panel.train[1])
    fitness = panel.fitness(one, key=jax.random.key(0))
    assert fitness.tolist() == [measures["train_auc"]]


def test_a_constant_network_has_the_auc_of_chance() -> None:
    silent = network(21, 1, [], output="identity")
    small = Panel(num_rows=2_000)
    assert small.fitness(silent, key=jax.random.key(0)).tolist() == [0.5]
    squared = Panel(num_rows=2_000, score="squared")
    share = squared.train[1].mean()
    assert squared.fitness(silent, key=jax.random.key(0)).tolist() == [1 - share]


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"score": "r2"}, "unknown score 'r2': use one of auc, squared"),
        ({"test_share": 1.0}, r"test_share must be in \(0, 1\), not 1.0"),
        ({"chunk_size": 0}, "chunk_size must be positive, not 0"),
        ({"samples_per_generation": 0}, "samples_per_generation must be positive"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Panel(**settings)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"num_features": 4}, "num_features must be 5 or more, not 4"),
        ({"ic": 1.0}, r"ic is a correlation in \[0, 1\), not 1.0"),
        ({"num_rows": 100}, "100 rows are too few for 40 periods"),
    ],
)
def test_panels_that_cannot_be_generated(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        generate_panel(**settings)


def test_more_samples_than_rows_are_refused() -> None:
    one = network(21, 1, [])
    with pytest.raises(ValueError, match="only 1600 samples to draw from"):
        Panel(num_rows=2_000, samples_per_generation=5_000).fitness(
            one, key=jax.random.key(0)
        )


def test_ranks_by_hand() -> None:
    values = np.array([[3.0, 1.0], [np.nan, 1.0], [1.0, 5.0], [2.0, np.nan]])
    expected = [[2 / 3, -1 / 3], [0, -1 / 3], [-2 / 3, 2 / 3], [0, 0]]
    np.testing.assert_allclose(centred_ranks(values), expected, atol=1e-15)
    assert centred_ranks(np.full((2, 1), np.nan)).tolist() == [[0], [0]]


CSV = """month,size,value,up
2024-02,5,0.1,1
2024-01,10,0.5,0
2024-01,30,0.3,1
2024-02,7,NA,0

2024-01,20,,1
"""


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "panel.csv"
    path.write_text(CSV)
    return path


def read(path: Path, **options: Any) -> PanelData:
    settings: dict[str, Any] = {"target": "up", "period": "month"}
    return read_panel(path, **(settings | options))


def test_a_csv_file_is_read_ranked_and_put_in_order(csv: Path) -> None:
    data = read(csv, missing="zero")
    assert data.feature_names == ("size", "value")
    assert data.period.tolist() == [0, 0, 0, 1, 1]
    assert data.target.tolist() == [0, 1, 1, 1, 0]
    expected = [[-2 / 3, 0.5], [2 / 3, -0.5], [0, 0], [-0.5, 0], [0.5, 0]]
    np.testing.assert_allclose(data.features, expected, atol=1e-15)


def test_features_can_stay_as_they_are_and_rows_can_be_dropped(csv: Path) -> None:
    data = read(csv, missing="drop", is_ranked=False)
    assert data.features.tolist() == [[10, 0.5], [30, 0.3], [5, 0.1]]
    assert data.period.tolist() == [0, 0, 1]
    chosen = read(csv, features=["size"], is_ranked=False)
    assert chosen.features[:, 0].tolist() == [10, 30, 20, 5, 7]


def test_columns_that_are_not_named_may_hold_anything(tmp_path: Path) -> None:
    """Names of firms are left out by naming the rest."""
    path = tmp_path / "named.csv"
    path.write_text("firm,period,x,target\nACME,1,2,0\nBolt,2,inf,1\nCog,2,5,0\n")
    with pytest.raises(ValueError, match=r"'ACME' as 'firm', .* name the columns"):
        read_panel(path)
    with pytest.raises(ValueError, match="infinite 'x'"):
        read_panel(path, features=["x"])
    path.write_text("firm,period,x,target\nACME,1,2,0\nBolt,2,3,1\n")
    problem = Panel(path=str(path), feature_columns=("x",), test_share=0.5)
    assert problem.data.feature_names == ("x",)
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {
        "firm": ["ACME", "Bolt"],
        "period": [1, 2],
        "x": [2, 3],
        "target": [0, 1],
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "named.parquet")
    other = read_panel(tmp_path / "named.parquet", features=["x"])
    np.testing.assert_array_equal(other.features, problem.data.features)


def test_returns_are_compared_with_the_median_of_their_period(csv: Path) -> None:
    data = read(csv, target="size", features=["up"], has_returns=True)
    assert data.target.tolist() == [0, 1, 0, 0, 1]


def test_numeric_periods_are_ordered_by_size(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("period,x,target\n10,1,0\n9,2,1\n")
    assert read_panel(path).target.tolist() == [1, 0]


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"target": "ups"},
            r"no column 'ups' \(did you mean 'up'\?\). It has: month",
        ),
        ({"features": ["size", "beta"]}, "has no column 'beta'"),
        ({}, r"row 4 of .*panel.csv has no 'value'. Set missing='zero'"),
        ({"missing": "mean"}, "unknown policy 'mean' for missing values"),
        ({"target": "value"}, "row 4 of .* has no 'value'. Set missing='drop'"),
        (
            {"target": "size", "features": ["up"]},
            r"column 'size' of .* holds 10; a target is 0 or 1. For returns, set",
        ),
        ({"features": ["up"]}, "column 'up' cannot be a feature as well"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(
    csv: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read(csv, **options)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "is empty; its first line must name the columns"),
        ("period,x,target\n", "has a header but no rows"),
        ("period,x,target\n1,2,0\n1,2\n", "line 3 of .* has 2 fields, .* names 3"),
        ("period,x,x,target\n1,2,3,0\n", "two columns named 'x'"),
        ("period,x,target\n1,2,0\n1,big,0\n", "row 2 of .* has 'big' as 'x', which"),
        ("period,x,target\n1,inf,0\n", "row 1 of .* has an infinite 'x'"),
        ("period,target\n1,0\n", "has no column besides 'target' and 'period'"),
        ("period,x,target\n,2,0\n", "row 1 of .* has no 'period'"),
        ("period:x:target\n1:2:0\n", "nothing in its first line separates fields"),
    ],
)
def test_what_is_wrong_with_a_csv_file_is_said(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_panel(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no file .*missing.csv"):
        read_panel(tmp_path / "missing.csv")
    other = tmp_path / "panel.xlsx"
    other.touch()
    with pytest.raises(ValueError, match=r"neither a .csv nor a .parquet file"):
        read_panel(other)
    lacking = tmp_path / "lacking.csv"
    lacking.write_text("period,x,target\n1,,0\n")
    with pytest.raises(ValueError, match=r"every row of .* lacks a value"):
        read_panel(lacking, missing="drop")


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"a,period,target\n" + b"9" * 200_000 + b",1,0\n", "field larger than"),
        (b"a,period,target\n1,1,\xff\n", "byte 20 is not UTF-8"),
        (b"a,period,target\n1\0,1,0\n", r"not a number|CSV"),
        (b"\0" * 1000, r"has no column|CSV"),
    ],
    ids=["long", "bytes", "NUL", "nothing"],
)
def test_hostile_csv_files_are_refused(
    tmp_path: Path, raw: bytes, sentence: str
) -> None:
    path = tmp_path / "hostile.csv"
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=sentence) as caught:
        read_panel(path)
    assert path.name in str(caught.value) and len(str(caught.value)) < 1000


def test_a_parquet_file_gives_the_same_panel(tmp_path: Path, csv: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "panel.parquet"
    columns = {
        "month": ["2024-02", "2024-01", "2024-01", "2024-02", "2024-01"],
        "size": [5, 10, 30, 7, 20],
        "value": [0.1, 0.5, 0.3, None, None],
        "up": [True, False, True, False, True],
    }
    parquet.write_table(pyarrow.table(columns), path)
    expected, actual = read(csv, missing="zero"), read(path, missing="zero")
    np.testing.assert_array_equal(actual.features, expected.features)
    np.testing.assert_array_equal(actual.target, expected.target)
    np.testing.assert_array_equal(actual.period, expected.period)
    parquet.write_table(pyarrow.table(columns | {"value": ["a"] * 5}), path)
    with pytest.raises(ValueError, match=r"column 'value' of .* does not hold numbers"):
        read(path)
    path.write_text("this is not Parquet")
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        read(path)


def test_a_file_becomes_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    rng = np.random.default_rng(0)
    rows = [
        f"{k // 10},{rng.normal():.3f},{rng.normal():.3f},{rng.integers(2)}"
        for k in range(100)
    ]
    path.write_text("\n".join(["period,a,b,target", *rows]))
    problem = Panel(path=str(path))
    assert problem.num_inputs == 3
    assert problem.train[0].shape == (80, 3)
    assert problem.test[0].shape == (20, 3)
    assert {"test_auc", "train_auc"} <= problem.measures(network(3, 1, [])).keys()


def test_a_split_by_time_needs_two_periods(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("period,a,target\n1,2,0\n1,3,1\n")
    with pytest.raises(ValueError, match=r"there are 1, and test_share is 0.2"):
        _ = Panel(path=str(path)).layout  # before anything is compiled
