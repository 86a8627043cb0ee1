"""A memory budget changes how the work is cut and where results lie, never a bit."""

import dataclasses
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.substrate.support import (
    assert_same_wirings,
    draw_cppns,
    find,
    make_engine,
)
from tests.substrate.test_strategies import Case, cases

import substrax._memory as memory_module
import substrax.substrate._discover as discover_module
import substrax.substrate._large as large_module
from substrax._memory import ScratchError, Store, read_budget, scratch_in, show_bytes
from substrax.substrate import (
    EMRRule,
    ESRule,
    Estimate,
    Exploration,
    Layout,
    Progress,
    watch_discovery,
)


@pytest.fixture
def tiny():
    """Lets a budget be smaller than a block of work."""
    with mock.patch.object(memory_module, "LEAST_BUDGET", 1):
        yield


@given(
    case=cases(max_depth=2),
    budget=st.sampled_from([1, 1 << 18, 1 << 20, 1 << 30]),
    together=st.sampled_from([10, 300, 1 << 21]),
)
@settings(max_examples=20)
def test_budget_changes_nothing(case: Case, budget: int, together: int) -> None:
    parts = case.parts(4)
    whole = find(*parts)
    with (
        mock.patch.object(memory_module, "LEAST_BUDGET", 1),
        mock.patch.object(discover_module, "_LEAST_LINKS", 40),
        mock.patch.object(discover_module, "_TOGETHER", together),
        mock.patch.object(large_module, "_LEAST_CHUNK", 16),
    ):
        assert_same_wirings(find(*parts, memory_budget=budget), whole)


def test_what_exceeds_the_budget_is_on_the_disk_and_leaves_nothing_there(
    tmp_path: Path, tiny: None
) -> None:
    engine = make_engine(draw_cppns(5, 6, leo=True), "plain", np.float32)
    layout, rule = Layout.spread(4, 2), EMRRule(depth=4, variance_threshold=0.003)
    folder = tmp_path / "scratch"
    folder.mkdir()
    (folder / "left by a killed process").touch()
    with scratch_in(folder):
        assert not folder.exists()
        wiring = find(engine, layout, rule, memory_budget=1 << 16)
        assert list(folder.iterdir()) == []  # files without names
        base = wiring.link_weight.base
        assert isinstance(base, np.memmap)
        assert_same_wirings(wiring, find(engine, layout, rule))
    assert not folder.exists()
    assert wiring.link_weight.size > 1000


def test_estimate_is_given_before_the_pairs_are_asked(tiny: None) -> None:
    engine = make_engine(draw_cppns(5, 6, leo=True), "plain", np.float32)
    layout, rule = Layout.spread(4, 2), EMRRule(depth=4, variance_threshold=0.003)
    told: list[Progress] = []
    with (
        watch_discovery(told.append),
        mock.patch.object(discover_module, "_LEAST_LINKS", 1000),
    ):
        wiring = find(engine, layout, rule, memory_budget=1 << 16)
    estimate = next(p.estimate for p in told if p.estimate is not None)
    assert isinstance(estimate, Estimate)
    assert estimate.links is not None and estimate.queries is not None
    assert wiring.link_weight.size <= estimate.links
    assert "memory_budget" in str(estimate)


def test_full_and_unwritable_scratch_folders_are_errors(tmp_path: Path) -> None:
    rows = {"a": np.zeros(100)}
    with scratch_in(tmp_path / "scratch"):
        store = Store({"a": np.float64}, 1000)
        full = OSError(28, "No space left on device")
        with (
            mock.patch.object(memory_module, "_write", side_effect=full),
            pytest.raises(ScratchError, match=r"is full.*memory_budget"),
        ):
            store.append(**rows)
    (tmp_path / "file").touch()
    with (
        scratch_in(tmp_path / "file" / "scratch"),
        pytest.raises(ScratchError, match="cannot be written"),
    ):
        Store({"a": np.float64}, 1000).append(**rows)


def test_store_gives_back_what_was_appended(tmp_path: Path) -> None:
    for limit in (0, 1 << 20):
        with scratch_in(tmp_path / "scratch"):
            store = Store({"a": np.int32, "b": (np.float64, (2,))}, limit)
            for k in range(3):
                store.append(a=np.arange(k), b=np.full((k, 2), k))
            assert store.is_spilled == (limit == 0)
            for size in (1, 2, 100):
                for _ in range(2):
                    chunks = list(store.chunks(size))
                    assert all(len(a) <= size for a, _ in chunks)
                    a = np.concatenate([a for a, _ in chunks])
                    b = np.concatenate([b for _, b in chunks])
                    np.testing.assert_array_equal(a, [0, 0, 1])
                    np.testing.assert_array_equal(b, [[1, 1], [2, 2], [2, 2]])
            arrays = store.arrays()
        np.testing.assert_array_equal(arrays["a"], [0, 0, 1])
        np.testing.assert_array_equal(arrays["b"], [[1, 1], [2, 2], [2, 2]])


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
        Exploration(ESRule(), memory_budget="5MiB")


def test_a_quadtree_that_cannot_be_kept_is_refused(tiny: None) -> None:
    engine = make_engine(draw_cppns(1, 1), "neat-python", np.float32)
    rule = ESRule(depth=12, initial_depth=12, iteration_level=0)
    with pytest.raises(ValueError, match="memory_budget"):
        find(engine, Layout.spread(1, 1), rule, memory_budget=1 << 20)
    with pytest.raises(ValueError, match="Use strategy frontier"):
        exploration = {"strategy": "eager", "memory_budget": 1 << 20}
        find(engine, Layout.spread(1, 1), dataclasses.replace(rule), **exploration)


def test_too_many_positions_of_one_genome_are_refused() -> None:
    with pytest.raises(ValueError, match=r"one genome has .* memory_budget"):
        large_module.check_positions(10**9, 1 << 30)
