"""Some cases of each target, always the same; `make fuzz` looks for others.

The target `arrays` is left out: `test_native_fuzz.py` runs all of it.
"""

import pytest

from tests.fuzz import fuzz
from tests.fuzz._targets import TARGETS

CASES = {
    "directories": 60,
    "sweeps": 40,
    "configurations": 500,
    "commands": 80,
    "imports": 1000,
    "operations": 60,
    "kills": 5,
    "disks": 20,
}


@pytest.mark.parametrize("target", [name for name in CASES if name in TARGETS])
def test_hostile_input_is_answered_or_refused_in_a_sentence(target: str) -> None:
    said = fuzz("--seed", "1", "--cases", str(CASES[target]), "--target", target)
    assert f"{target:<16}{CASES[target]:>8}" in said


def test_a_case_is_its_target_seed_and_number() -> None:
    words = ("--target", "configurations", "--seed", "5", "--case")
    first = fuzz(*words, "3")
    assert "TOML" in first and first == fuzz(*words, "3")
    assert first != fuzz(*words, "4")
