"""Rule `es` against the published vectors: PUREPLES' networks, link for link."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reference.es import parameters_of
from tests.substrate.support import (
    find,
    hidden_of,
    links_of,
    make_engine,
    without_silent_nodes,
)

from substrax.substrate import ESRule, Layout, WeightMap, Wiring

VECTORS = Path(__file__).parent.parent / "data" / "pureples.json"
CASES = json.loads(VECTORS.read_text())["cases"]


def discovered(
    case: dict[str, Any], dtype: type[np.floating], strategy: str
) -> Wiring:
    parameters = parameters_of(case["params"])
    return find(
        make_engine([without_silent_nodes(case["cppn"])], "neat-python", dtype),
        Layout(case["inputs"], case["outputs"]),
        ESRule(**vars(parameters)),
        weight_map=WeightMap("deadzone", case["params"]["max_weight"]),
        strategy=strategy,
    )


@pytest.mark.parametrize("strategy", ["eager", "frontier", "auto"])
def test_float64_reproduces_every_vector(strategy: str) -> None:
    """Sets of nodes and links are equal, weights agree to 1e-9."""
    assert len(CASES) == 80
    for case in CASES:
        wiring = discovered(case, np.float64, strategy)
        links = links_of(wiring, 0)
        wanted = {((a, b), (c, d)): w for a, b, c, d, w in case["connections"]}
        name = f"case {case['case']}"
        assert hidden_of(wiring, 0) == {(x, y) for x, y in case["hidden"]}, name
        assert links.keys() == wanted.keys(), name
        for link, weight in wanted.items():
            assert abs(links[link] - weight) <= 1e-9, name
