"""That an installed wheel works: a program of its own, which needs no pytest.

`python tests/wheel_smoke.py` wants only this file, tests/golden, and the package as it
was installed. With `--without-jax` it looks at the native engine alone, for systems
that JAX has no wheels for; NumPy is all that it needs then.
"""

import argparse
import json
import platform
import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np

import substrax
from substrax import _native

FOLDER = Path(__file__).resolve().parent

XOR_OUTPUTS = "0x1.83570ep-8", "0x1.fa7584p-1", "0x1.fa7584p-1", "0x1.14d794p-7"
"""What the network of `check_engine` says about 00, 01, 10 and 11."""

GOLDEN = (
    "emr defaults xor10",
    "emr leo large",
    "es defaults large",
    "hyperneat grid large",
    "direct recurrent plain",
)


def engines() -> list[_native.Engine]:
    """All that this processor can run: the engine for any of them comes first."""
    plain = _native.engine(_native.PLAIN)
    assert plain is not None, "the wheel has no native engine"
    fast = _native.engine(_native.FAST)
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    assert (fast is not None) == is_x86, f"{fast} on {platform.machine()}"
    return [plain, fast] if fast is not None and plain.module.has_fma() else [plain]


def check_engine(engine: _native.Engine) -> None:
    """A network by hand: XOR with one hidden node, of tanh (1) and sigmoid (2)."""
    networks = engine.module.NetworksFloat.hold(
        num_inputs=2,
        num_outputs=1,
        node_bounds=np.array([0, 4], np.int64),
        link_bounds=np.array([0, 5], np.int64),
        node_activation=np.array([0, 0, 2, 1], np.int32),
        node_rank=np.array([0, 0, 2, 1], np.int32),
        node_bias=np.array([0.0, 0.0, -15.125, -6.0], np.float32),
        link_source=np.array([0, 1, 0, 1, 3], np.int32),
        link_target=np.array([3, 3, 2, 2, 2], np.int32),
        link_weight=np.array([4.0, 4.0, 10.0, 10.0, -10.0], np.float32),
        is_neat_python=False,
        is_acyclic=True,
        is_on_disk=False,
    )
    inputs = np.array([[[0, 0], [0, 1], [1, 0], [1, 1]]], np.float32)
    outputs = np.full((1, 4, 1), np.nan, np.float32)
    engine.evaluate(networks, inputs, 0, budget=1 << 26, num_threads=2, outputs=outputs)
    expected = [float.fromhex(text) for text in XOR_OUTPUTS]
    assert outputs.ravel().tolist() == expected, outputs


def check_golden(engine: _native.Engine) -> None:
    """Networks of recorded genomes are, to the bit, those that were recorded."""
    from substrax import _resources
    from tests.golden import cases

    recorded = json.loads((FOLDER / "golden" / "networks.json").read_text())
    inputs = cases.load_file(FOLDER / "golden" / "inputs.safetensors")
    populations = cases.load_populations()
    chosen = [case for case in cases.CASES if case.name in GOLDEN]
    assert len(chosen) == len(GOLDEN)
    for case in chosen:
        genomes = cases.genomes_of(populations[case.population], case.count)
        with patch.object(_resources, "_automatic", lambda: engine):
            summary = cases.run(case, genomes, inputs).summary()
        assert summary == recorded[case.name], f"{case.name} is not as recorded"


def check_evolution() -> None:
    """Some generations of XOR, and JAX says the same about the best network."""
    from substrax import Resources
    from substrax.config import load_experiment
    from substrax.network import evaluate

    settings = {
        "seed": 1,
        "population": 50,
        "generations": 4,
        "depth": 3,
        "connections": "feedforward",
        "engine": "native",
    }
    bests = []
    experiment = load_experiment("xor").with_settings(settings)
    result = experiment.evolve(callbacks=[lambda g: bests.append(g.record.best_ever)])
    assert result.best_network is not None and result.best_fitness is not None
    assert len(bests) == settings["generations"] and bests == sorted(bests), bests
    assert bests[-1] == result.best_fitness and 0.5 < result.best_fitness <= 1.0, bests
    rows = [[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]]  # the third input is a bias
    ours, theirs = (
        evaluate(result.best_network, rows, resources=Resources(engine=engine))
        for engine in ("native", "device")
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def main() -> None:
    parser = argparse.ArgumentParser(description="Checks an installed wheel.")
    parser.add_argument("--without-jax", action="store_true")
    without_jax = parser.parse_args().without_jax
    found = engines()
    for engine in found:
        check_engine(engine)
        if not without_jax:
            check_golden(engine)
    if not without_jax:
        check_evolution()
    names = " and ".join(engine.module.__name__ for engine in found)
    how = ", without JAX" if without_jax else ""
    print(f"substrax {substrax.__version__} of {substrax.__file__} works{how}: {names}")


if __name__ == "__main__":
    sys.path[0] = str(FOLDER.parent)
    main()
