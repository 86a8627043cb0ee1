"""What reproduction needs beyond the core: asked for once, by name."""

import importlib.util

PACKAGES = {
    "scipy": "scipy",
    "statsmodels": "statsmodels",
    "pyarrow": "pyarrow",
    "matplotlib": "matplotlib",
}


def require_extras(what: str = "tables and figures", extra: str = "reproduce") -> None:
    """Raises, before anything is run, if a package of the extra is missing.

    **Arguments:**

    - `what`: what needs them.
    - `extra`: an extra of this package that has them.
    """
    missing = [
        package
        for module, package in PACKAGES.items()
        if importlib.util.find_spec(module) is None
    ]
    if missing:
        raise ImportError(
            f"{what} need {', '.join(missing)}; install what is missing with: "
            f"pip install 'substrax[{extra}]'"
        )


def has_pureples() -> bool:
    """Whether PUREPLES and neat-python can be imported."""
    return all(importlib.util.find_spec(name) for name in ("pureples", "neat"))
