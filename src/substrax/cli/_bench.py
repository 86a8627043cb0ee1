"""`substrax bench`."""

import argparse
import subprocess
import sys
from pathlib import Path


def bench(arguments: argparse.Namespace) -> int:
    """Runs a script of the folder `benchmarks` of the checkout that this is from."""
    folder = Path(__file__).parents[3] / "benchmarks"
    scripts = {path.stem: path for path in sorted(folder.glob("*.py"))}
    if not scripts:
        raise ValueError(
            "the benchmarks are not part of the installed package. Get a checkout of "
            "the source and install it with `pip install --editable '.[bench]'`."
        )
    if arguments.name is None:
        for name, path in scripts.items():
            first = path.read_text().strip().partition("\n")[0]
            print(f"{name:<14}", first.strip('"'))
        return 0
    if arguments.name not in scripts:
        raise ValueError(
            f"there is no benchmark {arguments.name!r}. Choose one of "
            f"{', '.join(scripts)}."
        )
    return subprocess.run(
        [sys.executable, scripts[arguments.name]], check=False
    ).returncode
