"""Arrays for the native engine: `tests/native_garbage.py`, with other random numbers.

In a process of its own, because it may crash, and without the run-time checks of types
that tests have and users have not.
"""

import os
import subprocess
import sys
from pathlib import Path

from ._case import Case

GARBAGE = "tests/native_garbage.py"
TESTS = (
    "test_networks", "test_steps_and_states", "test_inputs", "test_programs",
    "test_questions", "test_genomes", "test_substrates", "test_layouts",
    "test_settings", "test_resources",
)  # fmt: skip


def attack_native_module(case: Case) -> None:
    """Runs one of the tests there; each draws some eighty examples."""
    test = case.random.choice(TESTS)
    seed = case.random.randrange(2**32)
    case.note(GARBAGE, f"{test}, --hypothesis-seed={seed}")
    run = subprocess.run(
        [
            sys.executable, "-X", "faulthandler", "-m", "pytest", "-q", "-x",
            f"--hypothesis-seed={seed}", f"{GARBAGE}::{test}",
        ],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "JAXTYPING_DISABLE": "1", "HYPOTHESIS_PROFILE": "explore"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-4000:]
