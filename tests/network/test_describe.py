"""What `describe` counts, and why it says a network computes nothing."""

import dataclasses
from typing import Any

import networkx
import numpy as np
import pytest

from substrax.cppn import activation_id
from substrax.network import Networks, describe, to_networkx
from substrax.substrate import LINK_CLASSES
from tests.network.support import oracle_of, random_networks, silence_unfed

INPUTS, OUTPUTS = [(-0.5, -1.0), (0.5, -1.0)], [(0.0, 1.0), (0.5, 1.0)]


def by_hand(
    links: list[tuple[int, int, float]],
    hidden: list[tuple[float, float]] | None = None,
    **changes: Any,
) -> Networks:
    """Two inputs (0, 1), two outputs (2, 3), hidden nodes from 4 on."""
    hidden = hidden or []
    points = np.array([*INPUTS, *OUTPUTS, *hidden])
    sigmoid = activation_id("sigmoid")
    ends = np.array([link[:2] for link in links], np.int32).reshape(-1, 2)
    network = Networks(
        num_inputs=2,
        num_outputs=2,
        node_bounds=np.array([0, len(points)]),
        node_activation=np.array([0, 0] + [sigmoid] * (len(points) - 2), np.int32),
        node_bias=np.zeros(len(points)),
        node_rank=np.unique(points[:, 1], return_inverse=True)[1].astype(np.int64),
        node_point=points,
        link_bounds=np.array([0, len(links)]),
        link_source=ends[:, 0],
        link_target=ends[:, 1],
        link_weight=np.array([link[2] for link in links], np.float64),
        num_found=np.array([len(hidden)]),
        is_acyclic=True,
        dialect="plain",
        activation_ids=(0, sigmoid),
    )
    return dataclasses.replace(silence_unfed(network), **changes)


FULL = [(0, 4, 1.0), (1, 4, -1.0), (4, 2, 1.0), (4, 3, 2.0)]
MIDDLE = [(0.0, 0.0)]


def test_a_network_that_works_is_described_in_numbers() -> None:
    description = describe(by_hand(FULL, MIDDLE))
    assert description.num_inputs == 2
    assert description.num_outputs == 2
    assert description.num_hidden == 1
    assert description.num_links == 4
    assert description.links == {
        "forward": 4, "backward": 0, "lateral": 0, "self": 0, "unplaced": 0,
    }  # fmt: skip
    assert description.depth == 2
    assert description.diagnosis == ""
    assert str(description) == (
        "2 inputs, 1 hidden node, 2 outputs, 4 links (4 forward)\n2 links deep"
    )


def test_links_are_counted_by_class() -> None:
    """Forward and backward by y, lateral at one height, self on itself."""
    hidden = [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5)]
    links = [(0, 4, 1.0), (4, 5, 1.0), (4, 4, 1.0), (4, 6, 1.0), (6, 4, 1.0),
             (6, 2, 1.0), (6, 3, 1.0), (5, 6, 1.0)]  # fmt: skip
    network = by_hand(links, hidden, is_acyclic=False, steps=6)
    description = describe(network)
    assert description.links == {
        "forward": 5, "backward": 1, "lateral": 1, "self": 1, "unplaced": 0,
    }  # fmt: skip
    assert set(LINK_CLASSES) < set(description.links)
    assert description.depth is None
    assert str(description).splitlines() == [
        "2 inputs, 3 hidden nodes, 2 outputs, 8 links "
        "(5 forward, 1 backward, 1 lateral, 1 self)",
        "recurrent",
    ]


def test_links_of_networks_without_places_are_counted_as_such() -> None:
    network = by_hand(FULL, MIDDLE)
    network.node_point[:] = np.nan
    description = describe(network)
    assert description.links["unplaced"] == 4
    assert str(description) == (
        "2 inputs, 1 hidden node, 2 outputs, 4 links\n2 links deep"
    )


def test_depth_is_the_longest_path() -> None:
    """NetworkX agrees; links into inputs carry nothing and are no part of a path."""
    for network in random_networks(5):
        graph = to_networkx(network)
        graph.remove_edges_from([(s, t) for s, t in graph.edges if t < 3])
        longest = networkx.dag_longest_path_length(graph, weight="none")
        assert describe(network).depth == longest
        oracle_of(network).order()  # the oracle finds no cycle either


def test_empty_because_nothing_was_found() -> None:
    description = describe(by_hand([]))
    assert "made no hidden position" in description.diagnosis
    assert "variance threshold" in description.diagnosis
    assert description.depth == 0


def test_empty_because_nothing_leads_to_an_output() -> None:
    description = describe(by_hand([], num_found=np.array([12])))
    assert "hidden positions were found (12)" in description.diagnosis
    assert "none of them links on to an output" in description.diagnosis
    for setting in ("weight_threshold", "band_threshold", "layout"):
        assert setting in description.diagnosis


def test_empty_without_anybody_having_looked() -> None:
    description = describe(by_hand([], num_found=np.array([-1])))
    assert description.diagnosis == "empty: there is no link; all outputs are constant."


def test_output_that_nothing_reaches() -> None:
    description = describe(by_hand(FULL[:3], MIDDLE))
    assert description.diagnosis == "nothing reaches output 1, which is always 0."
    assert str(description).endswith(description.diagnosis)


def test_output_that_nothing_reaches_where_nodes_are_not_silent() -> None:
    """In plain NEAT an unfed node is activation(bias): here sigmoid(0)."""
    network = by_hand(FULL[:3], MIDDLE)
    network.node_activation[3] = activation_id("sigmoid")
    diagnosis = describe(network).diagnosis
    assert diagnosis == "nothing reaches output 1, which is always 0.5."


def test_output_that_is_saturated() -> None:
    """A sigmoid is 1 in 64 bits from about 37 on."""
    links = [(0, 4, 1.0), (1, 4, 1.0), (4, 2, 1.0), (4, 3, 1e4)]
    network = by_hand(links, MIDDLE)
    diagnosis = describe(network).diagnosis
    assert diagnosis.startswith("output 1 is constant")
    assert "saturated" in diagnosis
    assert "steps" not in diagnosis


def test_output_that_no_input_reaches() -> None:
    """Fed by a node that itself is unfed, hence 0."""
    diagnosis = describe(by_hand([(0, 2, 1.0), (4, 3, 1.0)], MIDDLE)).diagnosis
    assert diagnosis.startswith("output 1 is constant")


def test_output_that_is_too_few_steps_away() -> None:
    network = by_hand(FULL, MIDDLE, is_acyclic=False, steps=1)
    diagnosis = describe(network).diagnosis
    for output in (0, 1):
        assert (
            f"output {output} answers to inputs after 2 updates, but the network makes "
            "1 for one input (steps)"
        ) in diagnosis
    assert "constant (" not in diagnosis
    assert describe(by_hand(FULL, MIDDLE, is_acyclic=False, steps=2)).diagnosis == ""


def test_cyclic_output_that_no_number_of_steps_helps() -> None:
    """Output 1 hears of a node that hears only itself."""
    links = [(0, 2, 1.0), (4, 4, 1.0), (4, 3, 1.0)]
    diagnosis = describe(by_hand(links, MIDDLE, is_acyclic=False, steps=1)).diagnosis
    assert diagnosis.startswith("output 1 is constant (")


def test_populations_are_described_one_by_one() -> None:
    with pytest.raises(ValueError, match=r"one network at a time.*networks\[0\]"):
        describe(random_networks(0))
