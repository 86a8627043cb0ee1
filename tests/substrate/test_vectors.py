"""Rule `es` against the published vectors: PUREPLES' networks, link for link."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from substrax.substrate import ESRule, Layout, WeightMap
from tests.reference.cppn import Query
from tests.reference.es import parameters_of
from tests.substrate.replay import Replay
from tests.substrate.support import (
    Wiring,
    find,
    hidden_of,
    links_of,
    make_engine,
    without_silent_nodes,
)

VECTORS = Path(__file__).parent.parent / "data" / "pureples.json"
CASES = json.loads(VECTORS.read_text())["cases"]


def discovered(case: dict[str, Any], dtype: type[np.floating], strategy: str) -> Wiring:
    parameters = parameters_of(case["params"])
    return find(
        make_engine([without_silent_nodes(case["cppn"])], "neat-python", dtype),
        Layout(case["inputs"], case["outputs"]),
        ESRule(**vars(parameters)),
        weight_map=WeightMap("deadzone", case["params"]["max_weight"]),
        strategy=strategy,
    )


@pytest.mark.parametrize("strategy", ["eager", "frontier"])
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


def equals_vector(case: dict[str, Any], wiring: Wiring) -> bool:
    wanted = {((a, b), (c, d)) for a, b, c, d, _ in case["connections"]}
    hidden = {(x, y) for x, y in case["hidden"]}
    return hidden_of(wiring, 0) == hidden and links_of(wiring, 0).keys() == wanted


def test_float32_differs_only_where_rounding_decides_a_comparison() -> None:
    """In float32 a comparison within rounding of a threshold may fall the other way;
    nothing else may differ. `replay.py` says what rounding can do, and why.
    """
    num_equal = 0
    for case in CASES:
        cppn = without_silent_nodes(case["cppn"])
        max_weight = case["params"]["max_weight"]
        wiring = discovered(case, np.float32, "frontier")
        links = links_of(wiring, 0)
        replay = Replay(
            Query(cppn, max_weight=max_weight),
            make_engine([cppn], dtype=np.float32),
            WeightMap("deadzone", max_weight),
            parameters_of(case["params"]),
        )
        assert replay.weight_error < 1e-4 * max_weight, case["case"]
        if equals_vector(case, wiring):
            num_equal += 1
            for *ends, weight in case["connections"]:
                link = (tuple(ends[:2]), tuple(ends[2:]))
                assert abs(links[link] - weight) <= replay.weight_error
            continue
        hidden, replayed = replay.discover(case["inputs"], case["outputs"])
        assert hidden_of(wiring, 0) == hidden, case["case"]
        assert links == replayed, case["case"]
        assert replay.num_turned > 0, case["case"]
    # All others have band_threshold 0 and a function that saturates, where float32
    # sees no difference at all and float64 sees one of 1e-9.
    assert num_equal >= 65
