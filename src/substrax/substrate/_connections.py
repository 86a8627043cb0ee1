"""The four classes of links and the six configurations (EMR paper, table 2)."""

from .._types import shown

FORWARD = 0
"""The class of links that lead up."""
BACKWARD = 1
"""The class of links that lead down."""
LATERAL = 2
"""The class of links that lead sideways."""
SELF = 3
"""The class of links that lead from a node to itself."""
LINK_CLASSES = ("forward", "backward", "lateral", "self")
"""Classes of links between hidden nodes, by where they lead: up, down, sideways, or
back to the node itself."""

CONFIGURATIONS: dict[str, frozenset[int]] = {
    "feedforward": frozenset(),
    "hidden": frozenset({FORWARD}),
    "backward": frozenset({FORWARD, BACKWARD}),
    "lateral": frozenset({FORWARD, LATERAL}),
    "self": frozenset({FORWARD, SELF}),
    "full": frozenset({FORWARD, BACKWARD, LATERAL, SELF}),
}
"""Classes of hidden-to-hidden links that each configuration allows."""


UPWARDS = frozenset({FORWARD})
"""What links from inputs and to outputs are, whatever the configuration."""


def configuration(name: str) -> frozenset[int]:
    if not isinstance(name, str) or name not in CONFIGURATIONS:
        raise ValueError(
            f"unknown connection configuration {shown(name)}: use one of "
            f"{', '.join(CONFIGURATIONS)}."
        )
    return CONFIGURATIONS[name]


def class_bits(classes: frozenset[int]) -> int:
    """A set of classes as the native engine has it: a bit for each."""
    return sum(1 << k for k in classes)
