"""Settings that a run which goes on may have another value of."""

from ._tables import tables

_FIXED = ("run.seed",)
_WITHOUT_EFFECT = (
    "method.strategy",
    # room, which grows where there is too little
    "neat.max_nodes",
    "neat.max_links",
    "neat.max_species",
)
"""What else decides about time and memory, never about results."""


def changeable() -> tuple[str, ...]:
    """Their keys: when to stop, what may be used, and how it is computed."""
    run = (key for key in tables().run if key not in _FIXED)
    return (*run, *_WITHOUT_EFFECT)
