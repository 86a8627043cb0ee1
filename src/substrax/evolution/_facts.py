"""What is worth knowing about where and when a run was made."""

import datetime
import importlib.metadata
import os
import platform
from typing import Any

import jax

_PACKAGES = ("substrax", "jax", "jaxlib", "numpy", "equinox", "safetensors")


VERSION = 2


def gather_facts(seed: int) -> dict[str, Any]:
    """The content of `run.json` at the start."""
    device = jax.devices()[0]
    return {
        "format": "substrax-run",
        "version": VERSION,
        "seed": seed,
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": {
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in _PACKAGES},
        },
        "device": {
            "platform": device.platform,
            "kind": device.device_kind,
            "count": jax.device_count(),
        },
        "host": {
            "system": platform.system(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
        },
        "settings": None,
        "stopped": None,
        "error": None,
    }


_KINDS = {"seed": int, "settings": dict | None, "stopped": str | None}


def check_facts(facts: dict[str, Any]) -> None:
    """Raises a `ValueError` for facts that are not of this version, or incomplete."""
    if facts.get("format") != "substrax-run" or facts.get("version") != VERSION:
        raise ValueError(
            f"its format is {facts.get('format')} {facts.get('version')}, this release "
            f"reads substrax-run {VERSION}"
        )
    for name, kind in _KINDS.items():
        if name not in facts or not isinstance(facts[name], kind):
            raise ValueError(f"it does not say {name}")
