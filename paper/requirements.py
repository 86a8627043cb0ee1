"""What is needed beyond the package: asked for once, by name."""

import importlib.util

PACKAGES = {
    "scipy": "scipy",
    "statsmodels": "statsmodels",
    "pyarrow": "pyarrow",
    "matplotlib": "matplotlib",
}


def require(what: str, folder: str) -> None:
    """Raises, before anything is run, if a package is missing.

    **Arguments:**

    - `what`: what needs them.
    - `folder`: of the repository, whose requirements have them.
    """
    missing = [
        package
        for module, package in PACKAGES.items()
        if importlib.util.find_spec(module) is None
    ]
    if missing:
        raise ImportError(
            f"{what} need {', '.join(missing)}; install what is missing with: "
            f"pip install -r {folder}/requirements.txt"
        )


def has_pureples() -> bool:
    """Whether PUREPLES and neat-python can be imported."""
    return all(importlib.util.find_spec(name) for name in ("pureples", "neat"))
