"""Trackers by name."""

from collections.abc import Callable, Iterable

from .._suggest import suggest
from .._types import shown
from ..evolution import Tracker
from ._mlflow import MLflowTracker
from ._tensorboard import TensorBoardTracker
from ._wandb import WandbTracker

TRACKERS: dict[str, Callable[[], Tracker]] = {
    "tensorboard": TensorBoardTracker,
    "wandb": WandbTracker,
    "mlflow": MLflowTracker,
}
"""What `--track` knows."""


def make_trackers(names: Iterable[str]) -> list[Tracker]:
    """Trackers with nothing but defaults; a missing library is an `ImportError`."""
    made: dict[str, Tracker] = {}
    for name in names:
        if name not in TRACKERS:
            raise ValueError(
                f"there is no tracker {shown(name)}{suggest(name, TRACKERS)}: use one "
                f"of {', '.join(TRACKERS)}."
            )
        if name in made:
            raise ValueError(f"the tracker {name!r} is given twice. Leave one out.")
        made[name] = TRACKERS[name]()
    return list(made.values())
