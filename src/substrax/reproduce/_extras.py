"""What reproduction needs beyond the core: asked for once, by name."""

import importlib.util

PACKAGES = {
    "scipy": "scipy",
    "statsmodels": "statsmodels",
    "pyarrow": "pyarrow",
    "matplotlib": "matplotlib",
}


def require_extras() -> None:
    """Raises, before anything is run, if a package of the extra is missing."""
    missing = [
        package
        for module, package in PACKAGES.items()
        if importlib.util.find_spec(module) is None
    ]
    if missing:
        raise ImportError(
            f"tables and figures need {', '.join(missing)}; install what is missing "
            "with: pip install 'substrax[reproduce]'"
        )


def has_pureples() -> bool:
    """Whether PUREPLES and neat-python can be imported."""
    return all(importlib.util.find_spec(name) for name in ("pureples", "neat"))
