"""Plans: what comes with the package is complete; mistakes are named."""

import pytest

from paper.plan import builtin_plans, load_plan, plan_from_toml
from paper.published import paper_numbers
from substrax.config import Experiment

SMALL = """
title = "A small one"
page = "time"
seeds = 2
is_timed = true
[settings]
"run.generations" = 3
[grid]
depth = [2, 3]
population = [20]
[[arm]]
name = "emr"
settings = { method = "emr" }
[[arm]]
name = "es"
settings = { method = "es" }
grid = { depth = [2] }
seeds = 1
[quick]
seeds = 1
grid = { depth = [1] }
"""

NAMES = ("figure2", "positions", "table3", "table4", "table5", "table6", "table7")


def test_there_is_one_for_each_table_and_figure():
    assert tuple(builtin_plans()) == NAMES
    assert set(NAMES) == paper_numbers().keys()


@pytest.mark.parametrize("name", NAMES)
def test_every_run_of_a_quick_plan_can_be_built(name):
    plan = load_plan(name, quick=True)
    tasks = plan.tasks()
    assert plan.paper == name and plan.title
    assert tasks
    assert len(tasks) == plan.num_runs
    Experiment.from_toml(tasks[-1].config).build()


def test_rates_are_compared_over_thirty_seeds():
    for name in ("table3", "table6"):
        arms = [arm for arm in load_plan(name).arms if arm.role != "time"]
        # of the retina rates are shown, not compared
        arms = [arm for arm in arms if arm.name != "retina"]
        assert all(arm.seeds >= 30 for arm in arms)


def test_pairs_of_table_6_differ_in_the_rule_alone():
    tasks = load_plan("table6", seeds=1).tasks()
    for words in ("plain dialect", "PUREPLES' dialect"):
        emr, es = (
            Experiment.from_toml(
                next(
                    t.config
                    for t in tasks
                    if t.arm == f"{rule}, {words}" and t.role == "rate"
                )
            ).values
            for rule in ("emr", "es")
        )
        own = {"initial_depth", "division_threshold", "variance_threshold"}
        own |= {"band_threshold", "iteration_level", "weight_threshold"}
        own |= {"connections", "field", "rounds", "name", "recover"}
        for key in emr.keys() | es.keys():
            if key.removeprefix("method.") not in own:
                assert emr.get(key) == es.get(key), key


def test_cells_are_crossed_and_first_seeds_come_first():
    tasks = plan_from_toml(SMALL, "small").tasks()
    assert [(t.arm, t.cell["depth"], t.seed) for t in tasks] == [
        ("emr", 2, 0), ("emr", 3, 0), ("es", 2, 0), ("emr", 2, 1), ("emr", 3, 1),
    ]  # fmt: skip
    assert [t.is_cold for t in tasks] == [True, True, False, False, False]
    assert len({t.key for t in tasks}) == 5


def test_quick_and_seeds_change_the_plan():
    quick = plan_from_toml(SMALL, "small", quick=True)
    assert [(t.arm, t.cell["depth"]) for t in quick.tasks()] == [("emr", 1), ("es", 1)]
    assert len(plan_from_toml(SMALL, "small", seeds=3).tasks()) == 9


def test_the_same_run_has_the_same_key_in_another_plan():
    other = SMALL.replace("A small one", "Another").replace('"emr"\n', '"EMR"\n', 1)
    keys = [[t.key for t in plan_from_toml(x, "p").tasks()] for x in (SMALL, other)]
    assert keys[0] == keys[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('page = "time"', 'page = "tme"'), "no page 'tme' .did you mean 'time'"),
        (('title = "A small one"', ""), "plan 'small' has no 'title'; add it"),
        (("seeds = 2", "seds = 2"), "no key 'seds' .did you mean 'seeds'"),
        (('method = "emr"', 'method = "emmr"'), "arm 'emr': there is no method 'emmr'"),
        (("[grid]", "[grid"), "is not valid TOML"),
        (("is_timed = true", 'is_timed = "no"'), "is_timed is 'no'. Say true or false"),
        (('name = "es"', 'name = "es"\nkind = "x"'), "no kind 'x' of run"),
    ],
)
def test_a_mistake_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        plan_from_toml(SMALL.replace(*change), "small").tasks()


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(ValueError, match="did you mean 'table4'"):
        load_plan("tabel4")
    with pytest.raises(ValueError, match="seeds is 0"):
        load_plan("table4", seeds=0)


def test_cold_runs_are_runs_of_their_own():
    plan = plan_from_toml(SMALL.replace("is_timed", "is_cold = true\nis_timed"), "cold")
    usual = plan_from_toml(SMALL, "usual")
    cold = {t.key for t in plan.tasks()}
    assert all(t.is_cold for t in plan.tasks())
    # the first of several seeds compiles everything anew in any timed plan
    assert [t.key in cold for t in usual.tasks()] == [True, True, False, False, False]
