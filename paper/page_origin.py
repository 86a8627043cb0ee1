"""Where a page's numbers come from: runs, versions, cores, code and company."""

from collections.abc import Sequence

from substrax.sweeps import machine_facts

from .plan import Task
from .results import Results

_MARGIN = 0.2
"""Cores that others may use on average during a timed run before the page says so."""


def origin_text(results: Results, tasks: Sequence[Task]) -> str:
    """When and with what the runs were done, as they recorded it; what they did not
    record is that of the moment of writing."""
    facts = machine_facts()
    ended = sorted(results.values("ended"))
    recorded = {
        name: sorted(set(results.values(name))) for name in ("python", "jax", "cores")
    }
    pythons = recorded["python"] or [facts["python"]]
    cores = recorded["cores"] or [facts["cores"]]
    versions = facts["versions"]
    jax = recorded["jax"] or [versions[n] for n in ("jax",) if n in versions]
    others = ", ".join(f"{k} {v}" for k, v in versions.items() if k != "jax")
    memory = facts["memory_gibibytes"]
    parts = [
        f"Run {_days(ended)} with Python {_all(pythons)}, jax {_all(jax)}, on "
        f"{_all(cores)} {'core' if cores == [1] else 'cores'}",
        f"Written on {facts['date']}; {facts['processor']}, "
        + (f"{memory:g} GiB, " if memory else "")
        + f"{facts['system']}; {others}",
        *_states(results),
        *_company(results, tasks),
    ]
    return ". ".join(parts) + "."


def _all(values: Sequence[object]) -> str:
    return " and ".join(map(str, values))


def _days(ended: Sequence[str]) -> str:
    first, last = ended[0][:10], ended[-1][:10]
    return f"on {first}" if first == last else f"from {first} to {last}"


def _states(results: Results) -> list[str]:
    num = len(set(results.values("source")))
    return [f"Made by {num} states of the code"] if num > 1 else []


def _company(results: Results, tasks: Sequence[Task]) -> list[str]:
    timed = {task.key for task in tasks if task.is_timed}
    known = [
        row["others"]
        for row in results.rows
        if row["key"] in timed and row.get("others") is not None
    ]
    busy = [cores for cores in known if cores > _MARGIN]
    if not busy:
        return []
    return [
        f"Others used the machine during {len(busy)} of {len(known)} timed runs, up to "
        f"{max(busy):.1f} cores on average over a run"
    ]
