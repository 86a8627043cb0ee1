"""Pages of all plans, from made-up results: no run is needed to see that they hold."""

import json
import re
import tomllib

import pyarrow.parquet
import pytest

from substrax.reproduce import Outcome, Task, load_plan, publish

NAMES = ("figure2", "positions", "table3", "table4", "table5", "table6", "table7")


def _items(section):
    return section.items() if isinstance(section, dict) else ()


def made_up(task: Task) -> dict:
    """A result as a worker would write it, with times that grow with depth."""
    config = tomllib.loads(task.config)
    settings = {f"{a}.{k}": v for a, b in config.items() for k, v in _items(b)}
    depth = settings["decoder.depth"]
    common = {
        "kind": task.kind,
        "is_cold": task.is_cold,
        "peak_mebibytes": 500.0,
        "process_seconds": 3.0,
        "cores": 2,
        "ended": "2026-01-02T03:04:05Z",
        "seed": task.seed,
        "rule": settings["decoder.name"],
        "population": settings["neat.population_size"],
    }
    if task.kind == "positions":
        part = {
            "strategy": "frontier", "candidates": 20, "genomes": 50, "queries": 999,
            "found": 70, "links": 300, "seconds": 0.1, "peak_mebibytes": 500.0,
        }  # fmt: skip
        return common | {"rows": [{"depth": d, **part} for d in task.options["depths"]]}
    result = common | {
        "problem": settings["problem.name"],
        "strategy": settings["decoder.strategy"],
        "depth": depth,
        "connections": settings.get("decoder.connections"),
        "generations": 10,
        "solved_at": None if task.seed == 1 else 2,
        "best_fitness": 0.99,
        "seconds": 4.0 + depth + task.seed,
        "compile_seconds": 3.0,
        "seconds_per_generation": 0.1 * depth + 0.01 * task.seed,
        "measures": {"test_auc": 0.55, "accuracy": 1.0},
    }
    if task.kind in ("quadtree", "pureples"):
        result |= {
            "seconds": 10.0**depth,
            "seconds_per_generation": 10.0 ** (depth - 1),
            "decode_quadtree": 10.0**-2 * depth,
            "decode_frontier": 1e-4,
            "num_sampled": 4,
            "num_cut": int(depth > 3),
            "num_compared": 3,
            "num_same": 3,
        }
    return result


@pytest.fixture(autouse=True)
def figures_are_quick(request, monkeypatch):
    """Drawing takes seconds; one test does it."""
    if "drawn" not in request.node.name:
        monkeypatch.setattr("substrax.reproduce._publish.write_figure", lambda *_: [])


def page_of(name: str, out, *, failures=None, **plan):
    loaded = load_plan(name, quick=True, **plan)
    results = {task.key: made_up(task) for task in loaded.tasks()}
    path = publish(
        loaded,
        Outcome(results, failures or {}),
        runs=out / "runs",
        out=out,
        command=f"substrax reproduce {name} --quick",
        jobs=1,
    )
    assert path is not None
    return path.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_every_page_says_what_was_run_and_what_the_paper_has(name, tmp_path):
    text = page_of(name, tmp_path)
    assert f"substrax reproduce {name} --quick" in text
    assert "cores, " in text and "jax" in text
    assert "## What to know about the paper's numbers" in text
    assert "Quick mode" in text
    assert f"]({name}.png)" in text
    for line in text.splitlines():
        # whatever gives a p-value gives the sizes of the samples, too
        if re.search(r"\bp (=|<) ?0\.\d+", line) and line.startswith("|"):
            assert "n = " in line
    rows = pyarrow.parquet.read_table(tmp_path / f"{name}.parquet").to_pylist()
    assert rows and all(row["key"] for row in rows)


@pytest.mark.parametrize("name", ["table3", "figure2"])
def test_figures_are_drawn(name, tmp_path):
    page_of(name, tmp_path)
    for ending in (".png", ".svg"):
        assert (tmp_path / name).with_suffix(ending).stat().st_size > 5000


def test_a_time_that_was_scaled_is_marked(tmp_path):
    text = page_of("table4", tmp_path)
    line = next(
        row for row in text.splitlines() if row.startswith("| 7 | es, recursive")
    )
    assert "~ 277.8 h" in line


def test_what_is_worse_than_the_paper_is_said(tmp_path):
    text = page_of("table3", tmp_path)
    assert "## Where the numbers here are worse" in text
    assert "2/3" in text


def test_failed_runs_are_counted_and_in_no_table(tmp_path):
    text = page_of("table4", tmp_path, failures={"x": "because"})
    assert "1 failed (they count nowhere)" in text


def test_generations_of_runs_are_kept_as_well(tmp_path):
    plan = load_plan("table3", quick=True, seeds=1)
    task = plan.tasks()[0]
    run = tmp_path / "runs" / task.key / "run"
    run.mkdir(parents=True)
    lines = [{"generation": g, "seconds": 0.5, "best_ever": 0.9} for g in range(3)]
    (run / "metrics.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    page_of("table3", tmp_path, seeds=1)
    kept = pyarrow.parquet.read_table(tmp_path / "table3-generations.parquet")
    assert kept["generation"].to_pylist() == [0, 1, 2]
    assert set(kept["key"].to_pylist()) == {task.key}


def test_nothing_is_written_without_results(tmp_path):
    plan = load_plan("table3", quick=True)
    assert (
        publish(
            plan,
            Outcome({}, {}),
            runs=tmp_path,
            out=tmp_path / "out",
            command="",
            jobs=1,
        )
        is None
    )
    assert not (tmp_path / "out").exists()
