"""Plans: what they say, what they may not say, and how arms are called."""

import hypothesis
import hypothesis.strategies as st
import pytest

from substrax.settings import dump_value
from substrax.sweeps import SweepPlan

PLAN = """
experiment = "xor"
seeds = 3
[settings]
generations = 5
[grid]
depth = [2, 3]
method = ["emr", "es"]
"""


def labels(**keywords) -> list[str]:
    plan = SweepPlan(**{"experiment": "xor", **keywords})
    return [variant.label for variant in plan.variants()]


def test_a_grid_is_all_combinations_times_seeds():
    variants = SweepPlan.from_toml(PLAN).variants()
    assert [v.label for v in variants] == [
        "depth 2, emr",
        "depth 2, es",
        "depth 3, emr",
        "depth 3, es",
    ]
    assert variants[1].settings == {"generations": 5, "depth": 2, "method": "es"}
    assert {v.seeds for v in variants} == {(0, 1, 2)}
    assert {v.experiment for v in variants} == {"xor"}


def test_rows_are_variants_by_name_and_each_has_the_whole_grid():
    rows = [{"name": "small", "population": 50}, {"name": "large", "population": 500}]
    assert labels(rows=rows) == ["small", "large"]
    assert labels(rows=rows, grid={"depth": [2, 3]}) == [
        "small, depth 2",
        "small, depth 3",
        "large, depth 2",
        "large, depth 3",
    ]


def test_rows_without_names_are_called_by_what_differs():
    rows = [{"population": 50, "depth": 2}, {"population": 60, "depth": 2}]
    assert labels(rows=rows) == ["population 50", "population 60"]
    assert labels(rows=[{"method": {"depth": 2}}, {"method": {"depth": 3}}]) == [
        "depth 2",
        "depth 3",
    ]
    assert labels(rows=[{"damping": True}, {"damping": False}]) == [
        "damping on",
        "damping off",
    ]


def test_one_arm_is_called_by_its_experiment():
    assert labels() == ["xor"]
    assert labels(experiment="folder/mine.py:fitness") == ["fitness"]


def test_rows_may_have_experiments_and_seeds_of_their_own():
    rows = [{"experiment": "parity", "seeds": [7]}, {"name": "easy"}]
    plan = SweepPlan(experiment="xor", seeds=2, rows=rows)
    assert [(v.experiment, v.seeds) for v in plan.variants()] == [
        ("parity", (7,)),
        ("xor", (0, 1)),
    ]
    assert SweepPlan(rows=[{"experiment": "xor"}]).variants()[0].label == "xor"
    assert labels(grid={"experiment": ["xor", "parity"]}) == ["xor", "parity"]


def test_keys_that_end_alike_are_told_apart():
    rows = [
        {"method.output_activation": "tanh", "neat.output_activation": "tanh"},
        {"method.output_activation": "sin", "neat.output_activation": "sin"},
    ]
    assert labels(rows=rows)[0] == (
        "method.output_activation tanh, neat.output_activation tanh"
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"experiment": None}, "a plan needs an experiment"),
        ({"experiment": 3}, r"experiment is 3, but must be the name of an experi"),
        ({"experiment": ["xor", "parity"]}, r"belong below `\[grid\]`"),
        ({"grid": {"experiment": ["xor", 3]}}, "grid: experiment is 3"),
        ({"rows": [{"experiment": 0.5}]}, "row 1: experiment is 0.5"),
        ({"seeds": 0}, "Choose at least 1"),
        ({"seeds": []}, "empty list"),
        ({"seeds": [1, 1]}, "has 1 twice"),
        ({"seeds": [-1]}, "no seed"),
        ({"seeds": "3"}, "Say how many"),
        ({"seeds": True}, "Say how many"),
        ({"seeds": 10**9}, "at most 100,000"),
        ({"grid": {"depth": 3}}, r"Give a list of values, `depth = \[3\]`"),
        ({"grid": {"depth": []}}, "no values"),
        ({"grid": {"depth": [2, 2]}}, "has 2 twice"),
        ({"grid": {"seed": [1, 2]}}, "seeds are said by `seeds`"),
        ({"settings": {"run": {"seed": 3}}}, "seeds are said by `seeds`"),
        ({"settings": 3}, "must be a table"),
        ({"rows": {"name": "a"}}, "a list of variants"),
        ({"rows": [3]}, "row 1 is 3"),
        ({"rows": [{"name": ""}]}, "must be a text"),
        ({"rows": [{"name": "a\nb"}]}, "one line"),
        ({"rows": [{"name": "a"}, {"name": "a"}]}, "two arms of this plan are called"),
        ({"baseline": "nobody"}, "no arm is called so"),
        ({"title": 3}, "must be a text"),
        ({"grid": {str(k): list(range(100)) for k in range(9)}}, "more than 100,000"),
    ],
)
def test_mistakes_are_said_before_anything_runs(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        SweepPlan(**{"experiment": "xor", **change}).variants()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("experimnt = 1", "did you mean 'experiment'"),
        ("experiment = 'xor'\nseed = 3", "write `seeds = 30`"),
        ("experiment = 'xor'\n[[row]]\nname = 'a'", r"variants are `\[\[rows\]\]`"),
        ("experiment = ", "is not valid TOML"),
        ("[[grid]]\na = 1", "grid is"),
    ],
)
def test_mistakes_in_files_are_said_with_the_name_of_the_file(text, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        SweepPlan.from_toml(text, "mine.toml")
    assert "mine.toml" in str(error.value)


def test_a_plan_can_be_written_down_and_read_again():
    rows = [
        {"name": 'a "quoted" name', "hidden_layers": ("2x2", "4"), "experiment": "xor"},
        {"name": "b", "seeds": [4], "neat.weight.init_mean": 1.5, "damping": False},
    ]
    plan = SweepPlan(
        experiment="xor",
        seeds=[3, 5],
        settings={"target": None, "generations": 3},
        grid={"depth": [2, 3]},
        rows=rows,
        title="A title",
        baseline="b, depth 2",
    )
    again = SweepPlan.from_toml(plan.to_toml())
    assert [v.label for v in again.variants()] == [v.label for v in plan.variants()]
    for ours, theirs in zip(plan.variants(), again.variants(), strict=True):
        assert ours.seeds == theirs.seeds
        plain = lambda v: {k: dump_value(x) for k, x in v.settings.items()}
        assert plain(ours) == plain(theirs)


def test_paths_count_from_a_folder(tmp_path):
    (tmp_path / "seed.json").touch()
    plan = SweepPlan(
        experiment="mine.py:fitness",
        settings={"problem.path": "data.csv", "start_from": "seed.json"},
        rows=[{"experiment": "other.toml"}, {"start_from": "x-locality"}],
    ).at(tmp_path)
    first, second = plan.variants()
    assert first.experiment == str(tmp_path / "other.toml")
    assert second.experiment == f"{tmp_path / 'mine.py'}:fitness"
    assert first.settings["problem.path"] == str(tmp_path / "data.csv")
    assert first.settings["start_from"] == str(tmp_path / "seed.json")
    assert second.settings["start_from"] == "x-locality"


PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)
)
ANYTHING = st.recursive(
    PLAIN,
    lambda x: st.one_of(
        st.lists(x, max_size=4), st.dictionaries(st.text(max_size=8), x, max_size=4)
    ),
    max_leaves=12,
)
KEYS = st.sampled_from(
    ["experiment", "seeds", "title", "baseline", "settings", "grid", "rows"]
)


@hypothesis.given(st.dictionaries(KEYS, ANYTHING, max_size=7))
def test_whatever_a_plan_says_it_is_a_plan_or_a_sentence(table):
    try:
        plan = SweepPlan.from_dict(table)
        plan.variants()
        SweepPlan.from_toml(plan.to_toml())
    except ValueError as error:
        assert str(error)


@hypothesis.given(st.text(max_size=200))
def test_whatever_a_file_holds_it_is_a_plan_or_a_sentence(text):
    try:
        SweepPlan.from_toml(text)
    except ValueError as error:
        assert "plan.toml" in str(error)
