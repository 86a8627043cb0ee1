"""A memory budget changes where results lie, never a bit."""

import gc
import os
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import substrax._memory as memory_module
from substrax import Progress, Resources
from substrax._memory import (
    ScratchError,
    is_on_disk,
    joined,
    map_scratch,
    open_scratch,
    read_budget,
    scratch_in,
    show_bytes,
)
from substrax.network import Networks, evaluate
from substrax.substrate import EMRRule, ESRule, Layout
from tests.substrate.support import (
    assert_same_wirings,
    draw_cppns,
    find,
    make_engine,
)
from tests.substrate.test_strategies import Case, cases

LARGE = EMRRule(depth=4, variance_threshold=0.003)


@pytest.fixture
def tiny():
    """Lets a budget be smaller than a block of work."""
    with mock.patch.object(memory_module, "LEAST_BUDGET", 1):
        yield


def large_engine():
    return make_engine(draw_cppns(5, 6, leo=True), "plain", np.float32)


@given(
    case=cases(max_depth=2),
    budget=st.sampled_from([1 << 10, 1 << 18, 1 << 20, 1 << 30]),
    threads=st.sampled_from([1, 3]),
)
@settings(max_examples=20)
def test_budget_changes_nothing(case: Case, budget: int, threads: int) -> None:
    parts = case.parts(4)
    whole = find(*parts)
    with mock.patch.object(memory_module, "LEAST_BUDGET", 1):
        small = find(*parts, memory_budget=budget, threads=threads)
        assert_same_wirings(small, whole)
        inputs = np.ones((3, whole.networks.num_inputs))
        # The nodes must fit: 64 samples of each, twice.
        most = int(whole.networks.num_nodes.max()) * 2048
        resources = Resources(memory_budget=max(budget, most), threads=threads)
        outputs = evaluate(small.networks, inputs, resources=resources)
    assert outputs.tobytes() == evaluate(whole.networks, inputs).tobytes()


def test_what_exceeds_the_budget_is_on_the_disk_and_leaves_nothing_there(
    tmp_path: Path, tiny: None
) -> None:
    engine, layout = large_engine(), Layout.spread(4, 2)
    folder = tmp_path / "scratch"
    num_open = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    with scratch_in(folder) as scratch:
        assert not folder.exists()
        wiring = find(engine, layout, LARGE, memory_budget=1 << 16, scratch=scratch)
        assert list(folder.iterdir()) == []  # files without names
        assert is_on_disk(wiring.link_weight)
        assert_same_wirings(wiring, find(engine, layout, LARGE))
    assert not folder.exists()
    assert wiring.link_weight.size > 1000
    del wiring
    if num_open:
        gc.collect()
        assert len(os.listdir("/proc/self/fd")) <= num_open


def test_a_scratch_folder_with_files_of_others_stays(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with scratch_in(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_networks_on_the_disk_are_joined_and_evaluated_as_others_are(
    tmp_path: Path, tiny: None
) -> None:
    engine, layout = large_engine(), Layout.spread(4, 2)
    whole = find(engine, layout, LARGE).networks
    small = Resources(memory_budget=1 << 16, scratch=tmp_path)
    there = find(
        engine, layout, LARGE, memory_budget=1 << 16, scratch=tmp_path
    ).networks
    both = Networks.join([there, there], small)
    assert is_on_disk(both.link_weight)
    inputs = np.random.default_rng(0).normal(size=(70, 4))
    outputs = evaluate(both, inputs, resources=small)
    wanted = evaluate(whole, inputs)
    assert outputs.tobytes() == np.concatenate([wanted, wanted]).tobytes()


@pytest.mark.parametrize("num", [1, 70, 200])
@pytest.mark.parametrize(
    "rule",
    [
        ESRule(5, division_threshold=0.001, variance_threshold=0.0, band_threshold=0.0),
        EMRRule(4, field="weight", variance_threshold=0.001),
        EMRRule(3, field="weight", variance_threshold=0.001, connections="full"),
    ],
    ids=["es", "emr", "emr full"],
)
def test_links_that_do_not_fit_the_memory_change_no_output(
    rule: ESRule | EMRRule, num: int, tmp_path: Path, tiny: None
) -> None:
    """More links than are sorted at a time: some ranks after the other, or as they
    come; in memory and on the disk."""
    engine = make_engine(draw_cppns(4, 5), "neat-python", np.float32)
    layout = Layout.spread(3, 1)
    whole = find(engine, layout, rule).networks
    assert whole.num_links.max() > 50_000
    inputs = np.random.default_rng(0).normal(size=(num, 3))
    wanted = evaluate(whole, inputs)
    is_es = isinstance(rule, ESRule)  # whose networks have thousands of nodes
    budget = 1 << 22 if is_es else 1 << 20
    assert whole.num_links.max() > budget // 16, "more than are sorted at a time"
    options: dict[str, Any] = {"memory_budget": budget, "threads": 1}
    there = find(engine, layout, rule, scratch=tmp_path, **options).networks
    assert is_on_disk(there.link_weight)
    for networks in (whole, there):
        outputs = evaluate(networks, inputs, resources=Resources(**options))
        assert outputs.tobytes() == wanted.tobytes()


@pytest.mark.slow
def test_a_long_discovery_tells_how_far_it_is() -> None:
    engine, layout = large_engine(), Layout.spread(4, 2)
    told: list[Progress] = []
    rule = EMRRule(depth=6, variance_threshold=0.0001, field="weight")
    find(engine, layout, rule, on_progress=told.append, threads=1)
    assert told
    assert told[-1].num_genomes == 6 and told[-1].seconds > 0
    assert [p.genomes_done for p in told] == sorted(p.genomes_done for p in told)


def test_an_error_while_it_tells_ends_the_discovery() -> None:
    def refuse(progress: Progress) -> None:
        raise KeyError("enough")

    rule = EMRRule(depth=6, variance_threshold=0.0001, field="weight")
    with pytest.raises(KeyError, match="enough"):
        find(large_engine(), Layout.spread(4, 2), rule, on_progress=refuse, threads=1)


def test_full_and_unwritable_scratch_folders_are_errors(
    tmp_path: Path, tiny: None
) -> None:
    (tmp_path / "file").touch()
    parts = large_engine(), Layout.spread(4, 2), LARGE
    with pytest.raises(ScratchError, match=r"cannot be written.*memory_budget"):
        find(*parts, memory_budget=1 << 16, scratch=tmp_path / "file" / "scratch")
    if Path("/dev/full").exists():
        full = os.open("/dev/full", os.O_RDWR)
        with (
            mock.patch("substrax._resources.open_scratch", lambda _: os.dup(full)),
            pytest.raises(ScratchError, match=r"is full.*memory_budget"),
        ):
            find(*parts, memory_budget=1 << 16)
        os.close(full)


def test_scratch_files_give_back_what_was_written(tmp_path: Path) -> None:
    descriptor = open_scratch(tmp_path)
    os.write(descriptor, np.arange(5, dtype=np.int32).tobytes())
    np.testing.assert_array_equal(
        map_scratch(descriptor, np.dtype(np.int32), 5), range(5)
    )
    arrays = [np.full((k, 2), k, np.float64) for k in range(4)]
    wanted = np.concatenate(arrays)
    for limit in (0, 1 << 20):
        whole = joined(arrays, limit, tmp_path)
        np.testing.assert_array_equal(whole, wanted)
        assert is_on_disk(whole) == (limit == 0)


def test_budgets_are_read_and_refused_in_sentences() -> None:
    assert read_budget("2GiB") == read_budget(2 << 30) == 2 << 30
    assert read_budget(" 500 mb ") == 500 << 20
    assert read_budget("1.5g") == 3 << 29
    assert read_budget("auto") >= memory_module.LEAST_BUDGET
    assert show_bytes(3 << 29) == "1.5 GiB"
    for value in ("much", "", "1.2.3GiB", True):
        with pytest.raises(ValueError, match=r"memory_budget is .*; give bytes"):
            read_budget(value)
    with pytest.raises(
        ValueError, match="memory_budget is 5 MiB; give at least 64 MiB"
    ):
        Resources(memory_budget="5MiB")


def test_a_quadtree_that_cannot_be_kept_is_refused(tiny: None) -> None:
    engine = make_engine(draw_cppns(1, 1), "neat-python", np.float32)
    rule = ESRule(depth=12, initial_depth=12, iteration_level=0)
    with pytest.raises(ValueError, match=r"one quadtree has .* memory_budget"):
        find(engine, Layout.spread(1, 1), rule, memory_budget=1 << 20)
    with pytest.raises(ValueError, match="Use strategy frontier"):
        find(
            engine,
            Layout.spread(1, 1),
            rule,
            strategy="eager",
            memory_budget=1 << 20,
        )


def test_too_many_positions_of_one_genome_are_refused(tiny: None) -> None:
    engine = make_engine(draw_cppns(1, 1), "plain", np.float32)
    rule = EMRRule(depth=9, initial_depth=9, weight_threshold=0.0)
    with pytest.raises(ValueError, match=r"one genome has .* memory_budget"):
        find(engine, Layout.spread(1, 1), rule, memory_budget=1 << 20)
