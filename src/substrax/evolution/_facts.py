"""What is worth knowing about where and when a run was made."""

import datetime
import importlib.metadata
import platform
from typing import Any

import jax

from .._resources import num_cores
from ..runs import FORMAT, VERSION

_PACKAGES = ("substrax", "jax", "jaxlib", "numpy", "equinox", "safetensors")


def gather_facts(seed: int) -> dict[str, Any]:
    """The content of `run.json` at the start."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "seed": seed,
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **surroundings(),
        "settings": None,
        "stopped": None,
        "error": None,
    }


def surroundings() -> dict[str, Any]:
    """What this process runs with: versions, devices, the machine."""
    device = jax.devices()[0]
    return {
        "versions": versions(),
        "device": {
            "platform": device.platform,
            "kind": device.device_kind,
            "count": jax.device_count(),
        },
        "host": {
            "system": platform.system(),
            "machine": platform.machine(),
            "cores": num_cores(),
        },
    }


def versions() -> dict[str, str]:
    """Of Python, and of the packages that compute."""
    return {
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in _PACKAGES},
    }
