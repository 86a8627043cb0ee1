"""What `memory_budget` promises, watched from outside: the peak of a process."""

import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = """
import sys
from pathlib import Path

import numpy as np
from tests.substrate.support import draw_cppns, make_engine

from substrax import Resources
from substrax.decoders import emr_hyperneat, es_hyperneat
from substrax.network import evaluate
from substrax.substrate import EMRRule, ESRule, Layout


def memory(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(x for x in lines if x.startswith(name)).split()[1]) << 10


def run(depth):
    layout, resources = Layout.spread(3, 1), Resources(memory_budget="64MiB")
    if sys.argv[1] == "es":
        rule = ESRule(depth, 0, 0.01, 0.001, 0.05)
        decoder = es_hyperneat(layout, rule)
    else:
        rule = EMRRule(depth, field="weight", variance_threshold=1e-3)
        decoder = emr_hyperneat(layout, rule)
    engine = make_engine(draw_cppns(4, 5), decoder.reading.dialect, np.float32)
    networks = decoder.decode_programs(engine.programs, resources)
    evaluate(networks, np.ones((4, 3), np.float32), resources=resources)
    return int(networks.num_links.sum())


run(3)
before = memory("VmRSS")
Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
num_links = run(5)
print(num_links, memory("VmHWM") - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["emr", "es"])
def test_peak_stays_near_a_small_budget(rule: str) -> None:
    """Budget and the fixed parts: blocks of queries, of links, what is compiled."""
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("the system does not tell a process its peak")
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, rule],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    num_links, peak = map(int, done.stdout.split())
    assert num_links > 1_000_000
    assert peak < 256 << 20
