"""What is seen while a run goes on."""

import itertools
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

import substrax as sx
from substrax.evolution import Generation, GenerationRecord, _compile_clock
from substrax.front import _display, make_display

COMPILES = "The first generation compiles"


@pytest.fixture
def clock(monkeypatch) -> SimpleNamespace:
    """How long XLA has been compiling, as the test says."""
    clock = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(_display, "xla_seconds", lambda: clock.seconds)
    monkeypatch.setattr(_display, "_COMPILE_SECONDS", 0.02)
    return clock


def experiment() -> Any:
    return sx.load_experiment("xor")


def wait_for(found) -> bool:
    end = time.monotonic() + 20
    while not found() and time.monotonic() < end:
        time.sleep(0.01)
    return found()


def test_compiling_is_told_while_it_takes_long(clock, capsys):
    before = threading.active_count()
    said = ""

    def is_told() -> bool:
        nonlocal said
        said += capsys.readouterr().out
        return COMPILES in said

    with make_display(experiment(), None):
        assert not is_told()
        clock.seconds += 0.03
        assert wait_for(is_told)
    assert threading.active_count() == before


def test_nothing_is_said_of_compiling_what_comes_from_a_cache(clock, capsys):
    with make_display(experiment(), None):
        clock.seconds += 0.019  # what loading took
        time.sleep(0.1)
    clock.seconds += 1.0  # for somebody else
    time.sleep(0.1)
    assert COMPILES not in capsys.readouterr().out


def test_the_live_table_says_the_same(clock):
    live = _display._Live(experiment(), None)
    assert live._rows()[0][0] == "starting ..."
    clock.seconds += 1.0
    assert live._rows()[0][0] == "compiling ..."


def test_a_notebook_is_told_while_it_takes_long(clock, monkeypatch):
    pages: list[str] = []
    handle = SimpleNamespace(update=pages.append)
    monkeypatch.setattr(
        _display,
        "_ipython",
        lambda: SimpleNamespace(
            display=lambda page, display_id: pages.append(page) or handle, HTML=str
        ),
    )
    with _display._Notebook(experiment(), None):
        assert "starting ..." in pages[-1]
        clock.seconds += 1.0
        assert wait_for(lambda: "compiling ..." in pages[-1])


def test_a_reader_who_has_gone_is_no_error_of_the_watch(clock, monkeypatch):
    class Gone:
        def isatty(self):
            return False

        def write(self, text):
            if COMPILES in text:
                raise BrokenPipeError
            return len(text)

        def flush(self):
            return None

    monkeypatch.setattr(sys, "stdout", Gone())
    with make_display(experiment(), None):
        clock.seconds += 1.0
        time.sleep(0.1)  # an error in a thread would be a warning, and that an error


def test_the_clock_counts_what_is_still_being_compiled():
    clock = _compile_clock._Clock()
    clock(_compile_clock._BY_XLA, 0.5)
    clock("/jax/core/compile/jaxpr_trace_duration", 3.0)
    assert clock.by_xla == 0.5
    with clock.compiling():
        time.sleep(0.01)
        now = clock.by_xla
        assert 0.51 <= now < 60
        clock(_compile_clock._BY_XLA, 100.0)  # which has ended meanwhile
        assert clock.by_xla == 100.5
    assert clock.by_xla == 100.5


@pytest.mark.parametrize("value", [-0.0, -0.00001])
def test_nothing_is_minus_nothing(value):
    assert _display._number(value) == "0.0000"


def lines_of(records, monkeypatch, capsys) -> list[int]:
    """The generations that plain lines show; each takes a second."""
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(_display.time, "monotonic", lambda: now.seconds)
    lines = _display._PlainLines(experiment(), None)
    for number, best in enumerate(records):
        now.seconds += 1.0
        record = mock.Mock(
            spec=GenerationRecord,
            generation=number,
            best_ever=best,
            best_fitness=best,
            mean_fitness=best,
            num_species=1,
            mean_hidden=0.0,
            mean_network_links=1.0,
            num_cached=0,
            seconds=1.0,
            compile_seconds=0.0,
        )
        lines.update(mock.Mock(spec=Generation, record=record))
    shown = capsys.readouterr().out.splitlines()[1:]
    return [int(line.split()[0]) for line in shown]


def test_lines_become_rarer(monkeypatch, capsys):
    improving = [0.1 * i for i in range(1000)]
    shown = lines_of(improving, monkeypatch, capsys)
    assert shown[:100] == list(range(100))
    assert shown[100:] == list(range(100, 1000, 10))


def test_what_stands_still_has_a_line_now_and_then(monkeypatch, capsys):
    shown = lines_of([0.5] * 3000, monkeypatch, capsys)
    assert shown[:4] == [0, 10, 20, 30]
    assert len(shown) < 150
    assert max(b - a for a, b in itertools.pairwise(shown)) <= 61
