"""`python -m benchmarks`, with small scripts in place of the benchmarks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks import episodes
from benchmarks.sheet import Sheet, read_tables
from paper import requirements
from substrax.cli import in_words

WITH_TABLES = '''"""Something beside its peer."""
import argparse, json
parser = argparse.ArgumentParser()
parser.add_argument("--quick", action="store_true")
parser.add_argument("--json")
arguments = parser.parse_args()
if __name__ == "__main__":
    print("one line")
    table = {"title": "A table", "columns": ["peer", "ratio"], "notes": [],
             "rows": [["other", 2.5 if arguments.quick else 3.5]]}
    with open(arguments.json, "w") as file:
        json.dump({"format": "substrax-benchmark", "tables": [table]}, file)
'''
PLAIN = '"""Plain."""\nif __name__ == "__main__":\n    print("ratio 7")\n'
LATE = WITH_TABLES + '    raise ValueError("too late")\n'
BROKEN = '"""Broken."""\nif __name__ == "__main__":\n    raise SystemExit(3)\n'


def run(words):
    return in_words(benchmarks.main, words)


@pytest.fixture(autouse=True)
def scripts(tmp_path, monkeypatch):
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    for name, text in (("neat", WITH_TABLES), ("plain", PLAIN), ("broken", BROKEN)):
        (folder / f"{name}.py").write_text(text)
    (folder / "__init__.py").write_text("")
    (folder / "helper.py").write_text("x = 1\n")
    monkeypatch.setattr(benchmarks, "FOLDER", folder)
    monkeypatch.chdir(tmp_path)
    return folder


def test_tables_become_json_and_a_page(tmp_path, capsys):
    assert run(["neat", "plain"]) == 0
    out = capsys.readouterr().out
    assert "one line" in out and "results/bench.md" in out
    page = (tmp_path / "results" / "bench.md").read_text()
    assert "python -m benchmarks neat plain" in page
    assert "| other | 2.5 |" in page and "ratio 7" in page
    assert "cores" in page and "peak memory" in page
    content = json.loads((tmp_path / "results" / "bench.json").read_text())
    assert content["benchmarks"]["neat"]["tables"][0]["rows"] == [["other", 2.5]]
    assert content["machine"]["versions"]["jax"]


def test_the_suite_is_run_without_names_and_full_where_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmarks, "SUITE", ("neat",))
    assert run(["--full", "--out", "there"]) == 0
    page = (tmp_path / "there" / "bench.md").read_text()
    assert "| other | 3.5 |" in page and "ratio 7" not in page


def test_a_benchmark_that_fails_is_named(tmp_path, capsys):
    assert run(["broken", "plain"]) == 1
    assert "Failed: broken" in capsys.readouterr().err
    page = (tmp_path / "results" / "bench.md").read_text()
    assert "**failed** with status 3" in page and "ratio 7" in page


def test_the_last_lines_of_what_failed_are_on_the_page(scripts, tmp_path):
    (scripts / "late.py").write_text(LATE)
    assert run(["late"]) == 1
    page = (tmp_path / "results" / "bench.md").read_text()
    assert "| other | 2.5 |" in page and "ValueError: too late" in page


def test_missing_packages_are_named(monkeypatch, capsys):
    monkeypatch.setitem(requirements.PACKAGES, "no_such_module", "no-such-package")
    assert run(["plain"]) != 0
    error = capsys.readouterr().err
    assert (
        "benchmarks need no-such-package" in error
        and "benchmarks/requirements.txt" in error
    )


def test_helpers_are_no_benchmarks(capsys):
    assert run(["--list"]) == 0
    assert "helper" not in capsys.readouterr().out
    assert run(["helper"]) == 2


def test_missing_peers_are_offered_but_not_installed_unasked(monkeypatch, capsys):
    monkeypatch.setitem(benchmarks.PEERS, "no_such_module", "no-such-package")
    calls = []
    real = benchmarks.subprocess.run
    monkeypatch.setattr(
        benchmarks.subprocess,
        "run",
        lambda words, **more: calls.append(words) or real(["true"], **more),
    )
    assert run(["plain"]) == 0
    assert "--install-peers installs them" in capsys.readouterr().out
    assert not calls
    assert run(["plain", "--install-peers"]) == 0
    assert calls and "no-such-package" in calls[0]


def test_the_counts_of_the_page_on_environments_are_of_its_own_program(
    tmp_path, monkeypatch
):
    names = episodes.program(3)
    assert names["EPISODES"] == 3 and names["problem"].num_inputs == 4
    monkeypatch.setattr(episodes, "measure", lambda num, seed: (1, 10 * num + seed))
    kept = tmp_path / "episodes.json"
    episodes.main(["--episodes", "3", "10", "--seeds", "2", "--json", str(kept)])
    _, (table,) = read_tables(kept)
    assert table.rows == ((3, 2, 1, 32), (10, 2, 1, 102))


def test_a_sheet_prints_rows_and_keeps_them(tmp_path, capsys):
    sheet = Sheet("some", tmp_path / "some.json")
    sheet.begin("Title", "peer", "ratio")
    sheet.row("other", 2.0)
    sheet.note("A note.")
    sheet.write()
    assert "2" in capsys.readouterr().out
    content, (table,) = read_tables(tmp_path / "some.json")
    assert content["name"] == "some" and content["peak_mebibytes"] > 0
    assert table.rows == (("other", 2.0),) and table.notes == ("A note.",)
    with pytest.raises(ValueError, match="3 entries for 2 columns"):
        sheet.row(1, 2, 3)


@pytest.mark.slow
def test_solving_runs_in_processes_and_takes_known_runs_for_done(tmp_path):
    command = [sys.executable, "-m", "benchmarks.solving", "xor", "--seeds", "1"]
    command += ["--only", "ours", "--results", str(tmp_path / "solving.jsonl")]
    folder = Path(benchmarks.__file__).parents[1]
    first = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert first.returncode == 0, first.stderr
    assert "4/4" in first.stdout and "| NEAT | 1 of 1 |" in first.stdout
    again = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert "4/4" not in again.stdout and "| NEAT | 1 of 1 |" in again.stdout
