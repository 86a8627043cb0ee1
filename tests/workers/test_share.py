"""Sharing out: everything is done, whatever happens on the way."""

import logging
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from substrax.workers import (
    Answer,
    Share,
    Sizes,
    Span,
    WorkersError,
    check_executor,
    open_crew,
)

from .support import Hostile, die, squares


def share(executor, ask=None, **options) -> Share:
    def plainly(span: Span, is_full: bool):
        return squares, (list(range(span.begin, span.stop)),)

    options = {"sizes": Sizes(), **options}
    return Share(open_crew(executor), ask or plainly, **options)


def joined(parts: list[tuple[Span, list[int]]], total: int) -> list[int]:
    found: dict[int, int] = {}
    for span, values in parts:
        for index, value in zip(range(*span), values, strict=True):
            assert found.setdefault(index, value) == value
    return [found[index] for index in range(total)]


@pytest.mark.parametrize("total", [1, 2, 7, 150])
@pytest.mark.parametrize("options", [{}, {"step": 32}, {"is_compiled": True}])
def test_everything_is_done(total: int, options: dict) -> None:
    with ThreadPoolExecutor(3) as executor:
        one = share(executor, **options)
        assert joined(one.run(total), total) == [n * n for n in range(total)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "mischief", [(0.0, 0.0, 0.0), (0.1, 0.05, 0.0), (0.0, 0.0, 0.1)]
)
def test_everything_is_done_by_the_worst_of_executors(seed: int, mischief) -> None:
    executor = Hostile(seed, mischief)
    # Three in a row are rare enough for these seeds.
    one = share(executor, timeout=0.3 if any(mischief) else None)
    assert joined(one.run(60), 60) == [n * n for n in range(60)]
    # (on a busy machine a slice may be late, and done again without need)
    assert one.num_redone > 0 or executor.num_bad == 0
    assert one.num_redone == 0 or any(mischief)


def test_spans_follow_each_other() -> None:
    one = share(ThreadPoolExecutor(1))
    begin, spans = 0, []
    while begin < 50:
        spans.append(one.cut(begin, 50, 2))
        begin = spans[-1].stop
    assert [span.begin for span in spans[1:]] == [span.stop for span in spans[:-1]]


def test_steps_are_whole_and_nothing_smaller_is_left() -> None:
    one = share(ThreadPoolExecutor(1), step=32)
    assert one.cut(0, 150, 8) == (0, 32)
    assert one.cut(96, 150, 8) == (96, 150)
    assert one.cut(0, 20, 8) == (0, 20)
    assert one.cut(0, 63, 8) == (0, 63)


def test_sizes_are_few_where_each_is_compiled() -> None:
    sizes = set()
    for seconds in (None, 0.5, 0.01, 0.003):
        one = share(ThreadPoolExecutor(1), is_compiled=True)
        if seconds is not None:
            one.sizes.learn(1, seconds)
        begin = 0
        while begin < 150:
            span = one.cut(begin, 150, 2)
            sizes.add(span.stop - span.begin)
            begin = span.stop
        assert begin == 150
    assert sizes <= {1, 2, 4, 8, 16, 32, 64, 128}


def test_slices_are_as_large_as_they_are_cheap() -> None:
    sizes = Sizes()
    assert sizes.size(1000, 4) == 4  # nothing is known
    sizes.learn(4, 4.0)
    assert sizes.size(1000, 4) == 1  # a second each
    for _ in range(40):
        sizes.learn(100, 1.0)
    assert sizes.size(1000, 4) == 63  # four for each worker
    assert sizes.size(100_000, 4) in (99, 100, 101)  # a second each
    for _ in range(60):
        sizes.learn(100, 1e-4)
    assert sizes.size(1000, 4) == 1000  # not worth a journey


def test_what_is_no_executor_is_refused() -> None:
    with pytest.raises(ValueError, match="executor is 3; give a concurrent"):
        check_executor(3)
    for name in ("", "threads:2", "processes:", "processes:x", "dask:host", "dask://h"):
        with pytest.raises(ValueError, match=r"executor is .*processes:8"):
            check_executor(name)
    for name in ("processes", "processes:3", "dask://host:8786", "tls://[::1]:8786"):
        check_executor(name)
    check_executor(None)


def test_three_failures_are_the_end() -> None:
    executor = Hostile(0, (1.0, 0.0, 0.0))
    with pytest.raises(WorkersError, match=r"3 times, in vain\. The last.*it died$"):
        share(executor).run(4)


def test_a_call_of_which_nothing_is_heard_is_made_again() -> None:
    executor = Hostile(0, (0.0, 0.0, 1.0))
    with pytest.raises(WorkersError, match=r"more than 0\.1 seconds \(slice_timeout\)"):
        share(executor, timeout=0.1).run(4)


def test_an_error_of_the_work_itself_is_told_at_once() -> None:
    def ask(span: Span, is_full: bool):
        return wrong, (span.begin,)

    executor = Hostile(0)
    with pytest.raises(ValueError, match="as everywhere"):
        share(executor, ask).run(4)
    assert executor.num_calls <= 6  # nobody tries again


def wrong(begin: int) -> Answer:
    return Answer(error=ValueError(f"{begin} fails here as everywhere"))


def test_who_knows_nothing_is_told_everything() -> None:
    told = []

    def ask(span: Span, is_full: bool):
        told.append(is_full)
        return (squares, (list(range(*span)),)) if is_full else (ignorant, ())

    with ThreadPoolExecutor(2) as executor:
        assert joined(share(executor, ask).run(9), 9) == [n * n for n in range(9)]
    assert told.count(True) == told.count(False)


def ignorant() -> Answer:
    return Answer(needs_source=True)


def test_without_workers_one_waits_and_says_so(caplog, monkeypatch) -> None:
    monkeypatch.setattr("substrax.workers._share._TELL_SECONDS", 0.1)
    executor = ThreadPoolExecutor(1)
    one = share(executor, timeout=5.0)
    looks = iter([0, 0, 0, 0])
    one.crew.num_workers = lambda: next(looks, 1)
    executor.submit(time.sleep, 0.7)
    with caplog.at_level(logging.WARNING):
        assert joined(one.run(3), 3) == [0, 1, 4]
    assert "no worker is there" in caplog.text
    executor.shutdown()


def test_an_executor_that_was_shut_down_is_told() -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(WorkersError, match=r"no more work \(cannot sched.*a new"):
        share(executor).run(4)


def test_a_pool_that_ends_with_one_of_its_processes_is_told() -> None:
    def ask(span: Span, is_full: bool):
        return die, (3,)

    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(1, mp_context=context) as executor,
        pytest.raises(WorkersError, match=r"no more work .*pool is not usable"),
    ):
        share(executor, ask).run(1)
