"""The example of evolution within one jit: the same population on one and on eight
devices."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

_XOR = """
import one_jit
from substrax.substrate import Layout
settings = {"seed": 0, "population": 21, "generations": 3}
one_jit.run("XOR", Layout.spread(3, 1), one_jit.xor_fitness, **settings)
"""


def digest(num_devices: int) -> str:
    flags = f"--xla_force_host_platform_device_count={num_devices}"
    flags = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
    found = subprocess.run(
        [sys.executable, "-c", _XOR],
        cwd=EXAMPLES,
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    (line,) = re.findall(r"population (\w{16})", found.stdout)
    return line


@pytest.mark.slow
def test_devices_give_the_same_population() -> None:
    assert digest(1) == digest(8)
