"""The page of what was run, as Markdown, and its data."""

import io
import json
import statistics
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

from substrax._files import write_atomically
from substrax.sweeps import machine_facts, machine_lines, rate

from .cells import (
    CELLS,
    DEPTH_CELLS,
    SEEDS,
    Arm,
    Cell,
    Results,
    results_by_arm,
    tasks_of,
)
from .curves import draw_curves
from .depth import draw, section
from .runs import Task
from .table3 import section as table3_section

INTRODUCTION = """\
# Solving

How often problems of the literature are solved, by the experiments of this package
(`substrax run NAME`), beside peers with the same population and the same number of
generations. What a row sets that the experiment does not is said below its table.

```sh
python -m benchmarks.solving --page docs/results/solving.md
```

Runs are kept in `results/solving.jsonl` and not done twice; the
[data of this page](solving.parquet) are all of them, and `--known
docs/results/solving.parquet` takes them for done. Seeds are 0 to 29, or 0 to 9 for
peers that take a quarter of an hour for a run; settings were chosen with seeds from
1000 on. Generations, counted from 0, and evaluations are medians over the runs that
solved it; fitness, measures and times are medians over all runs. Intervals are
Wilson's, of 95 %. Times are those of one core, and rough. A row
with fewer runs is not complete, and a peer without a row has not been run. *Aim* is how
many of 30 runs were to be solved; where it says *measured*, there was none.

Genomes of peers are their own, and so is what becomes of them; their networks are
given their fitness by the same program as ours, so that the task is the same to the
last digit. neat-python has the settings of its XOR example throughout, MultiNEAT those
that did best with seed 1000."""


def is_solved(cell: Cell, result: dict[str, Any]) -> bool:
    if cell.target is None:
        return result["solved_at"] is not None
    found = {**result.get("measures", {}), "fitness": result["best"]}
    return all(found.get(name, 0.0) >= least for name, least in cell.target.items())


def _median(values: list[float], form: str) -> str:
    return format(statistics.median(values), form) if values else ""


def measured(results: list[dict[str, Any]], name: str) -> list[float]:
    """A measure of all runs that have it; those of peers have none."""
    values = (result.get("measures", {}).get(name) for result in results)
    return [value for value in values if value is not None]


def row(cell: Cell, arm: Arm, results: list[dict[str, Any]]) -> str:
    solved = [r for r in results if is_solved(cell, r)]
    share = rate(len(solved), len(results))
    seconds = [r["seconds"] for r in results]
    parts = [
        arm.name,
        f"{len(solved)} of {len(results)}",
        f"[{share.low:.2f}, {share.high:.2f}]",
        _median([r["generations"] - 1 for r in solved], ",.0f"),
        _median([r["evaluations"] for r in solved], ",.0f"),
        _median([r["best"] for r in results], ".4f"),
        *(_median(measured(results, name), ".3g") for name in cell.measures),
        _median(seconds, ".1f") + " s",
    ]
    return "| " + " | ".join(parts) + " |"


def table(name: str, done: Results) -> str | None:
    """The table of a cell, or None if nothing of it was run."""
    cell = CELLS[name]
    found = results_by_arm(name, done)
    rows = [row(cell, arm, found[arm.name]) for arm in cell.arms if arm.name in found]
    if not rows:
        return None
    heads = ["", "solved", "95 % interval", "generation", "evaluations", "best fitness"]
    heads += [*cell.measures, "time of a run"]
    lines = [
        f"## {cell.name}",
        "",
        *wrapped(f"{cell.budget} Aim, of {SEEDS}: {cell.aim}."),
        "",
        "| " + " | ".join(heads) + " |",
        "| --- " * len(heads) + "|",
        *rows,
    ]
    more = [_settings(cell, found), _failures(cell, found), cell.note]
    for text in filter(None, more):
        lines += ["", *wrapped(text)]
    return "\n".join(lines)


def wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 100, break_on_hyphens=False)


def _settings(cell: Cell, found: dict[str, Any]) -> str:
    """What rows set besides their method."""
    rows = []
    for arm in cell.arms:
        settings = dict(arm.work["settings"])
        if arm.name not in found or "peer" in arm.work:
            continue
        settings.pop("method", None)
        words = [f"{key} {_plain(value)}" for key, value in settings.items()]
        if words:
            rows.append(f"{arm.name}: `{'`, `'.join(words)}`")
    return f"Set besides: {'; '.join(rows)}." if rows else ""


def _plain(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _failures(cell: Cell, found: dict[str, Any]) -> str:
    """Where the runs ended that failed."""
    if cell.failures is None:
        return ""
    rows = []
    for arm in cell.arms:
        failed = [r for r in found.get(arm.name, []) if not is_solved(cell, r)]
        counts = Counter(f"{v:.3g}" for v in measured(failed, cell.failures))
        if counts:
            words = [f"{value} ({num})" for value, num in counts.most_common()]
            rows.append(f"{arm.name}: {', '.join(words)}")
    name = cell.failures
    return f"The {name} of runs that failed: {'; '.join(rows)}." if rows else ""


CURVES = {
    "retina": "Share of runs that have solved the retina by generation, seeded",
    "retina-unseeded": "Share of runs that have solved the retina by generation",
}
"""Tables with a figure below them, and what it shows."""

DEPTH = """\
## What depth buys

Rules `emr` and `es` by the depth of their grids, from a start with x-locality and from
one without. Each entry is the number of runs that solved it, the median of their best
fitness, and the median time.

**Depth pays little, and none beyond 2.** The retina is solved on the coarsest grid, and
hardly ever on a finer one: more nodes are more links to get right, and runs are stuck
with one side learnt. In the maze the best rates are those of depths 1 and 2; deeper
grids are no better and, within the intervals, not much worse. Visual discrimination is
the one problem that a coarse grid cannot solve: of the 120 runs at each depth, none is
solved at depth 0 and one at depth 1, nine at depth 2 and nine at depth 3. Deeper grids
take longer, and solve four to seven. (Only `es` without a seed has its best rate at
depth 6: 3 of 30, which is within chance of its 0 of 30 at depths 0, 1 and 3.)"""


def page(done: Results, path: Path) -> str:
    """The text; figures are written beside `path`."""
    parts = [INTRODUCTION, "; ".join(machine_lines(machine_facts())) + "."]
    for name in CELLS:
        if text := table(name, done):
            parts.append(text)
            if name in CURVES:
                stem = path.with_name(f"{path.stem}-{name}")
                draw_curves(*_solved_at(name, done), stem)
                parts.append(f"![{CURVES[name]}]({stem.name}.svg)")
    if text := table3_section(path):
        parts.append(text)
    depths = section(done)
    if depths is not None:
        stem = path.with_name(f"{path.stem}-depth")
        draw(done, stem)
        picture = f"![Share of runs solved by depth]({stem.name}.svg)"
        parts += [DEPTH, picture, depths]
    return "\n\n".join(parts) + "\n"


def _solved_at(name: str, done: Results) -> tuple[dict[str, list[int | None]], int]:
    """When the runs of each row were solved, and the last generation of any."""
    found = results_by_arm(name, done)
    last = max(r["generations"] for results in found.values() for r in results)
    rows = {
        arm.name: [r["solved_at"] for r in found[arm.name]]
        for arm in CELLS[name].arms
        if arm.name in found
    }
    return rows, last


def read_data(path: Path) -> Results:
    """The runs that `write_data` wrote, by their keys."""
    import pyarrow.parquet

    done: Results = {}
    for row in pyarrow.parquet.read_table(path).to_pylist():
        task = Task(row["cell"], row["arm"], row["seed"], json.loads(row["work"]))
        measures = json.loads(row["measures"])
        done[task.key] = {k: row[k] for k in FIELDS} | {"measures": measures}
    return done


FIELDS = ("solved_at", "generations", "evaluations", "best", "seconds")


def write_data(done: Results, path: Path) -> None:
    """All runs of the tables, one a row; settings and measures as JSON."""
    import pyarrow
    import pyarrow.parquet

    rows = []
    for name in (*CELLS, *DEPTH_CELLS):
        for task in tasks_of(name, SEEDS):
            if task.key in done:
                result = done[task.key]
                rows.append(
                    {
                        "cell": name,
                        "arm": task.arm,
                        "seed": task.seed,
                        "work": json.dumps(task.work, sort_keys=True),
                        **{k: result[k] for k in FIELDS},
                        "measures": json.dumps(result.get("measures", {})),
                    }
                )
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pylist(rows), buffer, compression="zstd"
    )
    write_atomically(path, buffer.getvalue())
