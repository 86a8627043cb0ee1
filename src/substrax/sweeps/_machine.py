"""Where and when something was measured, as the results need to say."""

import datetime
import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

from .._resources import num_cores

PACKAGES = (
    "substrax", "jax", "jaxlib", "numpy", "scipy", "statsmodels", "neat-python",
    "multineat", "scikit-learn", "pureples", "tensorneat",
)  # fmt: skip


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else ():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def _memory_gibibytes() -> float | None:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
    return round(size / (1 << 30), 1)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def machine_facts() -> dict[str, Any]:
    """Processor, cores, memory, system, versions and date; JAX is not started."""
    cores = num_cores()
    versions = {name: _version(name) for name in PACKAGES}
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "processor": _processor(),
        "cores": cores,
        "memory_gibibytes": _memory_gibibytes(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version for name, version in versions.items() if version},
    }


def machine_lines(facts: dict[str, Any]) -> list[str]:
    """The facts in two lines for a page."""
    versions = ", ".join(f"{k} {v}" for k, v in facts["versions"].items())
    memory = facts["memory_gibibytes"]
    return [
        f"{facts['date']}; {facts['processor']}, {facts['cores']} cores, "
        + (f"{memory:g} GiB, " if memory else "")
        + facts["system"],
        f"Python {facts['python']}, {versions}",
    ]
