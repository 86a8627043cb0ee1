"""Pages of all plans, from made-up results: no run is needed to see that they hold."""

import json
import re
import tomllib

import pyarrow.parquet
import pytest

from paper.page import factor_text, slower
from paper.page_missing import cells_text
from paper.page_solved import compared
from paper.plan import Task, load_plan
from paper.publish import publish
from paper.wrap import wrapped
from substrax.sweeps import Outcome, rate

NAMES = ("figure2", "positions", "table3", "table4", "table5", "table6", "table7")


def _items(section):
    return section.items() if isinstance(section, dict) else ()


def made_up(task: Task) -> dict:
    """A result as a worker would write it, with times that grow with depth."""
    config = tomllib.loads(task.config)
    settings = {f"{a}.{k}": v for a, b in config.items() for k, v in _items(b)}
    depth = settings["method.depth"]
    common = {
        "kind": task.kind,
        "is_cold": task.is_cold,
        "peak_mebibytes": 500.0,
        "process_seconds": 3.0,
        "cores": 2,
        "ended": "2026-01-02T03:04:05Z",
        "seed": task.seed,
        "rule": settings["method.name"],
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
        "strategy": settings["method.strategy"],
        "depth": depth,
        "connections": settings.get("method.connections"),
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
        monkeypatch.setattr("paper.publish.write_figure", lambda *_: [])


@pytest.fixture(autouse=True)
def sentences_are_lines(request, monkeypatch):
    """So that they can be looked for; one test wraps them."""
    if "wrapped" not in request.node.name:
        monkeypatch.setattr("paper.publish.wrapped", lambda page: page)


def page_of(name: str, out, *, failures=None, change=None, keep=None, **plan):
    """`change` of a result, and `keep` of a task, make other results of them."""
    loaded = load_plan(name, **{"quick": True, **plan})
    results = {
        task.key: made_up(task) | (change(task) if change else {})
        for task in loaded.tasks()
        if keep is None or keep(task)
    }
    path = publish(
        loaded,
        Outcome(results, failures or {}),
        runs=out / "runs",
        out=out,
        command=f"python -m paper {name} --quick",
        jobs=1,
    )
    assert path is not None
    return path.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_every_page_says_what_was_run_and_what_the_paper_has(name, tmp_path):
    text = page_of(name, tmp_path)
    assert f"python -m paper {name} --quick" in text
    assert "on 2 cores." in text and "jax" in text
    assert "## What to know about the paper's numbers" in text
    assert "Quick mode" in text
    assert f"]({name}-quick.png)" in text
    assert "## Missing" not in text
    for line in text.splitlines():
        # whatever gives a p-value gives the sizes of the samples, too
        if re.search(r"\bp (=|<) ?0\.\d+", line) and line.startswith("|"):
            assert "n = " in line
    assert [path.name for path in tmp_path.glob("*.md")] == [f"{name}-quick.md"]
    data = tmp_path / f"{name}-quick.parquet"
    rows = pyarrow.parquet.read_table(data).to_pylist()
    assert rows and all(row["key"] for row in rows)


@pytest.mark.parametrize("name", ["table3", "figure2"])
def test_figures_are_drawn(name, tmp_path):
    page_of(name, tmp_path)
    for ending in (".png", ".svg"):
        assert (tmp_path / f"{name}-quick{ending}").stat().st_size > 5000


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
    kept = pyarrow.parquet.read_table(tmp_path / "table3-quick-generations.parquet")
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


def test_a_range_of_the_paper_counts_with_both_ends_and_is_met_at_the_smaller():
    assert factor_text([0.9, 2.3], 0.1) == "9.00x to 23.0x"
    assert factor_text(2.0, 0.1) == "20.0x"
    assert factor_text(None, 0.1) == "" and factor_text(2.0, None) == ""
    assert slower(1.0, [0.9, 2.3], "D = 1", "in the paper") == [
        "D = 1: 1.00 s here, 0.9 to 2.3 s in the paper."
    ]
    assert not slower(0.9, [0.9, 2.3], "", "") and not slower(None, 1.0, "", "")


def test_cells_are_named_in_few_words():
    grid = [{"depth": d, "population": p} for d in (5, 7) for p in (300, 1000)]
    assert cells_text(grid) == "depth 5 and 7, population 300 and 1,000"
    assert cells_text(grid[1:]) == (
        "depth 5, population 1,000, and depth 7, population 300 and 1,000"
    )
    assert cells_text([{}]) == ""


def test_what_is_missing_is_listed_with_what_failed(tmp_path):
    text = page_of(
        "table4",
        tmp_path,
        keep=lambda task: task.arm != "emr, frontier" or task.cell["depth"] != 7,
        failures={"x": "emr, frontier: depth 7, seed 0: too much (all of it: /a/b)"},
    )
    _, _, section = text.partition("## Missing")
    lines = section.partition("##")[0].strip().splitlines()
    assert lines == [
        "- **emr, frontier**: depth 7, population 1,000: 0 of 1",
        "- Failed: emr, frontier: depth 7, seed 0: too much",
    ]


def test_a_page_says_what_its_runs_recorded(tmp_path):
    def change(task: Task) -> dict:
        is_first = task.arm == "emr, frontier"
        return {
            "python": "3.9.1",
            "jax": "0.0.1" if is_first else "0.0.2",
            "cores": 7,
            "source": "a" if is_first else "b",
            "others": 0.75 if is_first else 0.01,
        }

    text = page_of("table5", tmp_path, change=change)
    assert "with Python 3.9.1, jax 0.0.1 and 0.0.2, on 7 cores" in text
    assert "Made by 2 states of the code" in text
    assert "Others used the machine during 8 of 16 timed runs, up to 0.8 cores" in text
    assert "Others used" not in page_of("table5", tmp_path)


def test_a_whole_run_is_its_process_from_start_to_end_where_that_is_known(tmp_path):
    whole = lambda task: {"whole_seconds": 40.0} if task.kind == "evolve" else {}
    line = lambda text: next(
        row for row in text.splitlines() if row.startswith("| 4 | emr, frontier |")
    )
    known, unknown = (
        page_of("table5", tmp_path, change=change) for change in (whole, None)
    )
    assert "that was not measured" in unknown and "not measured" not in known
    # 10,000 s by the quadtree, and 40 s in each of four pairs
    assert "250x [250x, 250x] (n = 4 pairs)" in line(known)
    assert "| 40.00 s |" in line(page_of("figure2", tmp_path, change=whole))


def test_the_quadtree_need_not_have_run_yet(tmp_path):
    text = page_of("table5", tmp_path, keep=lambda task: task.kind == "evolve")
    assert "## Whole runs against: es, recursive quadtree" in text
    assert "| no runs of the quadtree | no runs | no pairs |" in text
    assert "- **es, recursive quadtree**: all cells: 0 of 2" in text


def test_paired_ratios_stand_beside_the_papers_test(tmp_path):
    text = page_of("table5", tmp_path)
    row = next(x for x in text.splitlines() if x.startswith("| 4 | emr, frontier |"))
    assert "(n = 4 pairs)" in row and "r = 1.00 (large), n = 4" in row
    assert "p < .001, delta 0.59, 1.6x" in row and "p .915, delta -0.23, 0.8x" in row
    assert "read rho, not p" in text


def test_one_or_two_runs_have_no_interval(tmp_path):
    row = re.compile(r"^\| 4 \| es, recursive quadtree \|.*", re.M)
    few, many = (row.findall(page_of("table7", tmp_path, seeds=n))[-1] for n in (2, 3))
    assert "[" not in few and "[" in many


def test_networks_that_were_all_cut_off_are_not_compared(tmp_path):
    none = lambda task: {"num_compared": 0, "num_same": 0}
    text = page_of("table4", tmp_path, change=none)
    assert "none compared" in text and "0 of 0" not in text


def test_few_runs_are_not_compared(tmp_path):
    rates = [rate(20, 29), rate(20, 30), rate(30, 30)]
    pairs = [(rates[0], rates[2]), (rates[1], rates[2]), (rates[1], None)]
    few, enough, alone = compared(pairs)
    assert few is None and alone is None and enough is not None
    assert enough.num == (30, 30) and enough.is_corrected
    text = page_of("table6", tmp_path)
    assert "| fewer than 30 runs |" in text and "Holm)" not in text


def test_feedforward_need_not_have_run_yet(tmp_path):
    others = lambda task: task.cell["connections"] != "feedforward"
    text = page_of("table3", tmp_path, keep=others)
    assert "- **XOR**: connections feedforward: 0 of 3" in text


def test_runs_count_as_solved_within_what_was_run(tmp_path):
    text = page_of("table3", tmp_path)
    assert "within 20 generations" in text
    retina = [row for row in text.splitlines() if row.startswith("| retina |")]
    assert retina and all("% in 3 |" in row for row in retina)


def test_the_papers_own_counts_are_those_that_it_prints(tmp_path):
    """Also of configurations that were not run; not where feedforward is best."""
    text = page_of("table3", tmp_path)
    rows = text.partition("## The paper's own counts")[2].partition("Best against")[0]
    assert "| xor | backward | 10/10 " in rows and "| visual-small | backward " in rows
    assert "retina" not in rows


def test_compile_times_stand_beside_the_papers(tmp_path):
    slow = lambda task: {"compile_seconds": 12.5, "is_cold": True}
    text = page_of("table4", tmp_path, change=slow)
    assert "D = 4, emr, frontier, compiling: 12.50 s here, 12 s on the paper's" in text
    assert "D = 7, emr, frontier, compiling" not in text


def test_prose_is_wrapped_and_tables_are_not(tmp_path):
    text = page_of("table4", tmp_path)
    prose = [x for x in text.splitlines() if not x.startswith(("|", "!"))]
    assert 90 < max(len(line) for line in prose) <= 100
    assert max(len(line) for line in text.splitlines()) > 100
    assert wrapped(text) == text


def test_wrapping_changes_no_words_and_makes_no_lists():
    code = ["", "```", "x " * 99, "```"]
    page = "\n".join(["- " + "word " * 19 + "mn - 1 of 2. a grid", *code])
    first, second, *rest = wrapped(page).splitlines()
    assert first == "- " + "word " * 18 + "word"
    assert second == "  mn - 1 of 2. a grid"
    assert rest == code
