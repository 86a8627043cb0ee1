"""What came of a plan's runs: rows to ask questions of, and to keep as Parquet."""

import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from .evolution import RUN
from .plan import Plan, Task

Row = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Results:
    """One row for each run that is complete."""

    plan: Plan
    rows: tuple[Row, ...]

    @staticmethod
    def of(plan: Plan, results: dict[str, dict[str, Any]]) -> "Results":
        rows = [
            _row(task, results[task.key])
            for task in plan.tasks()
            if task.key in results
        ]
        return Results(plan, tuple(rows))

    def select(self, **where: Any) -> list[Row]:
        """The rows with these values."""
        return [
            row
            for row in self.rows
            if all(row.get(key) == value for key, value in where.items())
        ]

    def values(self, name: str, **where: Any) -> list[Any]:
        """One column of some rows, without what is missing."""
        found = [row.get(name) for row in self.select(**where)]
        return [value for value in found if value is not None]

    def distinct(self, name: str, **where: Any) -> list[Any]:
        """The values of a column, each once, in the order of the plan's grid."""
        return list(dict.fromkeys(self.values(name, **where)))

    def arms(self, role: str | None = None) -> list[str]:
        """Names of arms that have rows, in the order of the plan."""
        return [
            name
            for name in dict.fromkeys(arm.name for arm in self.plan.arms)
            if self.select(arm=name, **({} if role is None else {"role": role}))
        ]

    def solved(self, within: int | None = None, **where: Any) -> tuple[int, int]:
        """Runs that solved their problem (within so many generations), and all."""
        rows = self.select(**where)
        limit = float("inf") if within is None else within
        hits = [r for r in rows if r["solved_at"] is not None]
        return sum(r["solved_at"] < limit for r in hits), len(rows)


def _row(task: Task, result: dict[str, Any]) -> Row:
    measures = result.get("measures", {})
    rest = {k: v for k, v in result.items() if k != "measures"}
    flat = {f"measure_{name}": value for name, value in measures.items()}
    return {
        "arm": task.arm,
        "role": task.role,
        **task.cell,
        "seed": task.seed,
        **rest,
        **flat,
        "key": task.key,
    }


def _write_parquet(rows: Sequence[Row], path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    temporary = path.with_name(path.name + ".tmp")
    pyarrow.parquet.write_table(
        pyarrow.table({k: _arrow(v) for k, v in columns.items()}),
        temporary,
        compression="zstd",
    )
    os.replace(temporary, path)


def _arrow(values: list[Any]) -> Any:
    import pyarrow

    numbers = [v for v in values if v is not None]
    if numbers and all(type(v) in (int, float) for v in numbers):
        is_whole = all(type(v) is int for v in numbers)
        return pyarrow.array(values, pyarrow.int64() if is_whole else pyarrow.float64())
    return pyarrow.array(values)


_KEPT = (
    "generation", "best_fitness", "best_ever", "mean_fitness", "num_species",
    "mean_genome_nodes", "mean_genome_links", "mean_hidden", "mean_network_links",
    "best_hidden", "best_network_links", "num_failed", "num_empty", "seconds",
    "compile_seconds",
)  # fmt: skip


def _generations(results: Results, runs: Path) -> Iterable[Row]:
    for row in results.rows:
        path = runs / row["key"] / RUN / "metrics.jsonl"
        for line in path.read_text().splitlines() if path.exists() else ():
            record = json.loads(line)
            yield {"key": row["key"], **{name: record.get(name) for name in _KEPT}}


def write_data(results: Results, runs: Path, stem: Path) -> list[Path]:
    """Writes all runs, and all their generations, as Parquet."""
    files = []
    tables: list[tuple[str, Callable[[], Iterable[Row]]]] = [
        ("", lambda: _exploded(results.rows)),
        ("-generations", lambda: _generations(results, runs)),
    ]
    for ending, make in tables:
        rows = list(make())
        if rows:
            files.append(stem.with_name(f"{stem.name}{ending}.parquet"))
            _write_parquet(rows, files[-1])
    return files


def _exploded(rows: Iterable[Row]) -> Iterable[Row]:
    """A run that measured several things has a row for each of them."""
    for row in rows:
        parts = row.get("rows")
        if parts is None:
            yield row
            continue
        common = {k: v for k, v in row.items() if k != "rows"}
        yield from ({**common, **part} for part in parts)
