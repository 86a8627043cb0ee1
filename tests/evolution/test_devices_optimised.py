"""The same bits on any number of devices and by workers, with the optimisation that
users have: other tests here are compiled with less."""

import os
import re
import subprocess
import sys
from pathlib import Path


def test_devices_and_workers_evolve_the_same_with_all_optimisation() -> None:
    own = re.sub(
        r"--xla_backend_optimization_level=\d", "", os.environ.get("XLA_FLAGS", "")
    )
    flags = f"{own} --xla_force_host_platform_device_count=8".strip()
    found = subprocess.run(
        [sys.executable, "-m", "tests.evolution.optimised"],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    digests = [
        line.split()[1] for line in found.stdout.splitlines() if "digest" in line
    ]
    assert len(digests) == 4
    assert len(set(digests)) == 1, found.stdout
