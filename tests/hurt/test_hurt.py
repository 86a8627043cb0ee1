"""A few of the runs that `python -m tests.hurt` makes many of."""

import random
from pathlib import Path

import pytest

from .__main__ import KINDS, one_run
from ._cluster import Namespaces
from ._run import alone

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks by /proc"),
]


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> str:
    return alone(tmp_path_factory.mktemp("alone") / "run", 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_hurt_comes_to_the_same(
    kind: str, wanted: str, tmp_path: Path
) -> None:
    if kind == "cuts" and not Namespaces.are_allowed():
        pytest.skip("network namespaces cannot be made here")
    if kind != "processes":
        pytest.importorskip("distributed")
    outcome = one_run(tmp_path / "run", 0, kind, random.Random(f"1 {kind} 0"))
    assert outcome.digest == wanted
    assert outcome.faults and not outcome.left
