"""Cases in a process of their own, for tests.

Tests have run-time checks of types, which refuse much of what users can hand over
before it arrives; and what is found may crash, or never end.
"""

import os
import subprocess
import sys
from pathlib import Path


def fuzz(*words: str) -> str:
    """What `python -m tests.fuzz` prints; fails if it finds something."""
    run = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz", *words],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "JAXTYPING_DISABLE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-4000:]
    return run.stdout


def replay(target: str, seed: int, number: int) -> None:
    """Runs one case again, by its name; fails if it is still a finding."""
    fuzz("--target", target, "--seed", str(seed), "--case", str(number))
